//! Files that never reach an artifact: `.sourceignore` files and `spec.ignore`.
//!
//! Mirrors fluxcd/pkg `sourceignore` and `artifact/storage/archive.go`
//! (`SourceIgnoreFilter`), which match with go-git's `gitignore`: files are
//! matched one by one, so a `!` pattern can take a file back from an excluded
//! directory.

use globset::{GlobBuilder, GlobMatcher};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Always left out.
const VCS: &[&str] = &[".git/", ".gitignore", ".gitmodules", ".gitattributes"];

/// Left out as long as nothing else is said.
const DEFAULT: &[&str] = &[
    "*.jpg",
    "*.jpeg",
    "*.gif",
    "*.png",
    "*.wmv",
    "*.flv",
    "*.tar.gz",
    "*.zip",
    ".github/",
    ".circleci/",
    ".travis.yml",
    ".gitlab-ci.yml",
    "appveyor.yml",
    ".drone.yml",
    "cloudbuild.yaml",
    "codeship-services.yml",
    "codeship-steps.yml",
    "**/.goreleaser.yml",
    "**/.sops.yaml",
    "**/.flux.yaml",
];

/// The patterns of one source.
#[derive(Debug)]
pub struct SourceIgnore {
    /// The last match decides.
    patterns: Vec<IgnorePattern>,
    /// Places of patterns that need a component of this name.
    by_name: FxHashMap<String, Vec<usize>>,
    /// Places of others that need one with this ending, and the lengths of endings.
    by_ending: FxHashMap<String, Vec<usize>>,
    lengths: BTreeSet<usize>,
    /// All others.
    others: Vec<usize>,
}

/// Where a pattern is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    BuiltIn,
    File,
    Spec,
}

#[derive(Debug)]
struct IgnorePattern {
    /// As written, which tells all of it beside the next two.
    text: String,
    holder: Holder,
    /// The directory of the file that holds it.
    domain: Vec<String>,
    includes: bool,
    directories_only: bool,
    segments: Vec<Segment>,
}

#[derive(Debug)]
enum Segment {
    /// Between two slashes, or before the first.
    Nothing,
    /// `**`.
    Any,
    /// One component; `None` matches none.
    Name(Option<Component>),
}

/// What one component has to be. Most patterns need no glob, and each file is
/// asked for each of them.
#[derive(Debug)]
enum Component {
    Name(String),
    /// `*` and an ending.
    Ending(String),
    Glob(GlobMatcher),
}

