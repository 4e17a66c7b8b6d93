//! `forebay mcp`: a session as a client has it, and what no client may.

use crate::support::scratch::{Run, Scratch};
use serde_json::{Value, json};

const OBJECTS: &str = "\
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: apps}
stringData: {password: correct-horse-battery}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: apps}
data: {copied: correct-horse-battery, plain: seen}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: apps}
spec: {interval: 1h, prune: true, path: ./nowhere, sourceRef: {kind: GitRepository, name: flux-system}, dependsOn: [{name: apps}]}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: apps}
spec: {interval: 1h, chartRef: {kind: OCIRepository, name: web}, values: {replicas: 2, password: correct-horse-battery}}
";

fn fleet() -> Scratch {
    Scratch::git(&[("apps.yaml", OBJECTS)])
}

/// What the server prints for these lines.
fn talk(scratch: &Scratch, flags: &[&str], lines: &[String]) -> Run {
    let input = lines.join("\n") + "\n";
    scratch.forebay_with(&[&["mcp"][..], flags].concat(), &[], input.as_bytes())
}

/// The answers to requests, each with its position as its id.
fn answers(scratch: &Scratch, flags: &[&str], requests: &[(&str, Value)]) -> Vec<Value> {
    let line = |(id, (method, params)): (usize, &(&str, Value))| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let lines: Vec<String> = requests.iter().enumerate().map(line).collect();
    let run = talk(scratch, flags, &lines);
    assert_eq!(run.code, 0, "{}", run.err);
    let answers: Vec<Value> =
        run.out.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    assert_eq!(answers.len(), requests.len(), "{}", run.out);
    for (id, answer) in answers.iter().enumerate() {
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(id)));
    }
    answers
}

