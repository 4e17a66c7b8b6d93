//! What the command of a CronJob does to gates and to suspended objects.
//!
//! Reads an argument vector or a shell script and finds `kubectl annotate
//! gate/…` with a request annotation, `kubectl patch … spec.suspend` and `flux
//! suspend|resume …`. It is no shell: what it cannot follow makes an action
//! uncertain, never wrong, and a command about a suspension that it cannot read
//! is said to be unread.

use super::Position;
use crate::model::kinds::{KINDS, SuspendBy};

/// When a request annotation that a command writes takes effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestValue {
    /// The time at which the command runs: `$(date -u +…)`.
    RunTime,
    /// A text that is written as it is.
    Text(String),
    /// Not known here.
    Unknown,
}

/// What a command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Writes a request annotation on a Gate.
    Request {
        /// The Gate's name.
        gate: String,
        /// Its namespace, where the command names one.
        namespace: Option<String>,
        /// What is requested.
        position: Position,
        /// For when.
        value: RequestValue,
    },
    /// Suspends or resumes Flux objects.
    Suspend {
        /// Suspend, else resume.
        suspend: bool,
        /// The objects' kind.
        kind: &'static str,
        /// Their namespace; empty for that of the CronJob, which `kubectl` takes.
        namespace: String,
        /// The object's name; none means all of that kind and namespace.
        name: Option<String>,
    },
    /// Does something about a suspension that cannot be read; the command.
    Unread(String),
}

/// An action and whether every run of the command is sure to perform it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundAction {
    /// What it does.
    pub action: Action,
    /// False below a condition or a loop, or where kubectl would refuse it.
    pub certain: bool,
}

/// A container's image, command, arguments and literal environment.
#[derive(Debug, Clone, Default)]
pub struct Container {
    /// The image reference; names the program where there is no command.
    pub image: String,
    /// `command`.
    pub command: Vec<String>,
    /// `args`.
    pub args: Vec<String>,
    /// `env` entries with a literal value.
    pub env: Vec<(String, String)>,
}

/// What one run of a container does, in order.
pub fn actions(container: &Container) -> Vec<FoundAction> {
    let mut argv = container.command.clone();
    if argv.is_empty() {
        // The entry points of the usual images.
        let image = container.image.rsplit('/').next().unwrap_or_default();
        let program = ["kubectl", "flux"].into_iter().find(|program| image.starts_with(program));
        argv.extend(program.map(String::from));
    }
    argv.extend(container.args.iter().cloned());
    let program = argv.first().map_or("", |program| base_name(program));
    if matches!(program, "sh" | "bash" | "ash" | "dash" | "zsh") {
        let script = argv
            .iter()
            .position(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))
            .and_then(|flag| argv.get(flag + 1));
        return match script {
            Some(script) => or_unread(read_script(script, &container.env), script),
            None => or_unread(Vec::new(), &argv.join(" ")),
        };
    }
    let words: Vec<ScriptWord> =
        argv.iter().map(|word| ScriptWord { text: word.clone(), unknown: false }).collect();
    let mut found = Vec::new();
    read_command(&words, true, &mut found);
    or_unread(found, &argv.join(" "))
}

/// A text that is about a Flux suspension, and of which nothing was read.
fn or_unread(found: Vec<FoundAction>, text: &str) -> Vec<FoundAction> {
    let has = |word: &str| text.contains(word);
    let is_flux = ["toolkit.fluxcd.io", "kustomization", "helmrelease", "flux "].into_iter().any(has);
    // Words after `echo` or in a comment are no command.
    let is_quoted = text.lines().all(|line| {
        let line = line.trim_start();
        !line.contains("suspend") || line.starts_with("echo ") || line.starts_with('#')
    });
    if found.is_empty() && has("suspend") && is_flux && !is_quoted {
        return vec![FoundAction { action: Action::Unread(text.trim().to_owned()), certain: false }];
    }
    found
}

