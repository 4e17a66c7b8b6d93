//! What workloads refer to, much of each.

use super::clusters::{app, object};
use super::{Files, Generator, SYNC, deployment, each, files, kustomization, named};

/// An object of the namespace `default`.
fn in_default(api_version: &str, kind: &str, name: &str, rest: &str) -> String {
    format!(
        "apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: {name}, namespace: default}}\n{rest}\n---\n"
    )
}

fn service(at: usize) -> String {
    let spec = format!("spec: {{selector: {{app: d{at}}}, ports: [{{name: http, port: 80}}]}}");
    in_default("v1", "Service", &format!("s{at}"), &spec)
}

fn route(name: &str, parent: &str, host: &str, backend: &str) -> String {
    let spec = format!(
        "spec: {{hostnames: ['{host}'], parentRefs: [{{name: {parent}}}], rules: [{{backendRefs: [{backend}]}}]}}"
    );
    in_default("gateway.networking.k8s.io/v1", "HTTPRoute", name, &spec)
}

fn gateway(name: &str, listeners: &str) -> String {
    let spec = format!("spec: {{gatewayClassName: c, listeners: [{listeners}]}}");
    in_default("gateway.networking.k8s.io/v1", "Gateway", name, &spec)
}

fn pod(rest: &str) -> String {
    format!(
        "spec: {{selector: {{matchLabels: {{app: a}}}}, template: {{metadata: {{labels: {{app: a}}}}, spec: {{{rest}}}}}}}"
    )
}

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(", ")
}

/// A cluster of which a part is elsewhere.
fn partly(objects: &str) -> Files {
    let elsewhere = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n\
                     metadata: {name: other, namespace: flux-system}\nspec: {interval: 1m, url: 'https://example.com/other.git'}\n---\n"
        .to_owned()
        + &kustomization("other", "./x", "").replace("name: flux-system}\n---", "name: other}\n---");
    files(&[
        ("clusters/a/sync.yaml", SYNC.to_owned() + &elsewhere + &kustomization("app", "./app", "")),
        ("app/a.yaml", objects.to_owned()),
    ])
}