/// A call of a tool: the text of its answer, and whether it is an error.
fn call(scratch: &Scratch, flags: &[&str], tool: &str, arguments: Value) -> (String, bool) {
    let answer =
        &answers(scratch, flags, &[("tools/call", json!({"name": tool, "arguments": arguments}))])[0];
    let text = answer["result"]["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("{answer:#}")).to_owned();
    (text, answer["result"]["isError"].as_bool().expect("told"))
}

#[test]
fn a_session_of_a_client_is_answered() {
    // As the client of the package `mcp` of PyPI writes it.
    let lines = [
        r#"{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mcp","version":"0.1.0"}},"jsonrpc":"2.0","id":0}"#,
        r#"{"method":"notifications/initialized","jsonrpc":"2.0"}"#,
        r#"{"method":"tools/list","jsonrpc":"2.0","id":1}"#,
        r#"{"method":"tools/call","params":{"name":"lint","arguments":{"select":["missing-path"]}},"jsonrpc":"2.0","id":2}"#,
        r#"{"method":"tools/call","params":{"name":"locate","arguments":{"object":"ConfigMap/apps/settings","pointer":"/data/plain"}},"jsonrpc":"2.0","id":3}"#,
        r#"{"method":"notifications/cancelled","params":{"requestId":3},"jsonrpc":"2.0"}"#,
        r#"{"method":"ping","jsonrpc":"2.0","id":"last"}"#,
    ];
    let run = talk(&fleet(), &[], &lines.map(str::to_owned));
    assert_eq!(run.code, 0, "{}", run.err);
    let answers: Vec<Value> =
        run.out.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let [hello, tools, lint, locate, ping] = &answers[..] else { panic!("{}", run.out) };
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(hello["result"]["serverInfo"]["name"], "forebay");
    assert_eq!(hello["result"]["capabilities"], json!({"tools": {}}));
    let names: Vec<&str> = tools["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert!(
        ["lint", "plan", "why", "locate", "explain"].iter().all(|name| names.contains(name)),
        "{names:?}"
    );
    let text = |answer: &Value| -> Value {
        assert_eq!(answer["result"]["isError"], false, "{answer:#}");
        serde_json::from_str(answer["result"]["content"][0]["text"].as_str().expect("text")).expect("JSON")
    };
    assert_eq!(text(lint)["schema"], "forebay.lint/v1");
    let locate = text(locate);
    assert_eq!((&locate["value"], &locate["location"]["line"]), (&json!("seen"), &json!(9)), "{locate:#}");
    assert_eq!(ping["result"], json!({}));
    assert_eq!(ping["id"], "last");
}

#[test]
fn answers_are_those_of_the_commands() {
    let scratch = fleet();
    scratch.commit("all");
    for (tool, arguments, command) in [
        ("lint", json!({"show": "info"}), &["lint", "--show", "info", "--format", "json"][..]),
        (
            "lint",
            json!({"paths": ["apps.yaml"], "ignore": ["schema", "reference"]}),
            &["lint", "apps.yaml", "--ignore", "schema,reference", "--format", "json"],
        ),
        ("plan", json!({"base": "HEAD"}), &["plan", "--base", "HEAD", "--format", "json"]),
        (
            "why",
            json!({"object": "ConfigMap/settings", "namespace": "apps"}),
            &["why", "ConfigMap/settings", "-n", "apps", "--format", "json"],
        ),
        (
            "why",
            json!({"object": "ConfigMap/settings", "namespace": "apps", "pointer": "/data/plain", "references": true}),
            &["why", "ConfigMap/settings", "/data/plain", "-n", "apps", "--references", "--format", "json"],
        ),
        (
            "explain_values",
            json!({"release": "apps/web"}),
            &["explain-values", "apps/web", "--format", "json"],
        ),
        (
            "explain",
            json!({"rule": "missing-reference"}),
            &["explain", "missing-reference", "--format", "markdown"],
        ),
        (
            "explain_field",
            json!({"field": "ks.spec.prune"}),
            &["explain", "ks.spec.prune", "--format", "json"],
        ),
        (
            "simulate_events",
            json!({"explain": true, "severity": "error"}),
            &["simulate", "events", "--explain", "--severity", "error", "--format", "json"],
        ),
        (
            "simulate_gates",
            json!({"at": "2026-03-27T09:00:00Z"}),
            &["simulate", "gates", "--at", "2026-03-27T09:00:00Z", "--format", "json"],
        ),
        (
            "simulate_suspend",
            json!({"since": "HEAD"}),
            &["simulate", "suspend", "--since", "HEAD", "--format", "json"],
        ),
        ("simulate_propagation", json!({}), &["simulate", "propagation", "--format", "json"]),
    ] {
        let (text, is_error) = call(&scratch, &[], tool, arguments);
        let run = scratch.forebay(command);
        assert_eq!((text, is_error), (run.out, false), "{command:?} {}", run.err);
    }
}

#[test]
fn no_argument_leads_out_of_the_root() {
    let scratch = Scratch::git(&[]);
    scratch.write("inner/apps.yaml", OBJECTS.as_bytes());
    scratch.write("outer.yaml", b"a: 1\n");
    std::os::unix::fs::symlink(scratch.path(), scratch.path().join("inner/up")).expect("a link");
    scratch.commit("all");
    for (tool, arguments) in [
        ("lint", json!({"root": ".."})),
        ("lint", json!({"config": "../x.yaml"})),
        ("lint", json!({"charts": [".."]})),
        ("lint", json!({"fix": "unsafe"})),
        ("lint", json!({"paths": [".."]})),
        ("lint", json!({"paths": ["../outer.yaml"]})),
        ("lint", json!({"paths": ["up/outer.yaml"]})),
        ("lint", json!({"paths": ["/etc"]})),
        ("lint", json!({"paths": ["-"]})),
        ("lint", json!({"paths": ["--root=.."]})),
        ("lint", json!({"since": ".."})),
        ("lint", json!({"since": "/"})),
        ("lint", json!({"since": "--output=x"})),
        ("plan", json!({"base": "./../inner"})),
        ("plan", json!({"head": "~/x"})),
        ("simulate_suspend", json!({"since": "../inner"})),
        ("simulate_events", json!({"event": "/etc/passwd"})),
        ("simulate_hooks", json!({"input": "/etc/passwd", "on": "create", "object": "x"})),
        ("simulate_hooks", json!({"object": "--input=/etc/passwd", "on": "create"})),
        ("why", json!({"object": "--root=.."})),
        ("explain", json!({"rule": "--output-file=markdown=x"})),
    ] {
        let (text, is_error) = call(&scratch, &["--root", "inner"], tool, arguments.clone());
        assert!(is_error, "{tool} {arguments}: {text}");
        assert!(!text.contains("root:"), "{tool} {arguments}: {text}");
    }
    assert_eq!(scratch.run_git(&["status", "--short"]), "");
}

#[test]
fn secrets_are_masked_and_mistakes_are_told() {
    let scratch = fleet();
    for (tool, arguments) in [
        ("lint", json!({"show": "info"})),
        ("locate", json!({"object": "Secret/apps/login", "pointer": "/stringData/password"})),
        ("locate", json!({"object": "ConfigMap/apps/settings", "pointer": "/data/copied"})),
        ("locate", json!({"object": "ConfigMap/apps/settings", "pointer": "/data/correct-horse-battery"})),
        ("why", json!({"object": "Secret/apps/correct-horse-battery"})),
    ] {
        let (text, _) = call(&scratch, &[], tool, arguments);
        assert!(!text.contains("correct-horse"), "{tool}: {text}");
    }
    let (text, is_error) = call(&scratch, &[], "why", json!({"object": "ConfigMap/apps/setting"}));
    assert!(is_error && text.contains("did you mean"), "{text}");
    let (text, _) = call(&scratch, &[], "lint", json!({"selct": ["x"]}));
    assert!(text.contains("did you mean `select`?"), "{text}");
    scratch.write(".forebay.yaml", b"version: 1\nexclud: [a]\n");
    let (text, is_error) = call(&scratch, &[], "lint", json!({}));
    assert!(is_error && text.contains("exclude"), "{text}");
}

#[test]
fn what_is_no_request_is_refused_by_its_code() {
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    let cases = [
        ("{", -32700),
        (&*deep, -32700),
        ("[]", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}", -32601),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"build\"}}", -32602),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"lint\",\"arguments\":[]}}",
            -32602,
        ),
    ];
    let lines: Vec<String> = cases.iter().map(|(line, _)| (*line).to_owned()).collect();
    let run = talk(&fleet(), &[], &lines);
    assert_eq!(run.code, 0, "{}", run.err);
    let codes: Vec<i64> = run
        .out
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).expect("JSON")["error"]["code"].as_i64().expect("a code")
        })
        .collect();
    assert_eq!(codes, cases.map(|(_, code)| code));
    // Notifications and answers to nothing have none.
    let silent = ["{\"method\":\"nothing\"}", "{\"id\":1,\"result\":{}}", "", "  "].map(str::to_owned);
    assert_eq!(talk(&fleet(), &[], &silent).out, "");
}