/// A word of a script, its quotes removed.
#[derive(Debug, Clone, Default)]
struct ScriptWord {
    /// Command substitutions stay in it as written.
    text: String,
    /// Whether it holds a variable of unknown value.
    unknown: bool,
}

/// Reads a script command by command; assignments of variables are followed.
fn read_script(script: &str, env: &[(String, String)]) -> Vec<FoundAction> {
    let mut variables: Vec<(String, ScriptWord)> = env
        .iter()
        .map(|(name, text)| (name.clone(), ScriptWord { text: text.clone(), unknown: false }))
        .collect();
    let mut found = Vec::new();
    let mut certain = true;
    let mut lexer = Lexer { rest: script };
    loop {
        let (words, end) = lexer.next_command(&variables);
        let first = words.first().map_or("", |word| &*word.text);
        certain &= !matches!(first, "if" | "for" | "while" | "until" | "case" | "exit" | "return");
        match assignment(&words) {
            Some((name, value)) => variables.push((name, value)),
            None => read_command(&words, certain, &mut found),
        }
        match end {
            End::Script => return found,
            // What follows runs only if this fails.
            End::Or => certain = false,
            End::Command => {}
        }
    }
}

fn assignment(words: &[ScriptWord]) -> Option<(String, ScriptWord)> {
    let words = match words {
        [first, rest @ ..] if matches!(&*first.text, "export" | "local") => rest,
        _ => words,
    };
    let [word] = words else {
        return None;
    };
    let (name, value) = word.text.split_once('=')?;
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_name.then(|| (name.to_string(), ScriptWord { text: value.to_string(), unknown: word.unknown }))
}

enum End {
    Script,
    Or,
    Command,
}

/// Splits a script into simple commands and these into words.
struct Lexer<'s> {
    rest: &'s str,
}

impl Lexer<'_> {
    fn next_command(&mut self, variables: &[(String, ScriptWord)]) -> (Vec<ScriptWord>, End) {
        let mut words = Vec::new();
        let mut word: Option<ScriptWord> = None;
        while let Some(c) = self.take() {
            match c {
                '\'' => {
                    let end = self.rest.find('\'').unwrap_or(self.rest.len());
                    word.get_or_insert_default().text.push_str(&self.rest[..end]);
                    self.rest = self.rest.get(end + 1..).unwrap_or_default();
                }
                '"' => {
                    let word = word.get_or_insert_default();
                    while let Some(c) = self.take() {
                        match c {
                            '"' => break,
                            '\\' => word.text.extend(self.take().filter(|&c| c != '\n')),
                            '$' | '`' => self.expand(c, word, variables),
                            c => word.text.push(c),
                        }
                    }
                }
                '\\' => match self.take() {
                    Some('\n') | None => {}
                    Some(c) => word.get_or_insert_default().text.push(c),
                },
                '$' | '`' => self.expand(c, word.get_or_insert_default(), variables),
                '#' if word.is_none() => {
                    let end = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.rest = &self.rest[end..];
                }
                ' ' | '\t' | '\r' => words.extend(word.take()),
                '\n' | ';' | '&' | '|' | '(' | ')' => {
                    words.extend(word.take());
                    let end = if c == '|' && self.rest.starts_with('|') { End::Or } else { End::Command };
                    if !words.is_empty() || matches!(end, End::Or) {
                        return (words, end);
                    }
                }
                c => word.get_or_insert_default().text.push(c),
            }
        }
        words.extend(word);
        (words, End::Script)
    }

    fn take(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    /// What follows `$` or a backquote: a known variable becomes its value, a
    /// command substitution stays as written, in the form `$(…)`.
    fn expand(&mut self, first: char, word: &mut ScriptWord, variables: &[(String, ScriptWord)]) {
        if first == '`' {
            let end = self.rest.find('`').unwrap_or(self.rest.len());
            word.text.push_str(&format!("$({})", &self.rest[..end]));
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
            return;
        }
        if self.rest.starts_with('(') {
            let end = closing_parenthesis(self.rest);
            word.text.push_str(&format!("${}", &self.rest[..end]));
            self.rest = &self.rest[end..];
            return;
        }
        let braced = self.rest.starts_with('{');
        let start = usize::from(braced);
        let length = self.rest[start..]
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(self.rest.len() - start);
        let name = &self.rest[start..start + length];
        let after = &self.rest[start + length..];
        let plain = !name.is_empty() && (!braced || after.starts_with('}'));
        self.rest = match (plain, braced) {
            (true, true) => &after[1..],
            (true, false) => after,
            // Another form of expansion: as unknown as the rest of the word.
            (false, _) => self.rest,
        };
        match variables.iter().rev().find(|(known, _)| plain && known == name) {
            Some((_, value)) => {
                word.text.push_str(&value.text);
                word.unknown |= value.unknown;
            }
            None => word.unknown = true,
        }
    }
}

