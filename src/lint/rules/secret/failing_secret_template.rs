//! `failing-secret-template`: a template of external-secrets that fails.
//! Source: external-secrets `runtime/template/v2/template.go` (`execute`: functions,
//! `missingkey=error`), `pkg/controllers/externalsecret/externalsecret_controller_template.go`
//! (`ApplyTemplate`), `pkg/controllers/pushsecret/pushsecret_controller_template.go`.

use super::super::reference::listed;
use crate::build::substitute::Parts;
use crate::lang::template::{Engine, EngineRun, FuncMap, MissingKey, PathStep, with_stack_for};
use crate::lang::text::suggest;
use crate::lang::yaml::{NodeRef, pointer_join};
use crate::lint::metadata::has_hole;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use std::ops::Range;

pub(crate) static RULE: Rule = Rule {
    id: "failing-secret-template",
    group: Group::Secret,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a template of external-secrets that fails",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/secret/failing-secret-template.md"),
    check: Check::Object(check),
};

const GROUP: &str = "external-secrets.io";

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    // Where the template stands, and the object's spec that says what is fetched.
    let (template, spec, outcome) = match &*view.id.kind {
        _ if view.id.group() != GROUP => return,
        "ExternalSecret" => ("/spec/target/template", Some("/spec"), SYNC),
        "ClusterExternalSecret" => {
            ("/spec/externalSecretSpec/target/template", Some("/spec/externalSecretSpec"), SYNC)
        }
        "PushSecret" => ("/spec/template", None, PUSH),
        _ => return,
    };
    let Some(node) = view.node.at(template) else { return };
    // The first engine, which releases before 0.9 took by default, had other functions.
    if node.str_at("/engineVersion").is_some_and(|version| version != "v2") {
        return;
    }
    let keys = spec.filter(|_| view.is_whole()).and_then(|spec| keys(view.node.at(spec)?));
    for (pointer, text_node) in templates(node, template) {
        let Some(text) = text_node.as_str().filter(|text| text.contains("{{")) else { continue };
        let Some(found) = with_stack_for(&text, || problems(&text, keys.as_deref())) else { continue };
        let mut parts = Parts::new(text_node, &text);
        for problem in found {
            let Some(location) = parts.location(problem.place.clone()) else { continue };
            report
                .report(location, format!("{}: a template {}", view.id, problem.title))
                .level(if view.effective.is_some() { problem.level } else { Level::Info })
                .why(problem.why.unwrap_or(outcome))
                .help(problem.help)
                .object(view.id)
                .field(&*pointer, problem.value);
        }
    }
}

const SYNC: &str = "external-secrets does not sync: the Secret is not made, or stays as it is";
const PUSH: &str = "external-secrets does not push: the provider keeps what it has";
const CONDITION: &str = "where its condition holds, external-secrets does not sync";

/// The texts that are templates, each with its JSON Pointer.
fn templates<'a>(node: NodeRef<'a>, pointer: &str) -> Vec<(String, NodeRef<'a>)> {
    let mut found = Vec::new();
    for map in ["/data", "/metadata/labels", "/metadata/annotations"] {
        let texts = node.entries_at(map);
        found.extend(texts.map(|entry| (pointer_join(&format!("{pointer}{map}"), &entry.key), entry.value)));
    }
    for (index, from) in node.items_at("/templateFrom").enumerate() {
        let literal = from.get("literal");
        found.extend(literal.map(|text| (format!("{pointer}/templateFrom/{index}/literal"), text)));
    }
    found
}

/// The keys that are fetched, where each of them is stated.
fn keys(spec: NodeRef<'_>) -> Option<Vec<String>> {
    let is_open = |field: &str| {
        spec.get(field)
            .is_some_and(|list| list.is_unknown() || field == "dataFrom" && list.items().next().is_some())
    };
    if is_open("data") || is_open("dataFrom") {
        return None;
    }
    let key = |item: NodeRef<'_>| {
        item.str_at("/secretKey").filter(|key| !has_hole(key)).map(|key| key.into_owned())
    };
    spec.items_at("/data").map(key).collect()
}

/// What is wrong with a template.
struct Problem {
    /// Bytes of it.
    place: Range<usize>,
    level: Level,
    title: String,
    /// Instead of what comes of any.
    why: Option<&'static str>,
    help: String,
    value: String,
}

/// What Go refuses to parse, all of it; else the keys that are not fetched.
fn problems(text: &str, keys: Option<&[String]>) -> Vec<Problem> {
    const NAME: &str = "template";
    let mut engine = Engine::new(&EngineRun {
        functions: FuncMap::ExternalSecrets,
        missing_key: MissingKey::Error,
        ..EngineRun::default()
    });
    let errors = engine.add(NAME, text);
    if !errors.is_empty() {
        let problem = |error: crate::lang::template::ParseError| {
            let message = error.message.splitn(3, ": ").last().unwrap_or(&error.message).to_owned();
            let help = match message.ends_with("not defined") {
                true => {
                    "use a function of Sprig or of external-secrets, which adds those for certificates and YAML"
                }
                false => "correct the template: text/template of Go says how it is written",
            };
            Problem {
                place: error.span.start as usize..error.span.end as usize,
                level: Level::Error,
                title: format!("is none that Go reads: {message}"),
                why: None,
                help: help.to_owned(),
                value: message,
            }
        };
        return errors.into_iter().map(problem).collect();
    }
    let Some(keys) = keys else { return Vec::new() };
    let mut found: Vec<Problem> = Vec::new();
    for lookup in engine.lookups(NAME) {
        let Some(PathStep::Field(name)) = lookup.path.first() else { continue };
        if keys.iter().any(|key| **key == **name) || found.iter().any(|known| known.value == **name) {
            continue;
        }
        let fetched = match keys {
            [] => "`spec.data` fetches nothing".to_owned(),
            keys => format!("`spec.data` fetches {}", listed(keys)),
        };
        found.push(Problem {
            place: lookup.span.start as usize..lookup.span.end as usize,
            level: if lookup.is_certain { Level::Error } else { Level::Warning },
            title: format!("reads `.{name}`, which is not fetched"),
            why: (!lookup.is_certain).then_some(CONDITION),
            help: match suggest(name, keys.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `.{near}`?"),
                None => format!("fetch it with `secretKey: {name}`, or read another: {fetched}"),
            },
            value: name.to_string(),
        });
    }
    found
}
