//! `forebay suspend`, `resume` and `migrate suspend` on files: where the edit
//! goes, what it leaves, and when it is refused.

use crate::support::fleet::{kustomization, sync};
use crate::support::scratch::Scratch;
use crate::support::skip::corpus_or_skip;
use forebay::internals::config::Config;
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::lang::yaml::{Node, NodeRef};
use forebay::internals::rewrite::subject::{Subject, Unproven, prove};
use forebay::internals::rewrite::suspend::{self, Aim};
use forebay::internals::simulate::suspend::suspension;
use forebay::internals::world::{ApplyTarget, World};
use std::collections::BTreeMap;
use std::sync::Arc;

const RELEASE: &str = "# the app
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: podinfo
  namespace: podinfo
spec:
  interval: 1h # not too often
  chart:
    spec: {chart: podinfo, sourceRef: {kind: HelmRepository, name: podinfo}}
";

const OVERLAY: &str = "apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../base]
";

/// Clusters whose Kustomization `apps` applies an overlay of one base.
fn fleet(clusters: &[&str]) -> Scratch {
    let base =
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [release.yaml]\n";
    let scratch =
        Scratch::git(&[("apps/base/kustomization.yaml", base), ("apps/base/release.yaml", RELEASE)]);
    for cluster in clusters {
        scratch.write(
            &format!("clusters/{cluster}/flux-system/gotk-sync.yaml"),
            sync(&format!("./clusters/{cluster}")).as_bytes(),
        );
        let apps = kustomization("apps", &format!("./apps/{cluster}"));
        scratch.write(&format!("clusters/{cluster}/apps.yaml"), apps.as_bytes());
        scratch.write(&format!("apps/{cluster}/kustomization.yaml"), OVERLAY.as_bytes());
    }
    scratch.commit("start");
    scratch
}

/// What `git diff` says changed, without headers.
fn changed(scratch: &Scratch) -> String {
    let diff = scratch.run_git(&["diff", "-U0"]);
    let lines: Vec<&str> = diff
        .lines()
        .filter(|line| line.starts_with(['+', '-']) && !line.starts_with("---"))
        .map(|line| line.strip_prefix("+++ b/").unwrap_or(line))
        .collect();
    lines.join("\n")
}

#[track_caller]
fn runs(scratch: &Scratch, arguments: &[&str], code: i32) -> String {
    let run = scratch.forebay(arguments);
    assert_eq!(run.code, code, "{arguments:?}\n{}\n{}", run.out, run.err);
    if code == 2 {
        assert!(run.err.contains("nothing was written"), "{}", run.err);
        assert_eq!(changed(scratch), "");
    }
    run.err
}

