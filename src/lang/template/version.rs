//! Semantic versions and their constraints, as Masterminds' `semver` 3.4 reads them.

use regex::Regex;
use std::cmp::Ordering;
use std::sync::OnceLock;

/// A version. Build metadata does not take part in comparisons.
#[derive(Clone, Debug, Default)]
pub(crate) struct Version {
    /// The first number.
    pub(crate) major: u64,
    /// The second number.
    pub(crate) minor: u64,
    /// The third number.
    pub(crate) patch: u64,
    /// What stands behind `-`.
    pub(crate) pre: String,
    /// What stands behind `+`.
    pub(crate) metadata: String,
    /// As it was written.
    pub(crate) original: String,
}

const PARTIAL: &str = r"v?([0-9|xX\*]+)(\.[0-9|xX\*]+)?(\.[0-9|xX\*]+)?(-(?:[0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?(?:\+(?:[0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?";
const OPERATOR: &str = r"=>|>=|<=|=<|!=|~>|=|>|<|~|\^|";

/// Patterns of constraints, each compiled when it is asked for.
struct Patterns {
    constraint: OnceLock<Option<Regex>>,
    range: OnceLock<Option<Regex>>,
    find: OnceLock<Option<Regex>>,
    valid: OnceLock<Option<Regex>>,
}

static PATTERNS: Patterns = Patterns {
    constraint: OnceLock::new(),
    range: OnceLock::new(),
    find: OnceLock::new(),
    valid: OnceLock::new(),
};

impl Patterns {
    fn constraint(&self) -> Option<&Regex> {
        compiled(&self.constraint, || format!(r"^\s*({OPERATOR})\s*({PARTIAL})\s*$"))
    }

    fn range(&self) -> Option<&Regex> {
        compiled(&self.range, || format!(r"\s*({PARTIAL})\s+-\s+({PARTIAL})\s*"))
    }

    fn find(&self) -> Option<&Regex> {
        compiled(&self.find, || format!(r"({OPERATOR})\s*({PARTIAL})"))
    }

    fn valid(&self) -> Option<&Regex> {
        let one = format!(r"(?:{OPERATOR})\s*(?:{PARTIAL})\s*");
        compiled(&self.valid, || format!(r"^(?:\s*{one})(?:(?:\s+|,\s*){one})*$"))
    }
}

fn compiled(cell: &OnceLock<Option<Regex>>, pattern: impl FnOnce() -> String) -> Option<&Regex> {
    cell.get_or_init(|| Regex::new(&pattern()).ok()).as_ref()
}

/// The numbers of a version, what stands behind `-` and what behind `+`; `None` where it is none.
/// Source: Masterminds `semver` `version.go` (`semVerRegex`): one number is enough.
fn split(text: &str) -> Option<([&str; 3], &str, &str)> {
    let rest = text.strip_prefix('v').unwrap_or(text);
    let (rest, metadata) = match rest.split_once('+') {
        Some((rest, metadata)) => (rest, Some(metadata)),
        None => (rest, None),
    };
    let (numbers, pre) = match rest.split_once('-') {
        Some((numbers, pre)) => (numbers, Some(pre)),
        None => (rest, None),
    };
    let is_part =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if ![pre, metadata].into_iter().flatten().all(|parts| parts.split('.').all(is_part)) {
        return None;
    }
    let mut found = [""; 3];
    for (at, number) in numbers.split('.').enumerate() {
        if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        *found.get_mut(at)? = number;
    }
    Some((found, pre.unwrap_or_default(), metadata.unwrap_or_default()))
}

