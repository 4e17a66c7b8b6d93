use super::*;
use crate::files::Store;
use std::sync::Arc;

fn snapshot(files: &[(&str, &str)]) -> Snapshot {
    let files = files.iter().map(|(path, text)| (*path, text.as_bytes().to_vec()));
    Snapshot::memory(files, Arc::new(Store::default()))
}

/// A file with stars for what is hidden.
fn shown(files: &[(&str, &str)], path: &str) -> String {
    let snapshot = snapshot(files);
    let text = files.iter().find(|(name, _)| *name == path).expect("the file").1;
    let ranges = snapshot.hidden_in(&FilePath::in_root(path));
    let star = |(at, c): (usize, char)| {
        let hidden = !c.is_whitespace() && ranges.iter().any(|range| range.contains(&(at as u32)));
        if hidden { '*' } else { c }
    };
    text.char_indices().map(star).collect()
}

#[test]
fn of_a_secret_names_are_shown() {
    for (text, expected) in [
        (
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  labels: {b: c}\n  extra: d\ntype: Opaque\ndata:\n  k: eA==\nstringdata: e\n",
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  labels: {b: *}\n  extra: *\ntype: Opaque\ndata:\n  k: ****\nstringdata: *\n",
        ),
        ("# old\nkind: Secret\ndata: [a, {b: c}] # d\n", "# old\nkind: Secret\ndata: [*, {*: *}] * *\n"),
        (
            "kind: List\nitems:\n- {kind: Secret, metadata: {name: a}, data: {b: c}}\n- {kind: ConfigMap, data: {b: c}}\n",
            "kind: List\nitems:\n- {kind: Secret, metadata: {name: a}, data: {b: *}}\n- {kind: ConfigMap, data: {b: c}}\n",
        ),
        (
            "kind: SecretList\nitems: [{metadata: {name: a}, data: {b: c}}]\n",
            "kind: SecretList\nitems: [{metadata: {name: a}, data: {b: *}}]\n",
        ),
        ("a: &x b\n---\nkind: Secret\nc: &y d\nz: *y\n", "a: &x b\n---\nkind: Secret\nc: &y *\nz: **\n"),
        // What refers to one holds nothing.
        (
            "kind: HelmRelease\nspec: {valuesFrom: [{kind: Secret, name: a}]}\n",
            "kind: HelmRelease\nspec: {valuesFrom: [{kind: Secret, name: a}]}\n",
        ),
        (
            "kind: ExternalSecret\nspec: {data: [{secretKey: a}]}\n",
            "kind: ExternalSecret\nspec: {data: [{secretKey: a}]}\n",
        ),
        (
            "kind: SecretStore\nmetadata: {name: a, labels: {b: c}}\n",
            "kind: SecretStore\nmetadata: {name: a, labels: {b: c}}\n",
        ),
    ] {
        // A comment before the first document belongs to it.
        let expected = expected.replace("# old", "* ***");
        assert_eq!(shown(&[("a.yaml", text)], "a.yaml"), expected, "{text}");
    }
}

#[test]
fn words_that_the_api_server_writes_are_hidden_in_their_place_only() {
    let text = "kind: Secret\nmetadata:\n  name: a\n  managedFields: [{apiVersion: v1, operation: Apply}]\n  \
                spare: {k: hunter2}\ndata: {k: eHl6enk=}\n";
    let snapshot = snapshot(&[("a.yaml", text)]);
    let words: Vec<&str> = snapshot.hidden_words().collect();
    assert_eq!(words, ["hunter2", "eHl6enk=", "xyzzy"]);
}

#[test]
fn broken_texts_hide_what_may_be_a_value() {
    for (text, expected) in [
        (
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\nstringData:\n  b: \"c\n",
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\nstringData:\n  ** **\n",
        ),
        ("{\"kind\": \"Secret\", \"data\": {\"a\": \"b}\n", "******** ********* ******* ***** ***\n"),
        (
            "kind: Secret\nmetadata: {name: a}\nstringData: {b: c}\n--- {d: e}\nstringData: {f: g}\nkind: Secret\n",
            "kind: Secret\nmetadata: {name: a}\nstringData: {b: *}\n--- *** **\nstringData: *** **\nkind: Secret\n",
        ),
        (
            "kind: Deployment\nspec: [\n---\nkind: Secret\ndata: {a: *b}\n",
            "kind: Deployment\nspec: [\n---\nkind: Secret\ndata: *** ***\n",
        ),
        (
            "kind: Kustomization\nsubstituteFrom:\n- kind: Secret\n  name: a\nb: [\n",
            "kind: Kustomization\nsubstituteFrom:\n- kind: Secret\n  name: a\nb: [\n",
        ),
    ] {
        assert_eq!(shown(&[("a.yaml", text)], "a.yaml"), expected, "{text}");
    }
}

