//! The order of the rooms, read from the `use` lines and paths of `src`: a room
//! knows only those before it, and files know each other one way.
//!
//! A file's own submodules, which it declares and lists, are no arrow of it: a
//! `mod.rs` is both the face of its folder and the ground that its files share.

use crate::support::generated;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// The rooms, each knowing only those before it.
const ROOMS: [&str; 16] = [
    "lang", "model", "files", "config", "schema", "build", "sources", "world", "simulate", "lint", "plan",
    "rewrite", "report", "lsp", "mcp", "cli",
];

/// A module as its path: `["kustomize", "target"]`.
type Module = Vec<String>;

/// For each module that is a file, the modules that it names.
type Arrows = BTreeMap<Module, BTreeSet<Module>>;

/// The sources of the program, by module.
fn sources() -> BTreeMap<Module, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeMap::new();
    let mut directories = vec![root.clone()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).expect("src can be listed") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let relative = path.strip_prefix(&root).expect("below src").with_extension("");
                let mut module: Module =
                    relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
                if module.last().is_some_and(|last| last == "mod") {
                    module.pop();
                }
                if !matches!(&*module.join("/"), "lib" | "main" | "internals") {
                    found.insert(module, std::fs::read_to_string(&path).expect("a text"));
                }
            }
        }
    }
    found
}

/// Words and marks of a source, without comments, strings and characters.
fn tokens(source: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(hashes) = raw_string(rest) {
            let end = format!("\"{}", "#".repeat(hashes));
            let start = hashes + 2;
            rest[start..].find(&end).map_or(rest.len(), |at| start + at + end.len())
        } else if first == '"' {
            text_length(rest)
        } else if first == '\'' {
            character_length(rest)
        } else if word > 0 {
            tokens.push(&rest[..word]);
            word
        } else if rest.starts_with("::") {
            tokens.push("::");
            2
        } else {
            let length = first.len_utf8();
            if !first.is_whitespace() {
                tokens.push(&rest[..length]);
            }
            length
        };
        rest = &rest[length..];
    }
    tokens
}

/// How many `#` a raw string has that begins here.
fn raw_string(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("r")?;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    rest[hashes..].starts_with('"').then_some(hashes)
}

fn text_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A character in quotes, or the quote of a lifetime alone.
fn character_length(text: &str) -> usize {
    let inner = &text[1..];
    match inner.chars().next() {
        Some('\\') => inner[2..].find('\'').map_or(1, |at| at + 4),
        Some(c) if inner[c.len_utf8()..].starts_with('\'') => c.len_utf8() + 2,
        _ => 1,
    }
}

/// The paths that begin with `crate` or `super` in a module, resolved.
fn paths(module: &[String], source: &str) -> Vec<Module> {
    let tokens = tokens(source);
    let mut found = Vec::new();
    // Modules inside of the file: their names, and the depth of their braces.
    let mut inside: Vec<(&str, usize)> = Vec::new();
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                if inside.last().is_some_and(|(_, opened)| *opened == depth) {
                    inside.pop();
                }
            }
            "mod" if tokens.get(at + 2) == Some(&"{") => inside.push((tokens[at + 1], depth)),
            "crate" | "super" if tokens.get(at + 1) == Some(&"::") && (at == 0 || tokens[at - 1] != "::") => {
                let mut here = module.to_vec();
                here.extend(inside.iter().map(|(name, _)| (*name).to_owned()));
                follow(&tokens[at..], here, &mut found);
            }
            _ => {}
        }
    }
    found
}

/// Follows one path, with its groups, from a module; how many words it has.
fn follow(tokens: &[&str], mut here: Module, found: &mut Vec<Module>) -> usize {
    let mut at = 0;
    loop {
        match tokens.get(at) {
            Some(&"crate") => here.clear(),
            Some(&"super") => drop(here.pop()),
            Some(&"self" | &"*") => {}
            Some(&"{") => {
                at += 1;
                while let Some(token) = tokens.get(at) {
                    match *token {
                        "}" => return at + 1,
                        "," => at += 1,
                        _ => at += follow(&tokens[at..], here.clone(), found).max(1),
                    }
                }
                return at;
            }
            Some(word) if word.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                here.push((*word).to_owned());
            }
            _ => break,
        }
        at += 1;
        if tokens.get(at) != Some(&"::") {
            break;
        }
        at += 1;
    }
    // Another name for it.
    if tokens.get(at) == Some(&"as") {
        at += 2;
    }
    found.push(here);
    at
}

