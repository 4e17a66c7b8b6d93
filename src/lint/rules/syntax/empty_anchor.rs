//! `empty-anchor`: an anchor without a value, where an alias was meant or follows.
//! Source: YAML 1.2.2, 3.2.2.2 (an anchor that is written again hides the first one) and 7.2
//! (an empty node is null); go-yaml `decode.go` `parser.anchor`.

use crate::lang::yaml::tape::Anchor;
use crate::lang::yaml::{Location, Source};
use crate::lint::{Check, DocumentView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::ObjectId;
use rustc_hash::FxHashMap;
use std::sync::Arc;

pub(crate) static RULE: Rule = Rule {
    id: "empty-anchor",
    group: Group::Syntax,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "an anchor without a value, where an alias was meant",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/syntax/empty-anchor.md"),
    check: Check::Document(check),
};

fn check(view: &DocumentView<'_>, report: &mut Reporter<'_>) {
    for source in view.sources.iter().filter(|source| !source.document().anchors.is_empty()) {
        if ObjectId::of(source.root().get_ref()).is_some() {
            document(source, report);
        }
    }
}

fn document(source: &Arc<Source>, report: &mut Reporter<'_>) {
    let document = source.document();
    let mut defined: FxHashMap<&str, Location> = FxHashMap::default();
    let place = |anchor: &Anchor| source.location(anchor.start..anchor.end);
    for anchor in &document.anchors {
        let Some(name) = source.stream.text.get(anchor.start as usize + 1..anchor.end as usize) else {
            continue;
        };
        let is_empty = document.tokens.get(anchor.token as usize).is_some_and(|token| token.empty);
        if !is_empty {
            defined.insert(name, place(anchor));
            continue;
        }
        let first = defined.get(name);
        if first.is_none() && !anchor.used {
            continue;
        }
        let then = if anchor.used { format!(", and each `*{name}` after it") } else { String::new() };
        let finding = report
            .report(place(anchor), format!("`&{name}` is an anchor without a value"))
            .why(format!("the field is null{then}"));
        match first {
            Some(first) => {
                finding
                    .help(format!("did you mean `*{name}`?"))
                    .related("the anchor with a value", first.clone());
            }
            None => {
                finding.help("write the value behind the anchor");
            }
        }
    }
}
