//! `secret-in-event-metadata`: a credential in what is sent to everyone who
//! reads notifications or Kubernetes Events.
//! Source: fluxcd/pkg `runtime/events/recorder.go`, `AnnotatedEventf`.

use super::{is_alert, title};
use crate::lang::text::with_article;
use crate::lang::yaml::{NodeRef, pointer_join};
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::text::Text;
use crate::simulate::notify::EVENT_PREFIX;
use crate::simulate::notify::controllers::emitter_of;

pub(crate) static RULE: Rule = Rule {
    id: "secret-in-event-metadata",
    group: Group::Event,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a credential in event metadata",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/event/secret-in-event-metadata.md"),
    check: Check::Object(check),
};

/// What issuers put in front of their tokens, how many characters follow at
/// least, and whose token it is.
const TOKENS: &[(&str, usize, &str)] = &[
    ("AKIA", 16, "AWS access key"),
    ("AIza", 35, "Google API key"),
    ("dckr_pat_", 20, "Docker access token"),
    ("ghp_", 36, "GitHub token"),
    ("gho_", 36, "GitHub token"),
    ("ghu_", 36, "GitHub token"),
    ("ghs_", 36, "GitHub token"),
    ("ghr_", 36, "GitHub token"),
    ("github_pat_", 22, "GitHub token"),
    ("glpat-", 20, "GitLab token"),
    ("gldt-", 20, "GitLab token"),
    ("glptt-", 20, "GitLab token"),
    ("hvs.", 24, "Vault token"),
    ("npm_", 36, "npm token"),
    ("xapp-", 20, "Slack token"),
    ("xoxa-", 20, "Slack token"),
    ("xoxb-", 20, "Slack token"),
    ("xoxp-", 20, "Slack token"),
    ("xoxr-", 20, "Slack token"),
    ("xoxs-", 20, "Slack token"),
];

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if emitter_of(view.id.group(), &view.id.kind).is_some() {
        let pointer = "/metadata/annotations";
        for entry in view.node.entries_at(pointer).filter(|entry| entry.key.starts_with(EVENT_PREFIX)) {
            check_value(view, entry.value, &pointer_join(pointer, &entry.key), report);
        }
    } else if is_alert(view.id) {
        for entry in view.node.entries_at("/spec/eventMetadata") {
            check_value(view, entry.value, &pointer_join("/spec/eventMetadata", &entry.key), report);
        }
        if let Some(summary) = view.node.at("/spec/summary") {
            check_value(view, summary, "/spec/summary", report);
        }
    }
}

fn check_value(view: &ObjectView<'_>, node: NodeRef<'_>, pointer: &str, report: &mut Reporter<'_>) {
    let text = Text::of(node);
    let (Some(owner), Some(location)) = (text.known().and_then(token_in), node.location()) else {
        return;
    };
    report
        .report(location, title(view.id, &format!("event metadata holds {}", with_article(owner))))
        .why("it is sent to the provider, and everyone who may list Events in the cluster can read it")
        .help("revoke the token, and keep credentials in Secrets")
        .object(view.id)
        // The value stays out of fingerprints and of every report.
        .field(pointer, owner);
}

/// Whose token a text holds, if it looks like one.
fn token_in(text: &str) -> Option<&'static str> {
    let is_body = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    TOKENS.iter().find_map(|(prefix, least, owner)| {
        text.match_indices(prefix)
            .any(|(at, _)| {
                let starts = !text[..at].ends_with(is_body);
                let body = text[at + prefix.len()..].chars().take_while(|c| is_body(*c)).count();
                starts && body >= *least
            })
            .then_some(*owner)
    })
}

#[cfg(test)]
mod tests {
    use super::token_in;

    #[test]
    fn tokens_by_their_beginning_and_length() {
        let body = "0123456789abcdefghijklmnopqrstuvwxyzABCD";
        for (text, owner) in [
            (format!("ghp_{body}"), Some("GitHub token")),
            (format!("token=glpat-{}", &body[..20]), Some("GitLab token")),
            (format!("https://x:ghs_{body}@github.com"), Some("GitHub token")),
            ("ghp_short".to_owned(), None),
            (format!("not_ghp_{body}"), None),
            ("xoxb-release".to_owned(), None),
            ("production".to_owned(), None),
        ] {
            assert_eq!(token_in(&text), owner, "{text}");
        }
    }
}
