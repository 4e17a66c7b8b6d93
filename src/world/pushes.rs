//! OCI artifacts that workflows and scripts of a repository push: which
//! directory is the root of which artifact.
//! Source: flux2 `cmd/flux/push_artifact.go`, `actions/push` of the distribution.

use super::scripts::is_script;
use crate::files::Snapshot;
use rustc_hash::FxHashMap;

/// An artifact that the repository pushes.
#[derive(Clone, Debug)]
pub(super) struct Push {
    /// Its repository without scheme and tag, lower case; `*` for what is not
    /// written.
    url: String,
    /// The directory that becomes its root.
    pub directory: String,
}

/// All pushes of a repository.
pub(super) fn find(snapshot: &Snapshot) -> Vec<Push> {
    let mut pushes = Vec::new();
    for file in snapshot.files().iter().filter(|file| is_script(&file.path)) {
        let below = file.path.split('/').skip(1).any(|part| part.contains("archive"));
        let Some(stream) = snapshot.stream(file).filter(|_| !below) else { continue };
        let text: &str = &stream.text;
        if text.contains("push artifact") {
            commands(text, &mut |url, directory| pushes.push(Push { url, directory }));
        }
        if text.contains("actions/push") {
            for source in snapshot.sources(file) {
                if source.document().tokens.is_empty() {
                    continue;
                }
                let root = source.root();
                let values = assignments(text);
                for job in root.get_ref().entries_at("/jobs") {
                    for step in job.value.items_at("/steps") {
                        let uses = step.str_at("/uses").unwrap_or_default();
                        let Some(url) = step.str_at("/with/repository") else { continue };
                        if !uses.split('@').next().unwrap_or_default().ends_with("distribution/actions/push")
                        {
                            continue;
                        }
                        let path = step.str_at("/with/path").unwrap_or(".".into());
                        if let Some(directory) = directory(&expand(&path, &values), "") {
                            let url = normalised(&expand(&url, &values));
                            pushes.push(Push { url, directory });
                        }
                    }
                }
            }
        }
    }
    pushes
}

/// Paths with a part for each cluster that scripts bootstrap Flux at: the text
/// before and after that part.
pub(super) fn bootstraps(snapshot: &Snapshot) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for file in snapshot.files().iter().filter(|file| is_script(&file.path)) {
        let Some(stream) = snapshot.stream(file).filter(|stream| stream.text.contains("FLUX_PATH")) else {
            continue;
        };
        let values = assignments(&stream.text);
        let Some(path) = values.get("FLUX_PATH") else { continue };
        let path = expand(path, &values);
        let path = path.trim_start_matches("./").trim_end_matches('/');
        if let Some((before, after)) = path.split_once('*').filter(|(before, _)| before.contains('/')) {
            found.push((before.to_owned(), after.to_owned()));
        }
    }
    found
}

/// `flux push artifact` in a text: (url, directory).
fn commands(text: &str, push: &mut dyn FnMut(String, String)) {
    let values = assignments(text);
    for (at, _) in text.match_indices("push artifact") {
        let line_start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let before = text[line_start..at].trim_start();
        if before.starts_with('#') || !text[..at].trim_end().ends_with("flux") {
            continue;
        }
        // The rest of the line, and what continues it.
        let mut command = String::new();
        let mut continued = true;
        for line in text[at + "push artifact".len()..].lines() {
            let own = line.trim();
            if !continued && !own.starts_with("--") && !own.starts_with("-f") && !own.starts_with("oci:") {
                break;
            }
            continued = own.ends_with('\\') || command.is_empty() && own.is_empty();
            command.push_str(own.trim_end_matches('\\'));
            command.push(' ');
        }
        let words = words(&command);
        let mut url = None;
        let mut path = None;
        let mut index = 0;
        while index < words.len() {
            let word = &words[index];
            if let Some(value) = word.strip_prefix("--path=").or_else(|| word.strip_prefix("-f=")) {
                path = Some(value.to_owned());
            } else if word == "--path" || word == "-f" {
                path = words.get(index + 1).cloned();
                index += 1;
            } else if matches!(word.as_str(), "|" | "&&" | ";" | "||") {
                break;
            } else if !word.starts_with('-') && url.is_none() {
                url = Some(word.clone());
            }
            index += 1;
        }
        let (Some(url), Some(path)) = (url, path) else { continue };
        let within = expand(&working_directory(text, line_start), &values);
        if let Some(directory) = directory(&expand(&path, &values), &within) {
            push(normalised(&expand(&url, &values)), directory);
        }
    }
}

