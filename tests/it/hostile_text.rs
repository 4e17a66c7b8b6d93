//! Text that a pull request brings stays text, in every format of every command: no
//! command to a workflow or a terminal, no markup, no mention. And no value of a
//! Secret leaves.

use crate::support::attack::{COMMANDS, MARKERS, command_line, repository};
use crate::support::editor::Editor;
use crate::support::scratch::{Run, Scratch};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde_json::json;

/// What attackers write.
const PAYLOADS: &[&str] = &[
    "::error title=x::pwned",
    "::stop-commands::pwned ::warning::pwned",
    "##[error]pwned",
    "##vso[task.setvariable variable=pwned]1",
    "x\n::error::pwned\r::warning::pwned\u{85}::notice::pwned\u{2028}::debug::pwned",
    "a name of several words that is wrapped somewhere ::error::pwned and ::error::pwned ::error::pwned \
     ##[error]pwned and again ::warning::pwned ::notice::pwned ::debug::pwned ::add-mask::pwned",
    "\u{1b}[31mpwned\u{9b}32m\u{7}\u{8}\u{7f}\u{202e}dewnp\u{2066}\u{200f}",
    "@pwned/team @pwned #1234 GH-1234 pwned/pwned#1234 !1234 https://pwned.example www.pwned.example",
    "[pwned](https://pwned.example) ![pwned](https://pwned.example/x.png) <https://pwned.example>",
    "<img src=x onerror=pwned()></script><script>pwned()</script><!-- x --> </details> &lt;b&gt;",
    "`@pwned` ``x` | ` @pwned | # pwned\n- @pwned\n```\n@pwned",
];

/// Answers of positions, of gates alone, of values in force, of objects with plain
/// names: without such text.
const KEEP_TO_THEMSELVES: &[(&str, &str)] = &[
    ("locate", "text"),
    ("why", "text"),
    ("plan", "github"),
    ("config", "text"),
    ("rename", "text"),
    ("rename", "diff"),
    ("move", "text"),
];

/// What nobody sees, or what shows other text in another way.
fn is_hostile(c: char) -> bool {
    c.is_control() && c != '\n' || INVISIBLE.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

/// First and last of each kind.
const INVISIBLE: &[(char, char)] = &[
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0d}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{fff9}', '\u{fffb}'),
    ('\u{e0001}', '\u{e007f}'),
    ('\u{e0100}', '\u{e01ef}'),
];

/// Lines that a runner of workflows takes for commands.
fn commands(text: &str, own: &[&str]) -> impl Iterator<Item = String> {
    let own: Vec<String> = own.iter().map(|own| (*own).to_owned()).collect();
    text.lines().map(|line| line.trim_start().to_owned()).filter(move |line| {
        if own.iter().any(|own| line.starts_with(own)) {
            return false;
        }
        // What only begins so, as `::1 localhost` in a diff, is no command.
        let begins = line.strip_prefix("::").is_some_and(|rest| rest.contains("::"));
        begins || line.contains("##[") || line.contains("##vso[")
    })
}

/// What is not inert in an answer.
fn problems(format: &str, run: &Run) -> Vec<String> {
    let mut found = Vec::new();
    if !(0..=3).contains(&run.code) || run.err.contains("panicked") {
        found.push(run.err.clone());
    }
    for text in [&run.out, &run.err] {
        let lines = text.lines().filter(|line| line.contains(is_hostile));
        found.extend(lines.map(|line| format!("a control character in {line:?}")));
    }
    found.extend(commands(&run.err, &[]));
    let own: &[&str] = if format == "github" { &["::error ", "::warning ", "::notice "] } else { &[] };
    found.extend(commands(&run.out, own));
    match format {
        "json" | "sarif" | "gitlab" => {
            let is_json = serde_json::from_str::<serde_json::Value>(&run.out).is_ok();
            found.extend((!run.out.is_empty() && !is_json).then(|| run.out.clone()));
        }
        "github" => {
            found.extend(run.out.lines().filter(|line| !line.starts_with("::")).map(str::to_owned));
        }
        "markdown" => markdown(&run.out, &mut found),
        "svg" | "junit" | "html" => {
            // The page of `map` has one script and one comment of its own.
            let words =
                if format == "html" { &["<img", "pwned()<"][..] } else { &["<img", "<script", "<!--"] };
            let lines = run.out.lines().filter(|line| words.iter().any(|word| line.contains(word)));
            found.extend(lines.map(str::to_owned));
        }
        _ => {}
    }
    found
}

