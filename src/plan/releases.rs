//! What an upgrade, an install or an uninstall of a release says of itself: the chart's
//! version, what becomes of its objects, images, hooks, definitions.
//! Source: helm-controller `internal/action/crds.go` (`applyCRDs`).

use super::causes::{Changes, settle};
use super::fields::compare;
use super::release_words::{
    NAMED, hook_words, image_step, image_words, is_are, listed, object_words, remediation, step,
};
use super::released::{added, changed};
use super::{Effect, Pair, Placed, Side, chart_values};
use crate::lang::text::{clean, counted};
use crate::model::text::IN_THE_CLUSTER;
use crate::model::{EffectKind, ObjectId, Severity};
use crate::world::releases::Release;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A release before and after, and what the upgrade does to what its chart makes.
pub(super) struct Upgrade<'w> {
    pub before: &'w Release,
    pub after: &'w Release,
    pub effects: Vec<Effect>,
    /// Definitions of `crds/` that differ, that are new, and that are gone.
    changed: BTreeSet<String>,
    new: BTreeSet<String>,
    gone: BTreeSet<String>,
}

impl<'w> Upgrade<'w> {
    pub(super) fn of(before: &'w Release, after: &'w Release) -> Upgrade<'w> {
        let none = BTreeSet::new;
        Upgrade { before, after, effects: Vec::new(), changed: none(), new: none(), gone: none() }
    }

    /// Whether both sides are rendered.
    pub(super) fn is_rendered(&self) -> bool {
        self.before.made().is_some() && self.after.made().is_some()
    }

    /// Whether only the files of a chart in Git differ, and not its version: no new chart is
    /// made of them, so nothing is upgraded.
    /// Source: source-controller `internal/helm/chart/builder_local.go` (`Build`): the chart
    /// that is cached under the same version is taken.
    pub(super) fn is_stale(&self) -> bool {
        self.after.differs_by_files(self.before)
    }

    /// A definition of `crds/`: what happens to it is `spec.upgrade.crds`.
    pub(super) fn definition(&mut self, pair: &Pair<'_>, old: Option<&Placed<'_>>, new: &Placed<'_>) {
        let name = || new.object.id.name.to_string();
        let policy = self.policy();
        match old {
            Some(old) if policy == "CreateReplace" => {
                self.effects.extend(changed(pair, self.after, old, new));
            }
            Some(old) => {
                if !compare(old.object.node.get_ref(), new.object.node.get_ref()).is_empty() {
                    self.changed.insert(name());
                }
            }
            None if policy == "Skip" => drop(self.new.insert(name())),
            None => self.effects.push(added(pair, self.after, new)),
        }
    }

    /// A definition that the chart has no more.
    pub(super) fn forgets(&mut self, id: &ObjectId) {
        self.gone.insert(id.name.to_string());
    }

    fn policy(&self) -> String {
        let stated = self.after.node.get_ref().str_at("/spec/upgrade/crds").filter(|text| !text.is_empty());
        stated.map_or_else(|| "Create".to_owned(), |text| text.into_owned())
    }

    /// Says on what would be deleted that it stays while another object is refused.
    /// Source: Helm `pkg/kube/client.go` (`Update`): the first error ends it, what is no longer
    /// in the release is deleted after that.
    pub(super) fn hold_back(&mut self) {
        let refused = self.effects.iter().find(|effect| effect.effect == EffectKind::Refused);
        let Some(refused) = refused.map(|effect| effect.object.to_string()) else { return };
        let later = |effect: &&mut Effect| matches!(effect.effect, EffectKind::Deleted | EffectKind::Moved);
        for effect in self.effects.iter_mut().filter(later) {
            effect.details.insert("heldBy".to_owned(), json!(refused));
            effect.consequences.insert(0, format!("not while the upgrade fails: {refused} is refused"));
        }
    }

    /// The effect on the release: the one that is known, or a new one where only what it is
    /// made of changed; `None` where nothing happens.
    pub(super) fn tell(&self, pair: &Pair<'_>, known: Option<&Effect>, changes: &Changes) -> Option<Effect> {
        if self.is_stale() {
            return (!self.effects.is_empty()).then(|| self.tell_stale(pair, changes)).flatten();
        }
        let told = self.chart_words();
        let failure = self.failure();
        let unseen = self.unseen();
        let moves = self.version_change().is_some();
        let is_told = moves
            || !self.effects.is_empty()
            || failure.is_some()
            || unseen.is_some() && self.before.made().is_some() != self.after.made().is_some();
        let mut host = match known {
            Some(known) => known.clone(),
            None if is_told && !self.after.is_in_sync_with(self.before) => self.new_host(pair, changes),
            None => return None,
        };
        if !matches!(host.effect, EffectKind::ReleaseUpgrade | EffectKind::Changed) && !is_told {
            return Some(host);
        }
        let mut parts = Vec::new();
        if let Some(failure) = &failure {
            host.severity = Severity::Disruptive;
            parts.push(format!("the upgrade fails: {failure}"));
            chart_values::tell(pair, self.before, self.after, &mut host, &mut parts);
            host.consequences.extend(remediation(self.after.node.get_ref()));
        } else if let Some(unseen) = unseen {
            // A change that is no upgrade changes none of its objects.
            if host.effect != EffectKind::ReleaseUpgrade && !is_told {
                return Some(host);
            }
            host.details.insert("unseen".to_owned(), json!(true));
            parts.push("what changes of its objects is not known".to_owned());
            host.consequences.push(unseen);
        } else {
            parts.extend(object_words(&self.effects));
            chart_values::tell(pair, self.before, self.after, &mut host, &mut parts);
            if self.effects.iter().any(|effect| effect.effect == EffectKind::Refused) {
                host.severity = Severity::Disruptive;
                host.consequences.extend(remediation(self.after.node.get_ref()));
            }
            self.tell_definitions(&mut host, &mut parts);
            if parts.is_empty() {
                parts.push("none of its objects changes".to_owned());
            }
            self.tell_images(&mut host);
            host.consequences.extend(hook_words(self.after, "upgrade"));
            self.tell_assumed(&mut host);
        }
        host.details.insert("chart".to_owned(), self.chart_details());
        host.details.insert("summary".to_owned(), json!({"chart": told, "parts": parts}));
        Some(host)
    }

    /// The release is upgraded though its own text stays.
    fn new_host(&self, pair: &Pair<'_>, changes: &Changes) -> Effect {
        let mut host = Effect::new(pair, EffectKind::ReleaseUpgrade, &self.after.id);
        host.reason = "the release is upgraded: what its chart makes changed".to_owned();
        if let Some((before, after)) = self.version_change() {
            host.reason = "the release is upgraded to another version of its chart".to_owned();
            (host.before, host.after) = (json!(before), json!(after));
        }
        let mut own = vec![host.at(Side::Head, self.after.chart_place())];
        let of_values = self.effects.iter().flat_map(|effect| &effect.causes);
        let of_values = of_values.filter(|cause| changes.holds(cause.side, &cause.location)).take(NAMED);
        let found: Vec<_> = of_values.cloned().collect();
        if !found.is_empty() {
            own[0].causes = found;
        }
        settle(pair, changes, &mut own);
        let mut host = own.remove(0);
        host.when = pair.when(&host);
        host
    }

    fn tell_stale(&self, pair: &Pair<'_>, changes: &Changes) -> Option<Effect> {
        let (name, version) = self.after.label()?;
        let mut host = Effect::new(pair, EffectKind::Kept, &self.after.id);
        host.reason =
            format!("the files of chart {name} changed, its version is {version} as before: no upgrade");
        host.consequences.push(
            "reconcileStrategy: ChartVersion makes a new chart of another version in Chart.yaml only; raise it, or \
             set reconcileStrategy: Revision"
                .to_owned(),
        );
        let mut own = vec![host.at(Side::Head, self.after.chart_place())];
        settle(pair, changes, &mut own);
        own.pop()
    }

    fn version_change(&self) -> Option<(&str, &str)> {
        let ((old_name, old), (name, new)) = (self.before.chart_named()?, self.after.chart_named()?);
        let is_known = !old.is_empty() && !new.is_empty();
        (is_known && (old != new || old_name != name)).then_some((old, new))
    }

    /// `chart cert-manager 1.17.2 -> 1.18.0 (minor)`
    fn chart_words(&self) -> String {
        let (Some((old_name, old)), Some((name, new))) =
            (self.before.chart_named(), self.after.chart_named())
        else {
            return "its chart".to_owned();
        };
        let step = step(old, new).map_or(String::new(), |step| format!(" ({step})"));
        match (old_name == name, old == new) {
            // A chart that Helm does not read says no version.
            (true, false) if old.is_empty() || new.is_empty() => format!("chart {name}"),
            (true, true) => format!("chart {name} {new}").trim_end().to_owned(),
            (true, false) => format!("chart {name} {old} -> {new}{step}"),
            (false, _) => format!("chart {old_name} {old} -> {name} {new}"),
        }
    }

    fn chart_details(&self) -> Value {
        let side = |release: &Release| {
            release.chart_named().map(|(name, version)| json!({"name": name, "version": version}))
        };
        let change = self.version_change().and_then(|(old, new)| step(old, new));
        json!({"before": side(self.before), "after": side(self.after), "change": change})
    }

    /// Why the chart is refused now, where it was not before.
    fn failure(&self) -> Option<String> {
        self.after
            .refusal()
            .filter(|_| self.before.refusal().is_none())
            .map(|refusal| in_a_line(&refusal.message))
    }

    /// Why it is not known what changes.
    fn unseen(&self) -> Option<String> {
        let missing = |release: &Release| release.chart.as_ref().err().map(|missing| missing.why.clone());
        match (missing(self.before), missing(self.after)) {
            (_, Some(why)) => Some(match named(self.after) {
                Some(chart) => format!("{chart}: {why}; `forebay chart pull` fetches it"),
                None => why,
            }),
            (Some(why), None) => Some(match named(self.before) {
                Some(chart) => {
                    format!("{chart} before the change: {why}; `forebay chart pull --base REV` fetches it")
                }
                None => format!("before the change: {why}"),
            }),
            (None, None) => {
                let unable = self.after.unable().or(self.before.unable());
                let failed = match (self.before.refusal(), self.after.refusal()) {
                    (Some(_), Some(now)) => {
                        Some(format!("it is refused now as before: {}", in_a_line(&now.message)))
                    }
                    (Some(before), None) => {
                        Some(format!("it was refused before the change: {}", in_a_line(&before.message)))
                    }
                    (None, _) => None,
                };
                unable.map(str::to_owned).or(failed).map(|why| reason(self.after, &why))
            }
        }
    }

    fn tell_definitions(&self, host: &mut Effect, parts: &mut Vec<String>) {
        let policy = self.policy();
        let all = self.after.made().map_or(0, |made| made.definitions.len());
        if !self.changed.is_empty() {
            parts.push(format!("CRDs are not updated (crds: {policy})"));
            host.consequences.push(format!(
                "{} of {} of crds/ changed and {} not updated (upgrade.crds: {policy}): {}",
                self.changed.len(),
                counted(all, "CRD"),
                if self.changed.len() == 1 { "is" } else { "are" },
                listed(&self.changed)
            ));
        }
        if !self.new.is_empty() {
            parts.push(format!(
                "{} {} not created (crds: {policy})",
                counted(self.new.len(), "new CRD"),
                is_are(self.new.len())
            ));
            host.consequences.push(format!("not created (upgrade.crds: {policy}): {}", listed(&self.new)));
        }
        if !self.gone.is_empty() {
            host.consequences.push(format!(
                "no longer in crds/ of the chart, {} in the cluster: {}",
                if self.gone.len() == 1 { "stays" } else { "stay" },
                listed(&self.gone)
            ));
        }
        let sets = [("changed", &self.changed), ("notCreated", &self.new), ("left", &self.gone)];
        if sets.iter().any(|(_, set)| !set.is_empty()) {
            let mut details = serde_json::Map::new();
            details.insert("policy".to_owned(), json!(policy));
            details.extend(sets.iter().map(|(name, set)| ((*name).to_owned(), json!(set))));
            host.details.insert("definitions".to_owned(), Value::Object(details));
        }
    }

    fn tell_images(&self, host: &mut Effect) {
        let mut images: BTreeMap<(String, String), usize> = BTreeMap::new();
        for field in
            self.effects.iter().filter_map(|effect| effect.details.get("fields")?.as_array()).flatten()
        {
            let is_image = field["path"].as_str().is_some_and(|path| path.ends_with("/image"));
            if let (true, Some(before), Some(after)) =
                (is_image, field["before"].as_str(), field["after"].as_str())
            {
                *images.entry((before.to_owned(), after.to_owned())).or_default() += 1;
            }
        }
        if images.is_empty() {
            return;
        }
        let told: Vec<String> =
            images.keys().take(NAMED).map(|(before, after)| image_words(before, after)).collect();
        let more = images.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        host.consequences.push(format!("images: {}{more}", told.join(", ")));
        let list = images.iter().map(|((before, after), count)| {
            json!({"before": before, "after": after, "change": image_step(before, after), "containers": count})
        });
        host.details.insert("images".to_owned(), list.collect());
    }

    fn tell_assumed(&self, host: &mut Effect) {
        let mut all: Vec<&String> = self.before.assumed.iter().chain(&self.after.assumed).collect();
        all.sort();
        all.dedup();
        if !all.is_empty() && !self.effects.is_empty() {
            host.details.insert("assumed".to_owned(), json!(all));
            let why = unknown_words(&all);
            host.consequences.push(format!("not certain: it rests on what is not known here ({why})"));
        }
    }
}