/// Where the commands around an offset run: a `cd` before it, or the step's
/// `working-directory`.
fn working_directory(text: &str, at: usize) -> String {
    let before: Vec<&str> = text[..at].lines().rev().take(25).collect();
    let starts_step = |line: &str| {
        let line = line.trim_start();
        line.starts_with("- name:") || line.starts_with("- uses:") || line.starts_with("- run:")
    };
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut directory = None;
    for line in &before {
        let own = line.trim();
        if let Some(rest) = own.strip_prefix("cd ")
            && directory.is_none()
        {
            directory = rest.split([' ', ';', '&']).next().map(str::to_owned);
        }
        if let Some(rest) = own.trim_start_matches("- ").strip_prefix("working-directory:") {
            directory = directory.or_else(|| Some(rest.trim().to_owned()));
        }
        if starts_step(line) {
            break;
        }
    }
    let own = text[at..].lines().next().map_or(0, indent);
    for line in text[at..].lines().skip(1).take(25) {
        if starts_step(line) || (!line.trim().is_empty() && indent(line) + 6 < own) {
            break;
        }
        if let Some(rest) = line.trim().strip_prefix("working-directory:") {
            directory = directory.or_else(|| Some(rest.trim().to_owned()));
        }
    }
    directory.unwrap_or_default().trim_matches(['"', '\'']).to_owned()
}

