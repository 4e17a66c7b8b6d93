//! Tests of the module.

use super::*;

#[test]
fn rows_are_whole() {
    assert_eq!(table_faults(&FLUX), Vec::<String>::new());
}

#[test]
fn keys_are_told_apart() {
    let cases = [
        ("kustomize.toolkit.fluxcd.io/prune", "known kustomize.toolkit.fluxcd.io/prune"),
        ("event.toolkit.fluxcd.io/image", "known event.toolkit.fluxcd.io/"),
        ("toolkit.fluxcd.io/tenant", "known toolkit.fluxcd.io/tenant"),
        ("toolkit.fluxcd.io/team", "foreign"),
        ("kustomize.toolkit.fluxcd.io/purne", "near kustomize.toolkit.fluxcd.io/prune"),
        ("kustomize.toolkit.fluxcd.io/Prune", "near kustomize.toolkit.fluxcd.io/prune"),
        ("kustomize.toolkit.fluxcd.io/colour", "unknown"),
        ("helm.toolkit.fluxcd.io/drift-detection", "near helm.toolkit.fluxcd.io/driftDetection"),
        ("kustomize.toolkit.fluxcd.io/driftDetection", "prefix helm.toolkit.fluxcd.io/driftDetection"),
        ("events.toolkit.fluxcd.io/image", "prefix event.toolkit.fluxcd.io/image"),
        ("event.fluxcd.io/image", "prefix event.toolkit.fluxcd.io/image"),
        ("event.toolkit.fluxcd.com/image", "prefix event.toolkit.fluxcd.io/image"),
        ("event.toolkit.fluxcd.io", "prefix event.toolkit.fluxcd.io/<name>"),
        ("event.toolkit.fluxcd.io-image", "prefix event.toolkit.fluxcd.io/image"),
        ("kustomise.toolkit.fluxcd.io/prune", "prefix kustomize.toolkit.fluxcd.io/prune"),
        ("kustomization.toolkit.fluxcd.io/substitute", "prefix kustomize.toolkit.fluxcd.io/substitute"),
        ("kustomize.fluxcd.io/ssa", "prefix kustomize.toolkit.fluxcd.io/ssa"),
        ("reconcile.toolkit.fluxcd.io/requestedAt", "prefix reconcile.fluxcd.io/requestedAt"),
        ("helm.fluxcd.io/antecedent", "foreign"),
        ("fluxcd.io/automated", "foreign"),
        ("infra.contrib.fluxcd.io/force", "foreign"),
        ("infra.contrib.fluxcd.io/state", "foreign"),
        ("flux.weave.works/automated", "foreign"),
        ("example.com/prune", "foreign"),
        ("events.example.com/image", "foreign"),
        ("fluxcd", "foreign"),
    ];
    for (key, expected) in cases {
        let found = match FLUX.standing(key) {
            KeyStanding::Known(k) => format!("known {}", k.name),
            KeyStanding::WrongPrefix(meant) => format!("prefix {}", meant[0]),
            KeyStanding::NearMiss(k) => format!("near {}", k.name),
            KeyStanding::Unknown => "unknown".into(),
            KeyStanding::Open => "open".into(),
            KeyStanding::Foreign => "foreign".into(),
        };
        assert_eq!(found, expected, "{key}");
    }
}

#[test]
fn values_are_read_as_their_controllers_do() {
    use ValueReading::{Effective, Idle, Unread};
    let cases = [
        ("kustomize.toolkit.fluxcd.io/prune", "disabled", Effective),
        ("kustomize.toolkit.fluxcd.io/prune", "Disabled", Effective),
        ("kustomize.toolkit.fluxcd.io/prune", "enabled", Idle),
        ("kustomize.toolkit.fluxcd.io/prune", "", Idle),
        ("kustomize.toolkit.fluxcd.io/prune", "false", Unread),
        ("kustomize.toolkit.fluxcd.io/prune", "disabled ", Unread),
        ("kustomize.toolkit.fluxcd.io/substitute", "disabled", Effective),
        ("kustomize.toolkit.fluxcd.io/substitute", "Disabled", Unread),
        ("kustomize.toolkit.fluxcd.io/substitute", "Enabled", Idle),
        ("kustomize.toolkit.fluxcd.io/ssa", "merge", Effective),
        ("kustomize.toolkit.fluxcd.io/ssa", "Replace", Unread),
        ("reconcile.fluxcd.io/watch", "Enabled", Effective),
        ("reconcile.fluxcd.io/watch", "enabled", Unread),
        ("fluxcd.controlplane.io/reconcileEvery", "1h30m", Effective),
        ("fluxcd.controlplane.io/reconcileEvery", "1.5h", Effective),
        ("fluxcd.controlplane.io/reconcileEvery", "1d", Unread),
        ("fluxcd.controlplane.io/reconcileEvery", "10", Unread),
        ("fluxcd.controlplane.io/reconcileEvery", "", Unread),
        ("open.gate.fluxcd.io/requestedAt", "2026-03-26T10:00:00Z", Effective),
        ("open.gate.fluxcd.io/requestedAt", "2026-03-26T10:00:00.5+01:00", Effective),
        ("open.gate.fluxcd.io/requestedAt", "2026-03-26 10:00:00Z", Unread),
        ("open.gate.fluxcd.io/requestedAt", "2026-03-26", Unread),
        ("open.gate.fluxcd.io/requestedAt", "2026-13-26T10:00:00Z", Unread),
        (
            "gcp.auth.fluxcd.io/workload-identity-provider",
            "projects/12/locations/global/workloadIdentityPools/p/providers/q",
            Effective,
        ),
        ("gcp.auth.fluxcd.io/workload-identity-provider", "my-pool", Unread),
    ];
    for (key, value, expected) in cases {
        assert_eq!(FLUX.lookup(key).unwrap().value.read(value), expected, "{key}: {value}");
    }
}

#[test]
fn a_misread_value_suggests_the_word_that_was_meant() {
    let cases = [
        ("kustomize.toolkit.fluxcd.io/substitute", "Disabled", Some("disabled")),
        ("kustomize.toolkit.fluxcd.io/prune", "disable", Some("disabled")),
        ("kustomize.toolkit.fluxcd.io/ssa", "IfNotPresnt", Some("IfNotPresent")),
        ("kustomize.toolkit.fluxcd.io/prune", "false", None),
        ("fluxcd.controlplane.io/reconcileEvery", "1d", None),
    ];
    for (key, value, expected) in cases {
        assert_eq!(FLUX.lookup(key).unwrap().value.meant(value), expected, "{key}: {value}");
    }
}
