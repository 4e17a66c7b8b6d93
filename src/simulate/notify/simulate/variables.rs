//! The variables of CEL expressions, and the commit status that one of them makes.

use super::SimulatedObject;
use super::emission::Emission;
use crate::lang::yaml::{Dialect, Known, NodeRef, Scalar};
use crate::model::text::Text;
use crate::simulate::notify::commit_status::{self, Cel};
use crate::simulate::notify::controllers::RuntimeKey;
use crate::simulate::notify::delivery::Provider;
use crate::simulate::notify::{InvolvedObject, Metadata};
use std::collections::BTreeMap;

/// `event`, `alert` and `provider` as a commit status expression sees them.
pub(super) fn variables(
    event: &Emission<'_>,
    combined: &Metadata<Text>,
    runtime_keys: &[RuntimeKey],
    alert: SimulatedObject<'_>,
    provider: Known<Option<&(SimulatedObject<'_>, Provider)>>,
) -> BTreeMap<String, Cel> {
    let object = &event.object;
    let given = |text: &str| match text {
        "" => Cel::Unknown,
        text => Cel::text(text),
    };
    let mut involved = vec![
        ("apiVersion", object.api_version.as_str()),
        ("kind", &object.kind),
        ("namespace", &object.namespace),
        ("name", &object.name),
    ];
    involved.retain(|(_, value)| !value.is_empty());
    let involved = involved.into_iter().map(|(key, value)| (key.to_owned(), Cel::text(value)));
    let mut involved: BTreeMap<String, Cel> = involved.collect();
    involved.insert("uid".to_owned(), Cel::Unknown);
    let mut metadata: BTreeMap<String, Cel> = combined
        .iter()
        .map(|(key, text)| (key.clone(), text.known().map_or(Cel::Unknown, Cel::text)))
        .collect();
    metadata.extend(runtime_keys.iter().map(|key| (key.key.to_owned(), Cel::Unknown)));
    let message = event.message.value().map_or(Cel::Unknown, Cel::text);
    let event = Cel::map([
        ("involvedObject", Cel::Map(involved)),
        ("severity", given(event.severity)),
        ("message", message),
        ("reason", given(event.reason)),
        ("reportingController", given(event.reporting_controller)),
        ("timestamp", Cel::Unknown),
        ("metadata", Cel::Map(metadata)),
    ]);
    let stored = |item: SimulatedObject<'_>| {
        let mut object = cel(item.node, 0);
        if let Cel::Map(object) = &mut object
            && let Some(Cel::Map(metadata)) = object.get_mut("metadata")
        {
            metadata.insert("uid".to_owned(), Cel::Unknown);
        }
        object
    };
    let provider = match provider {
        Known::Value(Some((item, _))) => stored(*item),
        _ => Cel::Unknown,
    };
    BTreeMap::from([
        ("event".to_owned(), event),
        ("alert".to_owned(), stored(alert)),
        ("provider".to_owned(), provider),
    ])
}

/// Nesting of objects that expressions can look into.
const MAX_DEPTH: usize = 16;

fn cel(node: NodeRef<'_>, depth: usize) -> Cel {
    if node.is_unknown() || node.is_seq() || depth > MAX_DEPTH {
        return Cel::Unknown;
    }
    if node.is_map() {
        let present = node.entries().filter(|entry| !entry.value.is_null());
        return Cel::Map(present.map(|entry| (entry.key.to_string(), cel(entry.value, depth + 1))).collect());
    }
    match node.scalar(Dialect::GoYamlV3) {
        Scalar::Str(text) => Cel::text(&text),
        Scalar::Bool(value) => Cel::Bool(value),
        Scalar::Int(value) => Cel::Int(value),
        _ => Cel::Unknown,
    }
}

/// Which status a commit gets: the context by which the forge tells them apart,
/// which ends in the first part of the Provider's UID, or what an expression says,
/// and the name in its description.
///
/// Mirrors notification-controller `internal/notifier/util.go`,
/// `generateCommitStatusID` and `formatNameAndDescription`.
pub(super) fn commit_status_of(
    object: &InvolvedObject,
    expression: Option<&Text>,
    variables: &BTreeMap<String, Cel>,
) -> String {
    let name = format!("{}/{}", object.kind, object.name).to_lowercase();
    let context = match expression {
        None => format!("{name}/<uid of the Provider>"),
        Some(text) => match text.known().map(|text| commit_status::evaluate(text, variables)) {
            Some(Known::Value(Ok(context))) => context,
            Some(Known::Value(Err(_))) => "none, its expression fails".to_owned(),
            _ => "<what commitStatusExpr says at run time>".to_owned(),
        },
    };
    format!("context {context}, name {name}")
}
