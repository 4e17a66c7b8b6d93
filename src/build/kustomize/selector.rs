//! Selecting objects by id, labels and annotations.
//!
//! Mirrors `api/types/selector.go` (`SelectorRegex`), `api/resmap/reswrangler.go`
//! (`Select`) and the label selectors of the Kubernetes API machinery.

use super::entries::Selector;
use super::error::{BuildError, ErrorClass, Result};
use super::id::Gvk;
use super::resource::Resource;
use crate::lang::go::regexp::{GoRegexp, RegexpError};
use crate::lang::text::suggest;
use std::sync::Arc;

/// One part of a selector: anything, or what matches the whole text.
#[derive(Debug)]
enum Part {
    Any,
    Text(Box<str>),
    Plain(Plain),
    Regexp(GoRegexp),
}

/// A selector in words: `HelmRelease app`, with whatever else it says.
pub(super) fn described(selector: &Selector) -> String {
    let kind = if selector.kind.is_empty() { "object" } else { &selector.kind };
    let name = match (&*selector.namespace, &*selector.name) {
        ("", "") => String::new(),
        ("", name) => format!(" {name}"),
        (namespace, "") => format!(" in namespace {namespace}"),
        (namespace, name) => format!(" {namespace}/{name}"),
    };
    let api = match (&*selector.group, &*selector.version) {
        ("", "") => String::new(),
        ("", version) => format!(" of version {version}"),
        (group, "") => format!(" of {group}"),
        (group, version) => format!(" of {group}/{version}"),
    };
    let mut text = format!("{kind}{name}{api}");
    for (what, said) in [("labels", &selector.labels), ("annotations", &selector.annotations)] {
        if !said.is_empty() {
            text.push_str(&format!(" with {what} {said}"));
        }
    }
    text
}

/// How an object differs that a selector would select but for one of its parts.
pub(super) fn near_miss(selector: &Selector, resources: &[Resource]) -> Option<String> {
    let nothing: Arc<str> = "".into();
    type Part = (&'static str, fn(&mut Selector) -> &mut Arc<str>, fn(&Resource) -> &str);
    let parts: [Part; 3] = [
        ("version", |selector| &mut selector.version, |resource| resource.id.gvk.version()),
        ("group", |selector| &mut selector.group, |resource| resource.id.gvk.group()),
        ("namespace", |selector| &mut selector.namespace, |resource| resource.id.effective_namespace()),
    ];
    for (what, part, of) in parts {
        let mut wider = selector.clone();
        let said = std::mem::replace(part(&mut wider), nothing.clone());
        // Of a selector that says only this, everything else is no near miss.
        if said.is_empty() || wider.kind.is_empty() && wider.name.is_empty() {
            continue;
        }
        let compiled = Compiled::new(&wider).ok()?;
        if let Some(resource) = resources.iter().find(|resource| compiled.selects(resource)) {
            return Some(format!("the target says {what} {said}, {} has {}", resource.id, of(resource)));
        }
    }
    let mut wider = selector.clone();
    let said = std::mem::replace(&mut wider.name, nothing);
    if said.is_empty() || wider.kind.is_empty() {
        return None;
    }
    let compiled = Compiled::new(&wider).ok()?;
    let names = resources.iter().filter(|resource| compiled.selects(resource)).map(|one| &*one.id.name);
    let near = suggest(&said, names)?;
    Some(format!("did you mean `{near}`?"))
}

/// Alternatives of nothing but letters, `.` and `.*`: most groups and names are
/// such, and every Kustomization of a cluster brings its own to compile.
#[derive(Debug)]
struct Plain(Vec<Vec<Token>>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    Letter(char),
    /// `.`: any character but a line's end.
    One,
    /// `.*`
    Run,
}

impl Plain {
    /// `None` for a pattern with anything more than that.
    fn new(pattern: &str) -> Option<Plain> {
        let alternative = |text: &str| {
            let mut tokens = Vec::with_capacity(text.len());
            for byte in text.bytes() {
                let token = match byte {
                    _ if byte.is_ascii_alphanumeric() || b"-_/:".contains(&byte) => {
                        Token::Letter(byte.into())
                    }
                    b'.' => Token::One,
                    b'*' if tokens.pop()? == Token::One => Token::Run,
                    _ => return None,
                };
                tokens.push(token);
            }
            Some(tokens)
        };
        pattern.split('|').map(alternative).collect::<Option<_>>().map(Plain)
    }

    fn matches(&self, text: &str) -> bool {
        self.0.iter().any(|tokens| matches_tokens(tokens, text))
    }
}

fn matches_tokens(tokens: &[Token], text: &str) -> bool {
    let mut tokens = tokens;
    let mut text = text.chars();
    // Where to go on once what follows the last run does not fit.
    let mut retry = None;
    loop {
        if let [Token::Run, rest @ ..] = tokens {
            tokens = rest;
            retry = Some((rest, text.clone()));
            continue;
        }
        let next = text.clone().next();
        match (tokens, next) {
            ([], None) => return true,
            ([Token::Letter(wanted), rest @ ..], Some(c)) if *wanted == c => tokens = rest,
            ([Token::One, rest @ ..], Some(c)) if c != '\n' => tokens = rest,
            _ => {
                let Some((rest, mut from)) = retry else { return false };
                if from.next().is_none_or(|c| c == '\n') {
                    return false;
                }
                tokens = rest;
                text = from.clone();
                retry = Some((rest, from));
                continue;
            }
        }
        text.next();
    }
}

impl Part {
    fn new(pattern: &str) -> std::result::Result<Part, String> {
        if pattern.is_empty() {
            return Ok(Part::Any);
        }
        if pattern.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_/:".contains(&byte)) {
            return Ok(Part::Text(pattern.into()));
        }
        if let Some(plain) = Plain::new(pattern) {
            return Ok(Part::Plain(plain));
        }
        match GoRegexp::new(&format!("^(?:{pattern})$")) {
            Ok(regexp) => Ok(Part::Regexp(regexp)),
            Err(RegexpError::Rejected(reason) | RegexpError::Unknown(reason)) => Err(reason),
        }
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Part::Any => true,
            Part::Text(wanted) => **wanted == *text,
            Part::Plain(plain) => plain.matches(text),
            Part::Regexp(regexp) => regexp.is_match(text),
        }
    }
}

