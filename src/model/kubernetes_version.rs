//! Kubernetes versions as Cluster API reads and orders them.
//!
//! Parsing follows `semver.ParseTolerant` of blang/semver, ordering follows
//! cluster-api `util/version/version.go` (`Compare` with and without
//! `WithBuildTags`).

use std::fmt;

/// A semantic version: `v1.33.1-rc.0+build.2`, the `v` optional.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    /// Major number.
    pub major: u64,
    /// Minor number; skew rules count these.
    pub minor: u64,
    /// Patch number.
    pub patch: u64,
    pre: Vec<Identifier>,
    build: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Text(String),
}

/// The outcome of comparing two versions with their build tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// The first is older.
    Less,
    /// Both are the same, build tags included.
    Equal,
    /// The first is newer.
    Greater,
    /// Same version, build tags that differ in text: no order exists.
    Unordered,
}

impl Order {
    /// Whether the first is older or the same.
    pub(crate) fn is_le(self) -> bool {
        matches!(self, Self::Less | Self::Equal)
    }
}

impl Version {
    /// Reads a version the way the controllers do: surrounding space, a leading
    /// `v`, leading zeros and missing minor or patch numbers are accepted.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix('v').unwrap_or(text);
        let (text, build) = match text.split_once('+') {
            Some((rest, build)) => (rest, identifiers(build)?),
            None => (text, Vec::new()),
        };
        let (core, pre) = match text.split_once('-') {
            Some((core, pre)) => (core, identifiers(pre)?),
            None => (text, Vec::new()),
        };
        let numbers: Vec<&str> = core.split('.').collect();
        if numbers.len() > 3 || (numbers.len() < 3 && !(pre.is_empty() && build.is_empty())) {
            return None;
        }
        let number = |index: usize| numbers.get(index).map_or(Some(0), |n| digits(n));
        Some(Self {
            major: number(0)?,
            minor: number(1)?,
            patch: number(2)?,
            pre: pre.into_iter().map(pre_identifier).collect::<Option<_>>()?,
            build,
        })
    }

    /// Whether `text` has the form that Cluster API's webhooks demand: `v` and
    /// three numbers without leading zeros (`KubeSemver`).
    pub(crate) fn is_kube_semver(text: &str) -> bool {
        let Some(rest) = text.strip_prefix('v') else {
            return false;
        };
        let numbers_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (core, tail) = rest.split_at(numbers_end);
        let mut numbers = core.splitn(3, '.');
        let plain =
            |n: Option<&str>| n.is_some_and(|n| digits(n).is_some() && (n == "0" || !n.starts_with('0')));
        let patch_and_tail = |n: Option<&str>| {
            n.is_some_and(|n| {
                let end = n.find('.').unwrap_or(n.len());
                plain(Some(&n[..end]))
            })
        };
        plain(numbers.next())
            && plain(numbers.next())
            && patch_and_tail(numbers.next())
            && tail.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c))
    }

    /// Compares as `version.Compare(a, b)`: build tags do not count.
    pub(crate) fn compare(&self, other: &Self) -> std::cmp::Ordering {
        (self.major, self.minor, self.patch).cmp(&(other.major, other.minor, other.patch)).then_with(
            || match (self.pre.is_empty(), other.pre.is_empty()) {
                (true, true) => std::cmp::Ordering::Equal,
                (true, false) => std::cmp::Ordering::Greater,
                (false, true) => std::cmp::Ordering::Less,
                (false, false) => self.pre.cmp(&other.pre),
            },
        )
    }

    /// Compares as `version.Compare(a, b, WithBuildTags())`.
    pub(crate) fn compare_with_build(&self, other: &Self) -> Order {
        match self.compare(other) {
            std::cmp::Ordering::Less => return Order::Less,
            std::cmp::Ordering::Greater => return Order::Greater,
            std::cmp::Ordering::Equal => {}
        }
        for (a, b) in self.build.iter().zip(&other.build) {
            let order = match (digits(a), digits(b)) {
                (Some(a), Some(b)) => from_std(a.cmp(&b)),
                (Some(_), None) => Order::Less,
                (None, Some(_)) => Order::Greater,
                (None, None) if a == b => Order::Equal,
                (None, None) => Order::Unordered,
            };
            if order != Order::Equal {
                return order;
            }
        }
        from_std(self.build.len().cmp(&other.build.len()))
    }

    /// Compares without pre-release parts, as the Cluster webhook does to find
    /// a decrease.
    pub(crate) fn compare_release(&self, other: &Self) -> std::cmp::Ordering {
        (self.major, self.minor, self.patch).cmp(&(other.major, other.minor, other.patch))
    }
}

