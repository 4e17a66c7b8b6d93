//! Which rules run, where, and at which level: configuration and options together.

use super::rules::RULES;
use super::{Finding, Group, Level, Rule};
use crate::config::{Config, RuleLevel};
use crate::lang::text::suggest;
use crate::lang::yaml::{FilePath, Location};
use jiff::Timestamp;

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct LintOptions {
    /// Rules or groups to run even when off by default or in configuration.
    pub select: Vec<String>,
    /// Rules or groups not to run.
    pub ignore: Vec<String>,
    /// Paths relative to the root that findings are wanted for; empty for all.
    /// A path named here is reported on even when `exclude` names it.
    pub focus: Vec<String>,
    /// The time that time-dependent rules judge; without it they are silent.
    pub at: Option<Timestamp>,
}

/// A rule or group that does not exist, named by a flag or the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnknownRule {
    /// As written.
    pub name: String,
    /// The nearest rule or group.
    pub suggestion: Option<&'static str>,
    /// Where the configuration names it; `None` for a flag.
    pub location: Option<Location>,
}

/// Rules and groups that flags or the configuration name and that do not
/// exist, in that order.
pub(crate) fn unknown_rules(config: &Config, options: &LintOptions) -> Vec<UnknownRule> {
    let known = || RULES.iter().map(|rule| rule.id).chain(Group::ALL.iter().map(|group| group.name()));
    let flags = options.select.iter().chain(&options.ignore).map(|name| (name, None));
    let overridden = config.overrides.iter().flat_map(|entry| &entry.rules);
    let written = config.rules.iter().chain(overridden).map(|entry| (&entry.name, Some(&entry.location)));
    flags
        .filter(|(name, _)| name.as_str() != "all")
        .chain(written)
        .filter(|(name, _)| !known().any(|known| known == name.as_str()))
        .map(|(name, location)| UnknownRule {
            name: name.clone(),
            suggestion: suggest(name, known()),
            location: location.cloned(),
        })
        .collect()
}

/// Whether a path is another one, or lies below it; all lie below the empty one.
fn is_below(path: &str, wanted: &str) -> bool {
    wanted.is_empty()
        || path.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What configuration and options say together.
pub(super) struct LintScope<'a> {
    pub(super) config: &'a Config,
    pub(super) options: &'a LintOptions,
}

impl LintScope<'_> {
    /// Whether findings are wanted wherever they are.
    pub(super) fn is_whole(&self) -> bool {
        self.options.focus.iter().all(String::is_empty)
    }

    /// Whether a text is among those that were asked for; what belongs to no text is.
    pub(super) fn asks_about(&self, file: Option<&FilePath>) -> bool {
        let Some(file) = file.filter(|_| !self.is_whole()) else { return true };
        file.of_root().is_some_and(|path| self.options.focus.iter().any(|wanted| is_below(path, wanted)))
    }

    pub(super) fn excluded(&self, path: &str) -> bool {
        let focus = &self.options.focus;
        let below = |wanted: &String| is_below(path, wanted);
        let in_config = |path: &str| self.config.exclude.matches(path);
        if focus.iter().any(|wanted| wanted == path) {
            return false;
        }
        if !focus.is_empty() && !focus.iter().any(below) {
            return true;
        }
        // Naming a file or directory that is excluded includes it again.
        let excluded = |wanted: &str| in_config(wanted) || in_config(&format!("{wanted}/_"));
        let named_inside =
            || focus.iter().any(|wanted| !wanted.is_empty() && below(wanted) && excluded(wanted));
        in_config(path) && !named_inside()
    }

    fn names(list: &[String], rule: &Rule) -> bool {
        list.iter().any(|name| name == rule.id || name == rule.group.name() || name == "all")
    }

    pub(super) fn runs(&self, rule: &Rule) -> bool {
        if Self::names(&self.options.ignore, rule) {
            return false;
        }
        if !self.options.select.is_empty() {
            return Self::names(&self.options.select, rule);
        }
        let switched_on = |entry: &RuleLevel| {
            entry.level != Level::Off && (entry.name == rule.id || entry.name == rule.group.name())
        };
        match self.config.level(rule.id, rule.group.name()) {
            Some(level) if level != Level::Off => true,
            None if rule.default => true,
            // Off in general; some paths may still want it.
            _ => self.config.overrides.iter().flat_map(|entry| &entry.rules).any(switched_on),
        }
    }

    pub(super) fn level(&self, finding: &Finding) -> Level {
        let (rule, group) = (finding.rule, finding.rule.group.name());
        let general = match self.config.level(rule.id, group) {
            // A selected rule runs at its own level even where it is off.
            Some(Level::Off) | None if !self.options.select.is_empty() => Some(rule.level),
            None if rule.default => Some(rule.level),
            level => level,
        };
        let path = finding.location.file.of_root();
        let here = path.and_then(|path| self.config.override_level(path, rule.id, group));
        let level = here.or(general).unwrap_or(Level::Off);
        // What a finding lowers itself stays lowered.
        if finding.level < rule.level { level.min(finding.level) } else { level }
    }
}
