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
    regex: regex::Regex,
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
static FINDERS: Mutex<FxHashMap<Box<str>, Arc<GoFinder>>> = Mutex::new(FxHashMap::with_hasher(FxBuildHasher));
/// How many there are at most, each no larger than [`SMALL`].
const FINDERS_KEPT: usize = 256;
/// Instructions of a pattern that is kept.
const SMALL: usize = 20_000;

impl GoFinder {
    /// [`GoFinder::new`], compiled once for the whole process unless it is large.
    pub(crate) fn kept(pattern: &str) -> Result<Arc<GoFinder>, RegexpError> {
        let finders = || FINDERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = finders().get(pattern) {
            return Ok(known.clone());
        }
        let finder = Arc::new(GoFinder::new(pattern)?);
        if finder.is_small() {
            let mut finders = finders();
            if finders.len() >= FINDERS_KEPT {
                finders.clear();
            }
            finders.insert(pattern.into(), finder.clone());
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
        regex::RegexBuilder::new(&GoRegexp::translate(pattern)?)
            .size_limit(MAX_PROGRAM)
            .build()
            .map(|regex| GoRegexp { regex })
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
        self.regex.is_match(text)
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