/// One past the parenthesis that closes the one at the start, or the whole
/// length; those in quotes do not count.
fn closing_parenthesis(text: &str) -> usize {
    let mut depth = 0;
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            (None, _) => {}
        }
    }
    text.len()
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Adds the actions of one simple command.
fn read_command(words: &[ScriptWord], certain: bool, found: &mut Vec<FoundAction>) {
    let start = words
        .iter()
        .position(|word| {
            !word.text.contains('=')
                && !matches!(&*word.text, "exec" | "time" | "sudo" | "then" | "else" | "do" | "!" | "{")
        })
        .unwrap_or(words.len());
    // A negation or a branch that was entered on a condition.
    let certain = certain && !words[..start].iter().any(|word| matches!(&*word.text, "then" | "else" | "do"));
    let Some((program, arguments)) = words[start..].split_first() else {
        return;
    };
    match base_name(&program.text) {
        "kubectl" => read_kubectl(arguments, certain, found),
        "flux" => read_flux(arguments, certain, found),
        _ => {}
    }
}

/// Command-line arguments: the positional ones and the flags that matter here.
struct Arguments<'w> {
    positional: Vec<&'w ScriptWord>,
    /// The value of `-p` or `--patch`.
    patch: Option<ScriptWord>,
    namespace: Option<&'w ScriptWord>,
    /// A namespace in `--namespace=…` form.
    inline_namespace: Option<(String, bool)>,
    flags: Vec<&'w str>,
}

impl<'w> Arguments<'w> {
    fn parse(words: &'w [ScriptWord]) -> Self {
        let mut arguments = Arguments {
            positional: Vec::new(),
            patch: None,
            namespace: None,
            inline_namespace: None,
            flags: Vec::new(),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match &*word.text {
                "-n" | "--namespace" => arguments.namespace = words.next(),
                "-p" | "--patch" => arguments.patch = words.next().cloned(),
                "--type" => drop(words.next()),
                "--context" | "--kubeconfig" | "--timeout" | "--field-manager" | "-l" | "--selector" => {
                    words.next();
                    arguments.flags.push(&word.text);
                }
                text => match text.strip_prefix("--namespace=").or_else(|| text.strip_prefix("-n=")) {
                    Some(namespace) => {
                        arguments.inline_namespace = Some((namespace.to_string(), word.unknown));
                    }
                    None if text.starts_with("--patch=") || text.starts_with("-p=") => {
                        let text = text.split_once('=').map_or("", |(_, patch)| patch).to_owned();
                        arguments.patch = Some(ScriptWord { text, unknown: word.unknown });
                    }
                    None if text.starts_with('-') => arguments.flags.push(text),
                    None => arguments.positional.push(word),
                },
            }
        }
        arguments
    }

    /// The namespace that is named; an error where it is not known.
    fn namespace(&self) -> Result<Option<String>, ()> {
        let (text, unknown) = match (self.namespace, &self.inline_namespace) {
            (Some(word), _) => (word.text.clone(), word.unknown),
            (None, Some(inline)) => inline.clone(),
            (None, None) => return Ok(None),
        };
        if unknown || text.contains('$') { Err(()) } else { Ok(Some(text)) }
    }
}

