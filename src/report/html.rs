//! `html`: the findings of `lint` on one page, for an archive or a mail: files with the worst
//! first.

use super::entries::{self, FindingGroup, by_text};
use super::markup::escape;
use super::mask::Masks;
use super::page::{self, code, prose};
use super::snippet::Snippet;
use super::{Lint, place, rule_url, summary};
use crate::config::Level;
use crate::lang::text::counted;
use crate::lang::yaml::Location;
use crate::lint::{Finding, Rule};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The whole page.
pub fn render(lint: &Lint<'_>) -> String {
    let entries = by_text(lint);
    let mut body = String::from("<header>\n<h1>forebay lint</h1>\n");
    let worst = lint.shown().map(|finding| finding.level).max().map_or("", Level::name);
    let _ = writeln!(body, "<p class=\"verdict level {worst}\">{}</p>", escape(&summary::verdict(lint)));
    for line in summary::scope(lint) {
        let _ = writeln!(body, "<p class=\"soft\">{}</p>", prose(&line));
    }
    body.push_str("</header>\n<main>\n");
    rules(&mut body, lint);
    let mut masks = Masks::of_values(lint.secrets.clone());
    let files = entries.chunk_by(|a, b| a.first.location.file == b.first.location.file);
    let mut files: Vec<&[FindingGroup<'_>]> = files.collect();
    files.sort_by_key(|entries| std::cmp::Reverse(entries.iter().map(|entry| entry.first.level).max()));
    for of_file in files {
        let path = lint.in_repository(of_file[0].first.location.file.shown());
        let _ = writeln!(body, "<section>\n<h2>{}</h2>", code(&path));
        for entry in of_file {
            article(&mut body, lint, entry, &mut masks);
        }
        body.push_str("</section>\n");
    }
    not_checked(&mut body, lint);
    body.push_str("</main>\n");
    page::render("forebay lint", &body, lint.secrets.as_deref())
}

/// How many findings each rule has, the worst and the most first.
fn rules(body: &mut String, lint: &Lint<'_>) {
    let mut counts: BTreeMap<&str, (Level, usize, &Rule)> = BTreeMap::new();
    for finding in lint.shown() {
        let (level, count, _) = counts.entry(finding.rule.id).or_insert((finding.level, 0, finding.rule));
        *level = finding.level.max(*level);
        *count += 1;
    }
    if counts.is_empty() {
        return;
    }
    let mut rows: Vec<_> = counts.into_values().collect();
    rows.sort_by_key(|(level, count, rule)| (std::cmp::Reverse((*level, *count)), rule.id));
    body.push_str("<table>\n<thead><tr><th scope=\"col\">Level</th><th scope=\"col\">Findings</th><th scope=\"col\">Rule</th></tr></thead>\n<tbody>\n");
    for (level, count, rule) in rows {
        let _ = writeln!(
            body,
            "<tr><td><span class=\"level {0}\">{0}</span></td><td class=\"count\">{count}</td><td>{1}</td></tr>",
            level.name(),
            link(rule)
        );
    }
    body.push_str("</tbody>\n</table>\n");
}

fn link(rule: &Rule) -> String {
    format!("<a href=\"{}\" rel=\"noreferrer\">{}</a>", escape(&rule_url(rule)), escape(rule.id))
}

fn article(body: &mut String, lint: &Lint<'_>, entry: &FindingGroup<'_>, masks: &mut Masks) {
    let finding = entry.first;
    let level = finding.level.name();
    let at = place(lint.snapshot(), &finding.location).map_or(String::new(), |place| {
        format!("<span class=\"soft\">line {}, column {}</span> ", place.from.0, place.from.1)
    });
    let _ = writeln!(
        body,
        "<article class=\"{level}\">\n<h3><span class=\"level {level}\">{level}</span> {}</h3>",
        prose(&finding.title)
    );
    let _ = writeln!(body, "<p>{at}{}</p>", link(finding.rule));
    snippet(body, lint, finding, masks);
    for (lead, text) in [("", &finding.why), ("<strong>What helps:</strong> ", &finding.help)] {
        if !text.is_empty() {
            let _ = writeln!(body, "<p>{lead}{}</p>", prose(text));
        }
    }
    let places = places(lint, entry);
    if !places.is_empty() {
        body.push_str("<ul>\n");
        for place in places {
            let _ = writeln!(body, "<li>{place}</li>");
        }
        body.push_str("</ul>\n");
    }
    elsewhere(body, lint, entry);
    body.push_str("</article>\n");
}

/// The bytes of a finding, marked in their lines.
fn snippet(body: &mut String, lint: &Lint<'_>, finding: &Finding, masks: &mut Masks) {
    let snapshot = lint.snapshot();
    let location = &finding.location;
    let Some(stream) = snapshot.find(&location.file).and_then(|file| snapshot.stream(file)) else { return };
    let masks = masks.of(snapshot, &location.file);
    let snippet = Snippet::new(String::new(), stream, location.start..location.end, masks);
    // What scrolls has to be reached by the keyboard.
    body.push_str("<pre tabindex=\"0\">");
    let last = snippet.first_line() + snippet.text().matches('\n').count();
    let width = last.to_string().len();
    let mut start = 0;
    for (index, line) in snippet.text().split('\n').enumerate() {
        let end = start + line.len();
        let label = snippet.label.start.clamp(start, end)..snippet.label.end.clamp(start, end);
        let part = |from: usize, to: usize| escape(&snippet.text()[from..to]);
        let marked = part(label.start, label.end);
        let marked = if marked.is_empty() { marked } else { format!("<mark>{marked}</mark>") };
        let number = snippet.first_line() + index;
        let _ = writeln!(
            body,
            "<span class=\"number\">{number:>width$}</span>  {}{marked}{}",
            part(start, label.start),
            part(label.end, end)
        );
        start = end + 1;
    }
    body.push_str("</pre>\n");
    if !finding.label.is_empty() {
        let _ = writeln!(body, "<p class=\"soft\">{}</p>", prose(&finding.label));
    }
}

/// Clusters, further objects, what the value went through and what else to look at.
fn places(lint: &Lint<'_>, entry: &FindingGroup<'_>) -> Vec<String> {
    let finding = entry.first;
    let named = |location: &Location| {
        let path = lint.in_repository(location.file.shown());
        match place(lint.snapshot(), location) {
            Some(place) => code(&format!("{path}:{}", place.from.0)),
            None => code(&path),
        }
    };
    let mut places = Vec::new();
    let clusters = entries::clusters(lint, finding).map(|text| format!("in {}", escape(&text)));
    places.extend(clusters);
    places.extend(entries::more_objects(finding).map(|text| format!("and {}", escape(&text))));
    places.extend(
        finding.location.via.iter().map(|via| format!("by {}: {}", via.kind.name(), named(&via.location))),
    );
    places.extend(
        finding
            .related
            .iter()
            .map(|related| format!("{}: {}", prose(&related.message), named(&related.location))),
    );
    let (also, more) = entries::also(entry);
    places.extend(also.iter().map(|other| format!("also: {}", prose(&other.title))));
    if more > 0 {
        places.push(format!("also: {more} more of this rule at this place"));
    }
    places
}

/// The same sentence at other places, all of them.
fn elsewhere(body: &mut String, lint: &Lint<'_>, entry: &FindingGroup<'_>) {
    if entry.elsewhere.is_empty() {
        return;
    }
    let mut list = String::from("<ul>\n");
    for other in &entry.elsewhere {
        let at = lint.in_repository(&entries::at(lint, other));
        let _ = writeln!(list, "<li>{}: {}</li>", code(&at), escape(entries::subject(other)));
    }
    list.push_str("</ul>\n");
    body.push_str(&page::folded(
        &format!("the same at {}", counted(entry.elsewhere.len(), "other place")),
        &list,
    ));
}

/// What was not checked, where, and what would let it be.
fn not_checked(body: &mut String, lint: &Lint<'_>) {
    let not_checked = &lint.outcome.not_checked;
    if not_checked.is_empty() {
        return;
    }
    body.push_str("<section>\n<h2>Not checked</h2>\n");
    for (reason, places) in not_checked.iter() {
        let mut content = format!("<p>{}</p>\n<ul>\n", prose(not_checked.remedy(reason)));
        for place in places {
            let _ = writeln!(content, "<li>{}</li>", escape(place));
        }
        content.push_str("</ul>\n");
        body.push_str(&page::folded(&reason.counted(places.len()), &content));
    }
    body.push_str("</section>\n");
}