#[test]
fn a_long_answer_comes_in_pages() {
    let scratch = Scratch::git(&[]);
    let one = |number: usize| {
        format!(
            "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: app-{number}, namespace: apps}}\nspec: {{interval: 1h, prune: true, pathh: ./nowhere, sourceRef: {{kind: GitRepository, name: x}}}}\n"
        )
    };
    scratch.write("apps.yaml", (0..1200).map(one).collect::<String>().as_bytes());
    let question = |page: usize| ("tools/call", json!({"name": "lint", "arguments": {"page": page}}));
    let requests: Vec<(&str, Value)> = [1, 2, 3, 99].into_iter().map(question).collect();
    let lines: Vec<Value> = answers(&scratch, &[], &requests);
    let pages = lines[0]["result"]["_meta"]["pages"].as_u64().expect("told") as usize;
    assert!(pages > 1, "{pages}");
    let told = lines[0]["result"]["content"][1]["text"].as_str().expect("told");
    assert!(told.starts_with(&format!("page 1 of {pages}; call again with page 2")), "{told}");
    assert!(lines.iter().all(|line| line.to_string().len() <= 1 << 20));
    assert_eq!(lines[3]["result"]["isError"], true);
    let all: Vec<(&str, Value)> = (1..=pages).map(question).collect();
    let text: String = answers(&scratch, &[], &all)
        .iter()
        .map(|answer| answer["result"]["content"][0]["text"].as_str().expect("a page").to_owned())
        .collect();
    assert_eq!(text, scratch.forebay(&["lint", "--format", "json"]).out);
}
