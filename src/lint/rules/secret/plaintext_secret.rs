//! `plaintext-secret`: a Secret in the open where the repository says that it is encrypted.
//! Source: SOPS `config/config.go` (`parseCreationRuleForFile`), `sops.go`
//! (`Tree.shouldBeEncrypted`).

use super::creation_rules::{Configuration, CreationRule, Fit, above, configurations};
use super::public::is_public;
use super::selection::leaves;
use super::{is_encrypted, is_example, is_filled_in, sops};
use crate::lang::yaml::NodeRef;
use crate::lint::{Check, Context, FixAvailability, Group, Level, Reporter, Rule, title};
use crate::model::{Object, ObjectId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

pub(crate) static RULE: Rule = Rule {
    id: "plaintext-secret",
    group: Group::Secret,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a Secret in the open that is to be encrypted",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/secret/plaintext-secret.md"),
    check: Check::Repository(check),
};

fn check(context: &Context<'_>, report: &mut Reporter<'_>) {
    let snapshot = context.snapshot;
    let all = configurations(snapshot);
    let encrypted = encrypted_under(context, &all);
    let sealed = sealed(context);
    let programs = of_programs(context);
    let is_shown = |path: &str| {
        is_example(path)
            || snapshot.file(path).is_none_or(|file| snapshot.is_template(file) || snapshot.is_test(file))
    };
    for object in snapshot.objects().iter().filter(|object| object.id.is("", "Secret")) {
        if is_shown(object.path()) || programs.contains(&**object.path()) {
            continue;
        }
        let root = object.node.get_ref();
        match sops(root) {
            Some(metadata) => left_open(object, metadata, report),
            None if wanted(object, &all, &encrypted, report) => {}
            None => beside_twin(object, &sealed, report),
        }
    }
    other_files(context, &all, report);
}

/// The first value of a Secret that is written in the open. `None` where other values are
/// filled in later: who does that for the secret ones leaves the rest as it is.
fn open_value<'a>(root: NodeRef<'a>) -> Option<(Vec<String>, NodeRef<'a>)> {
    let mut found = None;
    for field in ["data", "stringData"] {
        for entry in root.get(field).into_iter().flat_map(NodeRef::entries) {
            let text = entry.value.text().unwrap_or_default();
            if is_filled_in(&text) {
                return None;
            }
            let is_open = !text.is_empty()
                && !is_encrypted(&text)
                && !is_placeholder(&text)
                && !is_public(&entry.key, &text, field == "data");
            if is_open && found.is_none() {
                found = Some((vec![field.to_owned(), entry.key.to_string()], entry.value));
            }
        }
    }
    found
}

/// Documents of a file from which on a Secret in it is one that a program's makers publish.
const PUBLISHED: usize = 6;

/// The files of many manifests of a program, as its makers publish them: a Secret among them
/// is theirs.
fn of_programs<'a>(context: &Context<'a>) -> FxHashSet<&'a str> {
    let mut found: FxHashMap<&str, (usize, bool)> = FxHashMap::default();
    for object in context.snapshot.objects() {
        let (count, has_others) = found.entry(object.path()).or_default();
        *count += 1;
        *has_others |= !object.id.is("", "Secret");
    }
    let are = |(count, has_others): (usize, bool)| count >= PUBLISHED && has_others;
    found.into_iter().filter(|(_, of_path)| are(*of_path)).map(|(path, _)| path).collect()
}

/// Whether a value only keeps the place of one.
fn is_placeholder(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    const WORDS: [&str; 8] =
        ["changeme", "change-me", "change_me", "replace", "placeholder", "todo", "dummy", "your-"];
    text.is_empty()
        || WORDS.iter().any(|word| text.contains(word))
        || text.chars().all(|c| matches!(c, 'x' | '*' | '.' | '-'))
}

/// The rules under which something is encrypted, by where they stand.
fn encrypted_under(context: &Context<'_>, all: &BTreeMap<String, Configuration>) -> FxHashSet<usize> {
    let mut found = FxHashSet::default();
    for object in context.snapshot.objects().iter().filter(|object| sops(object.node.get_ref()).is_some()) {
        for configuration in above(all, object.path()) {
            if let Fit::Rule(rule) = configuration.fit(object.path()) {
                found.insert(std::ptr::from_ref(rule).addr());
            }
        }
    }
    found
}