/// Names that a word may hold: a substitution in it makes it unknown.
fn known(word: &ScriptWord) -> Option<&str> {
    (!word.unknown && !word.text.contains("$(")).then_some(&*word.text)
}

fn read_kubectl(words: &[ScriptWord], certain: bool, found: &mut Vec<FoundAction>) {
    let arguments = Arguments::parse(words);
    let mut positional = arguments.positional.iter().copied();
    match positional.next().and_then(known) {
        Some("annotate") => {}
        Some("patch") => return read_patch(&arguments, certain, found),
        _ => return,
    }
    let Some(target) = positional.next().and_then(known) else {
        return;
    };
    let (resource, name) = match target.split_once('/') {
        Some((resource, name)) => (resource, Some(name)),
        None => (target, positional.next().and_then(known)),
    };
    let is_gate = matches!(resource.split('.').next(), Some("gate" | "gates" | "Gate"))
        && (!resource.contains('.') || resource.ends_with(".gating.toolkit.fluxcd.io"));
    let (true, Some(name), Ok(namespace)) = (is_gate, name, arguments.namespace()) else {
        return;
    };
    let certain = certain && arguments.flags.contains(&"--overwrite");
    for word in positional {
        for position in [Position::Opened, Position::Closed] {
            let Some(rest) = word.text.strip_prefix(position.annotation()) else {
                continue;
            };
            let value = match rest.strip_prefix('=') {
                Some(value) if word.unknown => request_value("$", value),
                Some(value) => request_value(value, value),
                // A dash removes the annotation.
                None if rest == "-" => RequestValue::Unknown,
                None => continue,
            };
            let action =
                Action::Request { gate: name.to_string(), namespace: namespace.clone(), position, value };
            found.push(FoundAction { action, certain });
        }
    }
}

/// `kubectl patch KIND NAME -p PATCH`, where the patch sets `spec.suspend`.
fn read_patch(arguments: &Arguments<'_>, certain: bool, found: &mut Vec<FoundAction>) {
    let Some(patch) = arguments.patch.as_ref().filter(|patch| patch.text.contains("suspend")) else { return };
    let mut positional = arguments.positional.iter().skip(1).copied();
    let target = positional.next().and_then(known);
    let (resource, name) = match target.map(|target| (target, target.split_once('/'))) {
        Some((_, Some((resource, name)))) => (Some(resource), Some(name)),
        Some((resource, None)) => (Some(resource), positional.next().and_then(known)),
        None => (None, None),
    };
    let value = known(patch).and_then(patched_suspension);
    let action = match (resource.and_then(kind_of_resource), name, value, arguments.namespace()) {
        (Some(kind), Some(name), Some(suspend), Ok(namespace)) => Action::Suspend {
            suspend,
            kind,
            namespace: namespace.unwrap_or_default(),
            name: Some(name.to_owned()),
        },
        // A Deployment or a CronJob has a suspension that is no matter of Flux.
        (None, Some(_), ..) if resource.is_some_and(|resource| !resource.contains('$')) => return,
        _ => {
            let words: Vec<&str> = arguments.positional.iter().map(|word| &*word.text).collect();
            Action::Unread(format!("kubectl {} -p {}", words.join(" "), patch.text))
        }
    };
    found.push(FoundAction { action, certain });
}

/// What a merge patch or a JSON patch makes of `spec.suspend`.
fn patched_suspension(patch: &str) -> Option<bool> {
    let patch: serde_json::Value = serde_json::from_str(patch).ok()?;
    match &patch {
        serde_json::Value::Array(operations) => operations.iter().rev().find_map(|operation| {
            (operation["path"] == "/spec/suspend").then_some(())?;
            match operation["op"].as_str()? {
                "remove" => Some(false),
                "add" | "replace" => operation["value"].as_bool(),
                _ => None,
            }
        }),
        merge => match &merge["spec"]["suspend"] {
            serde_json::Value::Null if merge["spec"].get("suspend").is_some() => Some(false),
            value => value.as_bool(),
        },
    }
}