/// A selector with its expressions compiled.
#[derive(Debug)]
pub(super) struct Compiled {
    group: Part,
    version: Part,
    kind: Part,
    name: Part,
    namespace: Part,
    labels: LabelSelector,
    annotations: LabelSelector,
}

impl Compiled {
    /// Compile; an error where an expression is none.
    pub(super) fn new(selector: &Selector) -> Result<Compiled> {
        let fail = |field: &str, reason: String| {
            let node = selector.node.get_ref();
            let place = node.get(field).unwrap_or(node);
            let message = format!("the {field} of this selector can't be read: {reason}");
            BuildError::at(ErrorClass::PatchTarget, message, place)
        };
        let part = |field: &str, text: &str| Part::new(text).map_err(|reason| fail(field, reason));
        let labels =
            |field: &str, text: &str| LabelSelector::parse(text).map_err(|reason| fail(field, reason));
        Ok(Compiled {
            group: part("group", &selector.group)?,
            version: part("version", &selector.version)?,
            kind: part("kind", &selector.kind)?,
            name: part("name", &selector.name)?,
            namespace: part("namespace", &selector.namespace)?,
            labels: labels("labelSelector", &selector.labels)?,
            annotations: labels("annotationSelector", &selector.annotations)?,
        })
    }

    /// Whether an object is selected: by its original or current name and
    /// namespace, and its current type, labels and annotations.
    pub(super) fn selects(&self, resource: &Resource) -> bool {
        let (current, original) = (&resource.id, resource.original_id());
        (self.namespace.matches(original.effective_namespace())
            || self.namespace.matches(current.effective_namespace()))
            && (self.name.matches(&original.name) || self.name.matches(&current.name))
            && self.matches_type(&current.gvk)
            && self.matches_metadata(resource)
    }

