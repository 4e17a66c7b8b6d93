//! Which chart a release means: file trees, stores, versions, digests.

use crate::support::archive::packed;
use crate::support::scratch::{GOTK_SYNC, Run, Scratch};
use serde_json::Value;

const REPOSITORY: &str = "\
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: apps}
spec: {interval: 1h, url: 'https://charts.example.com/stable/'}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: registry, namespace: apps}
spec: {interval: 1h, type: oci, url: 'oci://ghcr.example.com/charts'}
";

fn release(name: &str, chart: &str) -> String {
    format!(
        "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}, namespace: apps}}\nspec: {{interval: 1h, {chart}}}\n"
    )
}

/// A release of a chart of the repository `charts`, at a version.
fn at(version: &str) -> String {
    let chart = format!(
        "chart: {{spec: {{chart: web, version: '{version}', sourceRef: {{kind: HelmRepository, name: charts}}}}}}"
    );
    release("web", &chart)
}

fn oci(reference: &str) -> String {
    format!(
        "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {{name: web, namespace: apps}}\nspec: {{interval: 1h, url: 'oci://ghcr.example.com/charts/web', ref: {{{reference}}}}}\n{}",
        release("web", "chartRef: {kind: OCIRepository, name: web}")
    )
}

/// A fleet with these objects.
fn fleet(objects: &str) -> Scratch {
    let scratch = Scratch::new(&[("clusters/a/flux-system/gotk-sync.yaml", GOTK_SYNC)]);
    scratch.write("clusters/a/apps.yaml", format!("{REPOSITORY}{objects}").as_bytes());
    scratch
}

/// A chart as a folder.
fn folder(scratch: &Scratch, path: &str, name: &str, version: &str) {
    let text = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    scratch.write(&format!("{path}/Chart.yaml"), text.as_bytes());
    scratch.write(&format!("{path}/values.yaml"), format!("from: {path}\n").as_bytes());
}

/// A chart as an archive, with something of its own in it.
pub(crate) fn archive(name: &str, version: &str, values: &str) -> Vec<u8> {
    let chart = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    packed(name, &[("Chart.yaml", &chart), ("values.yaml", values)])
}

fn list(scratch: &Scratch, flags: &[&str]) -> Run {
    scratch.forebay(&[&["chart", "list", "--format", "json"][..], flags].concat())
}

/// The only chart of the answer: where it was found, what is assumed, why it wasn't found.
fn only(scratch: &Scratch, flags: &[&str]) -> (String, bool, String) {
    let run = list(scratch, flags);
    let answer = run.json();
    let charts = answer["charts"].as_array().unwrap_or_else(|| panic!("{}{}", run.out, run.err));
    assert_eq!(charts.len(), 1, "{answer:#}");
    let chart = &charts[0];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let found = match &chart["found"] {
        Value::Null => String::new(),
        found => format!("{} {}", text(&found["store"]), text(&found["path"])),
    };
    (found, !chart["assumed"].is_null(), text(&chart["why"]))
}

#[test]
fn a_store_holds_archives_folders_and_folders_of_versions() {
    for (path, expected) in [
        ("store/any name", "store any name"),
        ("store/web/1.2.3", "store web/1.2.3"),
        ("store/web/newest", "store web/newest"),
        ("store/other/1.2.3", "store other/1.2.3"),
    ] {
        let scratch = fleet(&at("1.2.3"));
        folder(&scratch, path, "web", "1.2.3");
        assert_eq!(only(&scratch, &["--charts", "store"]).0, expected);
    }
    let scratch = fleet(&at("1.2.3"));
    scratch.write("store/x.tgz", &archive("web", "1.2.3", ""));
    scratch.write("store/web-9.tgz", b"no archive");
    scratch.write("store/README.md", b"words");
    assert_eq!(only(&scratch, &["--charts", "store"]).0, "store x.tgz");
    // Deeper than that lies nothing.
    let scratch = fleet(&at("1.2.3"));
    folder(&scratch, "store/a/b/c", "web", "1.2.3");
    assert_eq!(only(&scratch, &["--charts", "store"]).0, "");
}

