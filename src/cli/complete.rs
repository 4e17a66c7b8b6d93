//! What a shell may put at the cursor: the words of closed options, and the names
//! that the repository holds. The scripts of `forebay completions` ask this.

use super::common::Common;
use super::respond;
use super::session::Session;
use crate::lint::Group;
use crate::lint::rules::RULES;
use crate::model::ObjectId;
use crate::model::kinds::{KINDS, kind_of_word};
use crate::model::short_names::is_called;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::{CompleteEnv, Shells};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

/// The variable by which a script asks.
const VARIABLE: &str = "FOREBAY_COMPLETE";

/// Answer a shell that asks, and tell whether one did.
///
/// # Errors
/// What is wrong with the question.
pub(crate) fn answer() -> Result<bool, clap::Error> {
    if std::env::var_os(VARIABLE).is_none() {
        return Ok(false);
    }
    let here = std::env::current_dir().ok();
    CompleteEnv::with_factory(command).var(VARIABLE).try_complete(std::env::args_os(), here.as_deref())
}

/// The shells that there are scripts for.
pub(crate) fn shells() -> PossibleValuesParser {
    PossibleValuesParser::new(["bash", "elvish", "fish", "powershell", "zsh"])
}

/// Write the script that makes a shell ask.
///
/// # Errors
/// No script for it, or what writing fails with.
pub(crate) fn script(shell: &str, out: &mut dyn io::Write) -> io::Result<()> {
    if shell == "bash" {
        return out.write_all(BASH.as_bytes());
    }
    let shells = Shells::builtins();
    let shell = shells.completer(shell).ok_or_else(|| io::Error::other("no script for this shell"))?;
    shell.write_registration(VARIABLE, "forebay", "forebay", "forebay", out)
}

/// The script for bash, which parts words at `=`: they are put together before the
/// question, and from the answers goes what bash holds for words of their own.
const BASH: &str = r#"_forebay() {
    local IFS=$'\013' words=() count=0 at joins=false cur answer
    for ((at = 0; at <= COMP_CWORD; at++)); do
        if [[ ${COMP_WORDS[at]} == "=" && $count -gt 0 ]]; then
            words[count - 1]+="="
            joins=true
        elif $joins; then
            words[count - 1]+="${COMP_WORDS[at]}"
            joins=false
        else
            words[count++]="${COMP_WORDS[at]}"
        fi
    done
    cur="${COMP_WORDS[COMP_CWORD]}"
    [[ $cur == "=" ]] && cur=
    answer=($(_CLAP_IFS="$IFS" _CLAP_COMPLETE_INDEX=$((count - 1)) FOREBAY_COMPLETE=bash \
        forebay -- "${words[@]}" 2>/dev/null))
    COMPREPLY=("${answer[@]#"${words[count - 1]%"$cur"}"}")
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} != *[=/:] ]]; then
        COMPREPLY[0]+=" "
    fi
}
complete -o nospace -o bashdefault -o default -F _forebay forebay
"#;

/// The command line with what completes its values.
fn command() -> Command {
    completed(super::command())
}

fn completed(command: Command) -> Command {
    command.mut_args(values).mut_subcommands(completed)
}

/// What completes the values of an argument that no closed list does.
fn values(arg: Arg) -> Arg {
    let words: fn(&str) -> Vec<Completion> = match arg.get_id().as_str() {
        "output_file" => output_files,
        "select" | "ignore" => rules_and_groups,
        "rule" => rules,
        "respond" => answers,
        "cluster" => clusters,
        "assume" => |_| super::assume::keys().map(|key| Completion::plain(format!("{key}="))).collect(),
        "namespace" => namespaces,
        "object" | "objects" | "why" | "what" => objects,
        "alert" => |typed| of_kind("Alert", typed),
        "gate" => |typed| of_kind("Gate", typed),
        "kustomization" => |typed| of_kind("Kustomization", typed),
        "to" if arg.get_value_names().is_some_and(|names| names[0] == "KS") => objects,
        _ => return arg,
    };
    let is_list = arg.get_value_delimiter().is_some();
    // Objects and files stand here.
    let has_paths = arg.get_id() == "what";
    arg.add(ArgValueCompleter::new(move |typed: &OsStr| {
        let paths = if has_paths { PathCompleter::any().complete(typed) } else { Vec::new() };
        candidates(typed, words, is_list).into_iter().chain(paths).collect::<Vec<_>>()
    }))
}

/// A word to offer, and what it is.
struct Completion {
    text: String,
    about: Option<String>,
}

impl Completion {
    fn plain(text: impl Into<String>) -> Completion {
        Completion { text: text.into(), about: None }
    }
}

/// The words that go on from what is typed; of a list, its last item does.
fn candidates(typed: &OsStr, words: fn(&str) -> Vec<Completion>, is_list: bool) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    let (before, last) = match typed.rfind(',').filter(|_| is_list) {
        Some(comma) => typed.split_at(comma + 1),
        None => ("", typed),
    };
    let going_on = words(last).into_iter().filter(|word| word.text.starts_with(last));
    let candidate = |word: Completion| {
        CompletionCandidate::new(format!("{before}{}", word.text)).help(word.about.map(Into::into))
    };
    // Names come from files: one that a terminal would obey is not offered.
    going_on.filter(|word| !word.text.chars().any(char::is_control)).map(candidate).collect()
}

/// The words of the line that is typed, behind the `--` of the script and the name
/// of the program.
fn line() -> impl Iterator<Item = String> {
    std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .skip_while(|word| word != "--")
        .skip(2)
}

