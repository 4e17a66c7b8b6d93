//! Fields and values that the API server doesn't take.

pub(crate) mod duplicate_list_item;
pub(crate) mod field_not_available;
pub(crate) mod malformed_admission_expression;
pub(crate) mod malformed_field_value;
pub(crate) mod missing_field;
pub(crate) mod rejected_by_rule;
pub(crate) mod unknown_field;

use crate::lang::text::clean;
use crate::lang::yaml::{Dialect, Known, Location, NodeRef, Scalar, pointer_join, pointer_segments};
use crate::lint::metadata::map_of;
use crate::lint::validity::{Judged, Verdict};
use crate::lint::{Level, ObjectView};
use crate::model::workloads::are_pods_unread;
use crate::model::{ObjectId, kinds};
use crate::schema::{Additional, Fault, Malformed, Product, Schema, Types, schema_at, validate_value};
use crate::simulate::behaviour;
use crate::world::Cluster;
use crate::world::schemas::Basis;

/// A JSON Pointer as people write fields: `spec.dependsOn[0].name`.
pub(crate) fn dotted(pointer: &str) -> String {
    let mut text = String::new();
    for segment in pointer_segments(pointer) {
        if !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit()) {
            text.push_str(&format!("[{segment}]"));
        } else if segment.contains(['.', '/']) {
            text.push_str(&format!("[\"{segment}\"]"));
        } else {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(&segment);
        }
    }
    text
}

/// A title about a field: `Kind namespace/name: before` + its path + `after`.
fn title(id: &ObjectId, before: &str, pointer: &str, after: &str) -> String {
    crate::lint::metadata::title(id, before, &dotted(pointer), after)
}

/// Whether another rule tells more about a place, whatever is wrong there.
fn is_told_elsewhere(view: &ObjectView<'_>, pointer: &str) -> bool {
    // `unknown-provider-type` knows which version has a type.
    if view.id.is(kinds::NOTIFICATION, "Provider") && pointer == "/spec/type" {
        return true;
    }
    // Values of labels, annotations and data: `non-string-metadata-value`.
    let data = matches!((view.id.group(), &*view.id.kind), ("", "ConfigMap" | "Secret"))
        && ["/data/", "/stringData/", "/binaryData/"].iter().any(|start| pointer.starts_with(start));
    data || pointer == "/metadata/labels"
        || view
            .metadata()
            .iter()
            .any(|map| pointer.strip_prefix(&*map.pointer).is_some_and(|rest| rest.starts_with('/')))
}

/// The faults of an object that this group has to tell.
fn faults<'v, 'a>(
    view: &'v ObjectView<'a>,
    verdict: &'v Verdict<'a>,
) -> impl Iterator<Item = &'v Judged<'a>> {
    verdict.faults.iter().filter(|fault| !is_told_elsewhere(view, &fault.violation.pointer))
}

/// The level of a fault: what is dropped, or known at one release only, warns.
fn level(fault: &Judged<'_>) -> Level {
    if fault.normalised { Level::Warning } else { fault.level }
}

/// What the API server does with the object, and what follows.
fn refusal(view: &ObjectView<'_>, fault: &Judged<'_>) -> String {
    let who = match fault.basis {
        Basis::Cluster => "by the definition that this cluster applies, ".to_owned(),
        Basis::Repository => {
            let file = fault.file.map_or("this repository", |file| &**file);
            format!("by the definition in {}, ", clean(file))
        }
        Basis::Catalogue => "by the configured schemas, ".to_owned(),
        Basis::Version { product, release } => {
            format!("with {} {}, ", product.name(), product.releases()[release])
        }
        Basis::Any(_) => String::new(),
    };
    let maker = maker(view, fault);
    if let Some((id, cluster)) = maker.as_ref().filter(|(id, _)| kinds::is_helm_release(id)) {
        return format!("{who}{}", of_release(id, cluster, fault));
    }
    if fault.native && is_of_unread_pods(view.id, fault) {
        return super::workload::refusal_of_pods(view.id, "refuses");
    }
    // A definition that nothing here applies may not be the one that is served.
    match (view.is_built() || maker.is_some()) && fault.basis != Basis::Repository {
        true => format!("{who}the API server refuses the object{}", consequence(maker.map(|(id, _)| id))),
        false => format!("{who}the API server would refuse the object"),
    }
}