#[test]
fn versions_are_compared_as_flux_does() {
    for (asked, stored, found) in [
        ("1.2.3", "1.2.3", true),
        ("v1.2.3", "1.2.3", true),
        ("1.2.3", "v1.2.3", true),
        ("1.2.3+b1", "1.2.3", true),
        ("1.2.3", "1.2.3+b1", true),
        ("1.2.3", "1.2.4", false),
        ("1.2.3", "1.2.3-rc.1", false),
        ("1.2.3-rc.1", "1.2.3-rc.1", true),
    ] {
        let scratch = fleet(&at(asked));
        folder(&scratch, "store/web", "web", stored);
        let (place, assumed, why) = only(&scratch, &["--charts", "store"]);
        assert_eq!(!place.is_empty(), found, "{asked} of {stored}: {why}");
        assert!(!assumed, "{asked} of {stored}");
    }
}

#[test]
fn a_range_takes_the_newest_of_the_store_and_is_assumed() {
    let versions = ["1.9.0", "1.10.0", "2.0.0", "2.1.0-rc.1"];
    for (range, expected) in [
        ("1.x", "1.10.0"),
        ("^1.9.0", "1.10.0"),
        (">=1.0.0 <1.10.0", "1.9.0"),
        ("*", "2.0.0"),
        ("", "2.0.0"),
        (">=2.0.0-0", "2.1.0-rc.1"),
        ("3.x", ""),
    ] {
        let scratch = fleet(&at(range));
        for version in versions {
            folder(&scratch, &format!("store/web/{version}"), "web", version);
        }
        let (place, assumed, _) = only(&scratch, &["--charts", "store"]);
        let wanted = if expected.is_empty() { String::new() } else { format!("store web/{expected}") };
        assert_eq!((place, assumed), (wanted, !expected.is_empty()), "{range}");
    }
}

