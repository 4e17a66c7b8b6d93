//! Tests of the module.

use super::*;

fn mistakes(text: &str) -> Vec<String> {
    let lines = Stream::parse(text);
    let show = |mistake: &Mistake| {
        let (line, column) = lines.lines().position(text, mistake.location.start);
        format!("{line}:{column} {} ({})", mistake.message, mistake.help)
    };
    read("c.yaml", text).err().unwrap_or_default().iter().map(show).collect()
}

#[test]
fn a_source_is_here_or_elsewhere() {
    let source =
        |fields: &str| format!("version: 1\nsources:\n  - {{kind: GitRepository, name: apps, {fields}}}\n");
    assert_eq!(mistakes(&source("dir: ../apps")), [""; 0]);
    assert_eq!(
        mistakes(&source("path: apps, dir: ../apps")),
        ["3:56 a source has either path or dir (path is inside this repository, dir is not)"]
    );
}

#[test]
fn every_key_is_read() {
    let text = r#"
version: 1
target:
  flux: 2.7
  clusterApi: "1.12"
  kubernetes: auto
  features: {gates: enabled, suspendAnnotation: auto, runtimeSdk: disabled}
  additionalSyncMachineLabels: ["^topology"]
  additionalSyncMachineAnnotations: []
  extensions:
    - name: addons
      handlers: [{name: before-upgrade, hook: BeforeClusterUpgrade, failurePolicy: Ignore}]
clusters:
  - {name: production, path: ./clusters/production/, target: {flux: "2.9.1"}}
  - {name: spoke, kubeConfig: {secretRef: {name: spoke-kubeconfig}}}
  - {name: other, path: ., kubeConfig: hub/other-kubeconfig}
sources:
  - {kind: GitRepository, name: flux-system, namespace: flux-system, path: ., dir: null}
  - {kind: OCIRepository, name: shared, dir: ../shared}
exclude: ["**/charts/**"]
baseline: .forebay-baseline.json
rules: {suspend-without-reason: warning, orphan-object: off}
overrides: [{paths: ["clusters/dev/**"], rules: {suspend: info}}]
requireReason: true
plan: {base: origin/main}
"#;
    let config = read("c.yaml", text).expect("no mistakes");
    let version = |target: &TargetConfig| target.flux.as_ref().map(|version| version.value.to_string());
    assert_eq!(version(&config.target).as_deref(), Some("2.7"));
    assert_eq!(version(&config.target_of(Some("production"))).as_deref(), Some("2.9.1"));
    assert_eq!(version(&config.target_of(Some("spoke"))).as_deref(), Some("2.7"));
    assert_eq!(config.target.kubernetes, None);
    assert_eq!(config.target.feature(Feature::Gates).map(|gates| gates.value), Some(true));
    assert_eq!(config.target.feature(Feature::SuspendAnnotation), None);
    assert!(config.target_of(Some("production")).feature(Feature::RuntimeSdk).is_some_and(|on| !on.value));
    assert!(config.target.extensions[0].handlers[0].ignores_failure);
    let paths: Vec<_> = config.clusters.iter().map(|c| c.path.as_ref().map(|p| p.value.as_str())).collect();
    assert_eq!(paths, [Some("clusters/production"), None, Some("")]);
    let kube = config.clusters[2].kube_config.as_ref().expect("given");
    assert_eq!((kube.namespace.as_deref(), kube.name.as_str()), (Some("hub"), "other-kubeconfig"));
    assert_eq!(config.sources[0].tree, SourceTree::Path(String::new()));
    assert_eq!(config.sources[1].tree, SourceTree::Directory("../shared".to_owned()));
    assert_eq!(config.level("orphan-object", "build"), Some(Level::Off));
    assert_eq!(config.override_level("clusters/dev/a.yaml", "suspended-x", "suspend"), Some(Level::Info));
    assert_eq!(config.override_level("clusters/prod/a.yaml", "suspended-x", "suspend"), None);
    assert!(
        config.require_reason.is_some_and(|asks| asks.value)
            && config.plan_base.is_some()
            && config.baseline.is_some_and(|file| file.value == ".forebay-baseline.json")
            && config.exclude.len() == 1
    );
}

