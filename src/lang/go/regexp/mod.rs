//! Go's regular expressions, matched by the `regex` crate.
//!
//! The controllers compile the patterns of Alerts, ImagePolicies and
//! replacements with Go's package `regexp`. Both engines descend from RE2 and
//! match in linear time, but the grammars differ: Go has `\Q…\E`, octal escapes
//! and duplicate group names, reads `[a&&b]` and `\<` literally, and keeps
//! `\w`, `\d`, `\s`, `\b` to ASCII; it refuses `a**`, `(?x)` and counts above
//! 1000. So a pattern is parsed by Go's rules and written anew in the crate's
//! syntax. Only whether a text matches is asked, never where, so groups lose
//! their names and repetitions their greed.

mod classes;
mod parse;

use parse::Parser;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Patterns above this many bytes are not judged.
const MAX_PATTERN: usize = 1 << 16;
/// Bytes that a compiled pattern may take; more is not judged.
const MAX_PROGRAM: usize = 1 << 22;
/// Go's limit of repetition counts, and of products of nested ones.
const MAX_REPEAT: u32 = 1000;
/// Go's limit of an expression's height. A group is a level, its content another.
const MAX_CAPTURE_DEPTH: usize = 999;

/// A regular expression that Go accepts.
#[derive(Debug, Clone)]
pub struct GoRegexp {
    matcher: Matcher,
}

#[derive(Debug, Clone)]
enum Matcher {
    Literal(Literal),
    Regex(regex::Regex),
}

/// What a pattern without operators looks for: most of those that select objects and files,
/// of which a repository has many and asks each of all of its paths.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Literal {
    at_start: bool,
    text: String,
    at_end: bool,
}

impl Literal {
    /// `text`, `^text`, `text$`, `^(?:text)$`, with signs escaped; `None` of all others.
    fn of(pattern: &str) -> Option<Literal> {
        let unwrapped = pattern.strip_prefix("^(?:").and_then(|rest| rest.strip_suffix(")$"));
        let after_start = pattern.strip_prefix('^');
        let (at_start, mut rest) = match unwrapped {
            Some(within) => (true, within),
            None => (after_start.is_some(), after_start.unwrap_or(pattern)),
        };
        let mut text = String::with_capacity(rest.len());
        let mut at_end = unwrapped.is_some();
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                '\\' => {
                    let sign = rest.chars().next().filter(char::is_ascii_punctuation)?;
                    rest = &rest[1..];
                    text.push(sign);
                }
                '$' if rest.is_empty() && unwrapped.is_none() => at_end = true,
                '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' => return None,
                _ => text.push(c),
            }
        }
        Some(Literal { at_start, text, at_end })
    }

    fn is_match(&self, text: &str) -> bool {
        match (self.at_start, self.at_end) {
            (true, true) => text == self.text,
            (true, false) => text.starts_with(&self.text),
            (false, true) => text.ends_with(&self.text),
            (false, false) => text.contains(&self.text),
        }
    }
}

/// Why there is no [`GoRegexp`] for a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegexpError {
    /// Go refuses the pattern; the text is Go's.
    #[error("{0}")]
    Rejected(String),
    /// Whether Go accepts the pattern, or what it matches, is not known here.
    #[error("{0}")]
    Unknown(String),
}

/// As [`GoRegexp`], telling where it matches: groups capture and laziness counts.
#[derive(Debug, Clone)]
pub(crate) struct GoFinder {
    /// Matches as Go's does, leftmost first.
    pub(crate) regex: regex::bytes::Regex,
    /// Names of groups, with their numbers.
    pub(crate) names: Vec<(String, usize)>,
    /// About how many instructions it has.
    pub(crate) size: usize,
}

/// Compiled patterns that the process keeps. To compile one takes longer than most matches,
/// and the templates of a chart ask the same ones for each release.
static FINDERS: Mutex<Finders> =
    Mutex::new(Finders { by_pattern: FxHashMap::with_hasher(FxBuildHasher), size: 0 });
/// Instructions of all of them together, each no larger than [`SMALL`].
const FINDERS_KEPT: usize = 4_000_000;
/// What a pattern takes beside its instructions, in such.
const FINDER: usize = 2_000;
/// Instructions of a pattern that is kept.
const SMALL: usize = 20_000;