/// What is not known, in a few words: schemas of a chart that name others elsewhere are many.
fn unknown_words(all: &[&String]) -> String {
    let (schemas, others): (Vec<&String>, Vec<&String>) =
        all.iter().copied().partition(|why| why.starts_with("the schema "));
    let mut words: Vec<String> = Vec::new();
    if let Some(first) = others.first() {
        words.push(if **first == IN_THE_CLUSTER { format!("a value {first}") } else { (*first).clone() });
    }
    match (schemas.as_slice(), others.len()) {
        ([], _) => {}
        ([only], 0) => words.push((*only).clone()),
        (schemas, _) => words.push(format!("{} that the chart names", counted(schemas.len(), "schema"))),
    }
    let more = others.len().saturating_sub(1);
    if more > 0 {
        words.push(format!("{more} more"));
    }
    words.join(", ")
}

/// A release that is new: what its chart installs.
pub(super) fn install(after: &Release, host: &mut Effect, inner: &[Effect]) {
    let mut parts = Vec::new();
    if let Some(refusal) = after.refusal() {
        host.severity = Severity::Disruptive;
        parts.push(format!(
            "the install fails: {}",
            clean(refusal.message.lines().next().unwrap_or_default())
        ));
    } else if after.made().is_some() {
        parts.push(format!("installs {}", counted(inner.len(), "object")));
        host.consequences.extend(hook_words(after, "install"));
    } else {
        let why = after.chart.as_ref().err().map(|missing| missing.why.as_str()).or(after.unable());
        parts.push("what it installs is not known".to_owned());
        host.consequences.extend(why.map(|why| reason(after, why)));
    }
    if let Some(chart) = named(after) {
        let (name, version) = after.chart_named().unwrap_or_default();
        host.details
            .insert("chart".to_owned(), json!({"before": null, "after": {"name": name, "version": version}}));
        host.details.insert("summary".to_owned(), json!({"chart": chart, "parts": parts}));
    }
}