    /// Whether type and name match an id, and `namespace` the text.
    pub(super) fn matches_id(&self, gvk: &Gvk, name: &str, namespace: &str) -> bool {
        self.matches_type(gvk) && self.name.matches(name) && self.namespace.matches(namespace)
    }

    fn matches_type(&self, gvk: &Gvk) -> bool {
        self.group.matches(gvk.group()) && self.version.matches(gvk.version()) && self.kind.matches(&gvk.kind)
    }

    /// Whether labels and annotations match.
    pub(super) fn matches_metadata(&self, resource: &Resource) -> bool {
        self.labels.matches_of(resource, "labels") && self.annotations.matches_of(resource, "annotations")
    }

    /// The one name that it takes, if it takes one alone.
    pub(super) fn only_name(&self) -> Option<&str> {
        match &self.name {
            Part::Text(name) => Some(name),
            _ => None,
        }
    }

    /// Whether it asks for labels or annotations.
    pub(super) fn has_metadata(&self) -> bool {
        !self.labels.requirements.is_empty() || !self.annotations.requirements.is_empty()
    }
}

/// A selector of labels in the syntax of the Kubernetes API.
#[derive(Debug, Default)]
pub(super) struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Debug)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug)]
enum Test {
    Exists,
    Missing,
    In(Vec<String>),
    NotIn(Vec<String>),
    Above(i64),
    Below(i64),
}

impl LabelSelector {
    /// Parse `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`.
    pub(super) fn parse(text: &str) -> std::result::Result<LabelSelector, String> {
        let mut tokens = Tokens { rest: text };
        let mut requirements = Vec::new();
        if tokens.peek().is_empty() {
            return Ok(LabelSelector::default());
        }
        loop {
            requirements.push(requirement(&mut tokens)?);
            match tokens.next() {
                "" => break,
                "," => {}
                other => return Err(format!("found `{other}` where a comma or the end is expected")),
            }
        }
        Ok(LabelSelector { requirements })
    }

    fn matches_of(&self, resource: &Resource, field: &str) -> bool {
        if self.requirements.is_empty() {
            return true;
        }
        let pairs = resource.metadata_map(field);
        let get = |key: &str| pairs.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str());
        self.requirements.iter().all(|requirement| requirement.test.holds(get(&requirement.key)))
    }
}

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Test::Exists => value.is_some(),
            Test::Missing => value.is_none(),
            Test::In(values) => value.is_some_and(|value| values.iter().any(|known| known == value)),
            Test::NotIn(values) => value.is_none_or(|value| !values.iter().any(|known| known == value)),
            Test::Above(bound) => number().is_some_and(|number| number > *bound),
            Test::Below(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

struct Tokens<'t> {
    rest: &'t str,
}

impl<'t> Tokens<'t> {
    fn peek(&mut self) -> &'t str {
        let rest = self.rest.trim_start();
        self.rest = rest;
        for symbol in ["==", "!=", "=", "!", "(", ")", ",", "<", ">"] {
            if rest.starts_with(symbol) {
                return &rest[..symbol.len()];
            }
        }
        let end = rest.find(|c: char| c.is_whitespace() || "=!(),<>".contains(c)).unwrap_or(rest.len());
        &rest[..end]
    }

    fn next(&mut self) -> &'t str {
        let token = self.peek();
        self.rest = &self.rest[token.len()..];
        token
    }
}

fn requirement(tokens: &mut Tokens<'_>) -> std::result::Result<Requirement, String> {
    let negated = tokens.peek() == "!";
    if negated {
        tokens.next();
    }
    let key = tokens.next().to_owned();
    if !is_label_key(&key) {
        return Err(format!("`{key}` is no label key"));
    }
    let done = matches!(tokens.peek(), "" | ",");
    if negated {
        return if done {
            Ok(Requirement { key, test: Test::Missing })
        } else {
            Err("after `!key` a comma or the end is expected".to_owned())
        };
    }
    if done {
        return Ok(Requirement { key, test: Test::Exists });
    }
    let test = match tokens.next() {
        "=" | "==" => Test::In(vec![value(tokens)?]),
        "!=" => Test::NotIn(vec![value(tokens)?]),
        "in" => Test::In(values(tokens)?),
        "notin" => Test::NotIn(values(tokens)?),
        operator @ (">" | "<") => {
            let bound = value(tokens)?;
            let bound = bound.parse().map_err(|_| format!("`{bound}` is no number"))?;
            if operator == ">" { Test::Above(bound) } else { Test::Below(bound) }
        }
        other => return Err(format!("`{other}` is no operator")),
    };
    Ok(Requirement { key, test })
}

