//! What Helm makes of templates around Go's: their order, and its words for errors.

use super::engine::TemplateFailure;
use super::parse::ParseError;
use std::cmp::Reverse;

/// Sorts as Helm parses templates and renders them: the deepest path first, then by name from
/// behind.
pub fn sort<T>(templates: &mut [T], name: impl Fn(&T) -> &str) {
    let depth = |template: &T| name(template).bytes().filter(|byte| *byte == b'/').count();
    templates.sort_by(|a, b| name(b).cmp(name(a)));
    templates.sort_by_cached_key(|template| Reverse(depth(template)));
}

/// Helm's words for a file that is no template.
pub fn parse_error(file: &str, error: &ParseError) -> String {
    let parts: Vec<&str> = error.message.split(": ").collect();
    match *parts {
        [] | [_] => format!("parse error in ({file}): {}", error.message),
        [_, location, .., message] => format!("parse error at ({location}): {message}"),
        [_, location] => format!("parse error at ({location}): {location}"),
    }
}

/// Helm's words for a template that failed.
pub fn execution_error(file: &str, failure: &TemplateFailure) -> String {
    let message = failure.chain.first().map(String::as_str).unwrap_or_default();
    if !failure.is_execution {
        return message.to_owned();
    }
    let mut tokens = message.splitn(3, ": ");
    let (_, location, rest) = (tokens.next(), tokens.next(), tokens.next());
    let (Some(location), Some(rest)) = (location, rest) else {
        return format!("execution error in ({file}): {message}");
    };
    if let Some(warned) = warned(rest) {
        return format!("execution error at ({location}): {warned}");
    }
    let mut levels: Vec<ErrorLevel<'_>> = Vec::new();
    for text in &failure.chain {
        let Some(level) = level(text) else {
            return message.to_owned();
        };
        if levels.last() != Some(&level) {
            levels.push(level);
        }
    }
    let told: String = levels.iter().map(ErrorLevel::told).collect();
    told.trim().to_owned()
}

/// Helm 3's words for a template that failed: all in one line.
pub fn execution_error_in_a_line(file: &str, failure: &TemplateFailure) -> String {
    let message = failure.chain.first().map(String::as_str).unwrap_or_default();
    if !failure.is_execution {
        return message.to_owned();
    }
    let mut tokens = message.splitn(3, ": ");
    let (_, location, rest) = (tokens.next(), tokens.next(), tokens.next());
    let (Some(location), Some(rest)) = (location, rest) else {
        return format!("execution error in ({file}): {message}");
    };
    match warned(rest) {
        Some(warned) => format!("execution error at ({location}): {warned}"),
        None => message.to_owned(),
    }
}

/// What `fail` or `required` say.
fn warned(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("HELM_ERR_START")?;
    Some(rest.rsplit_once("HELM_ERR_END")?.0)
}

/// One error of a chain, taken apart.
#[derive(Debug, PartialEq, Eq)]
struct ErrorLevel<'m> {
    location: &'m str,
    executed: String,
    message: &'m str,
}

impl ErrorLevel<'_> {
    fn told(&self) -> String {
        let mut out = String::new();
        if !self.location.is_empty() {
            out.push_str(&format!("{}\n  ", self.location));
        }
        if !self.executed.is_empty() {
            out.push_str(&format!("{}\n    ", self.executed));
        }
        if !self.message.is_empty() {
            out.push_str(&format!("{}\n", self.message));
        }
        out
    }
}

fn before_next(message: &str) -> &str {
    message.find(" template:").map_or(message, |at| &message[..at])
}

fn level(text: &str) -> Option<ErrorLevel<'_>> {
    let rest = text.strip_prefix("template: ")?;
    if rest.starts_with("no template ") {
        return Some(ErrorLevel { location: "", executed: String::new(), message: text });
    }
    if let Some(level) = executing(rest) {
        return Some(level);
    }
    let at = rest.rfind(": ")?;
    Some(ErrorLevel { location: &rest[..at], executed: String::new(), message: before_next(&rest[at + 2..]) })
}

fn executing(rest: &str) -> Option<ErrorLevel<'_>> {
    let (location, after) = rest.split_once(": executing ")?;
    let after = after.strip_prefix('"')?;
    let (name, after) = after.split_once('"')?;
    let (context, message) = after.strip_prefix(" at <")?.split_once(">: ")?;
    let executed = format!("executing \"{name}\" at <{context}>:");
    Some(ErrorLevel { location, executed, message: before_next(message) })
}
