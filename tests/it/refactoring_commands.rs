//! `rename` and `move` from the command line: steps from the state in the tree,
//! patches, refusals.

use crate::support::fleet::{kustomization, sync};
use crate::support::scratch::Scratch;

const SETTINGS: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: shop
data:
  host: ${HOST} # the host
";

fn fleet(more: &[(&str, &str)]) -> Scratch {
    let apps = kustomization("apps", "./apps") + "  postBuild:\n    substitute:\n      HOST: example.com\n";
    let infra = kustomization("infra", "./infra") + "  dependsOn:\n    - name: apps # first\n";
    let scratch = Scratch::git(&[
        ("clusters/prod/flux-system/gotk-sync.yaml", &sync("./clusters/prod")),
        ("clusters/prod/apps.yaml", &apps),
        ("clusters/prod/infra.yaml", &infra),
        ("apps/settings.yaml", SETTINGS),
        ("infra/shop.yaml", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n"),
    ]);
    for (path, text) in more {
        scratch.write(path, text.as_bytes());
    }
    scratch.commit("fleet");
    scratch
}

#[test]
fn a_kustomization_is_renamed_from_the_state_in_the_tree_and_back() {
    let scratch = fleet(&[]);
    let run = |arguments: &[&str]| {
        let run = scratch.forebay(arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.err);
        run.out
    };
    let refused = scratch.forebay(&["rename", "ks/apps", "shop", "--step", "2"]);
    assert_eq!(refused.code, 2, "the first step is not there");
    assert_eq!(scratch.run_git(&["status", "--short"]), "", "nothing was written");
    run(&["rename", "ks/apps", "shop"]);
    assert!(scratch.read("clusters/prod/apps.yaml").contains("prune: false # while it is renamed to shop\n"));
    let again = run(&["rename", "ks/apps", "shop"]);
    assert!(again.contains("next: forebay rename ks/apps shop --step 2"), "{again}");
    assert!(scratch.read("clusters/prod/apps.yaml").contains("name: apps\n"), "only told");
    run(&["rename", "ks/apps", "shop", "--step", "2"]);
    let text = scratch.read("clusters/prod/apps.yaml");
    assert!(text.contains("name: shop\n") && text.contains("prune: true\n"), "{text}");
    assert!(scratch.read("clusters/prod/infra.yaml").contains("- name: shop # first\n"));
    scratch.commit("renamed");
    run(&["rename", "ks/shop", "apps"]);
    run(&["rename", "ks/shop", "apps", "--step", "2"]);
    assert_eq!(scratch.run_git(&["diff", "--stat", "HEAD~1"]), "");
}

#[test]
fn what_does_not_prune_or_is_kept_needs_other_steps() {
    let sync = sync("./clusters/prod").replace("prune: true", "prune: false");
    let scratch = fleet(&[("clusters/prod/flux-system/gotk-sync.yaml", &sync)]);
    let run = scratch.forebay(&["rename", "ks/apps", "shop"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(scratch.read("clusters/prod/apps.yaml").contains("suspend: true # while it is renamed to shop"));
    let delete = "kubectl delete -n flux-system kustomization.kustomize.toolkit.fluxcd.io apps";
    assert!(run.out.contains(delete), "the old one stays: {}", run.out);

    let orphan = kustomization("apps", "./apps") + "  deletionPolicy: Orphan\n";
    let scratch = fleet(&[("clusters/prod/apps.yaml", &orphan)]);
    let run = scratch.forebay(&["rename", "ks/apps", "shop"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(!run.out.contains("step 1"), "one commit does it: {}", run.out);

    let delete = kustomization("apps", "./apps") + "  deletionPolicy: Delete\n";
    let scratch = fleet(&[("clusters/prod/apps.yaml", &delete)]);
    let run = scratch.forebay(&["rename", "ks/apps", "shop"]);
    assert_eq!(run.code, 2, "prune: false does not stop it: {}", run.out);
    assert!(run.err.contains("clusters/prod/apps.yaml:11:19"), "{}", run.err);
}

#[test]
fn patches_are_for_git() {
    let scratch = fleet(&[]);
    for (number, arguments) in [
        &["rename", "ks/apps", "shop"][..],
        &["rename", "variable", "HOST", "HOSTNAME"],
        &["move", "infra", "platform/infra"],
    ]
    .into_iter()
    .enumerate()
    {
        let directory = tempfile::tempdir().unwrap();
        let patches = directory.path().to_str().unwrap();
        let run = scratch.forebay(&[arguments, &["--patches", patches]].concat());
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.err);
        let names: Vec<&str> = run.out.lines().collect();
        assert_eq!(names.len(), [2, 3, 1][number], "{names:?}");
        scratch.run_git(&[&["am", "-q"][..], &names[..]].concat());
    }
    assert_eq!(scratch.read("apps/settings.yaml"), SETTINGS.replace("${HOST}", "${HOSTNAME}"));
    assert!(
        scratch.read("clusters/prod/apps.yaml").ends_with("    substitute:\n      HOSTNAME: example.com\n")
    );
    assert!(scratch.read("clusters/prod/infra.yaml").contains("path: ./platform/infra\n"));
    assert!(!scratch.path().join("infra").exists());
}

#[test]
fn a_variable_keeps_its_comments_and_is_renamed_at_once_where_nothing_uses_it() {
    let apps = kustomization("apps", "./apps")
        + "  postBuild:\n    substitute:\n      # renovate: depName=web\n      HOST: example.com # the host\n      # free\n      OTHER: x\n";
    let bare = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\ndata: {host: '${HOST}'}\n";
    let scratch = fleet(&[("clusters/prod/apps.yaml", &apps), ("apps/settings.yaml", bare)]);
    for step in ["1", "2", "3"] {
        let run = scratch.forebay(&["rename", "variable", "HOST", "NAME", "--step", step]);
        assert_eq!(run.code, 0, "{step}: {}", run.err);
    }
    assert_eq!(scratch.read("clusters/prod/apps.yaml"), apps.replace("HOST", "NAME"));
    let run = scratch.forebay(&["rename", "variable", "OTHER", "MORE"]);
    assert!(run.out.contains("OTHER is called MORE; nothing uses it"), "{}", run.out);
    let renamed = apps.replace("HOST", "NAME").replace("OTHER", "MORE");
    assert_eq!(scratch.read("clusters/prod/apps.yaml"), renamed);

    // Somebody else wrote the new entry, with a comment of its own.
    let both = apps.replace(
        "      # free\n",
        "      # free of charge\n      # and of cost\n      NAME: example.com\n      # free\n",
    );
    let both = both.replace("      # renovate: depName=web\n", "").replace(" # the host", "");
    let scratch = fleet(&[("clusters/prod/apps.yaml", &both)]);
    for step in ["2", "3"] {
        let run = scratch.forebay(&["rename", "variable", "HOST", "NAME", "--step", step]);
        assert_eq!(run.code, 0, "{step}: {}", run.err);
    }
    assert_eq!(scratch.read("clusters/prod/apps.yaml"), both.replace("      HOST: example.com\n", ""));
}

#[test]
fn texts_that_were_not_read_may_use_a_variable() {
    let apps = kustomization("apps", "./apps").replace("name: flux-system}", "name: elsewhere}")
        + "  postBuild:\n    substitute:\n      HOST: example.com\n";
    let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata:\n  name: elsewhere\n  namespace: flux-system\nspec:\n  interval: 1h\n  url: https://example.com/other\n";
    let scratch = fleet(&[("clusters/prod/apps.yaml", &apps), ("clusters/prod/source.yaml", source)]);
    let run = scratch.forebay(&["rename", "variable", "HOST", "NAME"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("not all texts of Kustomization flux-system/apps"), "{}", run.out);
    assert!(run.out.contains("before the last step"), "{}", run.out);

    // What uses it stands behind what stops the build: one commit would not be safe.
    let broken = "resources: [missing.yaml, settings.yaml]\n";
    let scratch = fleet(&[("apps/kustomization.yaml", broken)]);
    let run = scratch.forebay(&["rename", "variable", "HOST", "NAME"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(
        run.out.contains("not all texts of Kustomization flux-system/apps (it does not build)"),
        "{}",
        run.out
    );
    assert!(!run.out.contains("nothing uses it"), "{}", run.out);
}

#[test]
fn refusals_name_the_place_and_write_nothing() {
    let computed = "apiVersion: v1
kind: ConfigMap
metadata:
  name: ${HOST}
  namespace: shop
";
    let prefixed = "resources: [settings.yaml, computed.yaml]\nnamePrefix: my-\n";
    let scratch = fleet(&[("apps/computed.yaml", computed), ("apps/kustomization.yaml", prefixed)]);
    for (arguments, said) in [
        (&["rename", "ConfigMap/my-example.com", "my-x"][..], "apps/computed.yaml:4:9"),
        (&["rename", "ConfigMap/my-settings", "settings"], "apps/kustomization.yaml:2"),
        (&["rename", "ks/apps", "infra"], "there is a Kustomization flux-system/infra"),
        (&["rename", "ks/apps", "Apps"], "is no name"),
        (&["rename", "ks/flux-system", "root"], "begins with"),
        (&["rename", "GitRepository/flux-system", "fleet"], "begins with"),
        (&["rename", "Namespace/shop", "store"], "infra/shop.yaml:4:9"),
        (&["move", "clusters/prod", "clusters/production"], "looks at the old path"),
        (&["move", "apps/settings.yaml", "apps/computed.yaml"], "there already"),
        (&["move", "apps", "apps/inner"], "inside of"),
        (&["move", "nothing", "there"], "there is no nothing"),
        (
            &["move", "ConfigMap/my-settings", "--to", "ks/infra"],
            "apps/settings.yaml:1:1: infra would make ConfigMap shop/settings of it",
        ),
        (&["rename", "variable", "HOST", "1"], "no name for a variable"),
        (&["rename", "variable", "NONE", "SOME"], "no Kustomization gets"),
        (&["rename", "ks/flux-system/apps", "apps", "-n", "shop"], "keeps its namespace"),
    ] {
        let run = scratch.forebay(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.out);
        assert!(run.err.contains(said), "{arguments:?}: {}", run.err);
        assert_eq!(scratch.run_git(&["status", "--short"]), "", "{arguments:?}");
    }
    let kept = scratch.forebay(&["rename", "ConfigMap/my-settings", "my-options"]);
    assert_eq!(kept.code, 0, "{}", kept.err);
    assert!(scratch.read("apps/settings.yaml").contains("  name: options\n"));
}

#[test]
fn what_names_an_object_follows() {
    let patch = "resources: [release.yaml]
patches:
  - target:
      kind: HelmRelease
      name: web
    patch: |
      apiVersion: helm.toolkit.fluxcd.io/v2
      kind: HelmRelease
      metadata:
        name: web # by hand
      spec:
        interval: 2m
";
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: shop}
spec:
  interval: 1m
  chart: {spec: {chart: web, sourceRef: {kind: HelmRepository, name: charts}}}
  valuesFrom: [{kind: ConfigMap, name: settings}]
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web-db, namespace: shop}
spec:
  interval: 1m
  dependsOn: [{name: web}]
  chart: {spec: {chart: web, sourceRef: {kind: HelmRepository, name: charts}}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: all, namespace: shop}
spec:
  providerRef: {name: chat}
  eventSources: [{kind: HelmRelease, name: web}, {kind: HelmRelease, name: '*'}]
";
    let scratch = fleet(&[("infra/web/kustomization.yaml", patch), ("infra/web/release.yaml", release)]);
    for step in ["1", "2"] {
        let run = scratch.forebay(&["rename", "hr/web", "front", "--step", step]);
        assert_eq!(run.code, 0, "{}", run.err);
    }
    let release =
        release.replacen("name: web,", "name: front,", 1).replace("[{name: web}]", "[{name: front}]");
    let release = release.replace("{kind: HelmRelease, name: web}", "{kind: HelmRelease, name: front}");
    let release = release.replacen("spec:\n", "spec:\n  releaseName: web # keeps the installed release\n", 1);
    assert_eq!(scratch.read("infra/web/release.yaml"), release);
    let patch = patch.replace("name: web\n", "name: front\n").replace("name: web #", "name: front #");
    assert_eq!(scratch.read("infra/web/kustomization.yaml"), patch);
}

#[test]
fn a_template_whose_name_decides_on_machines_keeps_it() {
    let objects = "apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: md-0, namespace: fleet}
spec:
  clusterName: prod
  replicas: 3
  template:
    spec:
      clusterName: prod
      version: v1.33.5
      bootstrap: {dataSecretName: boot}
      infrastructureRef:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
        kind: DockerMachineTemplate
        name: small
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerMachineTemplate
metadata: {name: small, namespace: fleet}
spec: {template: {spec: {}}}
";
    let scratch = fleet(&[("infra/fleet.yaml", objects)]);
    let run = scratch.forebay(&["rename", "DockerMachineTemplate/small", "tiny"]);
    assert_eq!(run.code, 2, "{}", run.out);
    assert!(run.err.contains("would replace Machines of MachineDeployment fleet/md-0"), "{}", run.err);
}

#[test]
fn ignore_patterns_follow_what_moves() {
    let ignore = "# only these\r\n/*\n!/apps/ \n!/clusters/\n!/infra\n/infra/*.md\n";
    for (ignore, expected) in [
        (ignore, Ok(ignore.replace("/infra\n", "/platform\n").replace("/infra/*", "/platform/*"))),
        ("/*\n!infra/\n!/apps\n!/clusters", Ok("/*\n!platform/\n!/apps\n!/clusters".to_owned())),
        ("*.md\n", Ok("*.md\n".to_owned())),
        (
            "/plat*\n",
            Err("platform/shop.yaml would be in no artifact of cluster prod: `/plat*` in .sourceignore"),
        ),
        ("/*\n!/apps/\n!/clusters/\n!/in*/\n", Err("`/*` in .sourceignore leaves it out; add a pattern")),
    ] {
        let scratch = fleet(&[(".sourceignore", ignore)]);
        let run = scratch.forebay(&["move", "infra", "platform"]);
        match expected {
            Ok(text) => {
                assert_eq!(run.code, 0, "{ignore}: {}", run.err);
                assert_eq!(scratch.read(".sourceignore"), text);
                let back = scratch.forebay(&["move", "platform", "infra"]);
                assert_eq!(back.code, 0, "{ignore}: {}", back.err);
            }
            Err(said) => {
                assert_eq!(run.code, 2, "{ignore}: {}", run.out);
                assert!(run.err.contains(said), "{}", run.err);
            }
        }
        assert_eq!(scratch.run_git(&["status", "--short"]), "", "{ignore}");
    }
    // Outside of the directory that holds the patterns they reach nothing.
    let scratch = fleet(&[("infra/.sourceignore", "/deep/*.md\n"), ("infra/deep/a.yaml", "a: 1\n")]);
    let run = scratch.forebay(&["move", "infra/deep", "deep"]);
    assert_eq!(run.code, 2, "{}", run.out);
    assert!(run.err.contains("`/deep/*.md` in infra/.sourceignore can't reach deep"), "{}", run.err);
}

#[test]
fn copies_of_an_artifact_generator_follow_and_its_own_layout_is_told() {
    let generator = "apiVersion: source.extensions.fluxcd.io/v1beta1
kind: ArtifactGenerator
metadata: {name: tree, namespace: flux-system}
spec:
  sources: [{alias: repo, kind: GitRepository, name: flux-system}]
  artifacts:
    - name: infra
      copy:
        - {from: '@repo/infra/**', to: '@artifact/'}
";
    let infra = kustomization("infra", "./shop")
        .replace("kind: GitRepository, name: flux-system", "kind: ExternalArtifact, name: infra");
    assert!(infra.contains("ExternalArtifact"), "{infra}");
    let scratch = fleet(&[
        ("clusters/prod/artifacts.yaml", generator),
        ("clusters/prod/infra.yaml", &infra),
        ("infra/shop/shop.yaml", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n"),
        (".sourceignore", "/*\n!/apps\n!/clusters\n!/infra\n"),
    ]);
    let run = scratch.forebay(&["move", "infra/shop", "infra/store"]);
    assert_eq!(run.code, 2, "{}", run.out);
    assert!(
        run.err.contains("would find no shop; an ArtifactGenerator gives its files other paths"),
        "{}",
        run.err
    );
    let run = scratch.forebay(&["move", "infra", "platform/infra"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(scratch.read("clusters/prod/artifacts.yaml").contains("'@repo/platform/infra/**'"));
    assert!(scratch.read(".sourceignore").ends_with("!/platform/infra\n"));
    let after = scratch.forebay(&["lint"]);
    assert!(after.out.contains("followed 3 of 3"), "{}", after.out);
}

#[test]
fn documents_are_cut_out_of_files_that_hold_others() {
    let shared = "# the shop
---
# colours
apiVersion: v1
kind: ConfigMap
metadata:
  name: colours
  namespace: shop # two
data: {sky: blue}
---
# prices, by hand
apiVersion: v1
kind: ConfigMap
metadata:
  name: prices
  namespace: shop
data: {apple: '1'}
# end of prices

---
apiVersion: v1
kind: Secret
metadata:
  name: prices
  namespace: shop
stringData: {apple: '2'}
";
    let scratch = fleet(&[
        ("apps/shared.yaml", shared),
        ("infra/kustomization.yaml", "resources:\n- shop.yaml # first\n"),
        ("infra/prices.yaml", "# not listed\n"),
    ]);
    let run = |arguments: &[&str]| {
        let run = scratch.forebay(arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.err);
        run.out
    };
    // infra waits for apps, so the order that deletes is the only one.
    let told = run(&["move", "ConfigMap/prices", "--to", "ks/infra"]);
    assert!(told.contains("  infra/configmap-prices.yaml (new)\n"), "{told}");
    let diff = run(&["move", "ConfigMap/prices", "--to", "ks/infra", "--step", "2", "--diff"]);
    assert!(diff.contains("--- /dev/null\n+++ infra/configmap-prices.yaml\n@@ -0,0 +1,"), "{diff}");
    run(&["move", "ConfigMap/prices", "--to", "ks/infra", "--step", "2"]);
    let (head, rest) = shared.split_once("---\n# prices").unwrap();
    let (cut, tail) = rest.split_once("\n---\n").unwrap();
    assert_eq!(scratch.read("apps/shared.yaml"), format!("{head}---\n{tail}"));
    assert_eq!(scratch.read("infra/configmap-prices.yaml"), format!("---\n# prices{cut}"));
    let listed = "resources:\n- shop.yaml # first\n- configmap-prices.yaml\n";
    assert_eq!(scratch.read("infra/kustomization.yaml"), listed);
    let why = scratch.forebay(&["why", "ConfigMap/prices"]);
    assert!(why.out.contains("infra/configmap-prices.yaml"), "{}", why.out);
    // As patches, and two of them at once.
    scratch.run_git(&["checkout", "-q", "."]);
    scratch.run_git(&["clean", "-qfd"]);
    let directory = tempfile::tempdir().unwrap();
    let patches = directory.path().to_str().unwrap();
    let told = run(&["move", "ConfigMap/colours", "Secret/prices", "--to", "ks/infra", "--patches", patches]);
    scratch.run_git(&[&["am", "-q"][..], &told.lines().collect::<Vec<_>>()[..]].concat());
    assert!(scratch.read("infra/shared.yaml").starts_with("---\n# colours\n"));
    assert!(scratch.read("infra/shared.yaml").ends_with("---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: prices\n  namespace: shop\nstringData: {apple: '2'}\n"));
    assert!(scratch.read("apps/shared.yaml").starts_with("# the shop\n---\n# prices, by hand\n"));
}

#[test]
fn what_can_not_be_cut_out_is_refused() {
    let one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: shop}\n";
    let two = one.replace("one", "two");
    let list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: shop}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: shop}}\n";
    let sops = "sops: {mac: x, lastmodified: '2024-01-01T00:00:00Z', version: 3.9.0, age: [{recipient: a, enc: b}]}\n";
    for (text, said) in [
        (format!("{one}...\n---\n{two}"), "ends of documents"),
        (list.to_owned(), "is an item of a list"),
        (format!("{one}{sops}---\n{two}{sops}"), "SOPS signs"),
    ] {
        let apps = kustomization("apps", "./apps").replace("prune: true", "prune: false");
        let scratch = fleet(&[("apps/two.yaml", &text), ("clusters/prod/apps.yaml", &apps)]);
        let run = scratch.forebay(&["move", "ConfigMap/one", "--to", "ks/infra"]);
        assert_eq!(run.code, 2, "{text}: {}", run.out);
        assert!(run.err.contains(said) && run.err.contains("apps/two.yaml:"), "{text}: {}", run.err);
        assert_eq!(scratch.run_git(&["status", "--short"]), "", "{text}");
    }
}
