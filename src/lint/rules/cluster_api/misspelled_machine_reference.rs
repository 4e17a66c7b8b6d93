//! `misspelled-machine-reference`: a Cluster or what makes its Machines names an object that
//! the same file has under a name like it.
//! Source: cluster-api `controllers/external/util.go` (`CloneTemplate`, `Get`);
//! `core/reconcilers/machineset` and `cluster`: what is not there is waited for.

use super::title;
use crate::lang::yaml::NodeRef;
use crate::lint::known_names::KnownNames;
use crate::lint::view::without_blanks;
use crate::lint::{Check, DocumentView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::ObjectId;
use rustc_hash::FxHashMap;

pub(crate) static RULE: Rule = Rule {
    id: "misspelled-machine-reference",
    group: Group::ClusterApi,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "a Cluster or what makes its Machines names an object nearly as the file has it",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/misspelled-machine-reference.md"),
    check: Check::Document(check),
};

/// Where objects of Cluster API name others. Each place has `kind`, `name` and `apiGroup`, or
/// `apiVersion` before v1beta2.
const REFERENCES: [&str; 7] = [
    "/spec/infrastructureRef",
    "/spec/controlPlaneRef",
    "/spec/machineTemplate/infrastructureRef",
    "/spec/machineTemplate/spec/infrastructureRef",
    "/spec/template/spec/infrastructureRef",
    "/spec/template/spec/bootstrap/configRef",
    "/spec/bootstrap/configRef",
];

/// The group and kind of an object, and the names that a file has of it.
type NamesOfKind<'a> = FxHashMap<(String, String), KnownNames<'a>>;

fn check(view: &DocumentView<'_>, report: &mut Reporter<'_>) {
    let objects: Vec<(ObjectId, NodeRef<'_>)> = view
        .sources
        .iter()
        .filter(|source| !source.document().tokens.is_empty())
        .filter_map(|source| {
            let root = NodeRef::Source(source, 0);
            Some((ObjectId::of(root)?, root))
        })
        .collect();
    if !objects.iter().any(|(id, _)| is_of_cluster_api(id)) {
        return;
    }
    let mut names = NamesOfKind::default();
    for (id, _) in &objects {
        let of_kind = names.entry((id.group().to_owned(), id.kind.to_string())).or_default();
        of_kind.push(without_blanks(&id.name).into());
    }
    for (id, node) in objects.iter().filter(|(id, _)| is_of_cluster_api(id)) {
        for pointer in REFERENCES {
            if let Some(reference) = node.at(pointer) {
                judge(view, id, pointer, reference, &names, report);
            }
        }
    }
}

/// Cluster API itself, and the providers of control planes.
fn is_of_cluster_api(id: &ObjectId) -> bool {
    matches!(id.group(), "cluster.x-k8s.io" | "controlplane.cluster.x-k8s.io")
}

fn judge(
    view: &DocumentView<'_>,
    id: &ObjectId,
    pointer: &str,
    reference: NodeRef<'_>,
    names: &NamesOfKind<'_>,
    report: &mut Reporter<'_>,
) {
    let stated = |key: &str| reference.get(key).and_then(NodeRef::as_str);
    let group = stated("apiGroup").map(|group| group.into_owned()).or_else(|| {
        let version = stated("apiVersion")?;
        Some(version.rsplit_once('/').map_or("", |(group, _)| group).to_owned())
    });
    let (Some(group), Some(kind), Some(name)) = (group, stated("kind"), stated("name")) else { return };
    let name = without_blanks(&name);
    let Some(known) = names.get(&(group.clone(), kind.to_string())) else { return };
    if known.contains(&name) {
        return;
    }
    let Some(near) = known.nearest(&name) else { return };
    // Another file may have it.
    let is_elsewhere = view.beyond().has_object(&group, &kind, &name);
    let place = reference.get("name").and_then(NodeRef::location).filter(|_| !is_elsewhere);
    let Some(place) = place else { return };
    report
        .report(place, title(id, &format!("no {kind} of this repository is called {name}")))
        .claims_absence()
        .why("what is not there is waited for: no Machine is made of it")
        .help(format!("did you mean `{near}`?"))
        .object(id)
        .field(format!("{pointer}/name"), name);
}
