//! `in-place-template-edit`: a template that standalone objects reference is
//! edited in place.
//! Source: Cluster API book, updating machine templates; neither bootstrap nor
//! infrastructure templates are watched for content.

use super::{change_scopes, place, title};
use crate::lint::{ChangeView, Check, FixAvailability, Group, Level, Reporter, Rule};
use crate::simulate::cluster_api::machines::{MachineChange, template_edits};
use crate::simulate::cluster_api::references::ScopedObject;

pub(crate) static RULE: Rule = Rule {
    id: "in-place-template-edit",
    group: Group::ClusterApi,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a referenced template is edited, which replaces no Machine",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/in-place-template-edit.md"),
    check: Check::Change(check),
};

fn check(view: &ChangeView<'_>, report: &mut Reporter<'_>) {
    for (before, after) in change_scopes(view) {
        for MachineChange { object: id, .. } in template_edits(&before, &after) {
            let found = after.objects.iter().find(|o: &ScopedObject<'_>| *o.id == id);
            let Some((object, location)) = found.and_then(|o| Some((o, place(o, "/spec")?))) else {
                continue;
            };
            report
                .report(location, title(object.id, "edited in place, so no Machine is replaced"))
                .why(
                    "what references it still names it: existing Machines stay, new ones differ from them; \
                     many providers reject the edit",
                )
                .help("give the changed template a new name and reference that")
                .object(object.id)
                .field("/spec", "");
        }
    }
}