/// As GitHub reads it: no element, link or image but ours, nobody is mentioned, no
/// issue is referred to.
fn markdown(text: &str, found: &mut Vec<String>) {
    let ours = ["<!-- -->", "<br>", "<details>", "</details>", "<summary>", "</summary>", "<!-- forebay:"];
    let mut in_code = 0;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => {
                let is_ours = html.trim().is_empty() || ours.iter().any(|tag| html.starts_with(tag));
                found.extend((!is_ours || html.contains("pwned")).then(|| html.to_string()));
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                found.extend(dest_url.contains("pwned").then(|| dest_url.to_string()));
            }
            Event::Start(Tag::CodeBlock(_)) => in_code += 1,
            Event::End(TagEnd::CodeBlock) => in_code -= 1,
            Event::Text(text) if in_code == 0 => {
                let words: Vec<char> = text.chars().collect();
                let refers = |pair: &[char]| matches!(pair[0], '@' | '#') && pair[1].is_alphanumeric();
                let links = ["https://pwned", "www.pwned", "GH-1"].iter().any(|word| text.contains(word));
                found.extend((links || words.windows(2).any(refers)).then(|| text.to_string()));
            }
            _ => {}
        }
    }
}

fn every_command(
    scratch: &Scratch,
    environment: &[(&str, &str)],
    mut judge: impl FnMut(&[&str], &str, &Run),
) {
    for (arguments, formats) in COMMANDS {
        for format in *formats {
            let run = scratch.forebay_with(&command_line(arguments, format), environment, b"");
            judge(arguments, format, &run);
        }
    }
}

#[test]
fn text_of_files_stays_text_in_every_format() {
    let half = |payloads: &[&str]| {
        let mut found = Vec::new();
        for payload in payloads {
            let scratch = repository(payload);
            every_command(&scratch, &[("COLUMNS", "40")], |arguments, format, run| {
                let problems = problems(format, run).into_iter().take(2);
                found
                    .extend(problems.map(|problem| format!("{payload:?} {arguments:?} {format}: {problem}")));
            });
        }
        found
    };
    let (left, right) = PAYLOADS.split_at(PAYLOADS.len() / 2);
    let (left, right) = rayon::join(|| half(left), || half(right));
    let found = [left, right].concat();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn names_that_differ_by_what_nobody_sees_look_different() {
    let controls = ["\u{1b}", "\u{7}", "\u{7f}", "\u{9b}", "\u{85}"].map(str::to_owned);
    let ends = INVISIBLE.iter().flat_map(|(first, last)| [first.to_string(), last.to_string()]);
    let all: Vec<String> = ends.chain(controls).collect();
    // A path takes sixty characters.
    for part in all.chunks(24) {
        let scratch = repository(&format!("pwned{}", part.join("x")));
        let mut shown = 0;
        every_command(&scratch, &[], |arguments, format, run| {
            let problems = problems(format, run);
            assert!(problems.is_empty(), "{arguments:?} {format}: {problems:?}");
            let escapes =
                part.iter().filter_map(|one| one.chars().next()).map(|c| format!("\\u{{{:x}}}", c as u32));
            shown += usize::from(escapes.into_iter().any(|escape| run.out.contains(&escape)));
        });
        // JSON writes them in its own way, and some commands tell no name.
        assert!(shown > 10, "{shown}");
    }
}

#[test]
fn the_editor_shows_text_as_text() {
    let links = "[pwned](https://pwned.example) ![pwned](https://pwned.example/x.png) <https://pwned.example> www.pwned.example <img src=x>";
    for payload in
        [links, "pwned\u{200b}\u{202e}x\u{1b}[31m", "a`` ``` `b` ```\n[pwned](https://pwned.example)"]
    {
        let scratch = repository(payload);
        let mut editor = Editor::open(scratch.path(), json!({}));
        let mut told = 0;
        for path in ["clusters/a/apps.yaml", "apps/a/plain.yaml", "fleet/cluster.yaml"] {
            editor.edit(path);
            let document = json!({"uri": editor.uri(path)});
            let text = editor.text(path).to_owned();
            for (number, line) in text.lines().enumerate() {
                for character in (0..line.len()).step_by(9) {
                    let at = json!({"textDocument": document, "position": {"line": number, "character": character}});
                    let hover = editor.request("textDocument/hover", at);
                    let Some(shown) = hover["contents"]["value"].as_str() else { continue };
                    told += usize::from(shown.contains("pwned"));
                    let mut found: Vec<String> =
                        shown.lines().filter(|line| line.contains(is_hostile)).map(str::to_owned).collect();
                    markdown_in_editor(shown, &mut found);
                    assert!(found.is_empty(), "{path}:{number} {found:?} in {shown}");
                }
            }
            let symbols = editor.request("textDocument/documentSymbol", json!({"textDocument": document}));
            assert!(!symbols.to_string().contains(is_hostile), "{symbols}");
            editor.close(path);
        }
        for items in editor.shown.values().flatten() {
            assert!(!items["message"].as_str().expect("a message").contains(is_hostile), "{items}");
        }
        assert!(told > 0, "{payload}");
        editor.quit();
    }
}

/// An editor makes links of addresses, and follows those that a text holds.
fn markdown_in_editor(text: &str, found: &mut Vec<String>) {
    let mut in_code = 0;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => found.push(html.to_string()),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                found.push(dest_url.to_string())
            }
            Event::Start(Tag::CodeBlock(_)) => in_code += 1,
            Event::End(TagEnd::CodeBlock) => in_code -= 1,
            Event::Text(text) if in_code == 0 => {
                let links = ["https://pwned", "www.pwned"].iter().any(|word| text.contains(word));
                found.extend(links.then(|| text.to_string()));
            }
            _ => {}
        }
    }
}

