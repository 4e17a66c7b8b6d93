//! Twice the input is not much more than twice the work. Work is counted in
//! instructions, not in seconds, so that the tests say the same on a busy machine.

use crate::support::scratch::{Scratch, forebay};
use crate::support::skip::skip;
use std::fmt::Write as _;
use std::process::{Command, Stdio};

/// Work of twice the input, in hundredths.
const CEILING: u64 = 230;

const SYNC: &str = "apiVersion: source.toolkit.fluxcd.io/v1
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

fn config_map(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: default}}\ndata: {{a: b}}\n---\n"
    )
}

type Files = Vec<(String, String)>;

fn files(files: &[(&str, String)]) -> Files {
    files.iter().map(|(path, text)| ((*path).to_owned(), text.clone())).collect()
}

fn each(count: usize, text: impl Fn(usize) -> String) -> String {
    (0..count).map(text).collect()
}

/// A name, the smallest size, and the repository of a size.
type Generator = (&'static str, usize, fn(usize) -> Files);

const GENERATORS: &[Generator] = &[
    ("Kustomizations that depend on each other", 400, |count| {
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
    ("alerts about every Kustomization", 150, |count| {
        let all = each(count, |at| {
            kustomization(&format!("k{at}"), "./app", "")
                + &format!(
                    "apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Alert\nmetadata: {{name: a{at}, namespace: flux-system}}\n\
                     spec:\n  providerRef: {{name: p}}\n  eventSources: [{{kind: Kustomization, name: '*'}}]\n  eventMetadata: {{summary: s{at}}}\n---\n"
                )
        });
        files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &all), ("app/a.yaml", config_map("a"))])
    }),
    ("patches in one kustomization", 300, |count| {
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
    ("charts", 100, |count| {
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
    ("Kustomizations that apply their own directory", 75, |count| {
        let own = |at: usize| kustomization(&format!("s{at}"), &format!("./own/s{at}"), "");
        let mut found = files(&[("clusters/a/sync.yaml", SYNC.to_owned() + &each(count, own))]);
        found.extend((0..count).map(|at| (format!("own/s{at}/own.yaml"), own(at))));
        found
    }),
    ("overlays of one base", 75, |count| {
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
    ("variables", 300, |count| {
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
    ("secrets that findings show", 300, |count| {
        files(&[(
            "a.yaml",
            each(count, |at| {
                format!(
                    "apiVersion: v1\nkind: Secret\nmetadata: {{name: c{at}, labels: {{a: 'b b'}}}}\nstringData: {{a: value-number-{at}}}\n---\n"
                )
            }),
        )])
    }),
    ("empty documents", 100_000, |count| files(&[("a.yaml", "---\n".repeat(count))])),
    ("a long list", 100_000, |count| files(&[("a.yaml", format!("a:\n{}", "- b\n".repeat(count)))])),
];

/// Instructions of one run over a repository; `None` where they can't be counted.
fn instructions(files: &Files) -> Option<u64> {
    let scratch = Scratch::new(&[]);
    for (path, text) in files {
        scratch.write(path, text.as_bytes());
    }
    let log = scratch.path().join("count");
    let binary = forebay();
    let status = Command::new("perf")
        .args(["stat", "-x", ",", "-e", "instructions:u", "-o"])
        .arg(&log)
        .arg(binary.get_program())
        .args(["lint", "--show", "info", "--format", "concise", "--threads", "1", "--allow-empty", "--root"])
        .arg(scratch.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok()?;
    assert!(status.code().is_some_and(|code| code <= 1), "{status}");
    let text = std::fs::read_to_string(log).ok()?;
    text.lines().find(|line| line.contains("instructions"))?.split(',').next()?.parse().ok()
}

#[test]
fn twice_the_input_is_not_much_more_than_twice_the_work() {
    let Some(start) = instructions(&Vec::new()) else {
        skip!("perf counts no instructions here");
    };
    let mut table = String::new();
    let mut above = Vec::new();
    for (name, size, generate) in GENERATORS {
        let work = [1, 2, 4].map(|times| {
            let counted = instructions(&generate(size * times)).expect("it was counted before");
            counted.saturating_sub(start).max(1)
        });
        let ratios = [work[1] * 100 / work[0], work[2] * 100 / work[1]];
        let _ = writeln!(table, "{name}: {} million instructions, ratios {ratios:?}", work[0] / 1_000_000);
        // The first includes what is read once.
        if ratios[1] > CEILING {
            above.push(*name);
        }
    }
    assert!(above.is_empty(), "{above:?}\n{table}");
}