#[test]
fn suspended_and_resumed_only_the_documented_line_remains() {
    let scratch = fleet(&["production"]);
    runs(&scratch, &["suspend", "ks/apps", "--message", "INC-4711"], 0);
    assert_eq!(changed(&scratch), "clusters/production/apps.yaml\n+  suspend: true # INC-4711");
    let text = scratch.read("clusters/production/apps.yaml");
    assert!(text.contains("spec:\n  suspend: true # INC-4711\n  interval: 10m\n"), "{text}");
    let said = runs(&scratch, &["suspend", "ks/apps"], 0);
    assert!(said.contains("nothing to change"), "{said}");
    // Another reason takes the place of the first.
    runs(&scratch, &["suspend", "ks/apps", "--message", "INC-4712"], 0);
    assert_eq!(changed(&scratch), "clusters/production/apps.yaml\n+  suspend: true # INC-4712");
    let said = runs(&scratch, &["resume", "Kustomization/flux-system/apps"], 0);
    assert!(said.contains("needs `flux resume` once"), "{said}");
    assert_eq!(changed(&scratch), "", "what suspend wrote is gone, byte for byte");
    let said = runs(&scratch, &["resume", "ks/apps"], 0);
    assert!(said.contains("nothing to change"), "{said}");

    // By annotation nothing remains.
    scratch.run_git(&["checkout", "-q", "."]);
    let by_annotation = ["suspend", "ks/apps", "--via", "annotation", "--message", "INC-1: wait"];
    let said = runs(&scratch, &by_annotation, 2);
    for part in [
        "cluster production: no released Flux reads reconcile.fluxcd.io/suspended",
        "nothing was written",
        "suspendAnnotation: enabled",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(changed(&scratch), "");
    scratch.write(".forebay.yaml", ENABLED);
    scratch.commit("enabled");
    runs(&scratch, &by_annotation, 0);
    assert_eq!(
        changed(&scratch),
        "clusters/production/apps.yaml\n+  annotations:\n+    reconcile.fluxcd.io/suspended: \"INC-1: wait\""
    );
    runs(&scratch, &["resume", "ks/apps"], 0);
    assert_eq!(changed(&scratch), "");
}

const ENABLED: &[u8] = b"version: 1\ntarget: {features: {suspendAnnotation: enabled}}\n";

#[test]
fn the_default_follows_what_the_controllers_honour() {
    let scratch = fleet(&["production"]);
    scratch.write(".forebay.yaml", ENABLED);
    let said = runs(&scratch, &["suspend", "ks/apps"], 0);
    assert!(!said.contains("warning"), "{said}");
    assert!(changed(&scratch).contains("+    reconcile.fluxcd.io/suspended: suspended"));
}

#[test]
fn diff_and_check_write_nothing() {
    let scratch = fleet(&["production"]);
    let before = scratch.read("clusters/production/apps.yaml");
    let run = scratch.forebay(&["suspend", "ks/apps", "--diff", "--message", "why"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let patch = diffy::Patch::from_str(&run.out).expect("a diff");
    assert_eq!(scratch.forebay(&["suspend", "ks/apps", "--check"]).code, 1);
    assert_eq!(scratch.read("clusters/production/apps.yaml"), before);
    runs(&scratch, &["suspend", "ks/apps", "--message", "why"], 0);
    assert_eq!(
        scratch.read("clusters/production/apps.yaml"),
        diffy::apply(&before, &patch).expect("applies")
    );
    for flag in ["--diff", "--check"] {
        assert_eq!(scratch.forebay(&["suspend", "ks/apps", flag]).code, 0);
    }
}

#[test]
fn an_object_of_several_clusters_needs_a_word() {
    let scratch = fleet(&["production", "staging"]);
    let said = runs(&scratch, &["suspend", "ks/apps"], 2);
    for part in [
        "2 clusters have a Kustomization flux-system/apps",
        "production  clusters/production/apps.yaml:1",
        "staging  clusters/staging/apps.yaml:1",
        "help: add --cluster production, or --all-clusters",
    ] {
        assert!(said.contains(part), "{said}");
    }
    runs(&scratch, &["suspend", "ks/apps", "--cluster", "staging"], 0);
    assert_eq!(changed(&scratch), "clusters/staging/apps.yaml\n+  suspend: true");
    runs(&scratch, &["suspend", "ks/app*", "--all-clusters"], 0);
    assert_eq!(
        changed(&scratch),
        "clusters/production/apps.yaml\n+  suspend: true\nclusters/staging/apps.yaml\n+  suspend: true"
    );
}

#[test]
fn a_base_that_feeds_others_is_left_alone() {
    let scratch = fleet(&["production", "staging"]);
    let one = ["suspend", "hr/podinfo/podinfo", "--cluster", "production"];
    let said = runs(&scratch, &one, 0);
    assert!(said.contains("reaches HelmRelease podinfo/podinfo in cluster production"), "{said}");
    let found = changed(&scratch);
    assert!(found.starts_with("apps/production/kustomization.yaml\n+patches:"), "{found}");
    assert!(!found.contains("apps/base"), "{found}");
    scratch.run_git(&["checkout", "-q", "."]);
    for more in [&["--shared"][..], &["--all-clusters"]] {
        let mut arguments = one.to_vec();
        if more == ["--all-clusters"] {
            arguments.truncate(2);
        }
        arguments.extend(more);
        runs(&scratch, &arguments, 0);
        assert_eq!(changed(&scratch), "apps/base/release.yaml\n+  suspend: true");
        scratch.run_git(&["checkout", "-q", "."]);
    }
}

#[test]
fn a_base_that_an_overlay_patches_is_not_taken_for_its_patch() {
    let scratch = fleet(&["production", "staging"]);
    let patched = format!("{OVERLAY}patches: [{{path: values.yaml}}]\n");
    scratch.write("apps/production/kustomization.yaml", patched.as_bytes());
    let values = "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: podinfo, namespace: podinfo}
spec:
  values:
    replicas: 3
";
    scratch.write("apps/production/values.yaml", values.as_bytes());
    scratch.commit("patched");
    let one = ["suspend", "hr/podinfo/podinfo", "--cluster", "production"];
    runs(&scratch, &one, 0);
    let found = changed(&scratch);
    assert!(found.starts_with("apps/production/kustomization.yaml\n"), "{found}");
    scratch.run_git(&["checkout", "-q", "."]);
    // A value that the patch states is changed there, for this cluster alone.
    scratch.write(
        "apps/production/values.yaml",
        values.replace("spec:\n", "spec:\n  suspend: false\n").as_bytes(),
    );
    scratch.commit("states it");
    runs(&scratch, &one, 0);
    assert_eq!(changed(&scratch), "apps/production/values.yaml\n-  suspend: false\n+  suspend: true");
}

#[test]
fn what_does_not_reach_the_object_is_refused() {
    for (patch, place) in [
        (
            "- target: {kind: HelmRelease}\n  patch: |\n    - op: add\n      path: /spec/suspend\n      value: false\n",
            "kustomization.yaml:9",
        ),
        (
            "- patch: |\n    apiVersion: helm.toolkit.fluxcd.io/v2\n    kind: HelmRelease\n    metadata: {name: podinfo, namespace: podinfo}\n    spec:\n      suspend: false\n",
            "kustomization.yaml:10",
        ),
    ] {
        let scratch = fleet(&["production"]);
        let text = format!("{OVERLAY}patches:\n{patch}\n");
        scratch.write("apps/production/kustomization.yaml", text.as_bytes());
        scratch.commit("patched");
        // With --shared only the manifest is tried.
        let said = runs(&scratch, &["suspend", "hr/podinfo", "--shared"], 2);
        assert!(
            said.contains("HelmRelease podinfo/podinfo in cluster production would stay as it is"),
            "{said}"
        );
        assert!(said.contains(&format!("apps/production/{place} decides on it")), "{said}");
        // A patch behind it has the last word.
        runs(&scratch, &["suspend", "hr/podinfo"], 0);
        assert!(changed(&scratch).starts_with("apps/production/kustomization.yaml\n"));
        runs(&scratch, &["resume", "hr/podinfo"], 0);
        assert_eq!(changed(&scratch), "");
    }
}

#[test]
fn one_identity_in_several_texts_needs_a_word() {
    // Without entry points every overlay stands for itself.
    let scratch = fleet(&[]);
    for overlay in ["one", "two"] {
        scratch.write(&format!("apps/{overlay}/release.yaml"), RELEASE.as_bytes());
        scratch.write(
            &format!("apps/{overlay}/kustomization.yaml"),
            b"resources: [release.yaml]\nkind: Kustomization\napiVersion: kustomize.config.k8s.io/v1beta1\n",
        );
    }
    scratch.commit("overlays");
    let said = runs(&scratch, &["suspend", "hr/podinfo"], 2);
    for part in ["3 texts state a HelmRelease podinfo/podinfo", "apps/one/release.yaml:2", "--all-clusters"] {
        assert!(said.contains(part), "{said}");
    }
    runs(&scratch, &["suspend", "hr/podinfo", "--all-clusters"], 0);
    assert_eq!(changed(&scratch).matches("+  suspend: true").count(), 3);
}

#[test]
fn what_has_no_suspension_is_told_apart() {
    let scratch = fleet(&["production", "staging"]);
    scratch.write("lost/release.yaml", RELEASE.replace("podinfo", "lost").as_bytes());
    scratch.commit("lost");
    for (arguments, part) in [
        (
            &["suspend", "hr/podinfoo"][..],
            "no object is called hr/podinfoo; did you mean HelmRelease/podinfo?",
        ),
        (&["suspend", "hr/lost"], "HelmRelease lost/lost: no cluster applies lost/release.yaml"),
        (&["suspend", "podinfo"], "names no object; write KIND/NAMESPACE/NAME"),
        (&["suspend", "ks/apps", "--cluster", "prod"], "no cluster is called `prod`"),
        (&["suspend", "ks/apps", "--message", "two\nlines"], "it has to be one line"),
        (&["suspend", "ks/apps", "--message", " "], "it is empty"),
        (&["suspend", "ks/apps", "--diff", "--check"], "cannot be used with"),
        (&["resume"], "required"),
    ] {
        let run = scratch.forebay(arguments);
        assert_eq!(run.code, 2, "{arguments:?} {}", run.err);
        assert!(run.err.contains(part), "{arguments:?} {}", run.err);
    }
}

#[test]
fn several_objects_change_together_or_not_at_all() {
    let scratch = fleet(&["production"]);
    let alias = "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: aliased, namespace: flux-system}
spec: &spec
  interval: 10m
  path: ./nowhere
  prune: false
  sourceRef: {kind: GitRepository, name: flux-system}
status: {last: *spec}
";
    scratch.write("clusters/production/aliased.yaml", alias.as_bytes());
    scratch.commit("aliased");
    let said = runs(&scratch, &["suspend", "ks/a*"], 2);
    assert!(said.contains("clusters/production/aliased.yaml:4:7: "), "{said}");
    assert!(said.contains("aliases elsewhere in the document use &spec"), "{said}");
    runs(&scratch, &["suspend", "ks/apps"], 0);
}

#[test]
fn moved_between_the_annotation_and_the_field() {
    let scratch = fleet(&["production", "staging"]);
    let files = ["clusters/production/apps.yaml", "clusters/staging/apps.yaml"];
    for file in files {
        let text = scratch.read(file).replace(
            "  namespace: flux-system\n",
            "  namespace: flux-system\n  annotations:\n    reconcile.fluxcd.io/suspended: INC-1\n",
        );
        scratch.write(file, text.as_bytes());
    }
    scratch.commit("annotated");
    let check = scratch.forebay(&["migrate", "suspend", "--to", "spec", "--check"]);
    assert_eq!((check.code, check.err.as_str()), (1, "2 files would change\n"));
    let said = runs(&scratch, &["migrate", "suspend", "--to", "spec", "--cluster", "staging"], 0);
    assert!(said.contains("migrated Kustomization flux-system/apps: 1 file changed"), "{said}");
    let removed = "-  annotations:\n-    reconcile.fluxcd.io/suspended: INC-1\n+  suspend: true # INC-1";
    assert_eq!(changed(&scratch), format!("clusters/staging/apps.yaml\n{removed}"));
    runs(&scratch, &["migrate", "suspend", "--to", "spec"], 0);
    assert_eq!(changed(&scratch), files.map(|file| format!("{file}\n{removed}")).join("\n"));
    assert_eq!(scratch.forebay(&["migrate", "suspend", "--to", "spec", "--check"]).code, 0);
    let moved = changed(&scratch);
    let back = ["migrate", "suspend", "--to", "annotation"];
    let refused = |scratch: &Scratch| {
        let run = scratch.forebay(&back);
        assert_eq!(run.code, 2, "{}{}", run.out, run.err);
        assert_eq!(changed(scratch), moved, "nothing was written");
        run.err
    };
    let said = refused(&scratch);
    assert!(said.contains("cluster production, cluster staging: no released Flux reads"), "{said}");
    assert!(said.contains("so Kustomization flux-system/apps and 1 more would not be suspended"), "{said}");
    let one = "version: 1
target: {features: {suspendAnnotation: disabled}}
clusters:
  - {name: production, path: clusters/production, target: {features: {suspendAnnotation: enabled}}}
  - {name: staging, path: clusters/staging}
";
    scratch.write(".forebay.yaml", one.as_bytes());
    let said = refused(&scratch);
    assert!(said.contains("cluster staging: no released Flux reads"), "{said}");
    scratch.write(".forebay.yaml", ENABLED);
    scratch.run_git(&["add", ".forebay.yaml"]);
    scratch.run_git(&["commit", "-q", "-m", "enabled"]);
    runs(&scratch, &back, 0);
    assert_eq!(changed(&scratch), "");
}

#[test]
fn the_operators_kinds_are_suspended_by_their_own_annotation() {
    let scratch = fleet(&["production"]);
    let set = "apiVersion: fluxcd.controlplane.io/v1
kind: ResourceSet
metadata: {name: tenants, namespace: flux-system}
spec: {resources: []}
";
    scratch.write(
        "clusters/production/set.yaml",
        set.replace(
            "metadata: {name: tenants, namespace: flux-system}",
            "metadata:\n  name: tenants\n  namespace: flux-system",
        )
        .as_bytes(),
    );
    scratch.commit("set");
    runs(&scratch, &["suspend", "ResourceSet/tenants"], 0);
    assert_eq!(
        changed(&scratch),
        "clusters/production/set.yaml\n+  annotations:\n+    fluxcd.controlplane.io/reconcile: disabled"
    );
    runs(&scratch, &["resume", "ResourceSet/tenants"], 0);
    assert_eq!(changed(&scratch), "");
}

/// Every reason of the design for which a file is not changed, with its place and
/// the way out.
#[test]
fn files_that_are_not_ours_to_change_are_refused() {
    let apps = kustomization("apps", "./apps/production");
    let sops = "sops:\n  mac: ENC[AES256_GCM,data:x]\n  version: 3.9.0\n";
    for (text, parts) in [
        (
            format!("# Code generated by a tool. DO NOT EDIT.\n{apps}"),
            ["apps.yaml: a program writes this file", "change what it is generated from"],
        ),
        (
            format!("{apps}{sops}"),
            [
                "apps.yaml:12:3: the file is signed by SOPS as a whole: any change breaks its MAC",
                "use `sops edit`",
            ],
        ),
        (
            apps.replace("spec:\n", "x: &x\n  suspend: false\nspec:\n  <<: *x\n"),
            ["apps.yaml:6:4: aliases elsewhere in the document use &x", "edit it by hand"],
        ),
        (
            apps.replace("spec:\n  interval: 10m\n", "spec: {interval: 10m,\n")
                .replace(
                    "sourceRef: {kind: GitRepository, name: flux-system}\n",
                    "sourceRef: {kind: GitRepository, name: flux-system}}\n",
                )
                .replace("apps/production\n", "apps/production,\n")
                .replace("true\n", "true,\n"),
            ["no line for each child", "by hand"],
        ),
        (
            apps.replace("interval: 10m", "interval: \"10m\"\n  suspend: !!bool false"),
            ["the value carries a tag", "by hand"],
        ),
    ] {
        let scratch = fleet(&["production"]);
        scratch.write("clusters/production/apps.yaml", text.as_bytes());
        scratch.commit("odd");
        let run = scratch.forebay(&["suspend", "ks/apps"]);
        assert_eq!(run.code, 2, "{text}\n{}{}", run.out, run.err);
        assert!(run.err.contains("nothing was written"), "{}", run.err);
        for part in parts {
            assert!(run.err.contains(part), "{part}: {}", run.err);
        }
        assert!(!run.err.contains("bug"), "{}", run.err);
        assert_eq!(changed(&scratch), "");
    }
}

/// On real repositories, where one identity often stands in several files: the
/// edit suspends the object that is named, in its cluster, and no other; what
/// would do more or less is refused.
#[test]
fn suspending_real_objects_changes_those_and_no_others() {
    let corpus = corpus_or_skip!();
    let wanted = std::env::var("FOREBAY_SUSPENDS").ok().and_then(|count| count.parse().ok()).unwrap_or(2);
    let mut repositories: Vec<_> = std::fs::read_dir(corpus.root())
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    repositories.sort();
    let mut tally: BTreeMap<&str, usize> = BTreeMap::new();
    for root in repositories.iter().filter(|root| root.is_dir()) {
        let snapshot = Snapshot::work_tree(root, Arc::new(Store::default())).expect("a work tree");
        let world = World::new(&Arc::new(snapshot), &Config::default(), &[]);
        let build = |snapshot: Snapshot| world.like(&Arc::new(snapshot), &Config::default(), &[]);
        let before = states(&world);
        let mut subjects = Vec::new();
        for cluster in &world.clusters {
            for (member, object) in world.members(cluster) {
                if member.target == ApplyTarget::Local && suspend::is_suspendable(&object.id) {
                    subjects.push(Subject { cluster, object });
                }
            }
        }
        // Spread over the whole repository.
        let step = (subjects.len() / wanted).max(1);
        for subject in subjects.iter().step_by(step).copied() {
            let name = format!("{} {} in {}", root.display(), subject.object.id, subject.cluster.label());
            let aim = Aim::Suspended { via: None, message: Some("INC-4711") };
            let outcome = suspended(&world, &before, subject, aim, &build, &name);
            *tally.entry(outcome).or_default() += 1;
        }
    }
    println!("{tally:?}");
    assert!(tally["suspended"] > tally.values().sum::<usize>() / 2, "{tally:?}");
}

/// What came of one, judged by the states of all objects before and after.
fn suspended(
    world: &World,
    old: &States,
    subject: Subject<'_>,
    aim: Aim<'_>,
    build: &dyn Fn(Snapshot) -> World,
    name: &str,
) -> &'static str {
    let Ok(wanted) = aim.changes(&world.snapshot, subject) else { return "in no file" };
    let changes = match forebay::internals::rewrite::plan(&world.snapshot, &wanted) {
        Ok(changes) => changes,
        Err(refusals) => {
            for refusal in refusals {
                assert!(!refusal.message.contains("bug"), "{name}: {refusal:?}");
            }
            return "refused";
        }
    };
    if changes.is_empty() {
        return "suspended already";
    }
    let texts = changes.iter().map(|change| (&*change.path, change.after.clone().into_bytes()));
    let after = build(world.snapshot.with_files(texts));
    let number =
        world.clusters.iter().position(|cluster| std::ptr::eq(cluster, subject.cluster)).expect("its own");
    let new = states(&after);
    let own = format!("{number} {:?} {}", ApplyTarget::Local, subject.object.id);
    let reached = new.get(&own).is_some_and(|states| states.iter().all(|(is_suspended, _)| *is_suspended));
    let others: Vec<&String> =
        old.keys().chain(new.keys()).filter(|key| **key != own && old.get(*key) != new.get(*key)).collect();
    let verdict = prove(world, &after, &[subject], false, |cluster, object| aim.is_reached(cluster, object));
    match verdict {
        Ok(()) => {
            assert!(reached, "{name}: not suspended by {changes:?}");
            assert_eq!(others, Vec::<&String>::new(), "{name}: changed too");
            "suspended"
        }
        Err(Unproven::Shared(_)) => {
            assert!(!others.is_empty(), "{name}: nothing else changed");
            "feeds others"
        }
        Err(Unproven::WithoutEffect(_)) => {
            assert!(!reached, "{name}: it is suspended");
            "without effect"
        }
    }
}

/// Objects by what tells them apart: whether they are suspended, and their values.
type States = BTreeMap<String, Vec<(bool, Said)>>;

/// Equal where the text of its values is; what two worlds share needs no text.
#[derive(Debug)]
struct Said(Node);

impl PartialEq for Said {
    fn eq(&self, other: &Said) -> bool {
        let shared = match (&self.0, &other.0) {
            (Node::Built(one), Node::Built(two)) => Arc::ptr_eq(one, two),
            (Node::Source(one, here), Node::Source(two, there)) => Arc::ptr_eq(one, two) && here == there,
            _ => false,
        };
        let text = |node: &Node| {
            let mut out = String::new();
            said_by(node.get_ref(), &mut out);
            out
        };
        shared || text(&self.0) == text(&other.0)
    }
}

fn states(world: &World) -> States {
    let mut states = States::new();
    for (number, cluster) in world.clusters.iter().enumerate() {
        for (member, object) in world.members(cluster) {
            let key = format!("{number} {:?} {}", member.target, object.id);
            let node = object.node.get_ref();
            let state = suspension(&object.id, node, &cluster.settings);
            let is_suspended = state.is_some_and(|state| state.suspended == Some(true));
            states.entry(key).or_default().push((is_suspended, Said(object.node.clone())));
        }
    }
    states
}

/// The values of a tree as text.
fn said_by(node: NodeRef<'_>, out: &mut String) {
    if node.is_map() {
        out.push('{');
        for entry in node.entries() {
            out.push_str(&entry.key);
            out.push(':');
            said_by(entry.value, out);
        }
        out.push('}');
    } else if node.is_seq() {
        out.push('[');
        node.items().for_each(|item| said_by(item, out));
        out.push(']');
    } else {
        out.push_str(&node.text().unwrap_or_default());
        out.push(',');
    }
}

/// Line ends, a byte order mark, a missing final line break, comments and modes
/// are those of the file.
#[test]
fn the_habits_of_a_file_stay() {
    let plain = kustomization("apps", "./apps/production").replace("spec:\n", "spec:\n  # how often\n");
    let with = |line: &str| plain.replace("  # how often\n", &format!("  suspend: {line}\n  # how often\n"));
    let dos = |text: &str| text.replace('\n', "\r\n");
    let shapes: [&dyn Fn(&str) -> String; 5] = [
        &|text| text.to_owned(),
        &dos,
        &|text| format!("\u{feff}{text}"),
        &|text| text.trim_end().to_owned(),
        &|text| {
            format!(
                "# head\n---\n{text}---\n# another document\napiVersion: v1\nkind: Namespace\nmetadata: {{name: a}}\n...\n"
            )
        },
    ];
    let file = "clusters/production/apps.yaml";
    for shape in shapes {
        let scratch = fleet(&["production"]);
        let path = scratch.write(file, shape(&plain).as_bytes());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("a mode");
        }
        runs(&scratch, &["suspend", "ks/apps", "--message", "INC-1"], 0);
        assert_eq!(scratch.read(file), shape(&with("true # INC-1")));
        runs(&scratch, &["resume", "ks/apps"], 0);
        assert_eq!(scratch.read(file), shape(&plain));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&path).expect("the file").permissions().mode();
            assert_eq!(mode & 0o777, 0o640);
        }
    }
}

/// A value that common annotations spread is not taken away from one object only.
#[test]
fn what_is_spread_over_many_is_not_resumed_for_one() {
    let scratch = fleet(&["production"]);
    let spread = format!("{OVERLAY}commonAnnotations: {{reconcile.fluxcd.io/suspended: INC-1}}\n")
        .replace("[../base]", "[../base, other.yaml]");
    scratch.write("apps/production/kustomization.yaml", spread.as_bytes());
    scratch.write("apps/production/other.yaml", RELEASE.replace("podinfo", "other").as_bytes());
    scratch.commit("spread");
    let said = runs(&scratch, &["resume", "hr/podinfo"], 2);
    assert!(said.contains("also feeds HelmRelease other/other in cluster production"), "{said}");
    runs(&scratch, &["resume", "hr/*"], 0);
    assert_eq!(
        changed(&scratch),
        "apps/production/kustomization.yaml\n-commonAnnotations: {reconcile.fluxcd.io/suspended: INC-1}"
    );
}