/// The other files that a source of a module names.
fn named_by(module: &Module, source: &str, sources: &BTreeMap<Module, String>) -> BTreeSet<Module> {
    let file_of = |path: Module| {
        (1..=path.len()).rev().map(|length| path[..length].to_vec()).find(|path| sources.contains_key(path))
    };
    paths(module, source).into_iter().filter_map(file_of).filter(|named| named != module).collect()
}

/// What each file names.
fn arrows(sources: &BTreeMap<Module, String>) -> Arrows {
    sources.iter().map(|(module, source)| (module.clone(), named_by(module, source, sources))).collect()
}

/// What is against the law in these arrows, in words.
fn faults(arrows: &Arrows) -> Vec<String> {
    let place = |module: &Module| ROOMS.iter().position(|room| *room == module[0]);
    let mut faults = Vec::new();
    for (from, named) in arrows {
        let Some(own) = place(from) else {
            faults.push(format!("src/{} is in no room", from.join("/")));
            continue;
        };
        for to in named.iter().filter(|to| place(to).is_some_and(|other| other > own)) {
            faults.push(format!(
                "src/{} names {}, but `{}` comes before `{}`",
                from.join("/"),
                to.join("::"),
                from[0],
                to[0]
            ));
        }
    }
    for circle in circles(arrows) {
        let names: Vec<String> = circle.iter().map(|module| module.join("/")).collect();
        faults.push(format!("files know each other in a circle: {}", names.join(" -> ")));
    }
    faults
}

/// One way from each file back to itself, where there is one that no other
/// circle shares.
fn circles(arrows: &Arrows) -> Vec<Vec<Module>> {
    let mut circles: Vec<Vec<Module>> = Vec::new();
    for start in arrows.keys() {
        if circles.iter().any(|circle| circle.contains(start)) {
            continue;
        }
        // Breadth first, so that the circle is a shortest one.
        let mut came_from: BTreeMap<&Module, &Module> = BTreeMap::new();
        let mut next = std::collections::VecDeque::from([start]);
        while let Some(module) = next.pop_front() {
            for named in &arrows[module] {
                if named == start {
                    let mut circle = vec![start.clone()];
                    let mut back = module;
                    while back != start {
                        circle.insert(1, back.clone());
                        back = came_from[back];
                    }
                    circle.push(start.clone());
                    circles.push(circle);
                    next.clear();
                    break;
                }
                if !came_from.contains_key(named) {
                    came_from.insert(named, module);
                    next.push_back(named);
                }
            }
        }
    }
    circles
}

/// Which rooms each room names.
fn rooms(arrows: &Arrows) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut rooms: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, named) in arrows {
        let known = rooms.entry(&from[0]).or_default();
        known.extend(named.iter().map(|to| &*to[0]).filter(|to| *to != from[0]));
    }
    rooms
}

/// The picture of the documentation: arrows that no longer way implies, and the
/// whole list.
fn picture(arrows: &Arrows) -> String {
    let rooms = rooms(arrows);
    fn reaches(rooms: &BTreeMap<&str, BTreeSet<&str>>, from: &str, to: &str) -> bool {
        // An arrow against the order, which another test refuses, may close a circle.
        let place = |room: &str| ROOMS.iter().position(|known| *known == room);
        let mut onward = rooms[from].iter().filter(|next| place(next) < place(from));
        onward.any(|next| *next == to || reaches(rooms, next, to))
    }
    let mut out = String::from("```mermaid\nflowchart BT\n");
    let listed = || ROOMS.iter().filter_map(|room| rooms.get(room).map(|known| (*room, known)));
    for (room, known) in listed() {
        for direct in
            known.iter().filter(|to| !known.iter().any(|other| other != *to && reaches(&rooms, other, to)))
        {
            let _ = writeln!(out, "  {room} --> {direct}");
        }
    }
    out.push_str("```\n\n| Room | Names |\n|---|---|\n");
    for (room, known) in listed() {
        let names: Vec<String> =
            ROOMS.iter().filter(|name| known.contains(*name)).map(|name| format!("`{name}`")).collect();
        let _ = writeln!(
            out,
            "| `{room}` | {} |",
            if names.is_empty() { "-".to_owned() } else { names.join(", ") }
        );
    }
    out
}

#[test]
fn rooms_know_only_rooms_before_them_and_files_form_no_circle() {
    let sources = sources();
    assert!(sources.len() > 150, "only {} files were read", sources.len());
    assert_eq!(faults(&arrows(&sources)), Vec::<String>::new());
}