struct Finders {
    by_pattern: FxHashMap<Box<str>, Arc<GoFinder>>,
    /// What they take, in instructions.
    size: usize,
}

impl GoFinder {
    /// [`GoFinder::new`], compiled once for the whole process unless it is large.
    pub(crate) fn kept(pattern: &str) -> Result<Arc<GoFinder>, RegexpError> {
        let finders = || FINDERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = finders().by_pattern.get(pattern) {
            return Ok(known.clone());
        }
        let finder = Arc::new(GoFinder::new(pattern)?);
        if finder.is_small() {
            let mut finders = finders();
            if finders.size >= FINDERS_KEPT {
                finders.by_pattern.clear();
                finders.size = 0;
            }
            finders.size += FINDER + finder.size;
            finders.by_pattern.insert(pattern.into(), finder.clone());
        }
        Ok(finder)
    }

    /// Whether it may be kept.
    pub(crate) fn is_small(&self) -> bool {
        self.size <= SMALL
    }

    /// Compiles a pattern as Go's `regexp.Compile` would.
    fn new(pattern: &str) -> Result<GoFinder, RegexpError> {
        if pattern.len() > MAX_PATTERN {
            return Err(RegexpError::Unknown(format!("patterns above {MAX_PATTERN} bytes are not judged")));
        }
        let mut parser = Parser::new(pattern);
        parser.finds = true;
        let (whole, names) = parser.parse_named()?;
        let size = whole.text.len().saturating_mul(whole.weight as usize);
        regex::bytes::RegexBuilder::new(&whole.text)
            .size_limit(MAX_PROGRAM)
            .build()
            .map(|regex| GoFinder { regex, names, size })
            .map_err(|error| RegexpError::Unknown(format!("not judged: {error}")))
    }
}

impl GoRegexp {
    /// Compiles a pattern as Go's `regexp.Compile` would.
    ///
    /// Mirrors the parser of Go's `regexp/syntax` with the flags of
    /// `syntax.Perl`, its error texts included.
    pub fn new(pattern: &str) -> Result<Self, RegexpError> {
        let translated = GoRegexp::translate(pattern)?;
        if let Some(literal) = Literal::of(pattern) {
            return Ok(GoRegexp { matcher: Matcher::Literal(literal) });
        }
        regex::RegexBuilder::new(&translated)
            .size_limit(MAX_PROGRAM)
            .build()
            .map(|regex| GoRegexp { matcher: Matcher::Regex(regex) })
            .map_err(|error| RegexpError::Unknown(format!("not judged: {error}")))
    }

    /// The same, compiled once for the process: what repositories and schemas state again and
    /// again.
    pub(crate) fn shared(pattern: &str) -> Option<Arc<GoRegexp>> {
        /// Compiled patterns that are kept; each may take some MiB.
        const KEPT: usize = 256;
        type Known = Mutex<FxHashMap<String, Option<Arc<GoRegexp>>>>;
        static KNOWN: OnceLock<Known> = OnceLock::new();
        let mut known = KNOWN.get_or_init(Known::default).lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(regexp) = known.get(pattern) {
            return regexp.clone();
        }
        let regexp = GoRegexp::new(pattern).ok().map(Arc::new);
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(pattern.to_owned(), regexp.clone());
        regexp
    }

    /// Go's words for a pattern that it refuses. Nothing is compiled for it.
    pub fn rejection(pattern: &str) -> Option<String> {
        match GoRegexp::translate(pattern) {
            Err(RegexpError::Rejected(error)) => Some(error),
            _ => None,
        }
    }

    fn translate(pattern: &str) -> Result<String, RegexpError> {
        if pattern.len() > MAX_PATTERN {
            return Err(RegexpError::Unknown(format!("patterns above {MAX_PATTERN} bytes are not judged")));
        }
        Parser::new(pattern).parse()
    }

    /// Whether the pattern matches anywhere in `text`, as Go's `MatchString`.
    pub fn is_match(&self, text: &str) -> bool {
        match &self.matcher {
            Matcher::Literal(literal) => literal.is_match(text),
            Matcher::Regex(regex) => regex.is_match(text),
        }
    }
}

