//! No advice names an API that the version of a cluster lacks: every kind of Flux
//! in every version of its API, in clusters of every minor, with the mistakes that
//! move people to another one.

use forebay::internals::config::Config;
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::lint::engine::{self, LintOptions};
use forebay::internals::model::kinds::KINDS;
use forebay::internals::world::World;
use std::sync::Arc;

const SYNC: &str = "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: https://github.com/example/fleet}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 10m, path: ./clusters/prod, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
";

fn controller(minor: u32) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: source-controller\n  namespace: flux-system\n  \
         labels: {{app.kubernetes.io/part-of: flux, app.kubernetes.io/version: v2.{minor}.0}}\nspec:\n  selector: \
         {{matchLabels: {{app: a}}}}\n  template:\n    metadata: {{labels: {{app: a}}}}\n    spec: {{containers: \
         [{{name: manager, image: a}}]}}\n"
    )
}

#[test]
fn advice_fits_the_version() {
    let mut judged = 0;
    for minor in 0..=9 {
        let mut files = vec![
            ("clusters/prod/flux-system/gotk-sync.yaml".to_owned(), SYNC.to_owned()),
            ("clusters/prod/flux-system/controller.yaml".to_owned(), controller(minor)),
        ];
        for kind in KINDS.iter().filter(|kind| kind.group.ends_with("fluxcd.io")) {
            for version in kind.versions {
                let name = format!("{}-{}", kind.kind.to_ascii_lowercase(), version.version);
                let text = format!(
                    "apiVersion: {}/{}\nkind: {}\nmetadata:\n  name: {name}\n  namespace: flux-system\nspec:\n  \
                     interval: 5 min\n  summary: a\n  sourceRef: {{kind: OCIRepositry, name: a}}\n  chartRef: {{kind: \
                     HelmChart, name: a}}\n  gitImplementation: go-git\n",
                    kind.group, version.version, kind.kind
                );
                files.push((format!("clusters/prod/{name}.yaml"), text));
            }
        }
        let listed = files.iter().map(|(path, text)| (path.as_str(), text.clone().into_bytes()));
        let snapshot = Arc::new(Snapshot::memory(listed, Arc::new(Store::default())));
        let world = World::new(&snapshot, &Config::default(), &[]);
        for finding in engine::run(&world, &Config::default(), &LintOptions::default()).findings {
            let advice = format!(
                "{} {}",
                finding.help,
                finding.fixes.iter().map(|fix| fix.title.as_str()).collect::<Vec<_>>().join(" ")
            );
            for kind in KINDS {
                for version in kind.versions {
                    let named = format!("{}/{}", kind.group, version.version);
                    let is_named = advice.split([' ', ',', '`', ';']).any(|word| word == named);
                    let is_about = finding.objects.iter().any(|id| *id.kind == *kind.kind);
                    if !is_named || !is_about {
                        continue;
                    }
                    judged += 1;
                    let served =
                        version.since <= minor && version.removed.is_none_or(|removed| minor < removed);
                    // What arrives later may be named with the version that brings it.
                    let told = format!("{advice} {}", finding.why).contains(&format!("2.{}", version.since));
                    assert!(
                        served || told,
                        "Flux 2.{minor} has no {named} for {}: {}: {advice}",
                        kind.kind,
                        finding.rule.id
                    );
                }
            }
        }
    }
    assert!(judged > 30, "{judged}");
}
