//! Where effective values come from, to the byte.

use forebay::internals::build::substitute::{Provided, Variables};
use forebay::internals::files::{FileTree, Snapshot, Store};
use forebay::internals::lang::yaml::{Location, NodeRef, ViaKind, parse_nodes};
use forebay::internals::world::build::Memo;
use forebay::internals::world::build::{FluxBuild, build};
use std::sync::Arc;

struct Case {
    files: Vec<(&'static str, &'static str)>,
    kustomization: &'static str,
}

impl Case {
    fn build(&self) -> FluxBuild {
        let files = self.files.iter().map(|(path, text)| (*path, text.as_bytes().to_vec()));
        let tree = FileTree::root(Arc::new(Snapshot::memory(files, Arc::new(Store::default()))));
        let kustomization = parse_nodes("ks.yaml", self.kustomization).remove(0);
        let variables =
            Variables::of(kustomization.get_ref(), &mut |_, _| Provided::Missing).unwrap_or_default();
        build(&tree, kustomization.get_ref(), &variables, true, &Memo::default()).expect("built")
    }

    /// The bytes that a location means.
    fn text(&self, location: &Location) -> (String, String) {
        let whole = match &**location.file.shown() {
            "ks.yaml" => self.kustomization,
            path => self.files.iter().find(|(name, _)| *name == path).expect("a file of the case").1,
        };
        (location.file.to_string(), whole[location.start as usize..location.end as usize].to_owned())
    }

    /// Asserts that a value's origin is exactly these bytes: the one place in a
    /// file where `part` stands in `context`.
    #[track_caller]
    fn stands_at(&self, object: NodeRef<'_>, pointer: &str, path: &str, context: &str, part: &str) {
        let location = object.at(pointer).and_then(NodeRef::location).expect("a place");
        self.is_at(&location, path, context, part);
    }

    #[track_caller]
    fn is_at(&self, location: &Location, path: &str, context: &str, part: &str) {
        let whole = match path {
            "ks.yaml" => self.kustomization,
            path => self.files.iter().find(|(name, _)| *name == path).expect("a file of the case").1,
        };
        assert_eq!(whole.matches(context).count(), 1, "`{context}` is ambiguous in {path}");
        let start = whole.find(context).expect("there") + context.rfind(part).expect("in the context");
        let expected = (path, start as u32, (start + part.len()) as u32);
        assert_eq!((&**location.file.shown(), location.start, location.end), expected);
    }

    /// File and bytes of a value, and kinds and bytes of what it went through.
    fn origin(&self, object: NodeRef<'_>, pointer: &str) -> (String, String, Vec<(ViaKind, String)>) {
        let node = object.at(pointer).unwrap_or_else(|| panic!("{pointer} is there"));
        let location = node.location().unwrap_or_else(|| panic!("{pointer} has a place"));
        let (path, text) = self.text(&location);
        let via = location.via.iter().map(|via| (via.kind, self.text(&via.location).1));
        (path, text, via.collect())
    }
}

fn find<'b>(built: &'b FluxBuild, kind: &str) -> NodeRef<'b> {
    built
        .objects
        .iter()
        .map(|object| object.node.get_ref())
        .find(|node| node.str_at("/kind").as_deref() == Some(kind))
        .unwrap_or_else(|| panic!("a {kind}"))
}

#[test]
fn a_key_inside_a_json6902_value() {
    let case = Case {
        files: vec![
            (
                "app/kustomization.yaml",
                "resources: [d.yaml]\npatches:\n- target: {kind: Deployment}\n  patch: |-\n    - op: add\n      path: /spec/strategy\n      value:\n        type: Recreate\n",
            ),
            (
                "app/d.yaml",
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 1}\n",
            ),
        ],
        kustomization: "spec: {path: app}\n",
    };
    let built = case.build();
    let object = find(&built, "Deployment");
    let (path, text, via) = case.origin(object, "/spec/strategy/type");
    assert_eq!((path.as_str(), text.as_str()), ("app/kustomization.yaml", "Recreate"));
    assert_eq!(via[0].0, ViaKind::Patch);
    let key =
        object.at("/spec/strategy").and_then(|map| map.entry("type")).and_then(|entry| entry.key_location());
    let file = "app/kustomization.yaml";
    case.is_at(&key.expect("a place"), file, "type: Recreate", "type");
    case.stands_at(object, "/spec/strategy/type", file, "type: Recreate", "Recreate");
    let via = object.at("/spec/strategy/type").and_then(NodeRef::location).expect("a place").via;
    case.is_at(&via[0].location, file, "- target: {kind: Deployment}\n  patch: |-\n    - op: add\n      path: /spec/strategy\n      value:\n        type: Recreate\n", "target: {kind: Deployment}\n  patch: |-\n    - op: add\n      path: /spec/strategy\n      value:\n        type: Recreate");
    case.stands_at(object, "/spec/replicas", "app/d.yaml", "{replicas: 1}", "1");
    assert_eq!(case.origin(object, "/spec/replicas").1, "1");
}