/// `FORMAT=` for each format of the command that is typed.
fn output_files(_: &str) -> Vec<Completion> {
    let mut command = super::command();
    for word in line() {
        if let Some(inner) = command.find_subcommand(&word) {
            command = inner.clone();
        }
    }
    let format = command.get_arguments().find(|arg| arg.get_id() == "format");
    let words = format.map(Arg::get_possible_values).unwrap_or_default();
    words.iter().map(|word| Completion::plain(format!("{}=", word.get_name()))).collect()
}

fn rules(_: &str) -> Vec<Completion> {
    let word = |rule: &&crate::lint::Rule| Completion {
        text: rule.id.to_owned(),
        about: Some(rule.summary.replace('`', "")),
    };
    RULES.iter().map(word).collect()
}

fn rules_and_groups(typed: &str) -> Vec<Completion> {
    let groups = Group::ALL.iter().map(|group| Completion {
        text: group.name().to_owned(),
        about: Some("all rules of this group".to_owned()),
    });
    groups.chain(rules(typed)).collect()
}

/// What a hook may answer: first the hooks, then the answers.
fn answers(typed: &str) -> Vec<Completion> {
    match typed.split_once('=') {
        None => respond::names().map(|name| Completion::plain(format!("{name}="))).collect(),
        // What a file is called, the shell knows.
        Some((hook, _)) => respond::answers(hook)
            .iter()
            .filter(|answer| **answer != "FILE")
            .map(|answer| Completion::plain(format!("{hook}={answer}")))
            .collect(),
    }
}

/// The repository of the line that is typed.
fn session() -> Option<Session> {
    let words: Vec<String> = line().collect();
    let given = words.windows(2).find(|pair| pair[0] == "--root").map(|pair| PathBuf::from(&pair[1]));
    // bash parts words at `=`.
    let given = given.filter(|root| root.as_os_str() != "=").or_else(|| {
        let parted = words.windows(3).find(|three| three[0] == "--root" && three[1] == "=");
        parted.map(|three| PathBuf::from(&three[2]))
    });
    let joined = || words.iter().find_map(|word| word.strip_prefix("--root=")).map(PathBuf::from);
    let mut common = Common::default();
    common.root = given.or_else(joined);
    Session::open(&common, &[]).ok()
}

fn clusters(_: &str) -> Vec<Completion> {
    let Some(session) = session() else { return Vec::new() };
    let world = session.world();
    let names = world.clusters.iter().filter_map(|cluster| Some((cluster.name.as_deref()?, &cluster.root)));
    names.map(|(name, root)| Completion { text: name.to_owned(), about: Some(root.clone()) }).collect()
}

/// Objects as they are written in the files, templates left out: nothing is built,
/// so that an answer comes at once.
fn written(session: &Session) -> impl Iterator<Item = &ObjectId> {
    let ids = session.snapshot.objects().iter().map(|object| &object.id);
    ids.filter(|id| !id.name.is_empty() && !id.name.contains(['$', '{', '<']))
}

fn namespaces(_: &str) -> Vec<Completion> {
    let Some(session) = session() else { return Vec::new() };
    let stated = written(&session).filter_map(|id| match &*id.kind {
        "Namespace" => Some(&id.name),
        _ => id.namespace.as_ref(),
    });
    let names: BTreeSet<&str> = stated.map(|name| &**name).filter(|name| !name.contains('$')).collect();
    names.into_iter().map(Completion::plain).collect()
}

/// Objects of a kind where it need not be named: namespaces as if they were
/// directories, and names.
fn of_kind(kind: &str, typed: &str) -> Vec<Completion> {
    let Some(session) = session() else { return Vec::new() };
    names(&session, kind, typed).into_iter().map(Completion::plain).collect()
}

fn names(session: &Session, kind: &str, typed: &str) -> BTreeSet<String> {
    let ids = written(session).filter(|id| is_called(&id.kind, kind));
    ids.flat_map(|id| {
        let namespace = id.namespace.as_deref().filter(|namespace| !namespace.contains('$'));
        match (typed.split_once('/'), namespace) {
            (Some((wanted, _)), Some(namespace)) if wanted == namespace => {
                vec![format!("{namespace}/{}", id.name)]
            }
            (Some(_), _) => Vec::new(),
            (None, Some(namespace)) => vec![id.name.to_string(), format!("{namespace}/")],
            (None, None) => vec![id.name.to_string()],
        }
    })
    .collect()
}

/// `KIND/[NAMESPACE/]NAME`: before the `/` the kinds that there are, in the letters
/// that are typed; short forms once their first letter is.
fn objects(typed: &str) -> Vec<Completion> {
    let Some(session) = session() else { return Vec::new() };
    if let Some((word, rest)) = typed.split_once('/') {
        let names = names(&session, kind_of_word(word), rest);
        return names.into_iter().map(|name| Completion::plain(format!("{word}/{name}"))).collect();
    }
    let kinds: BTreeSet<&str> = written(&session).map(|id| &*id.kind).collect();
    let known = KINDS.iter().filter(|known| !typed.is_empty() && kinds.contains(known.kind));
    let words: BTreeSet<&str> =
        kinds.iter().copied().chain(known.flat_map(|known| known.short).copied()).collect();
    let begins = |word: &&str| word.get(..typed.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(typed));
    let going_on = words.into_iter().filter(begins);
    going_on.map(|word| Completion::plain(format!("{typed}{}/", &word[typed.len()..]))).collect()
}