/// Whether the API server comes to a fault only as it makes a Pod: types it always sees.
fn is_of_unread_pods(id: &ObjectId, fault: &Judged<'_>) -> bool {
    let is_of_type = match &fault.violation.fault {
        Fault::MissingField { .. } => false,
        Fault::Malformed { what, .. } => matches!(what, Malformed::Type(_)),
        _ => true,
    };
    let inside = fault.violation.pointer.strip_prefix("/spec/template/spec/");
    are_pods_unread(id) && !is_of_type && inside.is_some_and(|field| field != "restartPolicy")
}

/// What makes the object in a cluster where the fault is.
fn maker<'a>(view: &ObjectView<'a>, fault: &Judged<'_>) -> Option<(&'a ObjectId, &'a Cluster)> {
    let named = view.memberships().filter(|(cluster, _)| cluster.name.is_some());
    let mut here = named.filter(|(cluster, _)| fault.cluster.is_none_or(|own| std::ptr::eq(own, *cluster)));
    here.find_map(|(cluster, member)| Some((cluster.made_by(member.maker)?.0, cluster)))
}

/// `, and the apply of Kustomization ns/name fails with it`: all of them apply server-side.
/// Source: fluxcd/pkg `ssa/manager_apply.go`, which kustomize-controller and flux-operator
/// share.
fn consequence(maker: Option<&ObjectId>) -> String {
    match maker.filter(|id| kinds::is_kustomization(id) || id.is(kinds::OPERATOR, "ResourceSet")) {
        Some(id) => format!(", and the apply of {id} fails with it"),
        None => String::new(),
    }
}

/// What becomes of a release with such an object. Helm 4 asks for strict validation with
/// every write (helm `pkg/kube/client.go` of 4.1, `Create`, `Update`). Helm 3 sends no such
/// wish: `createResource` and `updateResource` of 3.17 leave it to the API server, which
/// drops a field that it does not know and warns; other faults it refuses.
fn of_release(id: &ObjectId, cluster: &Cluster, fault: &Judged<'_>) -> String {
    let refused = format!("the API server refuses the object, and {id} fails with it");
    if !matches!(fault.violation.fault, Fault::UnknownField { .. } | Fault::Duplicate { .. }) {
        return refused;
    }
    let dropped =
        format!("Helm 3 leaves the field to the API server, which drops it: {id} goes on without it");
    match behaviour::SERVER_SIDE_RELEASES.of(&cluster.settings) {
        Known::Value(true) => refused,
        Known::Value(false) => dropped,
        Known::Unknown => format!("with Helm 4, since Flux 2.8, {refused}; {dropped}"),
    }
}

/// Whose versions don't have a field, where the version that judges is unknown:
/// `no supported version of Flux has it: `.
fn of_versions(fault: &Judged<'_>) -> String {
    match fault.basis {
        Basis::Any(product @ (Product::Flux | Product::ClusterApi)) => {
            format!("no supported version of {} has it: ", product.name())
        }
        Basis::Any(product @ Product::Operator(_)) => {
            let releases = product.releases();
            let (first, last) = (releases.first().unwrap_or(&""), releases.last().unwrap_or(&""));
            format!("no release of {} from {first} to {last} has it: ", product.name())
        }
        Basis::Any(Product::Kubernetes) if fault.native => "Kubernetes doesn't have it: ".to_owned(),
        Basis::Any(Product::Kubernetes) => "no channel of Gateway API has it: ".to_owned(),
        _ => String::new(),
    }
}