#[test]
fn a_label_of_common_metadata() {
    let case = Case {
        files: vec![(
            "app/d.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d, labels: {app: x}}\n",
        )],
        kustomization: "spec:\n  path: app\n  commonMetadata:\n    labels:\n      team: blue\n",
    };
    let built = case.build();
    let object = find(&built, "ConfigMap");
    let (path, text, via) = case.origin(object, "/metadata/labels/team");
    assert_eq!((path.as_str(), text.as_str()), ("ks.yaml", "blue"));
    assert_eq!(via[0].0, ViaKind::CommonMetadata);
    case.stands_at(object, "/metadata/labels/team", "ks.yaml", "team: blue", "blue");
    let labels = object.at("/metadata/labels").expect("labels");
    let key = labels.entry("team").and_then(|entry| entry.key_location()).expect("a place");
    case.is_at(&key, "ks.yaml", "team: blue", "team");
    case.stands_at(object, "/metadata/labels/app", "app/d.yaml", "{app: x}", "x");
}

#[test]
fn a_literal_of_a_generator() {
    let case = Case {
        files: vec![(
            "app/kustomization.yaml",
            "configMapGenerator:\n- name: settings\n  literals:\n  - region=eu\n  - tier=free\n",
        )],
        kustomization: "spec: {path: app}\n",
    };
    let built = case.build();
    let object = find(&built, "ConfigMap");
    let (_, _, via) = case.origin(object, "/data/tier");
    let kinds: Vec<ViaKind> = via.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [ViaKind::Generator]);
    case.stands_at(object, "/data/tier", "app/kustomization.yaml", "- tier=free", "free");
    let entry = object.at("/data").and_then(|data| data.entry("tier"));
    let key = entry.and_then(|entry| entry.key_location()).expect("a place");
    case.is_at(&key, "app/kustomization.yaml", "- tier=free", "tier");
    case.stands_at(object, "/data/region", "app/kustomization.yaml", "- region=eu", "eu");
}

#[test]
fn a_component_patched_by_an_overlay_and_substituted() {
    let case = Case {
        files: vec![
            ("app/kustomization.yaml", "components: [../component]\npatches: [{path: patch.yaml}]\n"),
            (
                "app/patch.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: \"in ${region}\"}\n",
            ),
            (
                "component/kustomization.yaml",
                "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [c.yaml]\n",
            ),
            (
                "component/c.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: old, b: \"of ${region}\"}\n",
            ),
        ],
        kustomization: "spec: {path: app, postBuild: {substitute: {region: eu}}}\n",
    };
    let built = case.build();
    let object = find(&built, "ConfigMap");
    assert_eq!(object.str_at("/data/a").as_deref(), Some("in eu"));
    let (path, text, via) = case.origin(object, "/data/a");
    assert_eq!((path.as_str(), text.as_str()), ("app/patch.yaml", "\"in ${region}\""));
    let kinds: Vec<ViaKind> = via.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [ViaKind::Patch, ViaKind::Substitution], "{via:?}");
    assert_eq!(via[1].1, "eu");
    case.stands_at(object, "/data/a", "app/patch.yaml", "{a: \"in ${region}\"}", "\"in ${region}\"");
    let places = object.at("/data/a").and_then(NodeRef::location).expect("a place").via;
    case.is_at(&places[0].location, "app/kustomization.yaml", "{path: patch.yaml}", "{path: patch.yaml}");
    case.is_at(&places[1].location, "ks.yaml", "{region: eu}", "eu");
    case.stands_at(object, "/data/b", "component/c.yaml", "b: \"of ${region}\"", "\"of ${region}\"");
    let (path, text, via) = case.origin(object, "/data/b");
    assert_eq!((path.as_str(), text.as_str()), ("component/c.yaml", "\"of ${region}\""));
    let kinds: Vec<ViaKind> = via.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [ViaKind::Component, ViaKind::Substitution], "{via:?}");
}

#[test]
fn a_name_with_prefix_and_hash() {
    let case = Case {
        files: vec![
            (
                "app/kustomization.yaml",
                "namePrefix: eu-\nresources: [d.yaml]\nconfigMapGenerator: [{name: settings, literals: [a=b]}]\n",
            ),
            (
                "app/d.yaml",
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: {volumes: [{name: v, configMap: {name: settings}}]}}}\n",
            ),
        ],
        kustomization: "spec: {path: app}\n",
    };
    let built = case.build();
    let deployment = find(&built, "Deployment");
    assert_eq!(deployment.str_at("/metadata/name").as_deref(), Some("eu-d"));
    let (path, text, via) = case.origin(deployment, "/metadata/name");
    assert_eq!((path.as_str(), text.as_str()), ("app/d.yaml", "d"));
    assert!(via.contains(&(ViaKind::Transformer, "eu-".to_owned())), "{via:?}");
    case.stands_at(deployment, "/metadata/name", "app/d.yaml", "metadata: {name: d}", "d");
    let map = find(&built, "ConfigMap");
    let name = map.str_at("/metadata/name").expect("a name").into_owned();
    assert!(name.starts_with("eu-settings-"), "{name}");
    let (path, text, via) = case.origin(map, "/metadata/name");
    assert_eq!((path.as_str(), text.as_str()), ("app/kustomization.yaml", "settings"));
    assert!(via.contains(&(ViaKind::Transformer, "eu-".to_owned())), "{via:?}");
    case.stands_at(map, "/metadata/name", "app/kustomization.yaml", "{name: settings, literals", "settings");
    let reference = "/spec/template/spec/volumes/0/configMap/name";
    assert_eq!(deployment.str_at(reference).as_deref(), Some(&*name));
    case.stands_at(deployment, reference, "app/d.yaml", "configMap: {name: settings}", "settings");
}
