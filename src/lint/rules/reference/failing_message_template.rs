//! `failing-message-template`: a commit message of image automation that fails.
//! Source: image-automation-controller `internal/source/source.go` (`templateMsg`,
//! `TemplateData`, `checkRemovedTemplateField`) and `internal/update/result.go`, of each
//! release since Flux 2.0.

use super::listed;
use crate::build::substitute::Parts;
use crate::lang::template::{Engine, EngineRun, FuncMap, MissingKey, PathStep, with_stack_for};
use crate::lang::text::suggest;
use crate::lang::yaml::Location;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::kinds::IMAGE;
use crate::world::versions::Settings;
use std::ops::Range;

/// See the module.
pub(crate) static RULE: Rule = Rule {
    id: "failing-message-template",
    group: Group::Reference,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a commit message template of image automation that fails",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/reference/failing-message-template.md"),
    check: Check::Object(check),
};

const FIELD: &str = "/spec/git/commit/messageTemplate";

/// What Go calls the template.
const NAME: &str = "commit message";

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !view.id.is(IMAGE, "ImageUpdateAutomation") {
        return;
    }
    let Some(node) = view.node.at(FIELD).filter(|node| !node.is_unknown()) else { return };
    let Some(text) = node.as_str() else { return };
    let eras = eras(view.settings());
    let Some(found) = with_stack_for(&text, || problems(&text, &eras)) else { return };
    let mut parts = Parts::new(node, &text);
    for problem in found {
        if let Some(location) = parts.location(problem.place.clone()) {
            tell(view, location, problem, report);
        }
    }
}

fn tell(view: &ObjectView<'_>, location: Location, problem: Problem, report: &mut Reporter<'_>) {
    let applied = if view.effective.is_some() { problem.level } else { Level::Info };
    let finding = report.report(location, format!("{}: messageTemplate {}", view.id, problem.title));
    finding.level(applied).why(problem.why).object(view.id).field(FIELD, problem.value);
    if let Some(help) = problem.help {
        finding.help(help);
    }
}

/// What is wrong with a template.
struct Problem {
    /// Bytes of it.
    place: Range<usize>,
    level: Level,
    title: String,
    why: String,
    help: Option<String>,
    value: String,
}

const STOPS: &str = "image-automation-controller fails before it commits: nothing is pushed";

/// What Go refuses to parse, all of it; else the fields that are not there.
fn problems(text: &str, eras: &Eras) -> Vec<Problem> {
    let mut engine = Engine::new(&EngineRun {
        functions: FuncMap::Hermetic,
        missing_key: MissingKey::Invalid,
        ..EngineRun::default()
    });
    let errors = engine.add(NAME, text);
    if !errors.is_empty() {
        let told = |message: &str| message.splitn(3, ": ").last().unwrap_or(message).to_owned();
        let problem = |error: crate::lang::template::ParseError| Problem {
            place: error.span.start as usize..error.span.end as usize,
            level: Level::Error,
            title: format!("is no template: {}", told(&error.message)),
            why: STOPS.to_owned(),
            help: None,
            value: told(&error.message),
        };
        return errors.into_iter().map(problem).collect();
    }
    let mut found: Vec<Problem> = Vec::new();
    for lookup in engine.lookups(NAME) {
        let fails = eras.possible.iter().filter_map(|era| Some((*era, unknown(era.data(), &lookup.path)?)));
        let fails: Vec<(Era, usize)> = fails.collect();
        let always = fails.len() == eras.possible.len();
        // That an old version may lack it says nothing where the version isn't known.
        let matters = |(era, _): &&(Era, usize)| always || *era == Era::Ga || eras.certain.contains(era);
        let Some((era, at)) = fails.iter().rfind(matters).copied() else { continue };
        let value = shown(&lookup.path[..=at]);
        if found.iter().any(|known| known.value == value) {
            continue;
        }
        let (why, help) = reason(&value, &lookup.path[..at], &fails, always, era);
        found.push(Problem {
            place: lookup.span.start as usize..lookup.span.end as usize,
            level: if always && lookup.is_certain { Level::Error } else { Level::Warning },
            title: format!(
                "reads `{value}`, which {}",
                if always { "is not there" } else { "is not always there" }
            ),
            why,
            help: Some(help),
            value,
        });
    }
    found
}

