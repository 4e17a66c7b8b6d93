//! Repositories of any size, each large in another way.

mod changes;
mod charts;
mod clusters;
mod kustomizations;
mod texts;
mod workloads;

pub(crate) use changes::COMMANDS;

pub(crate) const SYNC: &str = "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: 'https://example.com/fleet.git', ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 5m, path: ./clusters/a, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
---
";

fn kustomization(name: &str, path: &str, rest: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\n\
         spec:\n  interval: 5m\n  path: {path}\n  prune: true\n  sourceRef: {{kind: GitRepository, name: flux-system}}\n{rest}---\n"
    )
}

/// A repository, and a release of a chart of it; `place` follows their names.
fn release_and_repository(place: &str) -> String {
    format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {{name: charts{place}}}\n\
         spec: {{interval: 1h, url: 'https://charts.example.com'}}\n---\n\
         apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: cache{place}}}\n\
         spec: {{interval: 5m, chart: {{spec: {{chart: c, version: 1.2.3, sourceRef: {{kind: HelmRepository, name: charts}}}}}}}}\n---\n"
    )
}

fn config_map(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: default}}\ndata: {{a: b}}\n---\n"
    )
}

/// Paths and texts.
pub(crate) type Files = Vec<(String, String)>;

fn files(files: &[(&str, String)]) -> Files {
    files.iter().map(|(path, text)| ((*path).to_owned(), text.clone())).collect()
}

fn each(count: usize, text: impl Fn(usize) -> String) -> String {
    (0..count).map(text).collect()
}

/// A repository whose one Kustomization has this list in its file, over these objects.
fn kustomized(field: &str, list: &str, objects: String) -> Files {
    files(&[
        ("clusters/a/sync.yaml", SYNC.to_owned() + &kustomization("app", "./app", "")),
        ("app/kustomization.yaml", format!("resources: [a.yaml]\n{field}:\n{list}")),
        ("app/a.yaml", objects),
    ])
}

fn deployment(at: usize) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d{at}, namespace: default}}\n\
         spec: {{selector: {{matchLabels: {{app: d{at}}}}}, template: {{metadata: {{labels: {{app: d{at}}}}}, \
         spec: {{containers: [{{name: a, image: 'i{at}:1', envFrom: [{{configMapRef: {{name: c{at}}}}}]}}]}}}}}}\n---\n"
    )
}

/// A file of one of many directories.
fn named(directory: &str, at: usize, name: &str, text: String) -> (String, String) {
    (format!("{directory}{at}/{name}"), text)
}

/// A name, the smallest size, and the repository of a size.
pub(crate) type Generator = (&'static str, usize, fn(usize) -> Files);

/// All of them.
pub(crate) fn generators() -> impl Iterator<Item = &'static Generator> {
    [GENERATORS, kustomizations::ALL, clusters::ALL, charts::ALL, texts::ALL, workloads::ALL]
        .into_iter()
        .flatten()
}

/// All changes.
pub(crate) fn changes() -> impl Iterator<Item = &'static changes::Change> {
    [changes::ALL, charts::CHANGES].into_iter().flatten()
}