/// Prints without the leading `v`, as semver's `String()`.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        for (index, part) in self.pre.iter().enumerate() {
            let separator = if index == 0 { '-' } else { '.' };
            match part {
                Identifier::Number(n) => write!(f, "{separator}{n}")?,
                Identifier::Text(text) => write!(f, "{separator}{text}")?,
            }
        }
        if !self.build.is_empty() {
            write!(f, "+{}", self.build.join("."))?;
        }
        Ok(())
    }
}

fn from_std(order: std::cmp::Ordering) -> Order {
    match order {
        std::cmp::Ordering::Less => Order::Less,
        std::cmp::Ordering::Equal => Order::Equal,
        std::cmp::Ordering::Greater => Order::Greater,
    }
}

fn digits(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

fn identifiers(text: &str) -> Option<Vec<String>> {
    text.split('.')
        .map(|part| {
            let valid = !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            valid.then(|| part.to_owned())
        })
        .collect()
}

fn pre_identifier(text: String) -> Option<Identifier> {
    match digits(&text) {
        Some(_) if text.len() > 1 && text.starts_with('0') => None,
        Some(n) => Some(Identifier::Number(n)),
        None => Some(Identifier::Text(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_what_the_controllers_accept() {
        for (text, printed) in [
            ("v1.33.1", Some("1.33.1")),
            ("1.33", Some("1.33.0")),
            ("v1", Some("1.0.0")),
            (" v1.02.3 ", Some("1.2.3")),
            ("v1.32.0-alpha.2+foo.1-bar.1", Some("1.32.0-alpha.2+foo.1-bar.1")),
            ("foo", None),
            ("v1.2-rc.0", None),
            ("v1.2.3.4", None),
            ("v1.2.3-01", None),
            ("v1.2.3+", None),
            ("", None),
        ] {
            let parsed = Version::parse(text).map(|v| v.to_string());
            assert_eq!(parsed.as_deref(), printed, "{text:?}");
        }
    }

    #[test]
    fn orders_with_build_tags() {
        for (a, b, order) in [
            ("v1.2.3", "v1.2.4", Order::Less),
            ("v1.2.3-alpha.1", "v1.2.3", Order::Less),
            ("v1.2.3-alpha.2", "v1.2.3-alpha.10", Order::Less),
            ("v1.2.3-alpha.1", "v1.2.3-1", Order::Greater),
            ("v1.2.3+a", "v1.2.3+b", Order::Unordered),
            ("v1.2.3+1", "v1.2.3+2", Order::Less),
            ("v1.2.3+1", "v1.2.3+a", Order::Less),
            ("v1.2.3+a.1", "v1.2.3+a", Order::Greater),
            ("v1.2.3+a", "v1.2.3+a", Order::Equal),
        ] {
            let parse = |t| Version::parse(t).expect("a version of the table");
            assert_eq!(parse(a).compare_with_build(&parse(b)), order, "{a} {b}");
        }
    }

    #[test]
    fn webhook_form_needs_the_v_and_three_numbers() {
        for (text, ok) in [
            ("v1.33.1", true),
            ("v1.33.1-rc.0", true),
            ("v1.33.1+a_b", true),
            ("1.33.1", false),
            ("v1.33", false),
            ("v01.33.1", false),
            ("v1.33.01", false),
            ("v1.33.1 ", false),
        ] {
            assert_eq!(Version::is_kube_semver(text), ok, "{text:?}");
        }
    }
}