#[test]
fn the_commands_answer_about_the_text() {
    // Else the tests here could not fail.
    let scratch = repository("pwned");
    let mut silent = Vec::new();
    every_command(&scratch, &[], |arguments, format, run| {
        let is_short =
            KEEP_TO_THEMSELVES.iter().any(|(first, short)| arguments[0] == *first && format == *short);
        if !is_short && !run.out.contains("pwned") && !run.err.contains("pwned") {
            silent.push(format!("{arguments:?} {format}: {} {}", run.code, run.err));
        }
    });
    assert_eq!(silent, Vec::<String>::new());
}

#[test]
fn a_configuration_is_quoted_as_text() {
    for payload in PAYLOADS {
        let quoted = serde_json::to_string(payload).expect("JSON");
        for config in [
            format!("{quoted}: 1\n"),
            format!("rules: {{{quoted}: off}}\n"),
            format!("target: {{flux: {quoted}}}\n"),
            format!("clusters: [{{name: {quoted}, path: {quoted}}}]\n"),
            format!(
                "exclude: [{quoted}]\noverrides: [{{paths: [{quoted}], rules: {{dependency-cycle: off}}}}]\n"
            ),
        ] {
            let scratch = Scratch::new(&[("a.yaml", "a: 1\n"), (".forebay.yaml", &config)]);
            for (arguments, format) in
                [(&["lint"][..], "full"), (&["lint"], "json"), (&["config", "show"], "text")]
            {
                let run = scratch.forebay_with(&command_line(arguments, format), &[("COLUMNS", "40")], b"");
                let problems = problems(format, &run);
                assert!(problems.is_empty(), "{config}: {arguments:?} {format}: {problems:?}");
            }
        }
    }
}

#[test]
fn no_command_prints_a_secret() {
    let scratch = repository("secret's neighbour");
    // They are there: copied, patched and generated.
    let shown = scratch.forebay(&["build", "--all", "--show-secrets", "--format", "yaml"]).out;
    for text in ["copied: plain-5d1f-value", "patched: patched-5d1f-value", "bGl0ZXJhbC01ZDFmLXZhbHVl"] {
        assert!(shown.contains(text), "{text} in {shown}");
    }
    every_command(&scratch, &[], |arguments, format, run| {
        for marker in MARKERS {
            let place = [&run.out, &run.err]
                .into_iter()
                .find_map(|text| text.lines().find(|line| line.contains(marker)));
            assert!(place.is_none(), "{arguments:?} {format}: {marker} in {place:?}");
        }
    });
}
