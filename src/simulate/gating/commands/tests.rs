//! Tests of the module.

use super::*;

fn show(found: &FoundAction) -> String {
    let text = match &found.action {
        Action::Request { gate, namespace, position, value } => {
            let namespace = namespace.as_deref().unwrap_or("-");
            let value = match value {
                RequestValue::RunTime => "now",
                RequestValue::Text(text) => text,
                RequestValue::Unknown => "unknown",
            };
            format!("{} {namespace}/{gate} {value}", position.verb())
        }
        Action::Suspend { suspend, kind, namespace, name } => {
            let verb = if *suspend { "suspend" } else { "resume" };
            format!("{verb} {kind} {namespace}/{}", name.as_deref().unwrap_or("*"))
        }
        Action::Unread(_) => "unread".to_owned(),
    };
    if found.certain { text } else { format!("{text} perhaps") }
}

fn script(text: &str) -> Vec<String> {
    let container = Container {
        command: vec!["/bin/sh".into(), "-ec".into()],
        args: vec![text.into()],
        env: vec![("NS".into(), "flux-system".into())],
        ..Container::default()
    };
    actions(&container).iter().map(show).collect()
}

#[test]
fn reads_scripts() {
    let now = r#""$(date -u +"%Y-%m-%dT%H:%M:%SZ")""#;
    for (text, expected) in [
            (
                format!("kubectl -n a annotate --overwrite gate/m \\\n  close.gate.fluxcd.io/requestedAt={now}"),
                vec!["close a/m now"],
            ),
            (
                format!("kubectl annotate gate m open.gate.fluxcd.io/requestedAt={now}"),
                vec!["open -/m now perhaps"],
            ),
            (
                format!(
                    "NOW={now}\nkubectl annotate --overwrite -n $NS gates.gating.toolkit.fluxcd.io/m open.gate.fluxcd.io/requestedAt=${{NOW}}"
                ),
                vec!["open flux-system/m now"],
            ),
            (
                "kubectl annotate --overwrite gate/m open.gate.fluxcd.io/requestedAt=2026-01-01T00:00:00Z".into(),
                vec!["open -/m 2026-01-01T00:00:00Z"],
            ),
            (
                "kubectl annotate --overwrite gate/m open.gate.fluxcd.io/requestedAt=$(date -d tomorrow +%FT%TZ)".into(),
                vec!["open -/m unknown"],
            ),
            (
                "kubectl annotate --overwrite gate/m open.gate.fluxcd.io/requestedAt=$WHEN".into(),
                vec!["open -/m unknown"],
            ),
            ("kubectl annotate --overwrite gate/$G open.gate.fluxcd.io/requestedAt=x".into(), vec![]),
            ("kubectl annotate --overwrite deployment/m a=b; kubectl get gates".into(), vec![]),
            (
                "flux suspend ks apps && flux resume source git app --namespace=a # flux suspend hr x".into(),
                vec!["suspend Kustomization flux-system/apps", "resume GitRepository a/app"],
            ),
            (
                "flux suspend kustomization --all -n a\nflux suspend image update b c".into(),
                vec![
                    "suspend Kustomization a/*",
                    "suspend ImageUpdateAutomation flux-system/b",
                    "suspend ImageUpdateAutomation flux-system/c",
                ],
            ),
            (
                "if [ -f /x ]; then flux suspend hr a; fi".into(),
                vec!["suspend HelmRelease flux-system/a perhaps"],
            ),
            (
                "true || flux suspend hr a".into(),
                vec!["suspend HelmRelease flux-system/a perhaps"],
            ),
            (
                r#"kubectl -n flux-system patch kustomization apps --type merge -p '{"spec":{"suspend":true}}'"#.into(),
                vec!["suspend Kustomization flux-system/apps"],
            ),
            (
                r#"kubectl patch hr/web --type=merge --patch='{"spec":{"suspend":false}}'"#.into(),
                vec!["resume HelmRelease /web"],
            ),
            (
                r#"kubectl patch helmreleases.helm.toolkit.fluxcd.io web -n a --type json -p '[{"op":"add","path":"/spec/suspend","value":true}]'"#.into(),
                vec!["suspend HelmRelease a/web"],
            ),
            (
                r#"kubectl patch ks apps --type merge -p '{"spec":{"suspend":null}}'"#.into(),
                vec!["resume Kustomization /apps"],
            ),
            (r#"kubectl patch ks $KS --type merge -p '{"spec":{"suspend":true}}'"#.into(), vec!["unread"]),
            (r#"kubectl patch ks apps -p "{\"spec\":{\"suspend\":$ON}}""#.into(), vec!["unread"]),
            (r#"kubectl patch cronjob backup -p '{"spec":{"suspend":true}}'"#.into(), vec![]),
            ("/scripts/suspend-helmreleases.sh".into(), vec!["unread perhaps"]),
            ("echo 'flux suspend hr a'".into(), vec![]),
            ("echo \"unclosed $( ${ ' flux".into(), vec![]),
            (
                "echo $(date (a) ')') done; flux suspend hr b".into(),
                vec!["suspend HelmRelease flux-system/b"],
            ),
            (
                "kubectl patch ks apps --type merge -p \"{\\\"spec\\\":{\\\"suspend\\\":\\\ntrue}}\"".into(),
                vec!["suspend Kustomization /apps"],
            ),
        ] {
            assert_eq!(script(&text), expected, "{text}");
        }
}

#[test]
fn reads_argument_vectors_and_entry_points() {
    let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
    for (image, command, args, expected) in [
        ("x", words("/usr/bin/flux suspend hr a -n b"), vec![], "suspend HelmRelease b/a"),
        (
            "ghcr.io/fluxcd/flux-cli:v2.9.0",
            vec![],
            words("resume ks a"),
            "resume Kustomization flux-system/a",
        ),
        (
            "bitnami/kubectl",
            vec![],
            words("annotate --overwrite gate/m close.gate.fluxcd.io/requestedAt=x"),
            "close -/m x",
        ),
    ] {
        let container = Container { image: image.into(), command, args, env: vec![] };
        assert_eq!(actions(&container).iter().map(show).collect::<Vec<_>>(), [expected]);
    }
    assert!(actions(&Container::default()).is_empty());
}