/// What Go finds wrong, with the part of the pattern that it quotes.
fn reject<T>(what: &str, part: &str) -> Result<T, RegexpError> {
    Err(RegexpError::Rejected(format!("error parsing regexp: {what}: `{part}`")))
}

const BAD_ESCAPE: &str = "invalid escape sequence";
const BAD_RANGE: &str = "invalid character class range";
const BAD_REPEAT: &str = "invalid repeat count";
const BAD_NAME: &str = "invalid named capture";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_match_as_the_patterns_do() {
        for (pattern, expected) in [
            ("", Some((false, "", false))),
            ("^", Some((true, "", false))),
            ("a-b", Some((false, "a-b", false))),
            (r"^apps/\*\.yaml", Some((true, "apps/*.yaml", false))),
            (r"\.sops\.yaml$", Some((false, ".sops.yaml", true))),
            (r"^(?:a\$)$", Some((true, "a$", true))),
            ("é", Some((false, "é", false))),
            (r"a\d", None),
            (r"a\", None),
            ("a$b", None),
            ("^(?:a)b$", None),
            ("^(?:a$)$", None),
            ("a|b", None),
            ("a.b", None),
            ("a{2}", None),
        ] {
            let found = Literal::of(pattern);
            let parts = found.as_ref().map(|l| (l.at_start, &*l.text, l.at_end));
            assert_eq!(parts, expected, "{pattern}");
            let Some(literal) = found else { continue };
            let regex = regex::Regex::new(&GoRegexp::translate(pattern).unwrap()).unwrap();
            for text in ["", "a-b", "xa-bx", "apps/*.yaml", "x.sops.yaml", "x.sops.yaml ", "a$", "a$\n", "é"]
            {
                assert_eq!(literal.is_match(text), regex.is_match(text), "{pattern} on {text:?}");
            }
        }
    }

    #[test]
    fn reads_what_only_go_reads() {
        for (pattern, text, matches) in [
            (r"[a&&b]", "&", true),
            (r"[[ab]c]", "[c]", true),
            (r"\<word\>", "<word>", true),
            (r"\Qa.b\E+", "a.bbb", true),
            (r"\Qa.b\E+", "axb", false),
            (r"\101", "A", true),
            (r"a(?i)*b", "B", true),
            (r"(?P<n>a)(?P<n>b)", "ab", true),
            (r"\d", "\u{0663}", false),
            (r"\bé", "é", false),
            (r"(?i)\W", "\u{212A}", false),
            (r"[\x{D800}-\x{DFFF}]", "\u{E000}", false),
            (r"[^\x{D800}]", "a", true),
            ("a{,5}", "a{,5}", true),
        ] {
            let regexp = GoRegexp::new(pattern).unwrap();
            assert_eq!(regexp.is_match(text), matches, "{pattern} on {text:?}");
        }
    }

    #[test]
    fn refuses_what_go_refuses() {
        for (pattern, error) in [
            ("a**", "invalid nested repetition operator: `**`"),
            ("x{2,1}", "invalid repeat count: `{2,1}`"),
            ("((x{10}){10}){11}", "invalid repeat count: `{11}`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(a", "missing closing ): `(a`"),
            (r"\p{Emoji}", r"invalid character class range: `\p{Emoji}`"),
            (r"\1", r"invalid escape sequence: `\1`"),
        ] {
            assert_eq!(
                GoRegexp::new(pattern).unwrap_err(),
                RegexpError::Rejected(format!("error parsing regexp: {error}"))
            );
        }
    }

    #[test]
    fn huge_patterns_are_unknown() {
        for pattern in ["a".repeat(MAX_PATTERN + 1), r"\pL{1000}".repeat(100)] {
            assert!(matches!(GoRegexp::new(&pattern), Err(RegexpError::Unknown(_))));
        }
    }

    #[test]
    fn hostile_patterns_neither_panic_nor_nest() {
        for piece in ["(", "(?:", "[", "[^", "(?i)", r"\Q", r"\x{", "{", "a{1,", "|"] {
            let _ = GoRegexp::new(&piece.repeat(20_000));
        }
        assert!(GoRegexp::new(&format!("{}a{}", "(?:".repeat(5000), ")".repeat(5000))).is_ok());
    }
}
