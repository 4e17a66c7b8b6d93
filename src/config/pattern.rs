//! Globs over paths of the repository.

use crate::lang::yaml::Location;
use globset::{Candidate, GlobBuilder, GlobMatcher};
use rustc_hash::FxHashMap;
use std::ops::Deref;

/// A glob over paths relative to the root. `*` stays within a directory, `**`
/// crosses them; a pattern that matches a directory covers all below it.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// As written.
    pub text: String,
    /// Where it is written.
    pub location: Location,
    exact: GlobMatcher,
    below: GlobMatcher,
    /// The directories or the file that it begins with.
    base: String,
}

/// Patterns in order. Most begin with the name of a directory or file, so that a path is
/// compared with those alone that begin as it does.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    all: Vec<Pattern>,
    /// Places of patterns by what they begin with; nothing for a wildcard.
    by_base: FxHashMap<String, Vec<usize>>,
}

impl Patterns {
    /// The places of the patterns that cover a path, in no order.
    pub fn covering(&self, path: &str) -> impl Iterator<Item = usize> {
        let candidate = Candidate::new(path);
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        let bases = [""].into_iter().chain(ends.map(|end| &path[..end]).filter(|base| !base.is_empty()));
        let found = bases.filter_map(|base| self.by_base.get(base)).flatten().copied();
        let covers = move |at: &usize| self.all[*at].covers(&candidate);
        found.filter(covers).collect::<Vec<_>>().into_iter()
    }

    /// Whether one of them covers a path.
    pub fn matches(&self, path: &str) -> bool {
        !self.all.is_empty() && self.covering(path).next().is_some()
    }
}

impl FromIterator<Pattern> for Patterns {
    fn from_iter<I: IntoIterator<Item = Pattern>>(patterns: I) -> Patterns {
        let mut all = Patterns::default();
        all.extend(patterns);
        all
    }
}

impl Extend<Pattern> for Patterns {
    fn extend<I: IntoIterator<Item = Pattern>>(&mut self, patterns: I) {
        for pattern in patterns {
            self.by_base.entry(pattern.base.clone()).or_default().push(self.all.len());
            self.all.push(pattern);
        }
    }
}

impl Deref for Patterns {
    type Target = [Pattern];

    fn deref(&self) -> &[Pattern] {
        &self.all
    }
}

impl Pattern {
    /// Compile a pattern.
    ///
    /// # Errors
    /// What is wrong with it, in a fragment.
    pub fn new(text: &str, location: Location) -> Result<Pattern, String> {
        let clean = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
        let compile = |glob: &str| {
            let glob = GlobBuilder::new(glob).literal_separator(true).build();
            glob.map(|glob| glob.compile_matcher()).map_err(|error| error.kind().to_string())
        };
        let below = if clean.is_empty() || clean == "." { "**".to_owned() } else { format!("{clean}/**") };
        let is_literal =
            |part: &&str| !part.is_empty() && !part.contains(['*', '?', '[', ']', '{', '}', '\\']);
        // A brace may hold slashes.
        let base = if clean == "." {
            String::new()
        } else {
            Vec::from_iter(clean.split('/').take_while(is_literal)).join("/")
        };
        let (exact, below) = (compile(clean)?, compile(&below)?);
        Ok(Pattern { text: text.to_owned(), location, exact, below, base })
    }

    /// Whether it begins with a wildcard, so that every path has to be compared with it.
    pub fn begins_anywhere(&self) -> bool {
        self.base.is_empty()
    }

    /// Whether it covers a path.
    pub fn matches(&self, path: &str) -> bool {
        self.covers(&Candidate::new(path))
    }

    fn covers(&self, path: &Candidate<'_>) -> bool {
        self.exact.is_match_candidate(path) || self.below.is_match_candidate(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::yaml::FilePath;

    fn pattern(text: &str) -> Result<Pattern, String> {
        Pattern::new(text, Location { file: FilePath::in_root(""), start: 0, end: 0, via: Vec::new() })
    }

    #[test]
    fn patterns_cover_what_they_name_and_all_below() {
        for (text, path, expected) in [
            ("**/charts/**", "a/charts/x/Chart.yaml", true),
            ("**/charts/**", "charts/x.yaml", true),
            ("clusters/dev/**", "clusters/dev/a/b.yaml", true),
            ("clusters/dev", "clusters/dev/a/b.yaml", true),
            ("./clusters/dev/", "clusters/dev/a/b.yaml", true),
            ("clusters/dev", "clusters/development/a.yaml", false),
            ("*.yaml", "a.yaml", true),
            ("*.yaml", "a/b.yaml", false),
            ("**/*.enc.yaml", "a/b.enc.yaml", true),
            ("{a,b}/x.yaml", "b/x.yaml", true),
            (".", "a/b.yaml", true),
        ] {
            let matched = pattern(text).map(|pattern| pattern.matches(path));
            assert_eq!(matched, Ok(expected), "{text} {path}");
            let others = ["clusters", "zzz/**", "**/none"].map(pattern);
            let all: Patterns =
                others.into_iter().chain([pattern(text)]).map(|one| one.expect("globs")).collect();
            let covering: Vec<usize> = all.covering(path).collect();
            let mut found: Vec<usize> = (0..all.len()).filter(|at| all[*at].matches(path)).collect();
            found.sort_unstable_by_key(|at| covering.iter().position(|other| other == at));
            assert_eq!(covering, found, "{text} {path}");
            assert_eq!(all.matches(path), !found.is_empty());
        }
    }

    #[test]
    fn broken_globs_say_what_is_wrong() {
        for text in ["[a", "{a,b", "a[z-a]"] {
            assert!(pattern(text).is_err(), "{text}");
        }
    }
}