impl Version {
    /// Reads a version, partial ones and a leading `v` included.
    pub(crate) fn parse(text: &str) -> Result<Version, String> {
        let Some((numbers, pre, metadata)) = split(text) else {
            return Err("invalid semantic version".to_owned());
        };
        let number = |digits: &str| {
            if digits.is_empty() {
                return Ok(0);
            }
            digits.parse::<u64>().map_err(|_| {
                format!("error parsing version segment: strconv.ParseUint: parsing \"{digits}\": value out of range")
            })
        };
        let version = Version {
            major: number(numbers[0])?,
            minor: number(numbers[1])?,
            patch: number(numbers[2])?,
            pre: pre.to_owned(),
            metadata: metadata.to_owned(),
            original: text.to_owned(),
        };
        let padded =
            |part: &str| part.len() > 1 && part.starts_with('0') && part.bytes().all(|b| b.is_ascii_digit());
        if version.pre.split('.').any(padded) {
            return Err("version segment starts with 0".to_owned());
        }
        Ok(version)
    }

    /// By precedence.
    pub(crate) fn compare(&self, other: &Version) -> Ordering {
        (self.major, self.minor, self.patch)
            .cmp(&(other.major, other.minor, other.patch))
            .then_with(|| compare_pre(&self.pre, &other.pre))
    }

    /// Major, minor and patch, where they are numbers of a size that people write.
    pub(crate) fn numbers(&self) -> Option<(u32, u32, u32)> {
        Some((self.major.try_into().ok()?, self.minor.try_into().ok()?, self.patch.try_into().ok()?))
    }

    /// Whether it is no prerelease.
    pub(crate) fn is_release(&self) -> bool {
        self.pre.is_empty()
    }

    /// In full.
    pub(crate) fn full(&self) -> String {
        let mut out = format!("{}.{}.{}", self.major, self.minor, self.patch);
        if !self.pre.is_empty() {
            out.push('-');
            out.push_str(&self.pre);
        }
        if !self.metadata.is_empty() {
            out.push('+');
            out.push_str(&self.metadata);
        }
        out
    }
}