/// The rule of each configuration above a file, the nearest first; `None` where one has no
/// rule for it or is not known: SOPS may be called where that one counts.
fn rules<'c>(
    all: &'c BTreeMap<String, Configuration>,
    path: &str,
) -> Option<Vec<(&'c Configuration, &'c CreationRule)>> {
    let found = above(all, path).map(|configuration| match configuration.fit(path) {
        Fit::Rule(rule) => Some((configuration, rule)),
        Fit::None | Fit::Unknown => None,
    });
    found.collect::<Option<Vec<_>>>().filter(|found| !found.is_empty())
}

/// Whether a rule wants a Secret encrypted that is not; told.
fn wanted(
    object: &Object,
    all: &BTreeMap<String, Configuration>,
    encrypted: &FxHashSet<usize>,
    report: &mut Reporter<'_>,
) -> bool {
    let Some(rules) = rules(all, object.path()) else { return false };
    let Some((keys, value)) = open_value(object.node.get_ref()) else { return false };
    let encrypts =
        |rule: &CreationRule| rule.selection.as_ref().is_some_and(|selection| selection.encrypts(&keys));
    let (Some((configuration, rule)), Some(location)) = (rules.first(), value.location()) else {
        return false;
    };
    if !rules.iter().all(|(_, rule)| encrypts(rule)) {
        return false;
    }
    let is_habit = encrypted.contains(&std::ptr::from_ref(*rule).addr());
    let is_narrow = names_encryption(object.path());
    let what = format!("`{}` is in the open", keys.join("."));
    let finding = report.report(location, title(&object.id, &what));
    finding.level(if is_habit || is_narrow { Level::Error } else { Level::Warning });
    finding.why(format!(
        "{} wants it encrypted{}: whoever reads the repository reads the value",
        configuration.path(),
        described(rule)
    ));
    finding.help(format!(
        "run `sops encrypt --in-place {}` before it is committed; change the value if it was pushed",
        object.path()
    ));
    finding.object(&object.id).field(format!("/{}", keys.join("/")), "");
    if let Some(place) = rule.location.clone() {
        finding.related("this rule fits", place);
    }
    true
}

fn described(rule: &CreationRule) -> String {
    match &*rule.pattern {
        "" => String::new(),
        pattern => format!(" (path_regex `{pattern}`)"),
    }
}

/// Whether a file's name says that it is encrypted.
fn names_encryption(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    [".sops.", ".enc.", ".encrypted."].iter().any(|word| name.contains(word)) && !name.starts_with(".sops.")
}

/// Manifests whose name says that they are encrypted, and that no other rule of this file
/// speaks of.
fn other_files(context: &Context<'_>, all: &BTreeMap<String, Configuration>, report: &mut Reporter<'_>) {
    let snapshot = context.snapshot;
    for file in snapshot.files().iter().filter(|file| names_encryption(&file.path)) {
        if is_example(&file.path) || snapshot.is_template(file) || snapshot.is_test(file) {
            continue;
        }
        let Some(found) = rules(all, &file.path) else { continue };
        for source in snapshot.sources(file).iter().filter(|source| !source.document().tokens.is_empty()) {
            let node = source.root();
            let root = node.get_ref();
            let id = ObjectId::of(root);
            if !root.is_map() || sops(root).is_some() || id.as_ref().is_some_and(|id| id.is("", "Secret")) {
                continue;
            }
            let is_wanted = |keys: &[String]| {
                found.iter().all(|(_, rule)| rule.selection.as_ref().is_some_and(|own| own.encrypts(keys)))
            };
            let leaves = leaves(root);
            let text = |value: &NodeRef<'_>| value.text().unwrap_or_default().into_owned();
            // `<NAME>` somewhere: a pattern that others are written by.
            if leaves.iter().any(|(_, value)| names_a_gap(&text(value))) {
                continue;
            }
            let is_open = |(keys, value): &&(Vec<String>, NodeRef<'_>)| {
                let text = text(value);
                !text.is_empty() && !is_encrypted(&text) && !is_filled_in(&text) && is_wanted(keys)
            };
            // What it is called says less than what it holds.
            let is_name = |keys: &[String]| matches!(&*keys[0], "apiVersion" | "kind" | "metadata");
            let open = || leaves.iter().filter(is_open);
            let open = open().find(|(keys, _)| !is_name(keys)).or_else(|| open().next());
            let Some((keys, location)) = open.and_then(|(keys, value)| Some((keys, value.location()?)))
            else {
                continue;
            };
            let (configuration, rule) = found[0];
            let what = format!("{}: `{}` is in the open", file.path, keys.join("."));
            let finding = report.report(location, what);
            finding.why(format!(
                "{} wants it encrypted{}, and the file's name says that it is",
                configuration.path(),
                described(rule)
            ));
            finding.help(format!("run `sops encrypt --in-place {}` before it is committed", file.path));
        }
    }
}