/// All of them.
pub(super) const ALL: &[Generator] = &[
    ("Pods that the API server refuses", 25, |count| {
        let pod = |at| {
            let env = each(count, |one| {
                format!("{{name: E{one}, value: a, valueFrom: {{secretKeyRef: {{name: a, key: a}}}}}}, ")
            });
            let mounts = each(count, |one| format!("{{name: v{one}, mountPath: /a}}, "));
            let spec = format!(
                "spec: {{volumes: [{}], containers: [{{name: c, image: 'a:1', env: [{env}], volumeMounts: [{mounts}]}}]}}",
                each(count, |one| format!("{{name: v{one}, emptyDir: {{}}, hostPath: {{path: /a}}}}, "))
            );
            in_default("v1", "Pod", &format!("p{at}"), &spec)
        };
        app(&pod(0))
    }),
    ("values that Pods do not take", 50, |count| {
        let values = each(count, |at| {
            format!(
                "    a{at}: {{resources: {{requests: {{cpu: 2}}, limits: {{cpu: 1}}}}, defaultMode: 750}}\n"
            )
        });
        app(&in_default(
            "helm.toolkit.fluxcd.io/v2",
            "HelmRelease",
            "a",
            &format!(
                "spec:\n  interval: 1h\n  chartRef: {{kind: OCIRepository, name: a}}\n  values:\n{values}"
            ),
        ))
    }),
    ("Services and what they select", 25, |count| app(&each(count, |at| deployment(at) + &service(at)))),
    ("Services that select nothing", 25, |count| {
        app(&each(count, |at| deployment(at + count * 10) + &service(at)))
    }),
    ("NetworkPolicies that select nothing", 25, |count| {
        let policy = |at| {
            let spec = format!("spec: {{podSelector: {{matchLabels: {{app: x{at}}}}}}}");
            in_default("networking.k8s.io/v1", "NetworkPolicy", &format!("n{at}"), &spec)
        };
        app(&each(count, |at| deployment(at) + &policy(at)))
    }),
    ("routes of one Gateway", 25, |count| {
        let routes = each(count, |at| {
            let backend = format!("{{name: s{at}, port: 80}}");
            service(at) + &route(&format!("r{at}"), "g", &format!("h{at}.example.com"), &backend)
        });
        app(&(gateway("g", "{name: a, port: 80, protocol: HTTP, hostname: '*.example.com'}") + &routes))
    }),
    ("routes and listeners of a Gateway each", 25, |count| {
        let listener = |at| format!("{{name: l{at}, port: {}, protocol: HTTP}}", at + 1);
        let one = |at| {
            gateway(&format!("g{at}"), &listener(at))
                + &route(&format!("r{at}"), &format!("g{at}"), "a.b", "")
        };
        app(&each(count, one))
    }),
    ("hostnames of one route", 50, |count| {
        let hosts = list(count, |at| format!("h{at}.example.com"));
        let own = route("r", "g", "HOST", "").replace("'HOST'", &hosts);
        app(&(gateway("g", "{name: a, port: 80, protocol: HTTP, hostname: '*.example.org'}") + &own))
    }),
    ("backends of one route", 50, |count| {
        let backends = list(count, |at| format!("{{name: x{at}, port: 80}}"));
        app(&(each(count, service)
            + &gateway("g", "{name: a, port: 80, protocol: HTTP}")
            + &route("r", "g", "a.b", &backends)))
    }),
    ("routes into another namespace, and its grants", 25, |count| {
        let one = |at| {
            let grant = format!(
                "spec: {{from: [{{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: default}}], to: [{{group: '', kind: Service, name: s{at}}}]}}"
            );
            let backend = format!("{{name: s{at}, namespace: shop, port: 80}}");
            let there = |text: String| text.replace("namespace: default}\n", "namespace: shop}\n");
            route(&format!("r{at}"), "g", "a.b", &backend)
                + &there(service(at))
                + &there(in_default(
                    "gateway.networking.k8s.io/v1beta1",
                    "ReferenceGrant",
                    &format!("g{}", at + 1),
                    &grant.replace(&format!("s{at}}}"), &format!("x{at}}}")),
                ))
        };
        partly(&each(count, one))
    }),
    ("Ingresses and their Services", 25, |count| {
        let ingress = |at| {
            let spec = format!(
                "spec: {{tls: [{{hosts: [h{at}.b], secretName: t{at}}}], rules: [{{host: h{at}.b, http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: s{at}, port: {{name: htp}}}}}}}}]}}}}]}}"
            );
            in_default("networking.k8s.io/v1", "Ingress", &format!("i{at}"), &spec)
        };
        app(&each(count, |at| service(at) + &ingress(at)))
    }),
    ("volumes and mounts of one Pod", 40, |count| {
        let volumes = list(count, |at| format!("{{name: v{at}, configMap: {{name: c{at}}}}}"));
        let mounts = list(count, |at| format!("{{name: w{at}, mountPath: /m{at}}}"));
        let rest =
            format!("volumes: [{volumes}], containers: [{{name: a, image: a, volumeMounts: [{mounts}]}}]");
        app(&in_default("apps/v1", "Deployment", "a", &pod(&rest)))
    }),
    ("variables of one container", 40, |count| {
        let env = list(count, |at| {
            format!("{{name: E{at}, valueFrom: {{secretKeyRef: {{name: s, key: k{at}}}}}}}")
        });
        let keys = list(count, |at| format!("x{at}: YQ=="));
        let rest = format!("containers: [{{name: a, image: a, env: [{env}]}}]");
        app(&(in_default("v1", "Secret", "s", &format!("data: {{{keys}}}"))
            + &in_default("apps/v1", "Deployment", "a", &pod(&rest))))
    }),
    ("containers and ports of one Pod", 40, |count| {
        let containers = list(count, |at| {
            format!(
                "{{name: c{at}, image: a, ports: [{{name: p{at}, containerPort: {}}}], livenessProbe: {{httpGet: {{path: /, port: q{at}}}}}}}",
                at + 1
            )
        });
        let ports = list(count, |at| format!("{{name: p{at}, port: {}, targetPort: q{at}}}", at + 1));
        app(&(in_default("apps/v1", "Deployment", "a", &pod(&format!("containers: [{containers}]")))
            + &in_default(
                "v1",
                "Service",
                "a",
                &format!("spec: {{selector: {{app: a}}, ports: [{ports}]}}"),
            )))
    }),
    ("claims and what mounts them", 25, |count| {
        let claim = |at| {
            in_default(
                "v1",
                "PersistentVolumeClaim",
                &format!("c{at}"),
                "spec: {accessModes: [ReadWriteOnce]}",
            )
        };
        let used = |at| {
            let rest = format!(
                "containers: [{{name: a, image: a}}], volumes: [{{name: v, persistentVolumeClaim: {{claimName: c{at}x}}}}]"
            );
            in_default("apps/v1", "Deployment", &format!("d{at}"), &pod(&rest))
        };
        app(&each(count, |at| claim(at) + &used(at)))
    }),
    ("accounts and bindings", 25, |count| {
        let one = |at: usize| {
            let binding = format!(
                "roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: r{at}}}\nsubjects: [{{kind: ServiceAccount, name: a{}, namespace: default}}]",
                at + 1
            );
            in_default("v1", "ServiceAccount", &format!("a{at}"), "")
                + &in_default("rbac.authorization.k8s.io/v1", "RoleBinding", &format!("b{at}"), &binding)
        };
        app(&each(count, one))
    }),
    ("scalers and budgets", 25, |count| {
        let one = |at| {
            let target = format!(
                "spec: {{maxReplicas: 2, scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: x{at}}}}}"
            );
            let budget = format!("spec: {{minAvailable: 1, selector: {{matchLabels: {{app: x{at}}}}}}}");
            deployment(at)
                + &in_default("autoscaling/v2", "HorizontalPodAutoscaler", &format!("h{at}"), &target)
                + &in_default("policy/v1", "PodDisruptionBudget", &format!("p{at}"), &budget)
        };
        app(&each(count, one))
    }),
    ("monitors of Services", 25, |count| {
        let monitor = |at| {
            let spec = format!(
                "spec: {{endpoints: [{{port: nope}}], selector: {{matchLabels: {{app: x{at}}}}}, namespaceSelector: {{matchNames: [n{at}]}}}}"
            );
            in_default("monitoring.coreos.com/v1", "ServiceMonitor", &format!("m{at}"), &spec)
        };
        app(&each(count, |at| service(at) + &monitor(at)))
    }),
    ("certificates and issuers", 25, |count| {
        let one = |at| {
            let spec = format!("spec: {{secretName: t{at}, issuerRef: {{name: j{at}}}, dnsNames: [a.b]}}");
            in_default("cert-manager.io/v1", "Issuer", &format!("i{at}"), "spec: {selfSigned: {}}")
                + &in_default("cert-manager.io/v1", "Certificate", &format!("c{at}"), &spec)
        };
        app(&each(count, one))
    }),
    ("ExternalSecrets and their stores", 25, |count| {
        let one = |at| {
            let spec = format!(
                "spec: {{secretStoreRef: {{name: t{at}}}, target: {{name: x{at}}}, data: [{{secretKey: a, remoteRef: {{key: b}}}}]}}"
            );
            in_default("external-secrets.io/v1", "SecretStore", &format!("s{at}"), "spec: {provider: {}}")
                + &in_default("external-secrets.io/v1", "ExternalSecret", &format!("e{at}"), &spec)
        };
        app(&each(count, one))
    }),
    ("hosts in one text", 50, |count| {
        let lines = each(count, |at| format!("    u{at}: http://s{at}.default.svc.cluster.local:81\n"));
        app(&(each(count, service)
            + &in_default("v1", "ConfigMap", "c", &format!("data:\n  a.conf: |\n{lines}"))))
    }),
    ("hosts on one line", 50, |count| {
        let line = each(count, |at| format!(" s{at}.default:81"));
        app(&(each(count, service)
            + &in_default(
                "v1",
                "ConfigMap",
                "c",
                &format!("data:\n  a.conf: |\n    x{}#{line}\n", " ".repeat(count)),
            )))
    }),
    ("hosts whose Services are not there", 50, |count| {
        let one = |at| {
            in_default(
                "v1",
                "ConfigMap",
                &format!("c{at}"),
                &format!("data: {{u: 'http://x{at}.default.svc:80'}}"),
            )
        };
        app(&each(count, |at| service(at) + &one(at)))
    }),
    ("namespaces that nothing makes", 25, |count| {
        let one = |at| {
            format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: team-a{at}}}\n---\n")
                + &format!(
                    "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: teams-a{at}}}\n---\n"
                )
                + &format!(
                    "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: b, namespace: teams-a{at}}}\n---\n"
                )
        };
        app(&each(count, one))
    }),
    ("SealedSecrets that are moved", 25, |count| {
        let one = |at| {
            let spec = format!(
                "spec: {{encryptedData: {{a: AgBy}}, template: {{metadata: {{name: s{at}, namespace: other}}}}}}"
            );
            in_default("bitnami.com/v1alpha1", "SealedSecret", &format!("s{at}"), &spec)
        };
        app(&each(count, one))
    }),
    ("applications that nothing lists", 20, |count| {
        let listed = each(count, |at| format!("  - ./l{at}/ks.yaml\n"));
        let mut found = files(&[
            ("clusters/a/sync.yaml", SYNC.to_owned() + &kustomization("app", "./app", "")),
            ("app/kustomization.yaml", format!("resources:\n{listed}")),
        ]);
        for at in 0..count {
            for side in ["l", "u"] {
                let text = kustomization(&format!("{side}{at}"), &format!("./app/{side}{at}/app"), "");
                found.push(named(&format!("app/{side}"), at, "ks.yaml", text));
                found.push(named(&format!("app/{side}"), at, "app/a.yaml", service(at)));
            }
        }
        found
    }),
    ("values that name objects", 25, |count| {
        let values = each(count, |at| format!("    k{at}: {{existingSecret: x{at}}}\n"));
        let secrets = each(count, |at| in_default("v1", "Secret", &format!("s{at}"), "data: {a: YQ==}"));
        let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r, namespace: default}\n\
                       spec:\n  interval: 5m\n  chart: {spec: {chart: c, sourceRef: {kind: HelmRepository, name: h}}}\n  values:\n";
        app(&(secrets + release + &values))
    }),
    ("releases that name one claim each", 25, |count| {
        let release = |at| {
            let spec = format!(
                "spec: {{interval: 5m, chart: {{spec: {{chart: c, sourceRef: {{kind: HelmRepository, name: h}}}}}}, values: {{persistence: {{a: {{existingClaim: c{at}}}}}}}}}"
            );
            in_default("helm.toolkit.fluxcd.io/v2", "HelmRelease", &format!("r{at}"), &spec)
        };
        let claim =
            |at| object("v1", "PersistentVolumeClaim", &format!("c{at}"), "{accessModes: [ReadWriteOnce]}");
        app(&each(count, |at| release(at) + &claim(at)))
    }),
    ("definitions that come later", 15, |count| {
        let one = |at| {
            let directory = format!("app/k{at}");
            let text = in_default(&format!("g{at}.example.com/v1"), "Thing", "a", "spec: {}");
            (directory, text)
        };
        let all = each(count, |at| kustomization(&format!("k{at}"), &format!("./app/k{at}"), ""));
        let defined = each(count, |at| {
            format!(
                "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.g{at}.example.com}}\n\
                 spec: {{group: g{at}.example.com, scope: Namespaced, names: {{kind: Thing, plural: things}}, versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}]}}\n---\n"
            )
        });
        let mut found = files(&[
            (
                "clusters/a/sync.yaml",
                SYNC.to_owned() + &all + &kustomization("definitions", "./definitions", ""),
            ),
            ("definitions/a.yaml", defined),
        ]);
        found.extend((0..count).map(one).map(|(directory, text)| (format!("{directory}/a.yaml"), text)));
        found
    }),
    ("encrypted files and creation rules", 25, |count| {
        let rules = each(count, |at| {
            format!(
                "  - path_regex: app/s{at}\\.sops\\.yaml$\n    encrypted_regex: ^(data|stringData)$\n    age: age1x{at}\n"
            )
        });
        let mut found = files(&[
            ("clusters/a/sync.yaml", SYNC.to_owned() + &kustomization("app", "./app", "")),
            (".sops.yaml", format!("creation_rules:\n{rules}")),
        ]);
        for at in 0..count {
            let text = in_default("v1", "Secret", &format!("s{at}"), "stringData: {password: ENC[AES256_GCM,data:a,iv:b,tag:c,type:str]}")
                .replace("\n---\n", "\nsops: {age: [{recipient: age1y, enc: a}], lastmodified: '2024-01-01T00:00:00Z', mac: 'ENC[AES256_GCM,data:a,iv:b,tag:c,type:str]', version: 3.9.0}\n");
            found.push((format!("app/s{at}.sops.yaml"), text));
        }
        found
    }),
];
