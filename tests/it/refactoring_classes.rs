//! `rename worker-class` and `rename variable` of a ClusterClass: in three steps that
//! the webhooks accept, back again byte for byte.

use crate::support::fleet::{kustomization, sync};
use crate::support::scratch::Scratch;

const CLASS: &str = r#"apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: quick, namespace: fleet}
spec:
  infrastructure:
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DockerClusterTemplate, name: quick}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: quick}
  workers:
    machineDeployments:
      # the usual ones
      - class: default-worker # for all
        bootstrap:
          templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: quick}
        infrastructure:
          templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DockerMachineTemplate, name: quick}
      - class: gpu
        bootstrap:
          templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: quick}
        infrastructure:
          templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DockerMachineTemplate, name: quick}
  variables:
    - name: registry # where from
      required: true
      schema:
        openAPIV3Schema:
          type: string
          example: "registry.k8s.io"
    - name: podSecurity
      required: false
      schema:
        openAPIV3Schema: {type: object, properties: {enabled: {type: boolean, default: true}}}
    - name: zone
      required: false
      schema: {openAPIV3Schema: {type: string, default: a}}
  patches:
    - name: image
      enabledIf: '{{ if and .registry (ne .registry "x") }}true{{ end }}'
      definitions:
        - selector:
            apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
            kind: DockerMachineTemplate
            matchResources:
              machineDeploymentClass:
                names:
                  - default-worker # the usual
                  - g*
          jsonPatches:
            - op: add
              path: /spec/template/spec/customImage
              valueFrom:
                template: |
                  {{ .registry }}/node:{{ .builtin.machineDeployment.version }} # .registry
            - op: add
              path: /spec/template/spec/from
              valueFrom: {variable: registry}
    - name: security
      definitions:
        - selector:
            apiVersion: controlplane.cluster.x-k8s.io/v1beta2
            kind: KubeadmControlPlaneTemplate
            matchResources: {controlPlane: true}
          jsonPatches:
            - {op: add, path: /spec/template/spec/x, valueFrom: {variable: podSecurity.enabled}}
"#;