/// Whether a text has a `<NAME>` in it, in capitals, for something else to be put there.
fn names_a_gap(text: &str) -> bool {
    text.split('<').skip(1).any(|behind| {
        let name = behind.split_once('>').map_or("", |(name, _)| name);
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'-' | b'0'..=b'9'))
    })
}

/// An encrypted Secret of which the choice of keys leaves values in the open.
fn left_open(object: &Object, metadata: NodeRef<'_>, report: &mut Reporter<'_>) {
    let root = object.node.get_ref();
    let Some(selection) = super::selection::Selection::of(metadata) else { return };
    let Some((keys, value)) = open_value(root) else { return };
    // `_unencrypted` at the end of a key is the author's word, and so is a pattern that
    // chooses among the keys of this map.
    let has_encrypted = || {
        let mut entries = root.get(&keys[0]).into_iter().flat_map(NodeRef::entries);
        entries.any(|entry| entry.value.text().is_some_and(|text| is_encrypted(&text)))
    };
    if selection.encrypts(&keys) || metadata.get("encrypted_regex").is_none() || has_encrypted() {
        return;
    }
    let Some(location) = value.location() else { return };
    let what = format!("`{}` is in the open", keys.join("."));
    let finding = report.report(location, title(&object.id, &what));
    finding.level(Level::Warning);
    let pattern = metadata.get("encrypted_regex").and_then(NodeRef::text).unwrap_or_default();
    finding
        .why(format!("the file is encrypted, but its encrypted_regex `{pattern}` leaves this key as it is"));
    finding.help("set encrypted_regex to `^(data|stringData)$` in .sops.yaml, and encrypt the file again");
    finding.object(&object.id).field(format!("/{}", keys.join("/")), "");
}

/// Namespace, where one is written, and name.
type Name<'a> = (Option<&'a str>, &'a str);

/// The SealedSecrets of the repository.
fn sealed<'a>(context: &Context<'a>) -> FxHashMap<Name<'a>, &'a Object> {
    let objects = context.snapshot.objects().iter();
    let sealed = objects.filter(|object| object.id.is("bitnami.com", "SealedSecret"));
    sealed.map(|object| ((object.id.namespace.as_deref(), &*object.id.name), object)).collect()
}

/// A Secret that lies beside what was sealed of it.
fn beside_twin(object: &Object, sealed: &FxHashMap<Name<'_>, &Object>, report: &mut Reporter<'_>) {
    let Some(twin) = sealed.get(&(object.id.namespace.as_deref(), &*object.id.name)) else { return };
    let directory = |path: &str| path.rsplit_once('/').map(|(directory, _)| directory.to_owned());
    if object.id.namespace.is_none() && directory(object.path()) != directory(twin.path()) {
        return;
    }
    let Some((keys, value)) = open_value(object.node.get_ref()) else { return };
    let Some(location) = value.location() else { return };
    let what = format!("`{}` is in the open", keys.join("."));
    let finding = report.report(location, title(&object.id, &what));
    finding.level(Level::Warning);
    finding.why(format!("{} seals the same Secret: the plain one makes the seal useless", twin.path()));
    finding.help("remove the file from the repository, and change the value if it was pushed");
    finding.object(&object.id).field(format!("/{}", keys.join("/")), "");
    if let Some(place) = twin.node.get_ref().location_at("/metadata/name") {
        finding.related(twin.id.to_string(), place);
    }
}
