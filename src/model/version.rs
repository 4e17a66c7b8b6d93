//! Versions as the configuration writes them: `2.7`, `v2.7.5`.

use std::fmt;
use std::ops::RangeInclusive;

/// A version of a distribution: major and minor, and the patch where it is
/// known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Major version.
    pub major: u32,
    /// Minor version.
    pub minor: u32,
    /// Patch version; `None` sorts before all.
    pub patch: Option<u32>,
}

/// Supported minors of Flux 2.
pub(crate) const FLUX: (u32, RangeInclusive<u32>) = (2, 0..=9);

/// Supported minors of Cluster API 1.
pub(crate) const CLUSTER_API: (u32, RangeInclusive<u32>) = (1, 5..=15);

/// The newest minor of Cluster API 1 that is released: what is simulated where nothing
/// states a version. Later ones are known from its main branch.
pub(crate) const CLUSTER_API_RELEASED: u32 = 14;

impl Version {
    /// Read `MAJOR.MINOR` or `MAJOR.MINOR.PATCH`, with or without a `v`. What
    /// follows a patch's digits (`-rc.1`, `+k3s1`) is left out.
    pub fn parse(text: &str) -> Option<Version> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let core = text.split(['-', '+']).next()?;
        let mut numbers = core.split('.').map(|part| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse::<u32>().ok()).flatten()
        });
        let (major, minor) = (numbers.next()??, numbers.next()??);
        let patch = match numbers.next() {
            None => None,
            Some(patch) => Some(patch?),
        };
        numbers.next().is_none().then_some(Version { major, minor, patch })
    }

    /// Whether it lies in a range of supported minors.
    pub fn within(self, (major, minors): &(u32, RangeInclusive<u32>)) -> bool {
        self.major == *major && minors.contains(&self.minor)
    }

    /// What it is judged as: itself, as every comparison takes an older one for the
    /// oldest and a newer minor for the newest; the newest where its major is newer.
    pub fn clamped(self, (major, minors): &(u32, RangeInclusive<u32>)) -> Version {
        if self.major > *major {
            return Version { major: *major, minor: *minors.end(), patch: None };
        }
        self
    }

    /// Its minor in the numbering of `major`, for tables that know minors alone: 0
    /// where its major is older, beyond all where it is newer.
    pub fn minor_in(self, major: u32) -> u32 {
        match self.major.cmp(&major) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => self.minor,
            std::cmp::Ordering::Greater => u32::MAX,
        }
    }

    /// Whether it is this minor version or a later one.
    pub fn at_least(self, major: u32, minor: u32) -> bool {
        (self.major, self.minor) >= (major, minor)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        match self.patch {
            Some(patch) => write!(f, ".{patch}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_with_and_without_their_decorations() {
        for (text, expected) in [
            ("2.7", Some("2.7")),
            ("v2.10", Some("2.10")),
            ("2.8.8", Some("2.8.8")),
            ("v1.34.1+k3s1", Some("1.34.1")),
            ("1.13.0-rc.1", Some("1.13.0")),
            ("2", None),
            ("2.x", None),
            ("2.7.", None),
            ("2.7.1.1", None),
            ("+2.7", None),
            ("", None),
        ] {
            assert_eq!(
                Version::parse(text).map(|version| version.to_string()).as_deref(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn versions_beyond_the_supported_are_judged_as_the_nearest() {
        for (text, expected) in
            [("0.41.2", "0.41.2"), ("2.0.1", "2.0.1"), ("2.9", "2.9"), ("2.12.0", "2.12.0"), ("3.1", "2.9")]
        {
            let version = Version::parse(text).expect("written above");
            assert_eq!(version.clamped(&FLUX).to_string(), expected, "{text}");
        }
    }

    #[test]
    fn minors_count_in_their_own_major_only() {
        for (text, expected) in [("1.14.2", 14), ("0.35", 0), ("2.0", u32::MAX)] {
            let version = Version::parse(text).expect("written above");
            assert_eq!(version.minor_in(1), expected, "{text}");
        }
    }

    #[test]
    fn ranges_are_those_that_are_supported() {
        let within = |text: &str, range| Version::parse(text).is_some_and(|version| version.within(range));
        assert!(within("2.0", &FLUX) && within("2.9.4", &FLUX));
        assert!(!within("2.10", &FLUX) && !within("0.35", &FLUX));
        assert!(within("1.5", &CLUSTER_API) && within("1.15", &CLUSTER_API));
        assert!(!within("1.4", &CLUSTER_API) && !within("1.16", &CLUSTER_API));
    }
}