/// Why a field is not there, and what is.
fn reason(
    value: &str,
    before: &[PathStep],
    fails: &[(Era, usize)],
    always: bool,
    era: Era,
) -> (String, String) {
    let (gone, since, replacement) = match value {
        ".Updated" => (Some(7), None, Some("use `.Changed`")),
        ".Changed.ImageResult" => {
            (Some(7), Some(3), Some("use `.Changed.FileChanges` or `.Changed.Objects`"))
        }
        ".Changed" => (None, Some(3), None),
        ".Values" => (None, Some(5), None),
        _ => (None, None, None),
    };
    let is_later = fails.iter().any(|(era, _)| *era == Era::Ga);
    let when = match (gone, since) {
        (Some(minor), _) if is_later => format!("Flux 2.{minor} removed it"),
        (_, Some(minor)) => format!("it exists since Flux 2.{minor}"),
        _ => "it exists in no version".to_owned(),
    };
    let why = match always {
        true => format!("{when}: {STOPS}"),
        false => format!("{when}, and the versions of the clusters differ or are unknown: there {STOPS}"),
    };
    let help = match replacement.filter(|_| is_later) {
        Some(help) => help.to_owned(),
        None => {
            let members = at(era.data(), before).map(Ty::members).unwrap_or_default();
            let name = value.rsplit('.').next().unwrap_or(value);
            match suggest(name, members.iter().copied()) {
                Some(near) => format!("did you mean `{}.{near}`?", shown(before).trim_end_matches('.')),
                None if members.is_empty() => format!("`{}` is a text or a list", shown(before)),
                None => {
                    let names: Vec<String> = members.iter().map(|name| format!("`{name}`")).collect();
                    format!("of `{}` there are {}", shown(before), listed(&names))
                }
            }
        }
    };
    (why, help)
}

/// A path as templates write it.
fn shown(path: &[PathStep]) -> String {
    let step = |step: &PathStep| match step {
        PathStep::Field(name) => format!(".{name}"),
        PathStep::Element => "[]".to_owned(),
        PathStep::Key => "[key]".to_owned(),
    };
    if path.is_empty() { ".".to_owned() } else { path.iter().map(step).collect() }
}

/// Releases of Flux whose templates have the same data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Era {
    /// Before Flux 2.3.
    Updated,
    /// Flux 2.3 and 2.4.
    Changed,
    /// Flux 2.5 and 2.6.
    Values,
    /// From Flux 2.7 on.
    Ga,
}

const ERAS: [(Era, u32); 4] = [(Era::Updated, 0), (Era::Changed, 3), (Era::Values, 5), (Era::Ga, 7)];

impl Era {
    fn data(self) -> &'static Ty {
        match self {
            Era::Updated => &UPDATED,
            Era::Changed => &CHANGED,
            Era::Values => &VALUES,
            Era::Ga => &GA,
        }
    }
}

/// What the versions of some clusters may be.
struct Eras {
    /// All that one of them may be of; all there are where nothing is known.
    possible: Vec<Era>,
    /// Those that one of them surely is of.
    certain: Vec<Era>,
}

fn eras<'s>(settings: impl Iterator<Item = &'s Settings>) -> Eras {
    let of = |settings: &Settings| -> Vec<Era> {
        let may_be = |index: &usize| {
            let reaches = settings.flux_at_least(ERAS[*index].1) != Some(false);
            let goes_beyond =
                ERAS.get(index + 1).is_some_and(|(_, next)| settings.flux_at_least(*next) == Some(true));
            reaches && !goes_beyond
        };
        (0..ERAS.len()).filter(may_be).map(|index| ERAS[index].0).collect()
    };
    let each: Vec<Vec<Era>> = settings.map(of).collect();
    let certain = each.iter().filter(|eras| eras.len() == 1).flatten().copied().collect();
    let is_one = |era: &Era| each.is_empty() || each.iter().any(|eras| eras.contains(era));
    Eras { possible: ERAS.map(|(era, _)| era).into_iter().filter(is_one).collect(), certain }
}