/// Where a fault is shown: its key for a field, its value otherwise.
fn place(view: &ObjectView<'_>, node: NodeRef<'_>, pointer: &str) -> Option<Location> {
    node.location().or_else(|| view.node.location_at(pointer))
}

/// Where a field of this name and value belongs, when it is another level and there
/// is only one: above first, then below.
fn other_level(
    root: &Schema,
    view: &ObjectView<'_>,
    fault: &Judged<'_>,
    name: &str,
    parent: &Schema,
) -> Option<String> {
    let (own, _) = fault.violation.pointer.rsplit_once('/')?;
    let value = fault.violation.node;
    let takes = |schema: &Schema, at: &str| {
        schema.property(name).is_some_and(|field| {
            let pointer = pointer_join(at, name);
            validate_value(value, field, &pointer, Default::default()).violations.is_empty()
                && view.node.at(&pointer).is_none()
        })
    };
    let mut above = own;
    while let Some((upper, _)) = above.rsplit_once('/') {
        above = upper;
        let schema = schema_at(root, above)?;
        if takes(schema, above) {
            return Some(pointer_join(above, name));
        }
    }
    let mut found: Vec<String> = Vec::new();
    let mut open: Vec<(String, &Schema, u8)> = vec![(own.to_owned(), parent, 0)];
    while let Some((at, schema, depth)) = open.pop() {
        for (key, child) in &schema.properties {
            let below = pointer_join(&at, key);
            if matches!(&*below, "/status" | "/metadata") {
                continue;
            }
            let child = child.get();
            if takes(child, &below) {
                found.push(pointer_join(&below, name));
            } else if depth == 0 && own.is_empty() && key == "spec" {
                open.push((below, child, 1));
            }
        }
    }
    found.sort_by_key(|pointer| pointer.matches('/').count());
    match found.as_slice() {
        [only] => Some(only.clone()),
        [first, second, ..] if first.matches('/').count() < second.matches('/').count() => {
            Some(first.clone())
        }
        _ => None,
    }
}

/// What a value may be, in words.
pub(crate) fn expected(schema: &Schema) -> String {
    if schema.int_or_string {
        return "an integer or a string".to_owned();
    }
    if schema.quantity {
        return "a quantity such as `500m` or `1Gi`".to_owned();
    }
    let words: Vec<&str> = schema
        .types
        .names()
        .map(|name| match name {
            "string" => "a string",
            "integer" => "an integer",
            "number" => "a number",
            "boolean" => "a boolean",
            "object" => "a map",
            _ => "a list",
        })
        .collect();
    match words.as_slice() {
        [] => "another value".to_owned(),
        words => words.join(" or "),
    }
}

/// A scalar for a title, quoted by the caller.
fn shown(view: &ObjectView<'_>, node: NodeRef<'_>) -> Option<String> {
    if view.id.is("", "Secret") {
        return None;
    }
    let text = node.text()?;
    Some(crate::lint::metadata::clipped(&text, 40))
}

/// Whether the text of a value holds the key that its place ends in: then the key
/// may be renamed. In a JSON patch it doesn't.
fn is_key_of(pointer: &str, key: &str) -> bool {
    map_of(pointer, key).is_some()
}

/// A short name for the fields that a map has.
fn fields_of(schema: &Schema) -> Option<String> {
    let names: Vec<String> = schema.names().map(|name| format!("`{name}`")).collect();
    match names.len() {
        0 => None,
        1..=12 => Some(names.join(", ")),
        _ => None,
    }
}

/// Whether the scalar is a string in the text already.
fn is_string(node: NodeRef<'_>) -> bool {
    matches!(node.scalar(Dialect::GoYamlV3), Scalar::Str(_) | Scalar::Timestamp(_))
}

/// Whether a schema takes strings.
fn takes_strings(schema: &Schema) -> bool {
    schema.types.has(Types::STRING) && !matches!(schema.additional, Additional::Of(_))
}
