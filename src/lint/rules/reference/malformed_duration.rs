//! `malformed-duration`: a duration that the API server rejects.
//! Source: the validation patterns of each CRD; kustomize-controller
//! `GetTimeout` (floor of 30s).

use crate::lang::go::duration::{GoDuration, matches_interval_pattern, matches_timeout_pattern};
use crate::lint::metadata::has_hole;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::ObjectId;
use crate::model::kinds::{HELM, IMAGE, KUSTOMIZE, NOTIFICATION, SOURCE};

pub(crate) static RULE: Rule = Rule {
    id: "malformed-duration",
    group: Group::Reference,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a duration that the API server rejects",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/reference/malformed-duration.md"),
    check: Check::Object(check),
};

/// Fields with the pattern `^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`.
fn intervals(id: &ObjectId) -> &'static [&'static str] {
    match (id.group(), &*id.kind) {
        (KUSTOMIZE, "Kustomization") => &["/spec/interval", "/spec/retryInterval", "/spec/timeout"],
        (HELM, "HelmRelease") => &[
            "/spec/interval",
            "/spec/timeout",
            "/spec/chart/spec/interval",
            "/spec/install/timeout",
            "/spec/upgrade/timeout",
            "/spec/rollback/timeout",
            "/spec/uninstall/timeout",
            "/spec/test/timeout",
        ],
        (SOURCE, "GitRepository" | "OCIRepository" | "Bucket" | "HelmRepository" | "HelmChart")
        | (IMAGE, "ImageRepository" | "ImageUpdateAutomation" | "ImagePolicy")
        | (NOTIFICATION, "Receiver") => &["/spec/interval"],
        _ => &[],
    }
}

/// Fields with the same pattern without `h`.
fn timeouts(id: &ObjectId) -> &'static [&'static str] {
    match (id.group(), &*id.kind) {
        (SOURCE, "GitRepository" | "OCIRepository" | "Bucket" | "HelmRepository")
        | (IMAGE, "ImageRepository")
        | (NOTIFICATION, "Provider") => &["/spec/timeout"],
        _ => &[],
    }
}

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    for pointer in intervals(view.id) {
        field(view, pointer, matches_interval_pattern, "ms, s, m and h, such as `1h30m`", report);
    }
    for pointer in timeouts(view.id) {
        field(view, pointer, matches_timeout_pattern, "ms, s and m, such as `90s` or `60m`", report);
    }
    short_timeout(view, report);
}

fn field(
    view: &ObjectView<'_>,
    pointer: &str,
    matches: fn(&str) -> bool,
    units: &str,
    report: &mut Reporter<'_>,
) {
    let Some(node) = view.node.at(pointer).filter(|node| !node.is_null() && !node.is_unknown()) else {
        return;
    };
    let Some(text) = node.text().filter(|text| !has_hole(text)) else { return };
    let Some(location) = node.location() else { return };
    let name = pointer.trim_start_matches("/spec/").replace('/', ".");
    if node.as_str().is_none() {
        report
            .report(location, format!("{}: {name} is a number, not a duration", view.id))
            .why("the API server rejects a value that is no string")
            .help(format!("write a string with a unit of {units}"))
            .object(view.id)
            .field(pointer, &*text);
    } else if !matches(&text) {
        report
            .report(location, format!("{}: {name} `{text}` is no duration here", view.id))
            .why("it does not match the pattern of the field, so the API server rejects the object")
            .help(format!("write numbers with units of {units}"))
            .object(view.id)
            .field(pointer, &*text);
    }
}

/// A Kustomization's timeout below 30s silently becomes 30s.
fn short_timeout(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !crate::model::kinds::is_kustomization(view.id) {
        return;
    }
    let Some(node) = view.node.at("/spec/timeout") else { return };
    let Some(text) = node.as_str().filter(|text| matches_interval_pattern(text)) else { return };
    let short = GoDuration::parse(&text).is_ok_and(|timeout| timeout.nanoseconds() < 30_000_000_000);
    if let Some(location) = node.location().filter(|_| short) {
        report
            .report(location, format!("{}: timeout {text} becomes 30s", view.id))
            .level(Level::Info)
            .why("kustomize-controller raises timeouts below 30s to 30s")
            .help("write 30s or more")
            .object(view.id)
            .field("/spec/timeout", &*text);
    }
}