const GENERATORS: &[Generator] = &[
    ("Kustomizations that depend on each other", 40, |count| {
        let depends =
            |at: usize| format!("  dependsOn: [{{name: k{}}}, {{name: k{}}}]\n", at.max(1) - 1, at / 2);
        let all = each(count, |at| {
            kustomization(
                &format!("k{at}"),
                "./app",
                if at == 0 { String::new() } else { depends(at) }.as_str(),
            )
        });
        files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &all), ("app/a.yaml", config_map("a"))])
    }),
    ("alerts about every Kustomization", 25, |count| {
        let all = each(count, |at| {
            kustomization(&format!("k{at}"), "./app", "")
                + &format!(
                    "apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Alert\nmetadata: {{name: a{at}, namespace: flux-system}}\n\
                     spec:\n  providerRef: {{name: p}}\n  eventSources: [{{kind: Kustomization, name: '*'}}]\n  eventMetadata: {{summary: s{at}}}\n---\n"
                )
        });
        files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &all), ("app/a.yaml", config_map("a"))])
    }),
    ("patches in one kustomization", 50, |count| {
        let patch = |at| {
            format!(
                "- patch: |\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {{name: c{at}, namespace: default}}\n    data: {{k: v}}\n"
            )
        };
        files(&[
            ("clusters/a/sync.yaml", SYNC.to_owned() + &kustomization("app", "./app", "")),
            ("app/kustomization.yaml", format!("resources: [a.yaml]\npatches:\n{}", each(count, patch))),
            ("app/a.yaml", each(count, |at| config_map(&format!("c{at}")))),
        ])
    }),
    ("charts", 25, |count| {
        let release = |at| {
            format!(
                "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: h{at}, namespace: default}}\nspec: {{interval: 5m, chart: {{spec: {{chart: ./charts/c{at}, sourceRef: {{kind: GitRepository, name: flux-system, namespace: flux-system}}}}}}}}\n---\n"
            )
        };
        let mut found = files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &each(count, release))]);
        for at in 0..count {
            found.push((
                format!("charts/c{at}/Chart.yaml"),
                format!("apiVersion: v2\nname: c{at}\nversion: 0.1.0\n"),
            ));
            found.push((
                format!("charts/c{at}/templates/a.yaml"),
                "{{- if .x }}\na: b\n{{- end }}\n".to_owned(),
            ));
        }
        found
    }),
    ("Kustomizations that apply their own directory", 25, |count| {
        let own = |at: usize| kustomization(&format!("s{at}"), &format!("./own/s{at}"), "");
        let mut found = files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &each(count, own))]);
        found.extend((0..count).map(|at| (format!("own/s{at}/own.yaml"), own(at))));
        found
    }),
    ("overlays of one base", 25, |count| {
        let all = each(count, |at| kustomization(&format!("o{at}"), &format!("./over/o{at}"), ""));
        let mut found = files(&[
            ("clusters/a/sync.yaml", SYNC.to_owned() + &all),
            ("base/kustomization.yaml", "resources: [a.yaml]\n".to_owned()),
            ("base/a.yaml", each(5, |at| config_map(&format!("c{at}")))),
        ]);
        found.extend((0..count).map(|at| {
            (
                format!("over/o{at}/kustomization.yaml"),
                format!("namePrefix: o{at}-\nresources: [../../base]\n"),
            )
        }));
        found
    }),
    ("variables", 50, |count| {
        let variables = each(count, |at| format!("      V{at}: x\n"));
        let maps =
            each(count, |at| config_map(&format!("c{at}")).replace("a: b", &format!("a: '${{V{at}}}'")));
        files(&[
            (
                "clusters/a/sync.yaml",
                SYNC.to_owned()
                    + &kustomization("app", "./app", &format!("  postBuild:\n    substitute:\n{variables}")),
            ),
            ("app/a.yaml", maps),
        ])
    }),
    ("secrets that findings show", 50, |count| {
        files(&[(
            "a.yaml",
            each(count, |at| {
                format!(
                    "apiVersion: v1\nkind: Secret\nmetadata: {{name: c{at}, labels: {{a: 'b b'}}}}\nstringData: {{a: value-number-{at}}}\n---\n"
                )
            }),
        )])
    }),
    ("empty documents", 3000, |count| files(&[("a.yaml", "---\n".repeat(count))])),
    ("a long list", 3000, |count| files(&[("a.yaml", format!("a:\n{}", "- b\n".repeat(count)))])),
    ("bootstraps that nothing was added to", 80, |count| {
        let at = |at| {
            let path = format!("clusters/c{at}");
            (format!("{path}/flux-system/gotk-sync.yaml"), SYNC.replace("clusters/a", &path))
        };
        (0..count).map(at).collect()
    }),
    ("bootstraps that their roots do not list", 80, |count| {
        let at = |at| {
            let path = format!("clusters/c{at}");
            [
                (format!("{path}/flux-system/gotk-sync.yaml"), SYNC.replace("clusters/a", &path)),
                (
                    format!("{path}/flux-system/kustomization.yaml"),
                    "resources: [gotk-sync.yaml]\n".to_owned(),
                ),
                (format!("{path}/kustomization.yaml"), "resources: [a.yaml]\n".to_owned()),
                (format!("{path}/a.yaml"), config_map("a")),
            ]
        };
        (0..count).flat_map(at).collect()
    }),
    ("Kustomizations of a source that nothing defines", 80, |count| {
        let at = |at| {
            let path = format!("clusters/a/a{at}");
            let text = kustomization(&format!("k{at}"), &format!("./{path}/app"), "");
            let text = text.replace("name: flux-system}", "name: home}");
            [(format!("{path}/ks.yaml"), text), (format!("{path}/app/a.yaml"), config_map("a"))]
        };
        (0..count).flat_map(at).collect()
    }),
    ("roots that one which applies itself leaves out", 80, |count| {
        let at = |at| {
            let path = format!("apps/a{at}");
            let inner = kustomization(&format!("inner{at}"), &format!("./{path}/inner"), "");
            [
                (format!("{path}/ks.yaml"), kustomization(&format!("outer{at}"), &format!("./{path}"), "")),
                (format!("{path}/kustomization.yaml"), "resources: [inner.yaml]\n".to_owned()),
                (format!("{path}/inner.yaml"), inner),
                (format!("{path}/inner/a.yaml"), config_map("a")),
            ]
        };
        let own = files(&[("flux/own.yaml", SYNC.replace("clusters/a", "flux"))]);
        own.into_iter().chain((0..count).flat_map(at)).collect()
    }),
    ("Kustomizations that apply one directory", 40, |count| {
        let all = each(count, |at| kustomization(&format!("k{at}"), "./app", ""));
        files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &all), ("app/a.yaml", config_map("a"))])
    }),
    ("Kustomizations that apply each other in turn", 20, |count| {
        let mut found =
            files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &kustomization("k0", "./n/k0", ""))]);
        found.extend((0..count).map(|at| {
            let next = kustomization(&format!("k{}", at + 1), &format!("./n/k{}", at + 1), "");
            (format!("n/k{at}/a.yaml"), next)
        }));
        found.push((format!("n/k{count}/a.yaml"), config_map("a")));
        found
    }),
    ("references to what is not there", 40, |count| {
        let missing = |at: usize| format!("  dependsOn: [{{name: missing-{at}}}]\n");
        let all = each(count, |at| kustomization(&format!("k{at}"), "./app", &missing(at)));
        files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &all), ("app/a.yaml", config_map("a"))])
    }),
    ("findings with fixes", 40, |count| {
        let wrong = |at: usize| {
            let right = kustomization(&format!("k{at}"), "./app", "");
            right.replace("prune: true", "prune: 'x'").replace("interval:", "intervall:")
        };
        files(&[
            ("clusters/a/sync.yaml", SYNC.to_owned() + &each(count, wrong)),
            ("app/a.yaml", config_map("a")),
        ])
    }),
    ("JSON patches of one object", 40, |count| {
        let patch = |at| {
            format!(
                "- target: {{kind: ConfigMap, name: c}}\n  patch: |\n    - op: add\n      path: /data/k{at}\n      value: v{at}\n"
            )
        };
        kustomized("patches", &each(count, patch), config_map("c"))
    }),
    ("operations of one JSON patch", 80, |count| {
        let operations =
            each(count, |at| format!("    - op: add\n      path: /data/k{at}\n      value: v{at}\n"));
        let patch = format!("- target: {{kind: ConfigMap, name: c}}\n  patch: |\n{operations}");
        kustomized("patches", &patch, config_map("c"))
    }),
    ("JSON patches of an object each", 40, |count| {
        let patch = |at| {
            format!(
                "- target: {{kind: ConfigMap, name: c{at}}}\n  patch: |\n    - op: add\n      path: /data/k\n      value: v\n"
            )
        };
        kustomized("patches", &each(count, patch), each(count, |at| config_map(&format!("c{at}"))))
    }),
    ("strategic patches of a target each", 40, |count| {
        let patch = |at| {
            format!(
                "- target: {{kind: ConfigMap, name: c{at}}}\n  patch: |\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {{name: any}}\n    data: {{k: v}}\n"
            )
        };
        kustomized("patches", &each(count, patch), each(count, |at| config_map(&format!("c{at}"))))
    }),
    ("replacements", 25, |count| {
        let replacement = |at| {
            format!(
                "- source: {{kind: ConfigMap, name: c{at}, fieldPath: data.a}}\n  targets: [{{select: {{kind: ConfigMap, name: d{at}}}, fieldPaths: [data.a]}}]\n"
            )
        };
        let maps = |at: usize| config_map(&format!("c{at}")) + &config_map(&format!("d{at}"));
        kustomized("replacements", &each(count, replacement), each(count, maps))
    }),
    ("components with a patch each", 40, |count| {
        let objects = each(count, |at| config_map(&format!("c{at}")));
        let mut found = kustomized("components", &each(count, |at| format!("- c{at}\n")), objects);
        found.extend((0..count).map(|at| {
            let patch = format!("- {{op: add, path: /data/k{at}, value: x}}");
            let text = format!(
                "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- target: {{kind: ConfigMap, name: c{at}}}\n  patch: '{patch}'\n"
            );
            (format!("app/c{at}/kustomization.yaml"), text)
        }));
        found
    }),
    ("generated ConfigMaps and what names them", 25, |count| {
        let generators = each(count, |at| format!("- name: c{at}\n  literals: [a=b{at}]\n"));
        kustomized("configMapGenerator", &generators, each(count, deployment))
    }),
    ("references between objects", 25, |count| {
        kustomized(
            "labels",
            "- pairs: {a: b}\n",
            each(count, |at| config_map(&format!("c{at}")) + &deployment(at)),
        )
    }),
    ("images", 25, |count| {
        kustomized(
            "images",
            &each(count, |at| format!("- name: i{at}\n  newTag: '2'\n")),
            each(count, deployment),
        )
    }),
    ("releases of charts elsewhere", 25, |count| {
        let release = |at| {
            format!(
                "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: h{at}, namespace: default}}\n\
                 spec: {{interval: 5m, chart: {{spec: {{chart: c, sourceRef: {{kind: HelmRepository, name: r}}}}}}, valuesFrom: [{{kind: ConfigMap, name: v{at}}}]}}\n---\n"
            ) + &config_map(&format!("v{at}"))
        };
        files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &each(count, release))])
    }),
    ("releases of repositories of one name", 25, |count| {
        let mut sync = SYNC.to_owned();
        let mut found = Vec::new();
        for at in 0..count {
            let target = format!("  targetNamespace: n{at}\n");
            sync += &kustomization(&format!("a{at}"), &format!("./apps/a{at}"), &target);
            found.push((format!("apps/a{at}/app.yaml"), release_and_repository("")));
        }
        found.push(("clusters/a/sync.yaml".to_owned(), sync));
        found
    }),
    ("releases of repositories of one name that nothing applies", 25, |count| {
        let app = |at| {
            let text = release_and_repository(&format!(", namespace: n{at}"));
            (format!("apps/a{at}/app.yaml"), text)
        };
        (0..count).map(app).collect()
    }),
    ("clusters of one set of apps", 8, |count| {
        let mut found = files(&[("apps/a.yaml", each(4, |at| config_map(&format!("c{at}"))))]);
        for at in 0..count {
            let sync = SYNC.replace("clusters/a", &format!("clusters/c{at}"));
            found.push((format!("clusters/c{at}/flux-system/gotk-sync.yaml"), sync));
            found.push((format!("clusters/c{at}/apps.yaml"), kustomization("apps", "./apps", "")));
        }
        found
    }),
    ("overlays that nothing applies", 40, |count| {
        let mut found = files(&[
            ("base/kustomization.yaml", "resources: [a.yaml]\n".to_owned()),
            ("base/a.yaml", config_map("c")),
        ]);
        found.extend((0..count).map(|at| {
            (format!("o{at}/kustomization.yaml"), format!("namePrefix: p{at}-\nresources: [../base]\n"))
        }));
        found
    }),
    ("files", 40, |count| {
        (0..count).map(|at| (format!("f/a{at}.yaml"), config_map(&format!("c{at}")))).collect()
    }),
    ("files of a cluster", 40, |count| {
        let mut found =
            files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &kustomization("app", "./app", ""))]);
        found.extend((0..count).map(|at| (format!("app/a{at}.yaml"), config_map(&format!("c{at}")))));
        found
    }),
    ("broken files of a cluster", 40, |count| {
        let mut found =
            files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &kustomization("app", "./app", ""))]);
        found.extend((0..count).map(|at| (format!("app/a{at}.yaml"), "a: [b\n".to_owned())));
        found
    }),
    ("one object many times", 40, |count| {
        kustomized("labels", "- pairs: {a: b}\n", each(count, |_| config_map("a")))
    }),
    ("suppressions", 40, |count| {
        let text = |at: usize| {
            format!("# forebay: ignore[unknown-field] on purpose\n{}", config_map(&format!("c{at}")))
        };
        files(&[("a.yaml", each(count, text))])
    }),
    ("alerts that name no provider", 40, |count| {
        let alert = |at: usize| {
            format!(
                "apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Alert\nmetadata: {{name: a{at}, namespace: flux-system}}\n\
                 spec:\n  providerRef: {{name: missing-{at}}}\n  eventSources: [{{kind: Kustomization, name: app}}]\n---\n\
                 apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Provider\nmetadata: {{name: present-{at}, namespace: flux-system}}\n\
                 spec: {{type: slack, address: 'https://example.com/'}}\n---\n"
            )
        };
        files(&[
            ("clusters/a/sync.yaml", SYNC.to_owned() + &kustomization("app", "./app", "")),
            ("app/a.yaml", each(count, alert)),
        ])
    }),
    ("releases whose values are not there", 40, |count| {
        let release = |at: usize| {
            format!(
                "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: r{at}, namespace: default}}\nspec:\n  interval: 10m\n  \
                 chartRef: {{kind: OCIRepository, name: chart}}\n  valuesFrom: [{{kind: ConfigMap, name: values-{at}}}]\n---\n"
            )
        };
        files(&[
            ("clusters/a/sync.yaml", SYNC.to_owned() + &kustomization("app", "./app", "")),
            ("app/a.yaml", each(count, release) + &each(count, |at| config_map(&format!("valuex-{at}")))),
        ])
    }),
    ("releases that wait for one that waits for itself", 40, |count| {
        let release = |at: usize| {
            format!(
                "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: r{at}, namespace: default}}\nspec:\n  interval: 10m\n  \
                 chartRef: {{kind: OCIRepository, name: chart}}\n  dependsOn: [{{name: r{}}}]\n---\n",
                at.saturating_sub(1)
            )
        };
        files(&[
            ("clusters/a/sync.yaml", SYNC.to_owned() + &kustomization("app", "./app", "")),
            ("app/a.yaml", each(count, release)),
        ])
    }),
    ("paths that are not there", 40, |count| {
        let all = each(count, |at| kustomization(&format!("k{at}"), &format!("./app/gone-{at}"), ""));
        let mut found = files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &all)]);
        found.extend((0..count).map(|at| (format!("app/here-{at}/a.yaml"), config_map(&format!("c{at}")))));
        found
    }),
    ("variables that nothing defines", 40, |count| {
        let defined = each(count, |at| format!("      value_{at}: x\n"));
        let variables = format!("  postBuild:\n    substitute:\n{defined}");
        let used =
            |at: usize| config_map(&format!("c{at}")).replace("a: b", &format!("a: '${{valve_{at}_}}'"));
        files(&[
            ("clusters/a/sync.yaml", SYNC.to_owned() + &kustomization("app", "./app", &variables)),
            ("app/a.yaml", each(count, used)),
        ])
    }),
    ("suspended Kustomizations", 40, |count| {
        let all = each(count, |at| kustomization(&format!("k{at}"), "./app", "  suspend: true\n"));
        files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &all), ("app/a.yaml", config_map("a"))])
    }),
    ("clusters of one name", 20, |count| {
        let sync = |at: usize| {
            let path = format!("clusters/c{at}/production");
            (format!("{path}/flux-system/gotk-sync.yaml"), SYNC.replace("clusters/a", &path))
        };
        (0..count).map(sync).collect()
    }),
    ("topologies whose class is not there", 50, |count| {
        let cluster = |at: usize| {
            format!(
                "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: c{at}, namespace: default}}\n\
                 spec: {{topology: {{class: missing-{at}, version: v1.30.0}}}}\n---\n\
                 apiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nmetadata: {{name: present-{at}, namespace: default}}\nspec: {{}}\n---\n"
            )
        };
        files(&[
            ("clusters/a/sync.yaml", SYNC.to_owned() + &kustomization("app", "./app", "")),
            ("app/a.yaml", each(count, cluster)),
        ])
    }),
];
