//! Changes of repositories, for `plan`, and repositories for other commands.

use super::charts::read;
use super::clusters::{alert, app, kustomizations, object};
use super::{Files, SYNC, config_map, deployment, each, files, kustomization, kustomized};

/// A name, the smallest size, and a repository of a size before and after a change.
pub(crate) type Change = (&'static str, usize, fn(usize) -> (Files, Files));

/// All of them.
pub(super) const ALL: &[Change] = &[
    ("objects that get a prefix", 40, |count| {
        let app = |prefix: &str| {
            let all = each(count, |at| deployment(at) + &config_map(&format!("c{at}")));
            let mut found = kustomized("labels", "- pairs: {a: b}\n", all);
            found[1].1.push_str(prefix);
            found
        };
        (app(""), app("namePrefix: x-\n"))
    }),
    ("Kustomizations that apply one directory, and go", 40, |count| {
        let all = each(count, |at| kustomization(&format!("k{at}"), "./app", ""));
        let with = |all: &str| {
            files(&[("clusters/a/sync.yaml", SYNC.to_owned() + all), ("app/a.yaml", config_map("a"))])
        };
        (with(&all), with(""))
    }),
    ("files that a kustomization lists no more", 40, |count| {
        let with = |is_before: bool| {
            let listed =
                |at: usize| if is_before || at == 0 { format!("- c{at}.yaml\n") } else { String::new() };
            let mut found = files(&[
                ("clusters/a/sync.yaml", SYNC.to_owned() + &kustomization("k", "./app", "")),
                ("app/kustomization.yaml", format!("resources:\n{}", each(count, listed))),
            ]);
            found.extend((0..count).map(|at| (format!("app/c{at}.yaml"), config_map(&format!("c{at}")))));
            found
        };
        (with(true), with(false))
    }),
    ("what objects still name, taken away", 20, |count| {
        let with = |is_before: bool| {
            let made =
                |at: usize| if is_before || at == 0 { config_map(&format!("c{at}")) } else { String::new() };
            let pod = |at: usize| {
                format!(
                    "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{at}, namespace: default}}\n\
                     spec: {{containers: [{{name: a, image: a:1, envFrom: [{{configMapRef: {{name: c{at}}}}}]}}]}}\n"
                )
            };
            files(&[
                ("clusters/a/sync.yaml", SYNC.to_owned() + &kustomization("k", "./app", "")),
                ("app/pods.yaml", each(count, pod)),
                ("app/settings.yaml", each(count, made)),
            ])
        };
        (with(true), with(false))
    }),
    ("alerts and what they tell of", 20, |count| {
        let all = |interval: &str| {
            let both = each(count, |at| {
                format!(
                    "apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Alert\nmetadata: {{name: a{at}, namespace: flux-system}}\n\
                     spec:\n  providerRef: {{name: p}}\n  eventSources: [{{kind: Kustomization, name: k{at}}}]\n---\n"
                ) + &kustomization(&format!("k{at}"), "./app", &format!("  retryInterval: {interval}\n"))
            });
            files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &both), ("app/a.yaml", config_map("a"))])
        };
        (all("1m"), all("2m"))
    }),
    ("a named list that is turned round", 100, |count| {
        both(|turns| listed(count, |at| if turns { count - at } else { at }, "x"))
    }),
    // Of few changed lines the shortest difference is searched, which is more work each.
    ("items of a named list that change", 300, |count| {
        both(|new| listed(count, |at| at, if new { "y" } else { "x" }))
    }),
    ("keys that change", 300, |count| {
        both(|new| {
            let value = if new { "y" } else { "x" };
            let data = each(count, |at| format!("  k{at}: {value}\n"));
            app(&format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, namespace: default}}\ndata:\n{data}"
            ))
        })
    }),
    ("ResourceSets whose tenants leave", 20, |count| {
        both(|new| {
            app(&each(count, |at| {
                let inputs = if new { "[{t: a}]" } else { "[{t: a}, {t: b}]" };
                let made = "[{apiVersion: v1, kind: ConfigMap, metadata: {name: '<< inputs.t >>-NAME', namespace: a}}]";
                let spec =
                    format!("{{inputs: {inputs}, resources: {}}}", made.replace("NAME", &at.to_string()));
                object("fluxcd.controlplane.io/v1", "ResourceSet", &format!("s{at}"), &spec)
            }))
        })
    }),
    ("objects that are renamed", 40, |count| {
        both(|new| app(&each(count, |at| config_map(&format!("{}{at}", if new { "d" } else { "c" })))))
    }),
    ("objects that another Kustomization gets", 20, |count| {
        both(|new| {
            let path = |at| format!("./p{}", if new { (at + 1) % count } else { at });
            let all = each(count, |at| kustomization(&format!("k{at}"), &path(at), ""));
            let mut found = files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &all)]);
            found.extend((0..count).map(|at| (format!("p{at}/a.yaml"), config_map(&format!("c{at}")))));
            found
        })
    }),
    ("Kustomizations that wait and change", 40, |count| {
        both(|new| {
            let interval = if new { "1m" } else { "2m" };
            kustomizations(count, |at| {
                format!("  retryInterval: {interval}\n  dependsOn: [{{name: k{}}}]\n", at + 1)
            })
        })
    }),
    ("Kustomizations that are suspended", 40, |count| {
        both(|new| kustomizations(count, |_| format!("  suspend: {new}\n")))
    }),
    ("Kustomizations that build on neither side", 20, |count| {
        both(|new| {
            let all = each(count, |at| kustomization(&format!("k{at}"), &format!("./p{at}"), ""));
            let mut found = files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &all)]);
            let missing = |at| (format!("p{at}/kustomization.yaml"), format!("resources: [gone-{new}]\n"));
            found.extend((0..count).map(missing));
            found
        })
    }),
    ("findings that come", 40, |count| {
        both(|new| {
            let map = |at| config_map(&format!("c{at}"));
            let unsound = |at| map(at).replace("default}", "default, labels: {a: 'b b'}}");
            app(&each(count, |at| if new { unsound(at) } else { map(at) }))
        })
    }),
];