/// A value, empty before a comma and at the end.
fn value(tokens: &mut Tokens<'_>) -> std::result::Result<String, String> {
    if matches!(tokens.peek(), "" | ",") {
        return Ok(String::new());
    }
    let value = tokens.next();
    if is_label_value(value) { Ok(value.to_owned()) } else { Err(format!("`{value}` is no label value")) }
}

fn values(tokens: &mut Tokens<'_>) -> std::result::Result<Vec<String>, String> {
    if tokens.next() != "(" {
        return Err("a list of values begins with `(`".to_owned());
    }
    let mut found = Vec::new();
    loop {
        match tokens.peek() {
            "," => {
                tokens.next();
                if matches!(tokens.peek(), "," | ")") {
                    found.push(String::new());
                }
            }
            ")" => {
                tokens.next();
                if found.is_empty() {
                    found.push(String::new());
                }
                return Ok(found);
            }
            "" => return Err("a list of values ends with `)`".to_owned()),
            _ => found.push(value(tokens)?),
        }
    }
}

fn is_label_value(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    text.len() <= 63
        && (text.is_empty()
            || edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(|byte| inner(*byte)))
}

fn is_label_key(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    let subdomain = |prefix: &str| {
        !prefix.is_empty()
            && prefix.len() <= 253
            && prefix.split('.').all(|label| {
                let edge =
                    |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
                let bytes = label.as_bytes();
                edge(bytes.first())
                    && edge(bytes.last())
                    && bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
            })
    };
    !name.is_empty() && is_label_value(name) && prefix.is_none_or(subdomain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::kustomize::resource::FileRole;
    use crate::lang::yaml::parse_nodes;

    fn words(alphabet: &[&str], length: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut last = all.clone();
        for _ in 0..length {
            last = last.iter().flat_map(|word| alphabet.iter().map(move |c| format!("{word}{c}"))).collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    #[test]
    fn plain_patterns_match_what_the_regular_expression_does() {
        let texts = words(&["a", "b", "\n", "é"], 3);
        let mut plain = 0;
        for pattern in words(&["a", "b", ".", ".*", "|", "*"], 4) {
            let Some(found) = Plain::new(&pattern) else { continue };
            plain += 1;
            let regexp = GoRegexp::new(&format!("^(?:{pattern})$")).unwrap();
            for text in &texts {
                assert_eq!(found.matches(text), regexp.is_match(text), "{pattern:?} {text:?}");
            }
        }
        assert!(plain > 500, "{plain}");
    }

    #[test]
    fn label_selectors_match_as_in_kubernetes() {
        let text = "kind: A\nmetadata: {name: a, labels: {app: web, tier: \"2\", empty: ''}}\n";
        let node = parse_nodes("f.yaml", text).remove(0);
        let resource = Resource::new(node, FileRole::Resource, None);
        let table = [
            ("", Some(true)),
            ("app", Some(true)),
            ("!app", Some(false)),
            ("app=web", Some(true)),
            ("app == web, tier", Some(true)),
            ("app!=web", Some(false)),
            ("other!=web", Some(true)),
            ("app in (api, web)", Some(true)),
            ("app notin (api,web)", Some(false)),
            ("tier>1,tier<3", Some(true)),
            ("empty=", Some(true)),
            ("app=web,", None),
            ("app in web", None),
            ("-x=1", None),
        ];
        for (selector, expected) in table {
            let parsed = LabelSelector::parse(selector);
            let found = parsed.ok().map(|selector| selector.matches_of(&resource, "labels"));
            assert_eq!(found, expected, "{selector}");
        }
    }
}
