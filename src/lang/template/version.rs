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

const VERSION: &str = r"v?([0-9]+)(\.[0-9]+)?(\.[0-9]+)?(-([0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?(\+([0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?";
const PARTIAL: &str = r"v?([0-9|xX\*]+)(\.[0-9|xX\*]+)?(\.[0-9|xX\*]+)?(-(?:[0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?(?:\+(?:[0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?";
const OPERATOR: &str = r"=>|>=|<=|=<|!=|~>|=|>|<|~|\^|";

/// The patterns above, compiled once.
struct Patterns {
    version: Option<Regex>,
    constraint: Option<Regex>,
    range: Option<Regex>,
    find: Option<Regex>,
    valid: Option<Regex>,
}

fn patterns() -> &'static Patterns {
    static PATTERNS: OnceLock<Patterns> = OnceLock::new();
    PATTERNS.get_or_init(|| {
        let one = format!(r"(?:{OPERATOR})\s*(?:{PARTIAL})\s*");
        Patterns {
            version: Regex::new(&format!("^{VERSION}$")).ok(),
            constraint: Regex::new(&format!(r"^\s*({OPERATOR})\s*({PARTIAL})\s*$")).ok(),
            range: Regex::new(&format!(r"\s*({PARTIAL})\s+-\s+({PARTIAL})\s*")).ok(),
            find: Regex::new(&format!(r"({OPERATOR})\s*({PARTIAL})")).ok(),
            valid: Regex::new(&format!(r"^(?:\s*{one})(?:(?:\s+|,\s*){one})*$")).ok(),
        }
    })
}

impl Version {
    /// Reads a version, partial ones and a leading `v` included.
    pub(crate) fn parse(text: &str) -> Result<Version, String> {
        let found = patterns().version.as_ref().and_then(|pattern| pattern.captures(text));
        let Some(found) = found else {
            return Err("invalid semantic version".to_owned());
        };
        let part = |index: usize| found.get(index).map_or("", |part| part.as_str());
        let number = |index: usize| {
            let digits = part(index).trim_start_matches('.');
            if digits.is_empty() {
                return Ok(0);
            }
            digits.parse::<u64>().map_err(|_| {
                format!("error parsing version segment: strconv.ParseUint: parsing \"{digits}\": value out of range")
            })
        };
        let version = Version {
            major: number(1)?,
            minor: number(2)?,
            patch: number(3)?,
            pre: part(5).to_owned(),
            metadata: part(7).to_owned(),
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
        let patterns = patterns();
        let (Some(range), Some(valid), Some(find)) = (&patterns.range, &patterns.valid, &patterns.find)
        else {
            return Err("constraint parser error".to_owned());
        };
        let mut rewritten = text.to_owned();
        for found in range.captures_iter(text) {
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
    fn parse(text: &str) -> Result<Constraint, String> {
        let improper = || format!("improper constraint: {text}");
        let found = patterns().constraint.as_ref().and_then(|pattern| pattern.captures(text));
        let found = found.ok_or_else(improper)?;
        let part = |index: usize| found.get(index).map_or("", |part| part.as_str());
        let (major, minor, patch, pre) = (part(3), part(4), part(5), part(6));
        let open = |part: &str| part.is_empty() || is_x(part.trim_start_matches('.'));
        let (mut minor_dirty, mut patch_dirty, mut dirty) = (false, false, true);
        let version = if open(major) {
            format!("0.0.0{pre}")
        } else if open(minor) {
            minor_dirty = true;
            format!("{major}.0.0{pre}")
        } else if open(patch) {
            patch_dirty = true;
            format!("{major}{minor}.0{pre}")
        } else {
            dirty = false;
            part(2).to_owned()
        };
        let version = Version::parse(&version).map_err(|_| "constraint parser error".to_owned())?;
        Ok(Constraint { operator: part(1).to_owned(), version, minor_dirty, patch_dirty, dirty })
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
