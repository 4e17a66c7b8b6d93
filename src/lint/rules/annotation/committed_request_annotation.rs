//! `committed-request-annotation`: a one-off request, or a controller's own
//! record, that is kept in Git.
//! Source: fluxcd/pkg `apis/meta` (requests are compared with what the status
//! says was handled); Cluster API `api/core/v1beta2/common_types.go`.

use super::{known_entries, named};
use crate::lang::yaml::edit::{Operation, Prune};
use crate::lint::metadata::{map_of, title};
use crate::lint::{Applicability, Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::keys::KeyOwner;

pub(crate) static RULE: Rule = Rule {
    id: "committed-request-annotation",
    group: Group::Annotation,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a one-off request or a controller's record, kept in Git",
    fix: FixAvailability::Sometimes,
    docs: include_str!("../../../../tests/rules/annotation/committed-request-annotation.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    for known in known_entries(view) {
        let key = known.key;
        // `committed-hook-bypass` says more about this one.
        if key.name == "runtime.cluster.x-k8s.io/ok-to-delete" && &*view.id.kind == "Cluster" {
            continue;
        }
        if known.map.labels || !key.released || !matches!(key.class, KeyOwner::Request | KeyOwner::Internal) {
            continue;
        }
        let Some(location) = known.entry.key_location() else { continue };
        let (level, why, help) = match key.class {
            // Some bump it in Git to make a change reconcile at once.
            KeyOwner::Request if key.name == "reconcile.fluxcd.io/requestedAt" => (
                Level::Info,
                format!("it {}; a value that stays in Git asks once, when it is applied", key.effect),
                "run `flux reconcile` instead of committing it",
            ),
            KeyOwner::Request => (
                Level::Warning,
                format!("it {}; kept in Git it comes back whenever the object is made anew", key.effect),
                "remove it from Git and annotate the object in the cluster",
            ),
            _ => (
                Level::Warning,
                format!("{} {}; a value from Git is taken for the controller's own", named(key), key.effect),
                "remove it from Git",
            ),
        };
        let what =
            if key.class == KeyOwner::Request { "a one-off request" } else { "a controller's own record" };
        report
            .report(location, title(view.id, "", known.short(), &format!(" is {what}")))
            .level(level)
            .why(why)
            .help(help)
            .object(view.id)
            .field(known.pointer(), &*known.entry.key)
            .fix("remove it", Applicability::Unsafe, known.entry.value, |pointer| {
                match map_of(pointer, &known.entry.key) {
                    Some(_) => {
                        vec![Operation::RemoveKey { pointer: pointer.to_owned(), prune: Prune::Empty }]
                    }
                    None => Vec::new(),
                }
            });
    }
}