#[test]
fn what_makes_a_secret_is_hidden_where_it_stands() {
    for (files, path, expected) in [
        (
            &[("kustomization.yaml", "secretGenerator: [{name: a, literals: [b=c, 'd=e']}]\n")][..],
            "kustomization.yaml",
            "secretGenerator: [{name: a, literals: [b=*, 'd***]}]\n",
        ),
        (
            &[
                ("a/kustomization.yaml", "secretGenerator: [{name: a, files: [x=b.yaml]}]\n"),
                ("a/b.yaml", "c: d\n"),
            ],
            "a/b.yaml",
            "** *\n",
        ),
        (
            &[
                ("a/kustomization.yaml", "secretGenerator: [{name: a, envs: [../b.env]}]\n"),
                ("b.env", "C=d\n"),
            ],
            "b.env",
            "***\n",
        ),
        (
            &[("kustomization.yaml", "configMapGenerator: [{name: a, literals: [b=c]}]\n")],
            "kustomization.yaml",
            "configMapGenerator: [{name: a, literals: [b=c]}]\n",
        ),
        (
            &[(
                "kustomization.yaml",
                "patches:\n- target: {kind: Secret}\n  patch: \"- {op: add, path: /x, value: y}\"\n",
            )],
            "kustomization.yaml",
            "patches:\n- target: {kind: Secret}\n  patch: ** **** **** ***** *** ****** ***\n",
        ),
        (
            &[(
                "kustomization.yaml",
                "patches:\n- target: {kind: Deployment}\n  patch: \"- {op: add, path: /data, value: y}\"\n",
            )],
            "kustomization.yaml",
            "patches:\n- target: {kind: Deployment}\n  patch: \"- {op: add, path: /data, value: y}\"\n",
        ),
        (
            &[(
                "set.yaml",
                "kind: ResourceSet\nspec:\n  inputs: [{a: b, c: d}]\n  resources: [{kind: Secret, metadata: {name: << inputs.a >>}, data: {x: << inputs.c >>}}]\n",
            )],
            "set.yaml",
            "kind: ResourceSet\nspec:\n  inputs: [{a: b, c: *}]\n  resources: [{kind: Secret, metadata: {name: << inputs.a >>}, data: {x: ** ******** **}}]\n",
        ),
    ] {
        assert_eq!(shown(files, path), expected, "{files:?}");
    }
}

#[test]
fn messages_about_a_secret_tell_nothing_of_its_values() {
    let text = "kind: Secret\nmetadata: {name: web}\nstringData: {a: web, b: hush, c: \"correct horse\"}\nother: eA==\n";
    let files = snapshot(&[("a.yaml", text), ("b.yaml", "kind: ConfigMap\ndata: {a: hush}\n")]);
    let at = |path: &str| Location { file: FilePath::in_root(path), start: 5, end: 9, via: Vec::new() };
    for (message, expected) in [
        ("Secret web: `hush` is no number", "Secret web: `***` is no number"),
        ("Secret web: \"horse\" is no key", "Secret web: \"***\" is no key"),
        ("Secret web: unknown field `other`", "Secret web: unknown field `other`"),
        ("found correct horse here", "found *** here"),
        ("it can't be `x`", "it can't be `***`"),
    ] {
        assert_eq!(files.conceal(message, &at("a.yaml")), expected);
        assert_eq!(files.conceal(message, &at("b.yaml")), message);
    }
}

#[test]
fn the_service_account_of_a_token_is_told_by_its_name() {
    let account = "kind: ServiceAccount\nmetadata: {name: vault-auth}\n";
    let token = "kind: Secret\nmetadata:\n  name: token\n  annotations:\n    kubernetes.io/service-account.name: vault-auth\n    other: some-words\n";
    for text in [format!("{account}---\n{token}"), format!("{token}---\n{account}")] {
        let files = snapshot(&[("a.yaml", &text)]);
        let whole =
            Location { file: FilePath::in_root("a.yaml"), start: 0, end: text.len() as u32, via: Vec::new() };
        let message = "ServiceAccount vault-auth of `vault-auth` and some-words";
        assert_eq!(files.conceal(message, &whole), "ServiceAccount vault-auth of `vault-auth` and ***");
    }
}
