//! Objects of clusters that there are many of.

use super::{Files, Generator, SYNC, config_map, deployment, each, files, kustomization, named};

/// A cluster whose app is these objects.
pub(super) fn app(objects: &str) -> Files {
    files(&[
        ("clusters/a/sync.yaml", SYNC.to_owned() + &kustomization("app", "./app", "")),
        ("app/a.yaml", objects.to_owned()),
    ])
}

/// Kustomizations of one directory, with more in the spec of each.
pub(super) fn kustomizations(count: usize, rest: impl Fn(usize) -> String) -> Files {
    let all = each(count, |at| kustomization(&format!("k{at}"), "./app", &rest(at)));
    files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &all), ("app/a.yaml", config_map("a"))])
}

pub(super) fn object(api_version: &str, kind: &str, name: &str, spec: &str) -> String {
    format!(
        "apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: {name}, namespace: flux-system}}\nspec: {spec}\n---\n"
    )
}

pub(super) fn alert(name: &str, sources: &str) -> String {
    let spec = format!("{{providerRef: {{name: p}}, eventSources: [{sources}]}}");
    object("notification.toolkit.fluxcd.io/v1beta3", "Alert", name, &spec)
}

/// A definition of `T<name>`, whose spec has this schema.
fn definition(name: &str, schema: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: t{name}s.e.com}}\n\
         spec: {{group: e.com, scope: Namespaced, names: {{kind: T{name}, plural: t{name}s}}, versions: [{{name: v1, served: true, storage: true, \
         schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {schema}}}}}}}}}]}}\n---\n"
    )
}

fn thing(name: &str, spec: &str) -> String {
    object("e.com/v1", &format!("T{name}"), "x", spec)
}

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(", ")
}

const CAPI: &str = "cluster.x-k8s.io/v1beta1";

fn class(rest: &str) -> String {
    let references = "controlPlane: {ref: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlaneTemplate, name: cp}}, \
                      infrastructure: {ref: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerClusterTemplate, name: i}}";
    object(CAPI, "ClusterClass", "k", &format!("{{{references}, {rest}}}"))
}

fn topology(rest: &str) -> String {
    object(CAPI, "Cluster", "c", &format!("{{topology: {{class: k, version: v1.30.0, {rest}}}}}"))
}