/// Words of a command line; quotes are taken off, `$(…)` and `{{…}}` stay whole.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut quote, mut depth) = (None, 0u32);
    for c in command.chars() {
        match c {
            '(' | '{' => {
                depth += 1;
                word.push(c);
            }
            ')' | '}' => {
                depth = depth.saturating_sub(1);
                word.push(c);
            }
            '"' | '\'' if depth == 0 && quote.is_none() => quote = Some(c),
            _ if depth == 0 && quote == Some(c) => quote = None,
            _ if c.is_whitespace() && depth == 0 && quote.is_none() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// `NAME=value`, `NAME := value` and `NAME: value` of a text.
fn assignments(text: &str) -> FxHashMap<String, String> {
    let mut values = FxHashMap::default();
    for line in text.lines() {
        let line = line.trim().trim_start_matches("export ").trim_start_matches("- ");
        let is_name = |name: &str| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
            !name.is_empty() && name.bytes().all(fits)
        };
        let found = [":=", "?=", "=", ": "].iter().find_map(|sign| {
            let (name, value) = line.split_once(sign)?;
            is_name(name.trim()).then_some((name.trim(), value))
        });
        let Some((name, value)) = found else { continue };
        let value = value.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']);
        if !value.is_empty() {
            values.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
    }
    values
}

/// A text with its variables replaced, as far as the file defines them; `*` for
/// the rest.
fn expand(text: &str, values: &FxHashMap<String, String>) -> String {
    let mut text = text.to_owned();
    for _ in 0..4 {
        let mut out = String::new();
        let mut rest = text.as_str();
        let mut changed = false;
        while let Some(at) = rest.find(['$', '{']) {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let forms: [(&str, &str); 5] = [("${{", "}}"), ("{{", "}}"), ("${", "}"), ("$(", ")"), ("$", "")];
            let form = forms.iter().find(|(open, _)| from.starts_with(open));
            let Some((open, close)) = form else {
                out.push_str(&from[..1]);
                rest = &from[1..];
                continue;
            };
            let inner = &from[open.len()..];
            let (expression, after) = if close.is_empty() {
                let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
                inner.split_at(end)
            } else {
                match inner.find(close) {
                    Some(end) => (&inner[..end], &inner[end + close.len()..]),
                    None => (inner, ""),
                }
            };
            let expression = expression.trim().trim_start_matches('.');
            let name = expression.rsplit('.').next().unwrap_or(expression);
            // Of what a workflow knows, its file defines the environment alone.
            let variable = expression.strip_prefix("env.").unwrap_or(expression);
            match (values.get(variable), is_top(name)) {
                (_, true) => out.push('.'),
                (Some(value), _) if !value.contains(&format!("${name}")) => {
                    out.push_str(value);
                    changed = true;
                }
                _ => out.push('*'),
            }
            rest = after;
        }
        out.push_str(rest);
        let done = !changed;
        text = out;
        if done {
            break;
        }
    }
    text
}

/// Names for the top of the checkout.
fn is_top(name: &str) -> bool {
    [
        "workspace",
        "GITHUB_WORKSPACE",
        "CI_PROJECT_DIR",
        "PROJECT_DIR",
        "ROOT_DIR",
        "ROOT",
        "PWD",
        "pwd",
        "CURDIR",
    ]
    .contains(&name)
        || name.ends_with("_ROOT_DIR")
        || name.starts_with("git rev-parse --show-toplevel")
}

/// A clean directory; `None` where it is unknown, standard input or a file.
fn directory(path: &str, within: &str) -> Option<String> {
    let path = path.trim().trim_matches(['"', '\'']);
    if path == "-"
        || path.contains('*')
        || within.contains('*')
        || path.ends_with(".tgz")
        || path.ends_with(".yaml")
    {
        return None;
    }
    crate::files::join(super::entry_point::clean_path(within).as_str(), path.trim_start_matches('/'))
}

/// A reference to an OCI repository without scheme, tag and digest.
fn normalised(url: &str) -> String {
    let url = url.trim().trim_matches(['"', '\'']);
    let url = url.strip_prefix("oci://").unwrap_or(url).split('@').next().unwrap_or_default();
    let (path, last) = url.rsplit_once('/').map_or(("", url), |(path, last)| (path, last));
    let last = last.split(':').next().unwrap_or(last);
    let whole = if path.is_empty() { last.to_owned() } else { format!("{path}/{last}") };
    whole.trim_end_matches('/').to_lowercase()
}

/// Whether a registry is one of a machine or a cluster: its name says nothing.
fn is_local(url: &str) -> bool {
    let host = url.split('/').next().unwrap_or_default();
    let name = host.split(':').next().unwrap_or_default();
    name == "localhost" || !name.contains('.') || name.ends_with(".svc") || name.contains(".svc.")
}

/// How well a push fits a consumer's url: 3 equal, 2 with unknown parts, 0 not.
fn fit(push: &str, url: &str) -> u32 {
    if push == url {
        return 3;
    }
    let last = |url: &str| url.rsplit('/').next().unwrap_or_default().to_owned();
    if (is_local(push) || is_local(url)) && last(push) == last(url) && !last(push).contains('*') {
        return 2;
    }
    let Some((before, after)) = push.split_once('*') else { return 0 };
    let after = after.rsplit('*').next().unwrap_or_default();
    let literal = before.len() + after.len() > 0;
    let fits =
        literal && url.len() >= before.len() + after.len() && url.starts_with(before) && url.ends_with(after);
    if fits { 2 } else { 0 }
}

/// The directory that is the root of an artifact which a source of this url
/// consumes; `path` is what will be looked up in it.
pub(super) fn root_of<'p>(
    pushes: &'p [Push],
    url: &str,
    path: &str,
    snapshot: &Snapshot,
) -> Option<&'p Push> {
    let url = normalised(url);
    let exists = |push: &Push| {
        crate::files::join(&push.directory, path)
            .is_some_and(|path| path.is_empty() || snapshot.has_directory(&path))
    };
    let best = pushes.iter().map(|push| fit(&push.url, &url)).max().unwrap_or(0);
    let mut found: Vec<&Push> = if best > 0 {
        pushes.iter().filter(|push| fit(&push.url, &url) == best && exists(push)).collect()
    } else {
        // The only one there is, if it can be meant.
        match pushes {
            [only] if only.url.contains('*') && !path.is_empty() && exists(only) => vec![only],
            _ => Vec::new(),
        }
    };
    found.dedup_by(|one, other| one.directory == other.directory);
    match found.as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, String)> {
        let mut all = Vec::new();
        commands(text, &mut |url, directory| all.push((url, directory)));
        all
    }

    #[test]
    fn commands_are_read() {
        let workflow = "env:\n  OCI_REPO: \"oci://ghcr.io/o/manifests/${{ github.event.repository.name }}\"\n\
            steps:\n  - name: push\n    run: |\n      flux push artifact \"$OCI_REPO:$(git rev-parse --short HEAD)\" \\\n\
            \x20       --path=\"./kubernetes\" \\\n        --source=x\n";
        assert_eq!(found(workflow), [("ghcr.io/o/manifests/*".to_owned(), "kubernetes".to_owned())]);
        let task = "cmds:\n  - >\n    flux push artifact oci://localhost:5050/dev:local\n    --path=\"{{.PROJECT_DIR}}\"\n    --source=local\n";
        assert_eq!(found(task), [("localhost:5050/dev".to_owned(), String::new())]);
        let cd = "cd deploy\nflux push artifact oci://r.io/o/r:latest --path ./app --revision x\n";
        assert_eq!(found(cd), [("r.io/o/r".to_owned(), "deploy/app".to_owned())]);
        let step = "- name: x\n  run: flux push artifact oci://r.io/o/r:v1 -f clusters\n  working-directory: ./gitops\n";
        assert_eq!(found(step), [("r.io/o/r".to_owned(), "gitops/clusters".to_owned())]);
        for none in [
            "# flux push artifact oci://r/o --path=.\n",
            "flux push artifact oci://r/o:1 --path=-\n",
            "helm push artifact\n",
        ] {
            assert_eq!(found(none), [], "{none}");
        }
    }

    #[test]
    fn urls_are_matched() {
        for (push, url, expected) in [
            ("ghcr.io/o/manifests/*", "ghcr.io/o/manifests/k8s", 2),
            ("ghcr.io/o/m", "ghcr.io/o/m", 3),
            ("localhost:5050/dev", "registry:5000/dev", 2),
            ("*/manifests", "ghcr.io/o/manifests", 2),
            ("*", "ghcr.io/o/m", 0),
            ("ghcr.io/o/terraform", "ghcr.io/o/m", 0),
        ] {
            assert_eq!(fit(push, &normalised(&format!("oci://{url}:latest"))), expected, "{push} {url}");
        }
    }
}