#[test]
fn the_template_is_right_as_it_is_and_with_everything_in_it() {
    let template = crate::config::TEMPLATE;
    assert!(read("c.yaml", template).is_ok_and(|config| config.rules.is_empty()));
    let all: String = template
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(setting) if !setting.starts_with(' ') || setting.starts_with("  ") => {
                format!("{setting}\n")
            }
            _ => format!("{line}\n"),
        })
        .collect();
    let config = read("c.yaml", &all).unwrap_or_else(|mistakes| panic!("{mistakes:?}\n{all}"));
    assert!(!config.rules.is_empty() && config.clusters.len() == 2 && config.plan_base.is_some(), "{all}");
}

#[test]
fn hooks_of_handlers_are_those_of_cluster_api() {
    let config = |hook: &str| {
        format!(
            "version: 1\ntarget:\n  extensions:\n  - name: addons\n    handlers: [{{name: a, hook: {hook}}}]\n"
        )
    };
    for hook in ["BeforeClusterUpgrade", "GeneratePatches", "CanUpdateMachineSet"] {
        assert_eq!(mistakes(&config(hook)), Vec::<String>::new(), "{hook}");
    }
    assert_eq!(
        mistakes(&config("BeforeClusterUpgarde")),
        ["5:32 `BeforeClusterUpgarde` is no hook of Cluster API (did you mean `BeforeClusterUpgrade`?)"]
    );
}

#[test]
fn the_schema_names_the_keys_that_are_read() {
    let schema: serde_json::Value = serde_json::from_str(crate::config::SCHEMA).expect("JSON");
    let keys = |value: &serde_json::Value| -> Vec<String> {
        value["properties"].as_object().expect("properties").keys().cloned().collect()
    };
    let sorted = |names: &[&str]| {
        let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        names.sort();
        names
    };
    let target = &schema["$defs"]["target"];
    assert_eq!(keys(&schema), sorted(&ROOT));
    assert_eq!(keys(target), sorted(&TARGET));
    assert_eq!(keys(&target["properties"]["features"]), sorted(&Feature::ALL.map(Feature::name)));
}

#[test]
fn an_empty_configuration_is_the_default() {
    for text in ["", "# only a comment\n", "---\n", "version: 1\n", "rules:\nclusters:\n"] {
        assert!(read("c.yaml", text).is_ok(), "{text}");
    }
}

#[test]
fn mistakes_name_their_place_and_the_cure() {
    for (text, expected) in [
        ("exclde: []\n", "1:1 unknown key `exclde` in the configuration (did you mean `exclude`?)"),
        (
            "target:\n  features:\n    gate: enabled\n",
            "3:5 unknown key `gate` in features (did you mean `gates`?)",
        ),
        (
            "target: {kubernetes: new}\n",
            "1:22 `new` is no version (write MAJOR.MINOR, such as \"1.34\", or auto)",
        ),
        ("rules: {a: fatal}\n", "1:12 `fatal` is no level (write off, info, warning or error)"),
        ("exclude: ['[a']\n", "1:11 `[a` is no glob: unclosed character class; missing ']' ()"),
        ("exclude: a\n", "1:10 exclude is no list ()"),
        ("requireReason: maybe\n", "1:16 neither true nor false ()"),
        ("clusters: [{path: a}]\n", "1:12 `name` is missing ()"),
        (
            "clusters: [{name: a, path: ../x}]\n",
            "1:28 `../x` leaves the repository (paths are relative to the root)",
        ),
        (
            "sources: [{kind: GitRepo, name: a}]\n",
            "1:18 `GitRepo` is no kind of source (one of GitRepository, OCIRepository, Bucket, ExternalArtifact)",
        ),
        ("version: 2\n", "1:10 unknown version of the configuration (write `version: 1`)"),
        ("[]\n", "1:1 the configuration is no map ()"),
        ("a: 1\n---\nb: 2\n", "3:1 a second document (a configuration is one YAML document)"),
    ] {
        let found = mistakes(text);
        assert!(found.iter().any(|mistake| mistake == expected), "{text}\n{found:#?}");
    }
}

#[test]
fn broken_yaml_is_a_mistake_with_a_place() {
    let found = mistakes("rules: {a: error\n");
    assert!(found.first().is_some_and(|mistake| mistake.contains("not valid YAML")), "{found:?}");
}

#[test]
fn all_mistakes_are_told_at_once() {
    assert_eq!(mistakes("a: 1\nb: 2\nrules: {c: d}\n").len(), 3);
}