fn both(side: impl Fn(bool) -> Files) -> (Files, Files) {
    (side(false), side(true))
}

fn listed(count: usize, name: impl Fn(usize) -> usize, image: &str) -> Files {
    let containers = each(count, |at| format!("      - {{name: c{}, image: {image}}}\n", name(at)));
    app(&format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d, namespace: default}}\nspec:\n  template:\n    spec:\n      containers:\n{containers}"
    ))
}

/// A command, the smallest size, and the repository of a size.
pub(crate) type Command = (&'static [&'static str], usize, fn(usize) -> Files);

fn alerted(count: usize) -> Files {
    let pair = |at: usize| {
        alert(&format!("a{at}"), &format!("{{kind: Kustomization, name: k{at}}}"))
            + &kustomization(&format!("k{at}"), "./app", "")
    };
    files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &each(count, pair)), ("app/a.yaml", config_map("a"))])
}

fn waiting(count: usize) -> Files {
    kustomizations(count, |at| format!("  dependsOn: [{{name: k{}}}]\n", at + 1))
}

fn gated(count: usize) -> Files {
    app(&each(count, |at| {
        let gate = "{default: closed, window: 1h, interval: 30s}";
        object("gating.toolkit.fluxcd.io/v1alpha1", "Gate", &format!("g{at}"), gate)
            + &kustomization(&format!("k{at}"), "./x", &format!("  gates: [{{name: g{at}}}]\n"))
    }))
}

fn unsound(count: usize) -> Files {
    let map = |at| config_map(&format!("c{at}")).replace("default}", "default, labels: {a: 'b b'}}");
    app(&each(count, map))
}

fn misspelt(count: usize) -> Files {
    let one = |at| kustomization(&format!("k{at}"), "./app", "").replace("interval:", "intervall:");
    files(&[("a.yaml", each(count, one))])
}

/// All of them.
pub(crate) const COMMANDS: &[Command] = &[
    (&["simulate", "events"], 40, alerted),
    (&["simulate", "events", "--format", "json"], 40, alerted),
    (&["simulate", "gates"], 20, gated),
    (&["simulate", "gates", "--from", "2026-01-01T00:00:00Z", "--to", "2026-01-02T00:00:00Z"], 20, gated),
    (&["simulate", "suspend"], 40, waiting),
    (&["graph"], 40, waiting),
    (&["map"], 20, waiting),
    (&["build", "--all", "--format", "json", "--origin"], 40, waiting),
    (&["lint", "--format", "full"], 40, unsound),
    (&["lint", "--format", "json"], 40, unsound),
    (&["lint", "--format", "markdown"], 40, unsound),
    (&["lint", "--format", "github"], 40, unsound),
    (&["lint", "--format", "sarif"], 40, unsound),
    (&["lint", "--format", "gitlab"], 40, unsound),
    (&["lint", "--format", "junit"], 40, unsound),
    (&["lint", "--format", "html"], 40, unsound),
    (&["lint", "--fix=unsafe", "--diff"], 40, misspelt),
    (&["chart", "template", "web", "charts/web"], 100, read),
    (&["chart", "template", "web", "charts/web", "--origin"], 100, read),
    (&["chart", "list"], 100, read),
    (&["explain-values", "flux-system/web"], 100, read),
    (&["explain-values", "flux-system/web", "--format", "json"], 100, read),
    (&["build", "--helm-release", "flux-system/web"], 100, read),
    (&["why", "ConfigMap/flux-system/a", "/data/d0"], 100, read),
    (&["plan", "--assume", "flux=2.9"], 100, read),
    (&["plan", "--assume", "flux=2.9", "--format", "html"], 100, read),
];