impl SourceIgnore {
    /// The patterns of `.sourceignore` files, each with the directory that holds
    /// it, and of the source's `spec.ignore`.
    pub fn new<'t>(files: impl IntoIterator<Item = (&'t str, &'t str)>, spec: Option<&str>) -> SourceIgnore {
        let mut own: Vec<IgnorePattern> = Vec::new();
        for (directory, text) in files {
            own.extend(patterns(text, directory, Holder::File));
        }
        own.extend(patterns(spec.unwrap_or_default(), "", Holder::Spec));
        let built_in =
            |texts: &'static [&'static str]| texts.iter().map(|text| pattern(text, "", Holder::BuiltIn));
        let mut patterns: Vec<IgnorePattern> = built_in(VCS).collect();
        if own.is_empty() {
            patterns.extend(built_in(DEFAULT));
        }
        patterns.extend(own);
        SourceIgnore::of(patterns)
    }

    /// The patterns of `.gitignore` files, each with the directory that holds it.
    pub fn of_git<'t>(files: impl IntoIterator<Item = (&'t str, &'t str)>) -> SourceIgnore {
        let all = files.into_iter().flat_map(|(directory, text)| patterns(text, directory, Holder::File));
        SourceIgnore::of(all.collect())
    }

    /// Sources may have as many patterns as files: a file is compared only with those
    /// that a component of its path may match.
    fn of(patterns: Vec<IgnorePattern>) -> SourceIgnore {
        let mut ignore = SourceIgnore {
            patterns,
            by_name: FxHashMap::default(),
            by_ending: FxHashMap::default(),
            lengths: BTreeSet::new(),
            others: Vec::new(),
        };
        for (at, pattern) in ignore.patterns.iter().enumerate() {
            let needed = pattern.segments.iter().filter_map(|segment| match segment {
                Segment::Name(Some(component)) => Some(component),
                _ => None,
            });
            // The last name tells most, and any name more than an ending.
            let told = needed.max_by_key(|component| match component {
                Component::Name(_) => 2,
                Component::Ending(_) => 1,
                Component::Glob(_) => 0,
            });
            match told {
                Some(Component::Name(name)) => ignore.by_name.entry(name.clone()).or_default().push(at),
                Some(Component::Ending(ending)) => {
                    ignore.lengths.insert(ending.len());
                    ignore.by_ending.entry(ending.clone()).or_default().push(at);
                }
                _ => ignore.others.push(at),
            }
        }
        ignore
    }

    /// The places of the patterns that may match a path.
    fn candidates(&self, components: &[&str]) -> BTreeSet<usize> {
        let mut found: BTreeSet<usize> = self.others.iter().copied().collect();
        for component in components {
            found.extend(self.by_name.get(*component).into_iter().flatten());
            for length in self.lengths.range(..=component.len()) {
                let ending = component.get(component.len() - length..);
                found.extend(ending.and_then(|ending| self.by_ending.get(ending)).into_iter().flatten());
            }
        }
        found
    }

    /// The text of the pattern that leaves a file out.
    pub fn pattern(&self, path: &str) -> Option<&str> {
        Some(self.excluding(path)?.text.trim_end())
    }

    /// Whether a file, by its path in the source, is left out.
    pub fn excludes(&self, path: &str) -> bool {
        self.excluding(path).is_some()
    }

    /// Whether two leave out the same files of any tree.
    pub fn is_same(&self, other: &SourceIgnore) -> bool {
        let pairs = self.patterns.iter().zip(&other.patterns);
        self.patterns.len() == other.patterns.len()
            && pairs.into_iter().all(|(one, two)| {
                (one.holder, &one.text, &one.domain) == (two.holder, &two.text, &two.domain)
            })
    }

    /// What leaves a file out, in words: `` `docs/` in .sourceignore ``.
    pub fn reason(&self, path: &str) -> Option<String> {
        let pattern = self.excluding(path)?;
        let text = pattern.text.trim_end();
        Some(match pattern.holder {
            Holder::BuiltIn => format!("`{text}` of Flux's own patterns"),
            Holder::Spec => format!("`{text}` in spec.ignore of the source"),
            Holder::File => {
                let directory: String = pattern.domain.iter().map(|part| format!("{part}/")).collect();
                format!("`{text}` in {directory}.sourceignore")
            }
        })
    }

    fn excluding(&self, path: &str) -> Option<&IgnorePattern> {
        let components: Vec<&str> = path.split('/').collect();
        let candidates = self.candidates(&components);
        let mut last_first = candidates.iter().rev().map(|at| &self.patterns[*at]);
        let decisive = last_first.find(|pattern| pattern.matches(&components));
        decisive.filter(|pattern| !pattern.includes)
    }
}

fn patterns<'t>(text: &'t str, directory: &'t str, holder: Holder) -> impl Iterator<Item = IgnorePattern> {
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(move |line| pattern(line, directory, holder))
}

fn pattern(line: &str, directory: &str, holder: Holder) -> IgnorePattern {
    let (includes, text) = match line.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let text = if text.ends_with("\\ ") { text } else { text.trim_end_matches(' ') };
    let (directories_only, text) = match text.strip_suffix('/') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let segment = |part: &str| match part {
        "" => Segment::Nothing,
        "**" => Segment::Any,
        _ if part.contains("**") => Segment::Name(None),
        _ => Segment::Name(component(part)),
    };
    IgnorePattern {
        text: line.to_owned(),
        holder,
        domain: directory.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect(),
        includes,
        directories_only,
        segments: text.split('/').map(segment).collect(),
    }
}

