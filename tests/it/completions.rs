//! Completions, asked by real shells: keys are typed into an interactive bash and
//! zsh in a terminal of their own, and fish is asked by its own command.

use crate::support::scratch::Scratch;
use crate::support::skip::skip;
use std::path::Path;
use std::process::Command;

const APPS: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: apps\n  \
                    namespace: flux-system\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n\
                    metadata:\n  name: podinfo\n  namespace: web\n";

const CONFIG: &str = "version: 1\nclusters: [{name: prod, path: .}, {name: staging, path: .}]\n";

/// A line up to the tab, and the word that the shell makes of its last one: there is
/// only one that goes on from there.
const CASES: [(&str, &str); 16] = [
    ("forebay li", "lint"),
    ("forebay lint --format sa", "sarif"),
    ("forebay lint --format=sa", "sarif"),
    ("forebay graph --format mer", "mermaid"),
    ("forebay simulate hooks --format j", "json"),
    ("forebay lint --output-file junit", "junit="),
    ("forebay lint --fail-on ne", "never"),
    ("forebay lint --select missing-pat", "missing-path"),
    ("forebay lint --ignore gate-cycle,missing-pat", "gate-cycle,missing-path"),
    ("forebay explain gate-c", "gate-cycle"),
    ("forebay plan --fail-on-effect disr", "disruptive"),
    ("forebay lint --cluster st", "staging"),
    ("forebay why ks/a", "ks/apps"),
    ("forebay suspend HelmRelease/we", "HelmRelease/web/"),
    ("forebay suspend hr/web/", "hr/web/podinfo"),
    ("forebay build --kustomization ap", "apps"),
];

/// Whether a program is here.
fn is_here(name: &str) -> bool {
    Command::new(name).arg("-c").arg("exit 0").output().is_ok_and(|output| output.status.success())
}

