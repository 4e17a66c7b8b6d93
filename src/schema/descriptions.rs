//! What the fields of Flux's and Cluster API's kinds do, a sentence each, for the editor and
//! for `explain`.

/// A section for each kind, `[Kind group]`, with a line for each field: `path = sentence`.
/// Lists have no segment of their own in a path, and `*` stands for the keys of a map. What
/// several kinds share is a section `[Name]`: `path @ Name` puts its fields below a path.
const TEXT: &str = include_str!("descriptions.txt");

/// The sentence about a field.
pub(crate) fn describe(group: &str, kind: &str, path: &[&str]) -> Option<&'static str> {
    let mut lines = section(&format!("{kind} {group}"))?;
    let mut rest = path;
    // What is shared lies below a path that is not empty: the rest gets shorter each time.
    loop {
        let mut sentences = lines.clone().filter_map(|line| line.split_once(" = "));
        if let Some((_, text)) = sentences.find(|(written, _)| below(written, rest) == Some(&[])) {
            return Some(text);
        }
        let mut shared = lines.filter_map(|line| line.split_once(" @ "));
        let (name, inner) = shared.find_map(|(written, name)| Some((name, below(written, rest)?)))?;
        lines = section(name)?;
        rest = inner;
    }
}

/// The lines of a section.
fn section(head: &str) -> Option<impl Iterator<Item = &'static str> + Clone + use<>> {
    let mut lines = TEXT.lines();
    lines.find(|line| line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) == Some(head))?;
    Some(lines.take_while(|line| !line.starts_with('[')))
}

/// What is left of a path below a written one; `None` where it lies elsewhere.
fn below<'p>(written: &str, path: &'p [&'p str]) -> Option<&'p [&'p str]> {
    let mut rest = path;
    for segment in written.split('.') {
        let (name, after) = rest.split_first()?;
        if segment != "*" && segment != *name {
            return None;
        }
        rest = after;
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::explain::{kinds_of, versions_of};
    use crate::schema::{Additional, Product, Schema};
    use std::collections::{BTreeMap, BTreeSet};

    /// The sections by their heads: paths, what parts them from what follows, and that.
    fn sections() -> BTreeMap<&'static str, Vec<(&'static str, char, &'static str)>> {
        let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let mut head = "";
        for line in TEXT.lines().filter(|line| !line.is_empty()) {
            match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                Some(named) => {
                    head = named;
                    assert!(all.insert(named, Vec::new()).is_none(), "{named} stands there twice");
                }
                None => {
                    let sentence = line.split_once(" = ").map(|(path, text)| (path, '=', text));
                    let shared = || line.split_once(" @ ").map(|(path, name)| (path, '@', name));
                    let entry = sentence.or_else(shared).unwrap_or_else(|| panic!("{line}"));
                    all.get_mut(head).expect("a section").push(entry);
                }
            }
        }
        all
    }

    #[test]
    fn each_sentence_is_about_a_field_and_short() {
        let sections = sections();
        let mut used = BTreeSet::new();
        for head in sections.keys().filter(|head| head.contains(' ')) {
            let (kind, group) = head.split_once(' ').expect("[Kind group]");
            let mut kinds = kinds_of(kind);
            kinds.retain(|kind| kind.group() == group);
            let mut waiting = vec![(Vec::new(), *head)];
            while let Some((above, name)) = waiting.pop() {
                for (path, what, text) in &sections[name] {
                    let own = path.split('.').map(|name| if name == "*" { "key" } else { name });
                    let segments: Vec<&str> = above.iter().copied().chain(own).collect();
                    if *what == '@' {
                        waiting.push((segments, *text));
                        continue;
                    }
                    // Not each of those that share it has all of it.
                    if !versions_of(&kinds, &segments).is_empty() {
                        assert_eq!(describe(group, kind, &segments), Some(*text), "{kind}: {segments:?}");
                        used.insert((name, *path));
                    }
                }
            }
        }
        for (head, lines) in &sections {
            let paths: BTreeSet<_> = lines.iter().map(|(path, what, _)| (path, what)).collect();
            assert_eq!(paths.len(), lines.len(), "{head}: a path stands there twice");
            for (path, what, text) in lines.iter().filter(|(_, what, _)| *what == '=') {
                assert!(used.contains(&(*head, *path)), "{head}: {what}{path}");
                assert!(text.ends_with('.') && text.is_ascii() && text.len() <= 160, "{head}.{path}: {text}");
            }
        }
    }

    #[test]
    fn each_field_of_flux_and_of_the_newest_cluster_api_has_a_sentence() {
        fn walk<'s>(schema: &'s Schema, path: &mut Vec<&'s str>, missing: &mut dyn FnMut(&[&str])) {
            let mut inner = schema;
            while let Some(item) = inner.item() {
                inner = item;
            }
            if let Additional::Of(child) = &inner.additional {
                path.push("*");
                walk(child.get(), path, missing);
                path.pop();
            }
            for name in inner.names() {
                path.push(name);
                missing(path);
                walk(inner.property(name).expect("it is there"), path, missing);
                path.pop();
            }
        }
        let mut missing = Vec::new();
        for kind in crate::schema::table::kinds().iter().filter(|kind| {
            kind.product == Product::Flux
                || kind.product == Product::ClusterApi && kind.version() == "v1beta2"
        }) {
            let releases = kind.releases();
            let newest = releases.last().filter(|release| release.served);
            let Some(spec) = newest.and_then(|release| release.schema()?.property("spec")) else { continue };
            let mut path = vec!["spec"];
            walk(spec, &mut path, &mut |path| {
                if describe(kind.group(), kind.kind(), path).is_none() {
                    missing.push(format!("{}.{}", kind.kind(), path.join(".")));
                }
            });
        }
        missing.sort();
        missing.dedup();
        assert!(missing.is_empty(), "{missing:#?}");
    }
}