/// Go's `filepath.Match` on one component: braces are literal.
fn component(text: &str) -> Option<Component> {
    let is_literal = |text: &str| !text.contains(['*', '?', '[', ']', '\\']);
    if is_literal(text) {
        return Some(Component::Name(text.to_owned()));
    }
    if let Some(ending) = text.strip_prefix('*').filter(|ending| is_literal(ending)) {
        return Some(Component::Ending(ending.to_owned()));
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '{' | '}' | ',' => escaped.extend(['[', c, ']']),
            _ => escaped.push(c),
        }
    }
    let glob = GlobBuilder::new(&escaped).literal_separator(true).build().ok()?;
    Some(Component::Glob(glob.compile_matcher()))
}

impl Segment {
    fn is_match(&self, name: &str) -> bool {
        let Segment::Name(Some(component)) = self else { return false };
        match component {
            Component::Name(own) => own == name,
            Component::Ending(ending) => name.ends_with(&**ending),
            Component::Glob(glob) => glob.is_match(name),
        }
    }
}

impl IgnorePattern {
    fn matches(&self, path: &[&str]) -> bool {
        let inside = path.len() > self.domain.len()
            && self.domain.iter().zip(path).all(|(own, component)| own == component);
        if !inside {
            return false;
        }
        let path = &path[self.domain.len()..];
        match self.segments.as_slice() {
            [name] => {
                let Some(at) = path.iter().position(|component| name.is_match(component)) else {
                    return false;
                };
                !(self.directories_only && at + 1 == path.len())
            }
            segments => self.matches_path(segments, path),
        }
    }

    fn matches_path(&self, segments: &[Segment], mut path: &[&str]) -> bool {
        let (mut matched, mut leaps) = (false, false);
        for (index, segment) in segments.iter().enumerate() {
            let is_last = index + 1 == segments.len();
            match segment {
                Segment::Nothing => leaps = false,
                Segment::Any if is_last => break,
                Segment::Any => leaps = true,
                Segment::Name(None) => return false,
                Segment::Name(Some(_)) if path.is_empty() => return false,
                Segment::Name(Some(_)) if leaps => {
                    leaps = false;
                    let at = path.iter().position(|component| segment.is_match(component));
                    matched = at.is_some();
                    path = at.map_or(&[], |at| &path[at + 1..]);
                }
                Segment::Name(Some(_)) => {
                    if !segment.is_match(path[0]) {
                        return false;
                    }
                    path = &path[1..];
                    // A file in place of a directory.
                    matched = !path.is_empty() || is_last;
                }
            }
        }
        matched && !(self.directories_only && path.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reaches_an_artifact() {
        let none: &[(&str, &str)] = &[];
        type Row<'r> = (&'r [(&'r str, &'r str)], Option<&'r str>, &'r [&'r str], &'r [&'r str]);
        let table: [Row<'_>; 6] = [
            (
                none,
                None,
                &["a/.sops.yaml", "x.png", ".github/w.yaml", ".git/HEAD"],
                &["a/b.yaml", ".sops.yml"],
            ),
            (&[("", "*.md\n")], None, &["README.md", "a/b.md", ".gitignore"], &["x.png", "a/.sops.yaml"]),
            (none, Some("/*\n!/kube\n"), &["README.md", "other/x.yaml"], &["kube/a/b.yaml"]),
            (
                &[("apps", "/x.yaml\nbuild/\n")],
                None,
                &["apps/x.yaml", "apps/a/build/y.yaml"],
                &["x.yaml", "apps/a/x.yaml", "apps/build"],
            ),
            (
                none,
                Some("# c\n\na/**/c.yaml\n"),
                &["a/c.yaml", "a/b/c.yaml", "a/b/d/c.yaml"],
                &["c.yaml", "a/b/e.yaml"],
            ),
            (&[("", "docs/\n!docs/keep.yaml\n")], None, &["docs/x.yaml"], &["docs/keep.yaml"]),
        ];
        for (files, spec, excluded, kept) in table {
            let ignore = SourceIgnore::new(files.iter().copied(), spec);
            for path in excluded {
                assert!(ignore.excludes(path), "{files:?} {spec:?}: {path}");
            }
            for path in kept {
                assert!(!ignore.excludes(path), "{files:?} {spec:?}: {path}");
            }
        }
    }
}