/// `chart cert-manager 1.17.2`; nothing where a release names none.
fn named(release: &Release) -> Option<String> {
    let (name, version) = release.chart_named().filter(|(name, _)| !name.is_empty())?;
    Some(format!("chart {name} {version}").trim_end().to_owned())
}

/// What Helm says of a refusal, in one line: of several faults the first.
fn in_a_line(message: &str) -> String {
    let first = message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let detail = message.lines().skip(1).map(str::trim).find(|line| line.starts_with('-'));
    match detail {
        Some(detail) => format!("{} {}", clean(first), clean(detail.trim_start_matches(['-', ' ']))),
        None => clean(first).into_owned(),
    }
}

/// Why nothing can be said of a chart, with its name where it has one.
fn reason(release: &Release, why: &str) -> String {
    named(release).map_or_else(|| why.to_owned(), |chart| format!("{chart}: {why}"))
}

/// A release that is uninstalled: what goes with it, what holds data first.
pub(super) fn uninstall(pair: &Pair<'_>, before: &Release, host: &mut Effect) {
    if !matches!(host.effect, EffectKind::Deleted | EffectKind::Reinstalled | EffectKind::Renamed) {
        return;
    }
    if super::fate::is_suspended(pair.base, &before.id, before.node.get_ref()) {
        return;
    }
    let gone = pair.rendered.uninstalled(&before.id);
    super::removal::with_it(&gone, 0, 0, host);
    if host.effect == EffectKind::Deleted {
        host.consequences.extend(hook_words(before, "delete"));
    }
}