/// All of them.
pub(super) const ALL: &[Generator] = &[
    ("Kustomizations in one circle", 40, |count| {
        kustomizations(count, |at| format!("  dependsOn: [{{name: k{}}}]\n", (at + 1) % count))
    }),
    ("Kustomizations in circles of two", 40, |count| {
        kustomizations(count, |at| format!("  dependsOn: [{{name: k{}}}]\n", at ^ 1))
    }),
    ("Kustomizations in circles that share them", 20, |count| {
        let depends = |at| list(5, |n| format!("{{name: k{}}}", (at * 7 + n * n + 1) % count));
        kustomizations(count, |at| format!("  dependsOn: [{}]\n", depends(at)))
    }),
    ("health checks of what is missing", 50, |count| {
        let checks = each(count, |at| {
            format!("  - {{apiVersion: apps/v1, kind: Deployment, name: x{at}, namespace: default}}\n")
        });
        let app = kustomization("app", "./app", &format!("  healthChecks:\n{checks}"));
        files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &app), ("app/a.yaml", each(count, deployment))])
    }),
    ("ConfigMaps of variables", 25, |count| {
        let sources = each(count, |at| format!("    - {{kind: ConfigMap, name: c{at}}}\n"));
        let app = kustomization("app", "./app", &format!("  postBuild:\n    substituteFrom:\n{sources}"));
        let map = |at| {
            config_map(&format!("c{at}"))
                .replace("default", "flux-system")
                .replace("a: b", &format!("V{at}: x"))
        };
        files(&[
            ("clusters/a/sync.yaml", SYNC.to_owned() + &app + &each(count, map)),
            ("app/a.yaml", config_map("a").replace("a: b", "a: '${V1}'")),
        ])
    }),
    ("Kustomizations with variables of their own", 25, |count| {
        kustomizations(count, |at| format!("  postBuild:\n    substitute: {{V{at}: x}}\n"))
    }),
    ("sources of one alert", 40, |count| {
        let sources = list(count, |at| format!("{{kind: Kustomization, name: k{at}}}"));
        let all = each(count, |at| kustomization(&format!("k{at}"), "./app", ""));
        files(&[
            ("clusters/a/sync.yaml", SYNC.to_owned() + &all + &alert("a", &sources)),
            ("app/a.yaml", config_map("a")),
        ])
    }),
    ("Receivers", 25, |count| {
        let receiver = |at| {
            let spec = format!(
                "{{type: github, secretRef: {{name: s}}, resources: [{{kind: Kustomization, name: k{at}}}]}}"
            );
            object("notification.toolkit.fluxcd.io/v1", "Receiver", &format!("r{at}"), &spec)
                + &kustomization(&format!("k{at}"), "./x", "")
        };
        app(&each(count, receiver))
    }),
    ("inputs of a ResourceSet", 25, |count| {
        let inputs = list(count, |at| format!("{{tenant: t{at}}}"));
        let resource = "{apiVersion: v1, kind: ConfigMap, metadata: {name: '<< inputs.tenant >>', namespace: default}, data: {a: b}}";
        app(&object(
            "fluxcd.controlplane.io/v1",
            "ResourceSet",
            "r",
            &format!("{{inputs: [{inputs}], resources: [{resource}]}}"),
        ))
    }),
    ("ResourceSets", 25, |count| {
        let resource = "{apiVersion: v1, kind: ConfigMap, metadata: {name: '<< inputs.tenant >>', namespace: default}, data: {a: b}}";
        app(&each(count, |at| {
            let spec = format!("{{inputs: [{{tenant: t{at}}}], resources: [{resource}]}}");
            object("fluxcd.controlplane.io/v1", "ResourceSet", &format!("r{at}"), &spec)
        }))
    }),
    ("copies of an ArtifactGenerator", 15, |count| {
        let copies = list(count, |at| format!("{{from: '@s/f/d{at}/a.yaml', to: '@artifact/'}}"));
        let spec = format!(
            "{{sources: [{{alias: s, kind: GitRepository, name: flux-system}}], artifacts: [{{name: a, copy: [{copies}]}}]}}"
        );
        let mut found = app(&object("source.extensions.fluxcd.io/v1beta1", "ArtifactGenerator", "g", &spec));
        found.extend((0..count).map(|at| named("f/d", at, "a.yaml", config_map(&format!("c{at}")))));
        found
    }),
    ("definitions and an object of each", 15, |count| {
        let schema = "{type: object, properties: {a: {type: string}}}";
        app(&each(count, |at| {
            let name = at.to_string();
            definition(&name, schema) + &thing(&name, "{a: 1}")
        }))
    }),
    ("properties of a definition and an object", 50, |count| {
        let properties = list(count, |at| format!("p{at}: {{type: string}}"));
        let spec = list(count, |at| format!("p{at}: x"));
        app(&(definition("0", &format!("{{type: object, properties: {{{properties}}}}}"))
            + &thing("0", &format!("{{{spec}}}"))))
    }),
    ("values of an enumeration", 50, |count| {
        let values = list(count, |at| format!("e{at}"));
        let schema = format!("{{type: array, items: {{type: string, enum: [{values}]}}}}");
        app(&(definition("0", &schema) + &thing("0", &format!("[{values}]"))))
    }),
    ("items of a set", 50, |count| {
        let schema = "{type: array, x-kubernetes-list-type: set, items: {type: string}}";
        app(&(definition("0", schema) + &thing("0", &format!("[{}]", list(count, |at| format!("e{at}"))))))
    }),
    ("items of a keyed list", 50, |count| {
        let schema = "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, properties: {name: {type: string}}}}";
        app(&(definition("0", schema)
            + &thing("0", &format!("[{}]", list(count, |at| format!("{{name: e{at}}}"))))))
    }),
    ("rules of a definition", 10, |count| {
        let rules = list(count, |at| format!("{{rule: 'self.a > {at}'}}"));
        let schema = format!(
            "{{type: object, properties: {{a: {{type: integer}}}}, x-kubernetes-validations: [{rules}]}}"
        );
        app(&(definition("0", &schema) + &thing("0", "{a: 5}")))
    }),
    ("Secrets and copies of their values", 25, |count| {
        let pair = |at| {
            format!(
                "apiVersion: v1\nkind: Secret\nmetadata: {{name: s{at}, namespace: default}}\nstringData: {{a: value-of-secret-{at}}}\n---\n"
            ) + &config_map(&format!("c{at}")).replace("a: b", &format!("a: value-of-secret-{at}"))
        };
        app(&each(count, pair))
    }),
    ("variables of a topology", 25, |count| {
        let variables = list(count, |at| {
            format!("{{name: v{at}, required: true, schema: {{openAPIV3Schema: {{type: string}}}}}}")
        });
        let values = list(count, |at| format!("{{name: v{at}, value: x}}"));
        app(&(class(&format!("variables: [{variables}]")) + &topology(&format!("variables: [{values}]"))))
    }),
    ("patches of a class", 10, |count| {
        let variables = list(count, |at| {
            format!("{{name: v{at}, required: true, schema: {{openAPIV3Schema: {{type: string}}}}}}")
        });
        let patches = list(count, |at| {
            format!(
                "{{name: p{at}, definitions: [{{selector: {{apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlaneTemplate, \
                 matchResources: {{controlPlane: true}}}}, jsonPatches: [{{op: add, path: /spec/template/spec/a{at}, valueFrom: {{variable: v{at}}}}}]}}]}}"
            )
        });
        let values = list(count, |at| format!("{{name: v{at}, value: x}}"));
        let template = object(
            "controlplane.cluster.x-k8s.io/v1beta1",
            "KubeadmControlPlaneTemplate",
            "cp",
            "{template: {spec: {}}}",
        );
        app(&(class(&format!("variables: [{variables}], patches: [{patches}]"))
            + &topology(&format!("variables: [{values}]"))
            + &template))
    }),
    ("braces behind expressions of a clusterctl template", 100, |count| {
        let expressions = each(count, |at| format!("${{V{at}}}}}"));
        let template = object(CAPI, "Cluster", "${N}", &format!("{{a: \"{expressions}\"}}"));
        files(&[("templates/cluster-template.yaml", template)])
    }),
    ("misspelled references of clusterctl templates", 25, |count| {
        let template = |at: usize| {
            let reference = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerCluster";
            let spec = format!("{{infrastructureRef: {{{reference}, name: workers-{at}x}}}}");
            let made = object(
                "infrastructure.cluster.x-k8s.io/v1beta1",
                "DockerCluster",
                &format!("workers-{at}"),
                "{}",
            );
            (
                format!("templates/cluster-template-{at}.yaml"),
                object(CAPI, "Cluster", &format!("c{at}"), &spec) + &made,
            )
        };
        (0..count).map(template).collect()
    }),
    ("releases that make namespaces for each other", 15, |count| {
        let release = |at: usize| {
            let spec =
                "{interval: 5m, install: {createNamespace: true}, chartRef: {kind: OCIRepository, name: c}}";
            let own = format!("metadata: {{name: h{at}, namespace: n{at}}}");
            let shared = format!("metadata: {{name: s{at}, namespace: shared}}");
            [own, shared]
                .map(|metadata| {
                    format!("apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n{metadata}\nspec: {spec}\n---\n")
                })
                .concat()
        };
        let depends = |at: usize| match at {
            0 => String::new(),
            _ => format!("  dependsOn: [{{name: k{}}}]\n", at - 1),
        };
        let applied =
            each(count, |at| kustomization(&format!("k{at}"), &format!("./apps/k{at}"), &depends(at)));
        let mut found = files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &applied)]);
        found.extend((0..count).map(|at| named("apps/k", at, "a.yaml", release(at))));
        found
    }),
    ("machine deployments of a topology", 15, |count| {
        let worker = "workers: {machineDeployments: [{class: w, template: {bootstrap: {ref: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfigTemplate, name: b}}, \
                      infrastructure: {ref: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: i}}}}]}";
        let deployments = list(count, |at| format!("{{class: w, name: m{at}}}"));
        app(&(class(worker) + &topology(&format!("workers: {{machineDeployments: [{deployments}]}}"))))
    }),
    ("MachineDeployments", 15, |count| {
        app(&each(count, |at| {
            let template = format!(
                "{{metadata: {{labels: {{a: m{at}}}}}, spec: {{clusterName: c, bootstrap: {{configRef: {{apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfigTemplate, name: b{at}}}}}, \
                 infrastructureRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: i{at}}}}}}}"
            );
            let spec =
                format!("{{clusterName: c, selector: {{matchLabels: {{a: m{at}}}}}, template: {template}}}");
            object(CAPI, "MachineDeployment", &format!("m{at}"), &spec)
        }))
    }),
];
