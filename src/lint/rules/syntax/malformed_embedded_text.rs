//! `malformed-embedded-text`: a file in a ConfigMap that is not of the language that its
//! name says.

use crate::build::kustomize::FileRole;
use crate::lang::yaml::Stream;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule, title};
use crate::world::Effective;
use serde::de::IgnoredAny;

pub(crate) static RULE: Rule = Rule {
    id: "malformed-embedded-text",
    group: Group::Syntax,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "a text in a ConfigMap that its reader can't parse",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/syntax/malformed-embedded-text.md"),
    check: Check::Object(check),
};

/// What says that a text is made into another one before it is read.
const MARKS: [&str; 7] = ["{{", "${", "<%", "ENC[", "{%", "<<", "__"];

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    // What generators take are files of other programs, mostly.
    let is_generated = |object: &Effective| object.files.iter().any(|(role, _)| *role == FileRole::Generator);
    if !view.id.is("", "ConfigMap") || view.effective.is_some_and(is_generated) {
        return;
    }
    for entry in view.node.entries_at("/data") {
        let Some(language) = Language::of(&entry.key) else { continue };
        let Some(text) = entry.value.as_str().filter(|text| !text.trim().is_empty()) else { continue };
        if MARKS.iter().any(|mark| text.contains(mark)) {
            continue;
        }
        let Some((line, message)) = language.refusal(&text) else { continue };
        let Some(place) = entry.key_location().or_else(|| entry.value.location()) else { continue };
        report
            .report(place, title(view.id, &format!("`{}` is no {}", entry.key, language.name())))
            .why(format!("line {line} of it: {message}; whatever reads the file refuses it"))
            .help(format!("correct the text, or name it otherwise if it is no {}", language.name()))
            .object(view.id)
            .field(format!("/data/{}", entry.key.replace('~', "~0").replace('/', "~1")), "");
    }
}

/// A language of files.
#[derive(Clone, Copy)]
enum Language {
    Json,
    Toml,
    Yaml,
}

impl Language {
    /// By the end of a file's name.
    fn of(name: &str) -> Option<Language> {
        match name.rsplit_once('.')?.1 {
            "json" => Some(Language::Json),
            "toml" => Some(Language::Toml),
            "yaml" | "yml" => Some(Language::Yaml),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Language::Json => "JSON",
            Language::Toml => "TOML",
            Language::Yaml => "YAML",
        }
    }

    /// The first line that can't be read, and why.
    fn refusal(self, text: &str) -> Option<(usize, String)> {
        match self {
            Language::Json => {
                // Many readers take comments.
                let commented = ["//", "/*"].iter().any(|mark| text.contains(mark));
                let error = serde_json::from_str::<IgnoredAny>(text).err().filter(|_| !commented)?;
                let words = error.to_string();
                let words = words.split(" at line").next().unwrap_or_default();
                (!words.contains("recursion")).then(|| (error.line().max(1), words.to_owned()))
            }
            Language::Toml => {
                let error = toml::from_str::<toml::Table>(text).err()?;
                let at = error.span().map_or(0, |span| span.start).min(text.len());
                let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
                Some((line, error.message().lines().next().unwrap_or_default().to_owned()))
            }
            Language::Yaml => {
                let stream = Stream::parse(text);
                let error = stream.errors.first()?;
                Some((stream.lines().line(error.offset) as usize, error.message.clone()))
            }
        }
    }
}