/// A type of Go's, by what a template may ask of it.
enum Ty {
    /// Fields and methods.
    Struct(Members),
    /// A map with texts as keys.
    Map(&'static Ty),
    /// A map with other keys, which no field looks up.
    Keyed(&'static Ty, &'static Ty),
    List(&'static Ty),
    /// Text: it has no fields.
    Text,
    /// What is not judged.
    Any,
}

impl Ty {
    fn members(&self) -> Vec<&'static str> {
        match self {
            Ty::Struct(members) => members.iter().map(|(name, _)| *name).collect(),
            _ => Vec::new(),
        }
    }

    /// A part of it; nothing where Go can't evaluate it.
    fn step(&'static self, step: &PathStep) -> Option<&'static Ty> {
        match (self, step) {
            (Ty::Any, _) => Some(&Ty::Any),
            (Ty::Struct(members), PathStep::Field(name)) => {
                members.iter().find(|(known, _)| *known == &**name).map(|(_, ty)| ty)
            }
            (Ty::Map(value), PathStep::Field(_)) => Some(value),
            (Ty::Map(value) | Ty::Keyed(_, value) | Ty::List(value), PathStep::Element) => Some(value),
            (Ty::Map(_), PathStep::Key) => Some(&Ty::Text),
            (Ty::Keyed(key, _), PathStep::Key) => Some(key),
            (_, PathStep::Element | PathStep::Key) => Some(&Ty::Any),
            (Ty::Keyed(..) | Ty::List(_) | Ty::Text, PathStep::Field(_)) => None,
        }
    }
}

fn at(data: &'static Ty, path: &[PathStep]) -> Option<&'static Ty> {
    path.iter().try_fold(data, |ty, step| ty.step(step))
}

/// The first step of a path that Go can't evaluate.
fn unknown(data: &'static Ty, path: &[PathStep]) -> Option<usize> {
    let mut ty = data;
    for (index, step) in path.iter().enumerate() {
        match ty.step(step) {
            Some(next) => ty = next,
            None => return Some(index),
        }
    }
    None
}

/// Fields and methods of a struct.
type Members = &'static [(&'static str, Ty)];

/// `types.NamespacedName`
const NAMESPACED: Members =
    &[("Name", Ty::Text), ("Namespace", Ty::Text), ("String", Ty::Text), ("MarshalLog", Ty::Any)];
/// `update.ObjectIdentifier`
const OBJECT: Members = &[
    ("APIVersion", Ty::Text),
    ("Kind", Ty::Text),
    ("Name", Ty::Text),
    ("Namespace", Ty::Text),
    ("GetAPIVersion", Ty::Text),
    ("GetKind", Ty::Text),
    ("GetName", Ty::Text),
    ("GetNamespace", Ty::Text),
    ("NameMeta", Ty::Any),
    ("ResourceIdentifier", Ty::Any),
    ("TypeMeta", Ty::Any),
];
/// `update.ImageRef`
const IMAGE_REF: Members = &[
    ("Identifier", Ty::Text),
    ("Name", Ty::Text),
    ("Policy", Ty::Struct(NAMESPACED)),
    ("Registry", Ty::Text),
    ("Repository", Ty::Text),
    ("String", Ty::Text),
    ("Context", Ty::Any),
    ("Reference", Ty::Any),
    ("Scope", Ty::Any),
];
const OBJECT_IMAGES: Ty = Ty::Keyed(&Ty::Struct(OBJECT), &Ty::List(&Ty::Struct(IMAGE_REF)));
/// `update.Result` before Flux 2.7.
const RESULT: Members = &[
    ("Files", Ty::Map(&Ty::Struct(&[("Objects", OBJECT_IMAGES)]))),
    ("Images", Ty::List(&Ty::Struct(IMAGE_REF))),
    ("Objects", OBJECT_IMAGES),
];
/// `update.Change`
const CHANGE: Members = &[("NewValue", Ty::Text), ("OldValue", Ty::Text), ("Setter", Ty::Text)];
const CHANGES: Ty = Ty::List(&Ty::Struct(CHANGE));
/// `update.ObjectChanges`
const OBJECT_CHANGES: Ty = Ty::Keyed(&Ty::Struct(OBJECT), &CHANGES);
/// `update.ResultV2`
const RESULT_V2: Members = &[
    ("Changes", CHANGES),
    ("FileChanges", Ty::Map(&OBJECT_CHANGES)),
    ("ImageResult", Ty::Struct(RESULT)),
    ("Objects", OBJECT_CHANGES),
];
/// `update.Result` from Flux 2.7 on.
const RESULT_GA: Members =
    &[("Changes", CHANGES), ("FileChanges", Ty::Map(&OBJECT_CHANGES)), ("Objects", OBJECT_CHANGES)];

static UPDATED: Ty =
    Ty::Struct(&[("AutomationObject", Ty::Struct(NAMESPACED)), ("Updated", Ty::Struct(RESULT))]);
static CHANGED: Ty = Ty::Struct(&[
    ("AutomationObject", Ty::Struct(NAMESPACED)),
    ("Changed", Ty::Struct(RESULT_V2)),
    ("Updated", Ty::Struct(RESULT)),
]);
static VALUES: Ty = Ty::Struct(&[
    ("AutomationObject", Ty::Struct(NAMESPACED)),
    ("Changed", Ty::Struct(RESULT_V2)),
    ("Updated", Ty::Struct(RESULT)),
    ("Values", Ty::Map(&Ty::Text)),
]);
static GA: Ty = Ty::Struct(&[
    ("AutomationObject", Ty::Struct(NAMESPACED)),
    ("Changed", Ty::Struct(RESULT_GA)),
    ("Values", Ty::Map(&Ty::Text)),
]);
