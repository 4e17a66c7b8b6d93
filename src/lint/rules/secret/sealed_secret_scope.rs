//! `sealed-secret-scope`: a SealedSecret is applied under another namespace or name than the
//! one that it was sealed for.
//! Source: sealed-secrets `pkg/apis/sealedsecrets/v1alpha1/sealedsecret_expansion.go`
//! (`EncryptionLabel`, `Unseal`): namespace and name are part of what is sealed, unless an
//! annotation widens the scope.

use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule, title};
use crate::model::ObjectId;

pub(crate) static RULE: Rule = Rule {
    id: "sealed-secret-scope",
    group: Group::Secret,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "a SealedSecret that is applied under another namespace or name than it was sealed for",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/secret/sealed-secret-scope.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !view.id.is("bitnami.com", "SealedSecret") || view.effective.is_none() || view.id.is_unknown() {
        return;
    }
    let widened = |scope: &str| {
        let pointer = format!("/metadata/annotations/sealedsecrets.bitnami.com~1{scope}");
        view.node.str_at(&pointer).is_some_and(|value| value == "true")
    };
    if widened("cluster-wide") {
        return;
    }
    // What `kubeseal` sealed for stands in the template that it writes.
    let sealed = |field: &str| view.node.str_at(&format!("/spec/template/metadata/{field}"));
    let applied = [("namespace", view.id.namespace.as_deref()), ("name", Some(&*view.id.name))];
    for (field, applied) in applied {
        if field == "name" && widened("namespace-wide") {
            continue;
        }
        let (Some(sealed), Some(applied)) = (sealed(field), applied) else { continue };
        if sealed == applied || sealed.contains(['$', '{', '?']) || applied.contains(['$', '{', '?']) {
            continue;
        }
        tell(view.id, view, field, &sealed, applied, report);
    }
}

fn tell(
    id: &ObjectId,
    view: &ObjectView<'_>,
    field: &str,
    sealed: &str,
    applied: &str,
    report: &mut Reporter<'_>,
) {
    let moved = view.node.location_at(&format!("/metadata/{field}")).or_else(|| view.node.location());
    let template = format!("/spec/template/metadata/{field}");
    let (Some(moved), Some(own)) = (moved, view.node.location_at(&template)) else { return };
    // What another file sets holds for others as well: this is the file to make again.
    let is_elsewhere = moved.file != own.file;
    let what = format!("it was sealed for {field} {sealed}, and is applied as {applied}");
    let (place, related) = if is_elsewhere { (own, moved) } else { (moved, own) };
    let finding = report.report(place, title(id, &what));
    finding.why(format!(
        "the {field} is part of what is sealed: the controller can't decrypt it (no key could decrypt \
         secret), and makes no Secret"
    ));
    finding.help(format!("seal it again for {field} {applied}, or with a wider `--scope`"));
    finding.object(id);
    if is_elsewhere {
        finding.field(template, sealed).related("what it is applied as", related);
    } else {
        finding.field(format!("/metadata/{field}"), applied).related("what it was sealed for", related);
    }
}