/// Types lines and a tab each into an interactive shell, in a terminal of zsh's, and
/// prints what the shell made of each line. `$1` is the command of the shell, `$2` a
/// file with what it reads first; then come the lines. The shell tells by a key of
/// its own what stands at its prompt.
const TYPIST: &str = r#"
zmodload zsh/zpty || exit 9
zpty -b shell "$1"
zpty -w shell "source $2"
zpty -r -m shell seen '*READY*' || exit 8
shift 2
for line in "$@"; do
  zpty -w -n shell "$line"$'\t\x07'
  zpty -r -m shell seen '*<<*>>*' || exit 7
  made=${seen##*<<}
  print -r -- "${made%%>>*}"
  zpty -w -n shell $'\x15'
done
zpty -d shell
"#;

/// What bash reads first: no prompt, and what tells what stands there.
const BASH: &str = "PS1=; bind 'set enable-bracketed-paste off'; bind 'set bell-style none'
source <(forebay completions bash)
tell() { printf '<<%s>>' \"$READLINE_LINE\"; }
bind -x '\"\\C-g\": tell'
printf 'REA%s\\n' DY
";

/// The same for zsh.
const ZSH: &str =
    "PS1=; RPS1=; unsetopt zle_bracketed_paste prompt_sp beep; autoload -Uz compinit; compinit -D -u
source <(forebay completions zsh)
tell() { printf '<<%s>>' \"$BUFFER\" }
zle -N tell; bindkey '^G' tell; bindkey '^U' kill-whole-line
printf 'REA%s\\n' DY
";

/// A repository, and a command that finds the binary by its name.
fn stage(scratch: &Scratch, shell: &str) -> Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_forebay")).parent().expect("a directory");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(shell);
    command.current_dir(scratch.path()).env("PATH", path).env("HOME", scratch.path()).env("TERM", "dumb");
    command.env("ZDOTDIR", scratch.path());
    command
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("the shell is here");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {error}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Type each line into a shell and look at what it becomes.
fn typed(shell: &str, first: &str) {
    let scratch = Scratch::git(&[("apps.yaml", APPS), (".forebay.yaml", CONFIG), ("typist.zsh", TYPIST)]);
    scratch.write("first", first.as_bytes());
    let lines = CASES.map(|(line, _)| line);
    let out = output(stage(&scratch, "zsh").args(["-f", "typist.zsh", shell, "./first"]).args(lines));
    let made: Vec<&str> = out.lines().collect();
    assert_eq!(made.len(), CASES.len(), "{shell}: {out}");
    for ((line, word), made) in CASES.iter().zip(made) {
        let begin = &line[..=line.rfind([' ']).expect("a word")];
        let option = if line.contains("--format=") { "--format=" } else { "" };
        assert_eq!(made.trim_end(), format!("{begin}{option}{word}"), "{shell} {line:?}");
    }
}

#[test]
fn bash_completes_what_is_typed() {
    if !is_here("bash") || !is_here("zsh") {
        skip!("no bash, or no zsh for its terminal");
    }
    typed("bash --norc --noprofile -i", BASH);
}

#[test]
fn zsh_completes_what_is_typed() {
    if !is_here("zsh") {
        skip!("no zsh");
    }
    typed("zsh -f -i", ZSH);
}

#[test]
fn fish_completes_what_is_typed() {
    if !is_here("fish") {
        skip!("no fish");
    }
    let scratch = Scratch::git(&[("apps.yaml", APPS), (".forebay.yaml", CONFIG)]);
    for (line, word) in CASES {
        let script = format!("forebay completions fish | source; complete --do-complete '{line}'");
        let out = output(stage(&scratch, "fish").args(["--no-config", "-c", &script]));
        let offered: Vec<&str> =
            out.lines().map(|line| line.split('\t').next().unwrap_or_default()).collect();
        let option = if line.contains("--format=") { "--format=" } else { "" };
        assert_eq!(offered, [format!("{option}{word}")], "fish {line:?}");
    }
}

/// Names come from files that anybody may have written.
#[test]
fn no_name_is_offered_that_a_terminal_would_obey() {
    let hostile = APPS.replace("name: podinfo", "name: \"pod\\u001b]0;x\\u0007info\"");
    let scratch = Scratch::git(&[("apps.yaml", &hostile)]);
    let ask = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
        command.current_dir(scratch.path()).args(["--", "forebay"]).args(words);
        command.env("FOREBAY_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", words.len().to_string());
        output(&mut command)
    };
    assert_eq!(ask(&["why", "hr/"]), "hr/web/");
    assert_eq!(ask(&["why", "hr/web/"]), "");
    assert_eq!(ask(&["why", "ks/flux-system/"]), "ks/flux-system/apps");
}

/// Every closed option says its words in `--help`, and to who writes another.
#[test]
fn closed_options_name_their_words() {
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_forebay")).args(arguments).output().expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let help = run(&["lint", "--help"]).1;
    for part in [
        "possible values: error, warning, info, never",
        "  full      a block for each finding, with the bytes to change (default)\n",
        "  junit     for test reports\n",
    ] {
        assert!(help.contains(part), "{part}: {help}");
    }
    for (arguments, word, near) in [
        (&["lint", "--format", "jsn"][..], "sarif, github", "`json`"),
        (&["lint", "--fail-on", "eror"], "error, warning, info, never", "`error`"),
        (&["lint", "--color", "yes"], "auto, always, never", ""),
        (&["graph", "--format", "mermaidd"], "text, mermaid, dot, svg, json", "`mermaid`"),
        (&["plan", "--fail-on-effect", "deletd"], "routine, notable, disruptive", "`deleted`"),
        (&["migrate", "suspend", "--to", "specs"], "spec, annotation", "`spec`"),
        (&["simulate", "hooks", "Cluster/a/b", "--on", "upgrad"], "create, upgrade, delete", "`upgrade`"),
        (&["simulate", "hooks", "--respond", "AfterX=blocking"], "AfterControlPlaneInitialized", ""),
        (&["build", ".", "--load-restrictor", "rootonly"], "none, root-only", "`root-only`"),
        (&["completions", "bsh"], "bash, elvish, fish, powershell, zsh", "`bash`"),
    ] {
        let (code, text) = run(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {text}");
        assert!(text.contains(word) && text.contains(near), "{arguments:?}: {text}");
    }
}
