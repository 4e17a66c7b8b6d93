//! `undefined-name-in-object`: a field names an entry of a list of the same object, which has
//! no such entry.
//! Source: CloudNativePG `internal/webhook/v1/cluster_webhook.go`
//! (`validateBootstrapRecoverySource`, `validateBootstrapPgBaseBackupSource`,
//! `validateImport`, `validateReplicaMode`); prometheus-operator
//! `pkg/alertmanager/validation/v1alpha1/validation.go` (`validateAlertmanagerRoutes`).

use super::{dotted, is_open, text};
use crate::lang::yaml::NodeRef;
use crate::lint::known_names::KnownNames;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::ObjectId;

pub(crate) static RULE: Rule = Rule {
    id: "undefined-name-in-object",
    group: Group::Workload,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a field names an entry that the same object does not have",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/workload/undefined-name-in-object.md"),
    check: Check::Object(check),
};

/// Fields of a kind that name entries of one of its lists.
struct NamingFields {
    fields: &'static [&'static str],
    /// The list; each entry has its name in `name`.
    list: &'static str,
    /// Whether entries may also come from elsewhere, so that only a misspelled one is told.
    is_open: bool,
    consequence: &'static str,
}

static POSTGRES: NamingFields = NamingFields {
    fields: &[
        "/spec/bootstrap/recovery/source",
        "/spec/bootstrap/pg_basebackup/source",
        "/spec/bootstrap/initdb/import/source/externalCluster",
        "/spec/replica/source",
    ],
    list: "/spec/externalClusters",
    is_open: false,
    consequence: "the operator's webhook refuses the object",
};

static ALERTMANAGER_CONFIG: NamingFields = NamingFields {
    fields: &["/spec/route/receiver"],
    list: "/spec/receivers",
    // Grafana Alloy reads these objects too, and takes receivers of its own configuration.
    is_open: true,
    consequence: "the operator leaves the object out: its alerts are sent nowhere",
};

/// Routes below routes that are looked at.
const DEEPEST: usize = 16;

fn naming(id: &ObjectId) -> Option<&'static NamingFields> {
    match (id.group(), &*id.kind) {
        ("postgresql.cnpg.io", "Cluster") => Some(&POSTGRES),
        ("monitoring.coreos.com", "AlertmanagerConfig") => Some(&ALERTMANAGER_CONFIG),
        _ => None,
    }
}

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let Some(naming) = naming(view.id) else { return };
    let names = view.node.items_at(naming.list).map(|entry| entry.get("name").and_then(text));
    let Some(known) = names.collect::<Option<KnownNames<'_>>>() else { return };
    for field in naming.fields {
        if let Some(node) = view.node.at(field) {
            judge(view, naming, node, field, &known, report);
        }
    }
    routes(view, naming, view.node.at("/spec/route"), "/spec/route", 0, &known, report);
}

/// The routes of an AlertmanagerConfig, which nest.
fn routes(
    view: &ObjectView<'_>,
    naming: &NamingFields,
    route: Option<NodeRef<'_>>,
    pointer: &str,
    depth: usize,
    known: &KnownNames<'_>,
    report: &mut Reporter<'_>,
) {
    let inner = route.and_then(|route| route.get("routes")).filter(|_| depth < DEEPEST);
    for (index, route) in inner.into_iter().flat_map(NodeRef::items).enumerate() {
        let pointer = format!("{pointer}/routes/{index}");
        if let Some(node) = route.get("receiver") {
            judge(view, naming, node, &format!("{pointer}/receiver"), known, report);
        }
        routes(view, naming, Some(route), &pointer, depth + 1, known, report);
    }
}

fn judge(
    view: &ObjectView<'_>,
    naming: &NamingFields,
    node: NodeRef<'_>,
    pointer: &str,
    known: &KnownNames<'_>,
    report: &mut Reporter<'_>,
) {
    let Some(name) = text(node).filter(|name| !name.is_empty() && !is_open(name) && !known.contains(name))
    else {
        return;
    };
    let near = known.nearest(&name);
    let Some(location) = node.location().filter(|_| near.is_some() || !naming.is_open) else { return };
    let list = dotted(naming.list);
    let finding = report
        .report(location, format!("{}: `{}` names no entry of {list}", view.id, dotted(pointer)))
        .why(naming.consequence)
        .label(format!("{list} has no {name}"))
        .object(view.id)
        .field(pointer, &*name);
    finding.help(match near {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => format!("define it in {list}, or remove this"),
        None => format!("defined are {}", known.first().0),
    });
    if let Some(place) = view.node.location_at(naming.list) {
        finding.related(list, place);
    }
}
