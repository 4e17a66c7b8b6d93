//! Globs over paths of the repository.

use crate::lang::yaml::Location;
use globset::{GlobBuilder, GlobMatcher};

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
        Ok(Pattern { text: text.to_owned(), location, exact: compile(clean)?, below: compile(&below)? })
    }

    /// Whether it covers a path.
    pub fn matches(&self, path: &str) -> bool {
        self.exact.is_match(path) || self.below.is_match(path)
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
        }
    }

    #[test]
    fn broken_globs_say_what_is_wrong() {
        for text in ["[a", "{a,b", "a[z-a]"] {
            assert!(pattern(text).is_err(), "{text}");
        }
    }
}