fn compare_pre(a: &str, b: &str) -> Ordering {
    match (a, b) {
        _ if a == b => return Ordering::Equal,
        ("", _) => return Ordering::Greater,
        (_, "") => return Ordering::Less,
        _ => {}
    }
    let (mut left, mut right) = (a.split('.'), b.split('.'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(a), Some(b)) => match (a.parse::<u64>(), b.parse::<u64>()) {
                (Ok(a), Ok(b)) => a.cmp(&b),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => a.cmp(b),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

struct Constraint {
    operator: String,
    version: Version,
    minor_dirty: bool,
    patch_dirty: bool,
    dirty: bool,
}

/// Alternatives of constraints that hold together.
pub(crate) struct Constraints {
    groups: Vec<(Vec<Constraint>, bool)>,
}

impl Constraints {
    /// Reads a constraint.
    pub(crate) fn parse(text: &str) -> Result<Constraints, String> {
        if let Some(one) = Constraint::plain(text) {
            let one = one?;
            let with_pre = !one.version.pre.is_empty();
            return Ok(Constraints { groups: vec![(vec![one], with_pre)] });
        }
        let (Some(valid), Some(find)) = (PATTERNS.valid(), PATTERNS.find()) else {
            return Err("constraint parser error".to_owned());
        };
        let mut rewritten = text.to_owned();
        // A range has a dash between blanks; most constraints have none.
        let range = if text.contains('-') { PATTERNS.range() } else { None };
        for found in range.iter().flat_map(|range| range.captures_iter(text)) {
            let with = format!(">= {}, <= {} ", &found[1], &found[5 + 1]);
            rewritten = rewritten.replacen(&found[0], &with, 1);
        }
        let mut groups = Vec::new();
        for group in rewritten.split("||") {
            if !valid.is_match(group) {
                return Err(format!("improper constraint: {group}"));
            }
            let mut constraints = Vec::new();
            for found in find.find_iter(group) {
                constraints.push(Constraint::parse(found.as_str())?);
            }
            let with_pre = constraints.iter().any(|constraint| !constraint.version.pre.is_empty());
            groups.push((constraints, with_pre));
        }
        Ok(Constraints { groups })
    }

    /// As [`Constraints::check`] up to semver 3.3: each constraint of an alternative asks for
    /// prereleases itself, a whole version after `!=` doesn't.
    pub(crate) fn check_each(&self, version: &Version) -> bool {
        let takes = |of: &Constraint| {
            let asks = version.pre.is_empty() || !of.version.pre.is_empty();
            (asks || of.operator == "!=" && !of.dirty) && of.check(version)
        };
        self.groups.iter().any(|(constraints, _)| constraints.iter().all(takes))
    }

    /// Whether a version lies in one of the alternatives.
    pub(crate) fn check(&self, version: &Version) -> bool {
        self.groups.iter().any(|(constraints, with_pre)| {
            (version.pre.is_empty() || *with_pre)
                && constraints.iter().all(|constraint| constraint.check(version))
        })
    }
}

fn is_x(part: &str) -> bool {
    matches!(part, "x" | "X" | "*")
}

impl Constraint {
    /// An operator and a version of numbers, as most constraints are; `None` where it may be
    /// more. To compile the expressions takes longer than many a chart.
    fn plain(text: &str) -> Option<Result<Constraint, String>> {
        let end = text.find(|c| !"=!<>~^".contains(c))?;
        let (operator, rest) = text.split_at(end);
        let version = rest.trim_start_matches(' ');
        let ([major, minor, patch], pre, _) = split(version)?;
        let is_operator = OPERATOR.replace('\\', "").split('|').any(|known| known == operator);
        let pre = if pre.is_empty() { String::new() } else { format!("-{pre}") };
        is_operator.then(|| Constraint::of(operator, version, [major, minor, patch], &pre))
    }

    fn parse(text: &str) -> Result<Constraint, String> {
        let improper = || format!("improper constraint: {text}");
        let found = PATTERNS.constraint().and_then(|pattern| pattern.captures(text));
        let found = found.ok_or_else(improper)?;
        let part = |index: usize| found.get(index).map_or("", |part| part.as_str());
        let numbers = [3, 4, 5].map(|index| part(index).trim_start_matches('.'));
        Constraint::of(part(1), part(2), numbers, part(6))
    }

    /// Of a version as it is written, its numbers, and what stands behind with its dash.
    fn of(
        operator: &str,
        written: &str,
        [major, minor, patch]: [&str; 3],
        pre: &str,
    ) -> Result<Constraint, String> {
        let open = |part: &str| part.is_empty() || is_x(part);
        let (mut minor_dirty, mut patch_dirty, mut dirty) = (false, false, true);
        let version = if open(major) {
            format!("0.0.0{pre}")
        } else if open(minor) {
            minor_dirty = true;
            format!("{major}.0.0{pre}")
        } else if open(patch) {
            patch_dirty = true;
            format!("{major}.{minor}.0{pre}")
        } else {
            dirty = false;
            written.to_owned()
        };
        let version = Version::parse(&version).map_err(|_| "constraint parser error".to_owned())?;
        Ok(Constraint { operator: operator.to_owned(), version, minor_dirty, patch_dirty, dirty })
    }

    fn check(&self, version: &Version) -> bool {
        let own = &self.version;
        let order = version.compare(own);
        match &*self.operator {
            "!=" => self.not_equal(version),
            ">" => self.greater(version, order),
            "<" => order == Ordering::Less,
            ">=" | "=>" => order != Ordering::Less,
            "<=" | "=<" => {
                if !self.dirty {
                    return order != Ordering::Greater;
                }
                version.major <= own.major
                    && !(version.major == own.major && version.minor > own.minor && !self.minor_dirty)
            }
            "~" | "~>" => self.tilde(version, order),
            "^" => self.caret(version, order),
            _ if self.dirty => self.tilde(version, order),
            _ => order == Ordering::Equal,
        }
    }

    fn not_equal(&self, version: &Version) -> bool {
        let own = &self.version;
        if self.dirty {
            if own.major != version.major || (own.minor != version.minor && !self.minor_dirty) {
                return true;
            }
            if self.minor_dirty {
                return false;
            }
            if own.patch != version.patch && !self.patch_dirty {
                return true;
            }
            if self.patch_dirty {
                return compare_pre(&version.pre, &own.pre) != Ordering::Equal;
            }
        }
        version.compare(own) != Ordering::Equal
    }

    fn greater(&self, version: &Version, order: Ordering) -> bool {
        let own = &self.version;
        if !self.dirty {
            return order == Ordering::Greater;
        }
        match version.major.cmp(&own.major) {
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal if self.minor_dirty => false,
            Ordering::Equal if self.patch_dirty => version.minor > own.minor,
            Ordering::Equal => order == Ordering::Greater,
        }
    }

    fn tilde(&self, version: &Version, order: Ordering) -> bool {
        let own = &self.version;
        if order == Ordering::Less {
            return false;
        }
        if (own.major, own.minor, own.patch) == (0, 0, 0) && !self.minor_dirty && !self.patch_dirty {
            return true;
        }
        version.major == own.major && (version.minor == own.minor || self.minor_dirty)
    }

    fn caret(&self, version: &Version, order: Ordering) -> bool {
        let own = &self.version;
        if order == Ordering::Less {
            return false;
        }
        if own.major > 0 || self.minor_dirty {
            return version.major == own.major;
        }
        if version.major > 0 {
            return false;
        }
        if own.minor > 0 || self.patch_dirty {
            return version.minor == own.minor;
        }
        version.minor == 0 && own.patch == version.patch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Masterminds' own expression.
    const VERSION: &str = r"^v?([0-9]+)(\.[0-9]+)?(\.[0-9]+)?(-([0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?(\+([0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?$";

    #[test]
    fn plain_constraints_are_what_the_expressions_make_of_them() {
        let shown = |of: Result<Constraint, String>| {
            of.map(|of| {
                let flags = (of.minor_dirty, of.patch_dirty, of.dirty);
                (of.operator, of.version.full(), of.version.original, flags)
            })
        };
        let operators = ["", "=", "!=", ">", "<", ">=", "=>", "<=", "=<", "~", "~>", "^", "==", "!", "^^"];
        let versions = ["1", "v1.2", "1.2.3", "01.2.3", "1.2.3-0", "1.2-a.b", "1-0", "1.2.3+x", "1.2.3-01"];
        let more = ["", "x", "1.x", "1.2.*", "1,2", "1 2", "1.2.3.4", "-", "1-", "1.2.3 - 2", "1||2"];
        let mut plain = 0;
        for operator in operators {
            for version in versions.iter().chain(&more) {
                for blanks in ["", " ", "  "] {
                    let text = format!("{operator}{blanks}{version}");
                    let Some(found) = Constraint::plain(&text) else { continue };
                    plain += 1;
                    assert_eq!(shown(found), shown(Constraint::parse(&text)), "{text}");
                }
            }
        }
        assert_eq!(plain, 12 * versions.len() * 3);
    }

    #[test]
    fn versions_are_split_as_the_expression_splits_them() {
        let pattern = Regex::new(VERSION).expect("a constant expression");
        let letters = ["v", "1", ".", "-", "+", "x", "_"];
        let mut texts = vec![String::new()];
        for _ in 0..6 {
            let longer =
                texts.iter().flat_map(|text| letters.iter().map(move |letter| format!("{text}{letter}")));
            texts = longer.collect();
            for text in &texts {
                let expected = pattern.captures(text).map(|found| {
                    let part = |at: usize| found.get(at).map_or("", |part| part.as_str());
                    let numbers = [1, 2, 3].map(|at| part(at).trim_start_matches('.'));
                    (numbers, part(5), part(7))
                });
                assert_eq!(split(text), expected, "{text}");
            }
        }
    }
}
