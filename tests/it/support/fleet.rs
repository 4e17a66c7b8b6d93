//! Manifests of a fleet as `flux bootstrap` leaves it.

/// A Kustomization of the repository itself.
pub(crate) fn kustomization(name: &str, path: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: {name}
  namespace: flux-system
spec:
  interval: 10m
  path: {path}
  prune: true
  sourceRef: {{kind: GitRepository, name: flux-system}}
"
    )
}

/// The `gotk-sync.yaml` of a cluster whose directory this is.
pub(crate) fn sync(path: &str) -> String {
    format!(
        "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: flux-system
  namespace: flux-system
spec:
  interval: 1m
  url: https://git.example.com/fleet.git
---
{}",
        kustomization("flux-system", path)
    )
}