#[test]
fn given_stores_go_before_those_of_the_configuration_and_of_the_root() {
    let scratch = fleet(&at("1.2.3"));
    for place in ["given", "configured", ".forebay/charts"] {
        folder(&scratch, &format!("{place}/web"), "web", "1.2.3");
    }
    scratch.write(".forebay.yaml", b"charts: [configured]\n");
    assert_eq!(only(&scratch, &["--charts", "given"]).0, "given web");
    assert_eq!(only(&scratch, &[]).0, "configured web");
    assert_eq!(only(&scratch, &["--no-config"]).0, ".forebay/charts web");
    let (place, _, why) = only(&scratch, &["--no-charts"]);
    assert_eq!((place.as_str(), why.as_str()), ("", "charts are left out"));
    // The user's come last, and may be left out.
    let scratch = fleet(&at("1.2.3"));
    scratch.write("cache/forebay/charts/web.tgz", &archive("web", "1.2.3", ""));
    let cache = scratch.path().join("cache");
    let with_cache = |flags: &[&str]| {
        let arguments = [&["chart", "list", "--format", "json"][..], flags].concat();
        let cache = cache.to_str().expect("UTF-8");
        let answer = scratch.forebay_with(&arguments, &[("XDG_CACHE_HOME", cache)], b"").json();
        answer["charts"][0]["found"]["store"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(with_cache(&[]), "forebay's cache");
    assert_eq!(with_cache(&["--no-user-stores"]), "");
}

#[test]
fn a_store_that_is_not_there_is_a_mistake_of_usage_if_a_flag_names_it() {
    let scratch = fleet(&at("1.2.3"));
    let run = list(&scratch, &["--charts", "nowhere"]);
    assert_eq!((run.code, run.err.contains("--charts nowhere")), (2, true), "{}", run.err);
    scratch.write(".forebay.yaml", b"charts: [nowhere]\n");
    assert_eq!(list(&scratch, &[]).code, 0);
    // The tree can't allow itself what lies outside of it.
    let outside = Scratch::new(&[]);
    folder(&outside, "web", "web", "1.2.3");
    let text = format!("charts: [{:?}]\n", outside.path());
    scratch.write(".forebay.yaml", text.as_bytes());
    assert_eq!(only(&scratch, &[]).0, "");
    let allowed = outside.path().to_str().expect("UTF-8");
    assert!(only(&scratch, &["--allow-dir", allowed]).0.ends_with(" web"));
    assert!(only(&scratch, &["--charts", allowed]).0.ends_with(" web"));
}

#[test]
fn an_index_tells_charts_of_one_name_apart() {
    let index = |url: &str| {
        format!(
            "apiVersion: v1\nentries:\n  web:\n  - {{name: web, version: 1.2.3, urls: [one.tgz], url: '{url}'}}\n"
        )
    };
    let own = "https://charts.example.com/stable/web";
    for (url, expected) in [(own, "store one.tgz"), ("https://elsewhere.example.com/web", "")] {
        let scratch = fleet(&at("1.2.3"));
        scratch.write("store/one.tgz", &archive("web", "1.2.3", "a: 1\n"));
        scratch.write("store/index.yaml", index(url).as_bytes());
        assert_eq!(only(&scratch, &["--charts", "store"]).0, expected, "{url}");
    }
    // Without an index, two that differ are nobody's.
    let scratch = fleet(&at("1.2.3"));
    scratch.write("store/one.tgz", &archive("web", "1.2.3", "a: 1\n"));
    scratch.write("store/two.tgz", &archive("web", "1.2.3", "a: 2\n"));
    let (place, _, why) = only(&scratch, &["--charts", "store"]);
    assert_eq!(
        (place.as_str(), why.contains("several charts of this name and version")),
        ("", true),
        "{why}"
    );
    scratch.write("store/index.yaml", index(own).as_bytes());
    assert_eq!(only(&scratch, &["--charts", "store"]).0, "store one.tgz");
    // Equal ones are one.
    scratch.write("same/one.tgz", &archive("web", "1.2.3", "a: 1\n"));
    scratch.write("same/two.tgz", &archive("web", "1.2.3", "a: 1\n"));
    assert_eq!(only(&scratch, &["--charts", "same"]).0, "same one.tgz");
}

#[test]
fn an_archive_that_is_not_what_its_index_records_is_not_taken() {
    let scratch = fleet(&at("1.2.3"));
    scratch.write("store/one.tgz", &archive("web", "1.2.3", "a: 1\n"));
    let digest = "0".repeat(64);
    let index =
        format!("entries:\n  web:\n  - {{name: web, version: 1.2.3, urls: [one.tgz], digest: '{digest}'}}\n");
    scratch.write("store/index.yaml", index.as_bytes());
    let (place, _, why) = only(&scratch, &["--charts", "store"]);
    assert_eq!(
        (place.as_str(), why.contains("is not what the store's index.yaml records")),
        ("", true),
        "{why}"
    );
}

#[test]
fn artifacts_are_found_by_tag_range_filter_and_digest() {
    let manifest = format!("sha256:{}", "a".repeat(64));
    let other = format!("sha256:{}", "b".repeat(64));
    let recorded = format!(
        "entries:\n  web:\n  - {{urls: [one.tgz], url: 'oci://ghcr.example.com/charts/web', tag: stable, manifestDigest: '{manifest}'}}\n"
    );
    for (reference, index, expected) in [
        ("tag: 1.2.3".to_owned(), "", "one.tgz"),
        ("tag: v1.2.3".to_owned(), "", "one.tgz"),
        ("tag: 1.2.4".to_owned(), "", ""),
        ("tag: latest".to_owned(), "", ""),
        (String::new(), "", ""),
        ("tag: stable".to_owned(), "", ""),
        ("tag: stable".to_owned(), recorded.as_str(), "one.tgz"),
        ("semver: 1.x".to_owned(), "", "one.tgz"),
        ("semver: 1.x, semverFilter: '^1\\.2'".to_owned(), "", "one.tgz"),
        ("semver: 1.x, semverFilter: rc".to_owned(), "", ""),
        (format!("digest: '{manifest}'"), "", ""),
        (format!("digest: '{manifest}'"), recorded.as_str(), "one.tgz"),
        (format!("tag: 1.2.3, digest: '{manifest}'"), "", "one.tgz"),
        (format!("tag: 1.2.3, digest: '{other}'"), recorded.as_str(), ""),
    ] {
        let scratch = fleet(&oci(&reference));
        scratch.write("store/one.tgz", &archive("web", "1.2.3", "a: 1\n"));
        if !index.is_empty() {
            scratch.write("store/index.yaml", index.as_bytes());
        }
        let (place, assumed, why) = only(&scratch, &["--charts", "store"]);
        let wanted = if expected.is_empty() { String::new() } else { format!("store {expected}") };
        assert_eq!(place, wanted, "{reference}: {why}");
        assert_eq!(assumed, reference.starts_with("semver") && !place.is_empty(), "{reference}");
    }
    let run = fleet(&oci(&format!("tag: 1.2.3, digest: '{manifest}'")));
    run.write("store/one.tgz", &archive("web", "1.2.3", "a: 1\n"));
    let text = run.forebay(&["chart", "list", "--charts", "store"]).out;
    assert!(text.contains("its digest is not recorded"), "{text}");
}

#[test]
fn only_the_layer_of_a_chart_is_one() {
    const CHART: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
    for (selector, expected) in [
        ("layerSelector: {operation: copy}".to_owned(), "store one.tgz"),
        (format!("layerSelector: {{mediaType: {CHART}, operation: copy}}"), "store one.tgz"),
        (format!("layerSelector: {{mediaType: {CHART}, operation: extract}}"), "store one.tgz"),
        ("layerSelector: {mediaType: '', operation: extract}".to_owned(), "store one.tgz"),
        ("layerSelector: {mediaType: application/vnd.cncf.helm.chart.provenance.v1.prov}".to_owned(), ""),
    ] {
        let objects = oci("tag: 1.2.3")
            .replace("spec: {interval: 1h, url", &format!("spec: {{interval: 1h, {selector}, url"));
        let scratch = fleet(&objects);
        scratch.write("store/one.tgz", &archive("web", "1.2.3", "a: 1\n"));
        let (place, _, why) = only(&scratch, &["--charts", "store"]);
        assert_eq!(place, expected, "{selector}: {why}");
        if expected.is_empty() {
            assert!(why.contains("its layerSelector takes a layer of type"), "{why}");
            // helm would fetch the chart all the same.
            assert_eq!(scratch.forebay(&["chart", "pull", "--dry-run"]).out, "");
        }
    }
}

#[test]
fn charts_of_file_trees_are_found_at_their_paths() {
    let of = |kind: &str, name: &str, path: &str| {
        let chart = format!(
            "chart: {{spec: {{chart: '{path}', sourceRef: {{kind: {kind}, name: {name}, namespace: flux-system}}}}}}"
        );
        release("web", &chart)
    };
    // In the cluster's own source, whatever the path looks like.
    for path in ["charts/web", "./charts/web/", "/charts/web"] {
        let scratch = fleet(&of("GitRepository", "flux-system", path));
        folder(&scratch, "charts/web", "web", "0.1.0");
        assert_eq!(only(&scratch, &[]).0, ". charts/web", "{path}");
    }
    // In a directory that the configuration gives to another source.
    let scratch = fleet(&of("GitRepository", "other", "web"));
    folder(&scratch, "vendored/web", "web", "0.1.0");
    scratch.write(
        ".forebay.yaml",
        b"sources: [{kind: GitRepository, name: other, namespace: flux-system, path: vendored}]\n",
    );
    assert_eq!(only(&scratch, &[]).0, ". vendored/web");
    // A source that is not here.
    let scratch = fleet(&of("GitRepository", "elsewhere", "web"));
    let (place, _, why) = only(&scratch, &[]);
    assert_eq!((place.as_str(), why.contains("elsewhere")), ("", true), "{why}");
    // A path without a chart.
    let scratch = fleet(&of("GitRepository", "flux-system", "clusters"));
    let (place, _, why) = only(&scratch, &[]);
    assert_eq!((place.as_str(), why.contains("holds no chart at clusters")), ("", true), "{why}");
}

#[test]
fn a_helm_chart_says_what_is_meant() {
    let chart = "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmChart\nmetadata: {name: web, namespace: apps}\nspec: {interval: 1h, chart: web, version: 1.2.3, sourceRef: {kind: HelmRepository, name: registry}}\n";
    let scratch = fleet(&format!("{chart}{}", release("web", "chartRef: {kind: HelmChart, name: web}")));
    folder(&scratch, "store/web", "web", "1.2.3");
    let answer = list(&scratch, &["--charts", "store"]).json();
    let one = &answer["charts"][0];
    assert_eq!(one["source"]["url"], "oci://ghcr.example.com/charts", "{answer:#}");
    assert_eq!((one["version"].as_str(), one["found"]["path"].as_str()), (Some("1.2.3"), Some("web")));
}

#[test]
fn versions_come_out_of_substitution_and_overlays() {
    let scratch = fleet(
        "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\nspec: {interval: 10m, path: ./apps, prune: true, sourceRef: {kind: GitRepository, name: flux-system}, postBuild: {substitute: {WEB: 1.2.3}}}\n",
    );
    scratch.write("apps/web.yaml", at("${WEB}").as_bytes());
    folder(&scratch, "store/web", "web", "1.2.3");
    assert_eq!(only(&scratch, &["--charts", "store"]).0, "store web");
    scratch.write(
        "apps/kustomization.yaml",
        b"resources: [web.yaml]\npatches:\n- patch: '[{op: replace, path: /spec/chart/spec/version, value: 1.2.4}]'\n  target: {kind: HelmRelease}\n",
    );
    assert_eq!(only(&scratch, &["--charts", "store"]).0, "");
}

#[test]
fn what_is_missing_is_counted_and_named() {
    let scratch = fleet(&at("1.2.3"));
    let answer = scratch.forebay(&["lint", "--format", "json"]).json();
    let counted = answer["notChecked"].as_array().expect("a list").iter().find(|one| one["what"] == "chart");
    let counted = counted.unwrap_or_else(|| panic!("{answer:#}"));
    assert_eq!(counted["count"], 1);
    let example = counted["examples"][0].as_str().expect("a text");
    assert_eq!(example, "web 1.2.3 of https://charts.example.com/stable/: it is in no store");
    let text = scratch.forebay(&["lint", "--list-unchecked"]).out;
    assert!(text.contains("forebay chart pull"), "{text}");
    let text = scratch.forebay(&["chart", "list", "--missing"]).out;
    assert_eq!(
        text,
        "CHART   VERSION   RELEASES   FOUND\n\
         web     1.2.3            1   missing: https://charts.example.com/stable/\n\
         0 of 1 chart found, for 0 of 1 release; `forebay chart pull` fetches what is missing\n"
    );
    assert_eq!(scratch.forebay(&["chart", "list", "--complete"]).code, 1);
    folder(&scratch, "store/web", "web", "1.2.3");
    folder(&scratch, "store/next", "web", "1.3.0");
    assert_eq!(scratch.forebay(&["chart", "list", "--complete", "--charts", "store"]).code, 0);
    let text = scratch.forebay(&["chart", "list", "--charts", "store"]).out;
    assert!(text.contains("store; a store has 1.3.0"), "{text}");
}

#[test]
fn a_source_that_nothing_applies_says_where_it_is_written() {
    let elsewhere = |name: &str, url: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {{name: {name}, namespace: apps}}\nspec: {{interval: 1h, url: '{url}'}}\n"
        )
    };
    let chart = "chart: {spec: {chart: web, version: 1.2.3, sourceRef: {kind: HelmRepository, name: aside}}}";
    let url = |scratch: &Scratch| list(scratch, &[]).json()["charts"][0]["source"]["url"].clone();
    let scratch = fleet(&release("web", chart));
    scratch.write("repositories/aside.yaml", elsewhere("aside", "https://aside.example.com").as_bytes());
    assert_eq!(url(&scratch), "https://aside.example.com");
    assert!(list(&scratch, &[]).json()["charts"][0]["why"].as_str() == Some("it is in no store"));
    // Twice the same, and without a namespace, which an overlay gives.
    let again = elsewhere("aside", "https://aside.example.com").replace(", namespace: apps", "");
    scratch.write("repositories/again.yaml", again.as_bytes());
    assert_eq!(url(&scratch), "https://aside.example.com");
    // Two that differ: nobody can say which.
    scratch.write("repositories/again.yaml", elsewhere("aside", "https://other.example.com").as_bytes());
    assert_eq!(url(&scratch), Value::Null);
    // Of another namespace it is another one.
    let scratch = fleet(&release("web", chart));
    let other =
        elsewhere("aside", "https://aside.example.com").replace("namespace: apps", "namespace: other");
    scratch.write("repositories/aside.yaml", other.as_bytes());
    assert_eq!(url(&scratch), Value::Null);
}

#[test]
fn what_nobody_can_say_is_listed_with_its_reason() {
    let scratch = fleet(&format!(
        "{}{}",
        release("web", "chartRef: {kind: OCIRepository, name: elsewhere}"),
        release("shop", "chart: {spec: {chart: shop, version: 1.0.0, sourceRef: {name: charts}}}"),
    ));
    let answer = list(&scratch, &[]).json();
    let charts = answer["charts"].as_array().expect("a list");
    let told: Vec<_> = charts.iter().map(|one| (&one["releases"][0]["name"], &one["why"])).collect();
    assert_eq!(
        told,
        [
            (&Value::from("shop"), &Value::from("its sourceRef names no kind")),
            (&Value::from("web"), &Value::from("nothing here makes OCIRepository apps/elsewhere")),
        ]
    );
    let text = scratch.forebay(&["chart", "list"]).out;
    assert!(text.contains("-       -                1   missing: its sourceRef names no kind"), "{text}");
}