#[test]
fn an_arrow_against_the_order_and_a_circle_are_found() {
    let sources = sources();
    let arrows = arrows(&sources);
    let before = faults(&arrows);
    let module = |name: &str| name.split('/').map(str::to_owned).collect::<Module>();
    let with = |lines: &[(&str, &str)]| {
        let mut arrows = arrows.clone();
        for (name, line) in lines {
            let named = named_by(&module(name), line, &sources);
            arrows.get_mut(&module(name)).unwrap_or_else(|| panic!("no file {name}")).extend(named);
        }
        faults(&arrows).into_iter().filter(|fault| !before.contains(fault)).collect::<Vec<_>>()
    };
    for (name, line, fault) in [
        (
            "lang/yaml/emit",
            "use crate::{lang::go::cron, world::World};",
            "src/lang/yaml/emit names world, but",
        ),
        (
            "lang/yaml/emit",
            "fn f() { super::super::super::lint::rules::all() }",
            "src/lang/yaml/emit names lint::rules, but",
        ),
        (
            "lang/yaml/emit",
            "mod t { use super::super::super::super::lint; }",
            "src/lang/yaml/emit names lint, but",
        ),
        ("lang/text/clean", "use super::suggest::suggest as near;", ""),
        ("lang/text/clean", "// use crate::cli::Status; \"crate::cli::Status\"", ""),
        ("lang/text/clean", "const A: &str = \"use crate::cli::Status;\";", ""),
    ] {
        let found = with(&[(name, line)]);
        match fault {
            "" => assert!(found.is_empty(), "{line}: {found:?}"),
            _ => assert!(found.iter().any(|found| found.contains(fault)), "{line}: {found:?}"),
        }
    }
    let found = with(&[
        ("lang/text/clean", "use super::suggest::suggest;"),
        ("lang/text/suggest", "use crate::lang::text::{words, clean::clean};"),
    ]);
    assert_eq!(
        found,
        ["files know each other in a circle: lang/text/clean -> lang/text/suggest -> lang/text/clean"]
    );
}

#[test]
fn the_generated_picture_is_that_of_the_code() {
    generated::check("docs/architecture.md", "rooms", &picture(&arrows(&sources())));
}

/// The files that write to the streams of the process, each with what makes that safe.
const STREAMS: &[(&str, &str)] = &[
    ("cli/chart_template", "the bytes that Helm prints, none of them escaped: that is its contract"),
    ("cli/output", "everything goes through the sink of `report::lines`"),
    ("cli/progress", "a sign of life, without a word of any file"),
    ("cli/fix", "the file that came over standard input, as it is to be"),
    ("cli/map", "a page whose data `report::map` makes inert"),
    ("cli/simulate_events", "asks whether somebody watches"),
    ("cli/mcp", "messages of the protocol; the answers in them went through a sink"),
];

#[test]
fn what_people_read_goes_through_a_sink() {
    let words = ["stdout()", "stderr()", "println!", "print!(", "eprint"];
    for (module, source) in sources() {
        let name = module.join("/");
        if name.starts_with("lang/template") || STREAMS.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        let is_comment = |line: &str| line.trim_start().starts_with("//");
        let own = |line: &&str| {
            !is_comment(line) && words.iter().any(|word| line.contains(word)) && !line.contains("output::std")
        };
        let code = code.replace("use_stderr()", "");
        let found: Vec<&str> = code.lines().filter(own).collect();
        assert!(found.is_empty(), "{name} writes to a stream itself: {found:?}");
    }
    // What the editor gets is made inert where it is sent.
    for (module, source) in sources() {
        if module.first().is_some_and(|room| room == "lsp") && source.contains("HoverContents::") {
            assert!(source.contains("markdown::literal"), "{module:?} writes Markdown without escaping it");
        }
    }
    let server = &sources()[&vec!["lsp".to_owned()]];
    assert_eq!(server.matches("sink::").count(), 3, "answers, refusals and diagnostics");
}

/// A document may hold nothing: who takes its first token without asking ends the process.
#[test]
fn roots_are_made_where_empty_documents_are_known() {
    for (module, source) in sources() {
        let name = module.join("/");
        let is_own = name.starts_with("lang/yaml");
        let rest: String = source.split_whitespace().collect();
        let made = rest.match_indices("Node::Source(").filter(|(at, _)| {
            let call = &rest[*at..(at + 80).min(rest.len())];
            call.split_once(",0)").is_some_and(|(before, _)| !before.contains("=>") && !before.contains(';'))
        });
        assert!(
            is_own || made.count() == 0,
            "{name} makes the root of a document by itself; use Source::root"
        );
    }
}
