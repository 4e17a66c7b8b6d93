//! `misspelled-machine-reference`: a Cluster or what makes its Machines names an object that
//! the same file has under a name like it.
//! Source: cluster-api `controllers/external/util.go` (`CloneTemplate`, `Get`);
//! `core/reconcilers/machineset` and `cluster`: what is not there is waited for.

use super::title;
use crate::lang::text::nearest;
use crate::lang::yaml::NodeRef;
use crate::lint::{Check, DocumentView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::ObjectId;
use rustc_hash::FxHashMap;

pub(crate) static RULE: Rule = Rule {
    id: "misspelled-machine-reference",
    group: Group::ClusterApi,
    level: Level::Warning,
    default: true,
    since: "0.3.0",
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

/// References of one file that are looked at: each may be looked up in the whole repository.
const MOST: usize = 1000;

/// The group and kind of an object, and the names that a file has of it.
type NamesOfKind = FxHashMap<(String, String), Vec<String>>;

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
    let mut others = 0;
    for (id, _) in &objects {
        names.entry((id.group().to_owned(), id.kind.to_string())).or_default().push(plain(&id.name));
    }
    for (id, node) in objects.iter().filter(|(id, _)| is_of_cluster_api(id)) {
        for pointer in REFERENCES {
            if let Some(reference) = node.at(pointer) {
                judge(view, id, pointer, reference, &names, report);
                others += 1;
            }
            if others > MOST {
                return;
            }
        }
    }
}

/// Cluster API itself, and the providers of control planes.
fn is_of_cluster_api(id: &ObjectId) -> bool {
    matches!(id.group(), "cluster.x-k8s.io" | "controlplane.cluster.x-k8s.io")
}

/// A name without the blanks that clusterctl takes in `${ NAME }`.
/// Source: cluster-api `cmd/clusterctl/client/yamlprocessor/simple_processor.go`.
fn plain(name: &str) -> String {
    name.replace("${ ", "${").replace(" }", "}")
}

fn judge(
    view: &DocumentView<'_>,
    id: &ObjectId,
    pointer: &str,
    reference: NodeRef<'_>,
    names: &NamesOfKind,
    report: &mut Reporter<'_>,
) {
    let stated = |key: &str| reference.get(key).and_then(NodeRef::as_str);
    let group = stated("apiGroup").map(|group| group.into_owned()).or_else(|| {
        let version = stated("apiVersion")?;
        Some(version.rsplit_once('/').map_or("", |(group, _)| group).to_owned())
    });
    let (Some(group), Some(kind), Some(name)) = (group, stated("kind"), stated("name")) else { return };
    let name = plain(&name);
    let Some(known) = names.get(&(group.clone(), kind.to_string())) else { return };
    if known.contains(&name) {
        return;
    }
    let Some(near) = nearest(&name, known.iter().map(String::as_str)) else { return };
    // Another file may have it.
    let is_elsewhere = view.beyond().snapshot.objects().iter().any(|object| {
        plain(&object.id.name) == name && *object.id.kind == *kind && object.id.group() == group
    });
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
