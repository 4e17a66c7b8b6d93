//! What was probably meant by a command line that is none.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Words that other tools have for a command, and the command here.
static WORDS: [(&str, &str); 20] = [
    ("apply", "forebay writes to no cluster; `forebay plan` says what applying would do"),
    ("dev", "forebay watches no files; `forebay lsp` answers an editor while you type"),
    ("events", "`forebay simulate events`"),
    ("fix", "`forebay lint --fix`; `--diff` shows what it would do"),
    ("fmt", FORMATTER),
    ("format", FORMATTER),
    ("gates", "`forebay simulate gates`; `forebay gate open` opens one"),
    ("get", "`forebay why KIND/NAME`, or `forebay build --all` for every object"),
    ("hooks", "`forebay simulate hooks`"),
    ("init", "`forebay config init`"),
    ("propagation", "`forebay simulate propagation`"),
    ("pull", "`forebay chart pull`"),
    ("scan", "`forebay lint`"),
    ("show", "`forebay build --all`, or `forebay why KIND/NAME` for one object"),
    ("template", "`forebay chart template`, or `forebay build DIR`"),
    ("test", "`forebay lint`"),
    ("trace", "`forebay why KIND/NAME`"),
    ("tree", "`forebay graph`"),
    ("validate", "`forebay lint`"),
    ("version", "`forebay --version`"),
];

const FORMATTER: &str =
    "forebay formats no files: it changes the bytes of a fix and no other (`forebay lint --fix`)";

/// Commands that take rules as words, in a flag that others have.
const EXPLAIN: &str = "--explain";

/// What to do instead; `None` where the parser's own words say it.
pub(super) fn tip(error: &clap::Error, words: &[String]) -> Option<String> {
    let text = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.as_str()),
        _ => None,
    };
    let is_word = |word: &&String| !word.starts_with('-');
    let command = words.iter().skip(1).find(is_word).map(String::as_str);
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = text(ContextKind::InvalidSubcommand)?;
            let (_, instead) = WORDS.iter().find(|(known, _)| *known == word)?;
            Some(format!("there is no command `{word}`: {instead}"))
        }
        ErrorKind::UnknownArgument => {
            let argument = text(ContextKind::InvalidArg)?;
            match command {
                Some("plan" | "diff" | "map") if !argument.starts_with('-') => Some(format!(
                    "what to compare with is a flag: `forebay {} --base {argument}`",
                    command.unwrap_or_default()
                )),
                Some("lint" | "check") if argument == EXPLAIN => {
                    let rule = words.iter().skip_while(|word| *word != EXPLAIN).nth(1);
                    let rule = rule.filter(|rule| !rule.starts_with('-')).map_or("RULE", String::as_str);
                    Some(format!("a rule is explained by a command: `forebay explain {rule}`"))
                }
                _ => None,
            }
        }
        ErrorKind::MissingRequiredArgument => missing(command?),
        _ => None,
    }
}

/// What a command can be asked, where it was asked nothing.
fn missing(command: &str) -> Option<String> {
    let can = match command {
        "build" | "render" => {
            "`forebay build DIR` as kustomize does, `forebay build --kustomization NAMESPACE/NAME` as Flux \
             does, `--helm-release NAMESPACE/NAME` with its chart, `--all` for every cluster"
        }
        "why" => "`forebay why deploy/NAMESPACE/NAME`, `forebay why FILE:LINE`",
        "locate" => "`forebay locate KIND/NAMESPACE/NAME /spec/FIELD`",
        "explain" => "`forebay explain RULE` (`forebay rules` lists them), `forebay explain ks.spec.path`",
        _ => return None,
    };
    Some(format!("say of what: {can}"))
}