/// The suspendable kind that a resource of kubectl's command line means: its
/// plural, singular or short name, with or without its group.
fn kind_of_resource(resource: &str) -> Option<&'static str> {
    let (word, group) = match resource.split_once('.') {
        Some((word, group)) => (word, Some(group)),
        None => (resource, None),
    };
    let word = word.to_ascii_lowercase();
    KINDS.iter().find_map(|kind| {
        let singular = kind.kind.to_ascii_lowercase();
        let plural = match singular.strip_suffix('y') {
            Some(stem) => format!("{stem}ies"),
            None => format!("{singular}s"),
        };
        let is_named = word == singular || word == plural || kind.short.contains(&&*word);
        let is_of_group = group.is_none_or(|group| group.trim_start_matches("v1.") == kind.group);
        (is_named && is_of_group && kind.suspend == SuspendBy::Field).then_some(kind.kind)
    })
}

/// `checked` is the value, or anything with a `$` where it has unknown parts.
fn request_value(checked: &str, value: &str) -> RequestValue {
    if !checked.contains('$') {
        return RequestValue::Text(value.to_string());
    }
    let Some(command) = value.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')')) else {
        return RequestValue::Unknown;
    };
    let mut words = command.split_whitespace();
    let is_date = words.next().map(base_name) == Some("date");
    let of_now = words.clone().all(|word| {
        let flag = word.trim_matches(['"', '\'']);
        flag.starts_with('+')
            || matches!(flag, "-u" | "--utc" | "-Iseconds" | "-Is" | "-uIseconds" | "--iso-8601=seconds")
    });
    let format = words.any(|word| {
        matches!(
            word.trim_matches(['"', '\'']).trim_start_matches('+').trim_matches(['"', '\'']),
            "%Y-%m-%dT%H:%M:%SZ"
                | "%FT%TZ"
                | "%Y-%m-%dT%TZ"
                | "%FT%H:%M:%SZ"
                | "-Iseconds"
                | "-Is"
                | "-uIseconds"
                | "--iso-8601=seconds"
        )
    });
    if is_date && of_now && format { RequestValue::RunTime } else { RequestValue::Unknown }
}

fn read_flux(words: &[ScriptWord], certain: bool, found: &mut Vec<FoundAction>) {
    let arguments = Arguments::parse(words);
    let mut positional = arguments.positional.iter().copied();
    let suspend = match positional.next().and_then(known) {
        Some("suspend") => true,
        Some("resume") => false,
        _ => return,
    };
    let kind = match positional.next().and_then(known) {
        Some("kustomization" | "kustomizations" | "ks") => "Kustomization",
        Some("helmrelease" | "helmreleases" | "hr") => "HelmRelease",
        Some("alert") => "Alert",
        Some("alert-provider") => "Provider",
        Some("receiver") => "Receiver",
        Some("source") => match positional.next().and_then(known) {
            Some("git") => "GitRepository",
            Some("helm") => "HelmRepository",
            Some("oci") => "OCIRepository",
            Some("bucket") => "Bucket",
            Some("chart") => "HelmChart",
            _ => return,
        },
        Some("image") => match positional.next().and_then(known) {
            Some("repository") => "ImageRepository",
            Some("policy") => "ImagePolicy",
            Some("update") => "ImageUpdateAutomation",
            _ => return,
        },
        _ => return,
    };
    let Ok(namespace) = arguments.namespace() else {
        return;
    };
    let namespace = namespace.unwrap_or_else(|| "flux-system".into());
    let all = arguments.flags.contains(&"--all").then_some(None);
    let names = positional.filter_map(known).map(|name| Some(name.to_string()));
    for name in all.into_iter().chain(names) {
        let action = Action::Suspend { suspend, kind, namespace: namespace.clone(), name };
        found.push(FoundAction { action, certain });
    }
}

#[cfg(test)]
mod tests;