const TEMPLATES: &str = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DockerClusterTemplate
metadata: {name: quick, namespace: fleet}
spec: {template: {spec: {}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {name: quick, namespace: fleet}
spec: {template: {spec: {kubeadmConfigSpec: {}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DockerMachineTemplate
metadata: {name: quick, namespace: fleet}
spec: {template: {spec: {}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: quick, namespace: fleet}
spec: {template: {spec: {}}}
";

const CLUSTER: &str = "apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: prod, namespace: fleet}
spec:
  topology:
    classRef: {name: quick}
    version: v1.33.0
    controlPlane: {replicas: 3}
    variables:
      - name: registry # ours
        value: example.com/k8s
      - name: podSecurity
        value: {enabled: true}
    workers:
      machineDeployments:
        - class: default-worker
          name: md-0
          replicas: 2
          variables:
            overrides:
              - {name: registry, value: example.com/gpu}
        - class: gpu
          name: md-1
";

fn fleet(class: &str, cluster: &str) -> Scratch {
    let scratch = Scratch::git(&[
        ("clusters/mgmt/flux-system/gotk-sync.yaml", &sync("./clusters/mgmt")),
        ("clusters/mgmt/fleet.yaml", &kustomization("fleet", "./fleet")),
        ("fleet/class.yaml", class),
        ("fleet/templates.yaml", TEMPLATES),
        ("fleet/cluster.yaml", cluster),
    ]);
    scratch.commit("fleet");
    scratch
}

/// All steps of a rename; what the last run says.
fn all(scratch: &Scratch, arguments: &[&str]) -> String {
    let mut said = String::new();
    for step in ["1", "2", "3"] {
        let run = scratch.forebay(&[arguments, &["--step", step]].concat());
        assert_eq!(run.code, 0, "{arguments:?} --step {step}: {}", run.err);
        said = run.out;
    }
    said
}

#[test]
fn a_worker_class_is_renamed_and_named_back() {
    let scratch = fleet(CLASS, CLUSTER);
    let first = scratch.forebay(&["rename", "worker-class", "default-worker", "standard"]);
    assert_eq!(first.code, 0, "{}", first.err);
    let text = scratch.read("fleet/class.yaml");
    let both = text.contains("- class: default-worker # for all")
        && text.contains("- class: standard # while default-worker is renamed to it\n");
    assert!(both && text.contains("- standard\n"), "{text}");
    assert_eq!(scratch.read("fleet/cluster.yaml"), CLUSTER);
    scratch.run_git(&["checkout", "-q", "."]);
    all(&scratch, &["rename", "worker-class", "default-worker", "standard"]);
    assert_eq!(scratch.read("fleet/class.yaml"), CLASS.replace("default-worker", "standard"));
    assert_eq!(scratch.read("fleet/cluster.yaml"), CLUSTER.replace("default-worker", "standard"));
    all(&scratch, &["rename", "worker-class", "standard", "default-worker"]);
    assert_eq!(scratch.run_git(&["status", "--short"]), "");
}

#[test]
fn a_variable_of_a_class_is_renamed_and_named_back() {
    let scratch = fleet(CLASS, CLUSTER);
    all(&scratch, &["rename", "variable", "registry", "images"]);
    let class = CLASS
        .replace("name: registry", "name: images")
        .replace("if and .registry (ne .registry", "if and .images (ne .images")
        .replace("{{ .registry }}", "{{ .images }}")
        .replace("variable: registry", "variable: images");
    assert_eq!(scratch.read("fleet/class.yaml"), class);
    assert_eq!(scratch.read("fleet/cluster.yaml"), CLUSTER.replace("name: registry", "name: images"));
    all(&scratch, &["rename", "variable", "images", "registry", "--class", "fleet/quick"]);
    all(&scratch, &["rename", "variable", "podSecurity", "psa"]);
    let class = CLASS.replace("podSecurity", "psa");
    assert_eq!(scratch.read("fleet/class.yaml"), class);
    all(&scratch, &["rename", "variable", "psa", "podSecurity"]);
    assert_eq!(scratch.run_git(&["status", "--short"]), "");
}

#[test]
fn what_the_new_name_would_change_is_refused() {
    let builtin = CLASS.replace("{variable: registry}", "{variable: builtin.machineDeployment.class}");
    let external = CLASS.replacen(
        "  patches:\n",
        "  patches:\n    - name: ext\n      external: {generatePatchesExtension: gen.ext}\n",
        1,
    );
    let whole = CLASS.replace("{{ .registry }}/node", "{{ index . \"registry\" }}/node");
    let two = format!(
        "{CLASS}---\n{}",
        CLASS.replace("name: quick, namespace: fleet}\nspec", "name: slow, namespace: fleet}\nspec")
    );
    for (class, words, said) in [
        (CLASS, &["worker-class", "default-worker", "gpu"][..], "there is a worker class gpu already"),
        (
            CLASS,
            &["worker-class", "default-worker", "g-2"],
            "`g*` selects only one of default-worker and g-2",
        ),
        (CLASS, &["worker-class", "gpu", "fast"], "`g*` selects only one of gpu and fast"),
        (CLASS, &["worker-class", "default-workr", "x"], "did you mean default-worker?"),
        (CLASS, &["worker-class", "default-worker", "A_b"], "is no name"),
        (&builtin, &["worker-class", "default-worker", "x"], "rendered into its Machines"),
        (&external, &["worker-class", "default-worker", "x"], "an extension makes the patch ext"),
        (&external, &["variable", "registry", "x"], "an extension makes the patch ext"),
        (CLASS, &["variable", "registry", "zone"], "there is a variable zone already"),
        (CLASS, &["variable", "registry", "re-gistry"], "is no field in this template"),
        (CLASS, &["variable", "registry", "a.b"], "is no name"),
        (CLASS, &["variable", "zone", "area"], "set the variable in the Cluster first"),
        (&whole, &["variable", "registry", "x"], "takes all variables at once"),
        (&two, &["variable", "registry", "x"], "add --class"),
        (
            CLASS,
            &["variable", "registry", "x", "--class", "other"],
            "no ClusterClass here has a variable registry",
        ),
        (CLASS, &["ks/fleet", "x", "--class", "other"], "--class is for"),
    ] {
        let scratch = fleet(class, CLUSTER);
        let run = scratch.forebay(&[&["rename"], words].concat());
        assert_eq!(run.code, 2, "{words:?}: {}", run.out);
        assert!(run.err.contains(said), "{words:?}: {}", run.err);
        assert_eq!(scratch.run_git(&["status", "--short"]), "", "{words:?}");
    }
    let scratch = fleet(&two, CLUSTER);
    all(&scratch, &["rename", "variable", "registry", "images", "--class", "slow"]);
    assert_eq!(scratch.read("fleet/cluster.yaml"), CLUSTER);
}
