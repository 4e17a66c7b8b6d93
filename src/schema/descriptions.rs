//! What the fields of Flux's and Cluster API's kinds do, a sentence each, for the editor and
//! for `explain`.

/// A section for each kind, `[Kind group]`, with a line for each field: `path = sentence`.
/// Lists have no segment of their own in a path, and `*` stands for the keys of a map.
const TEXT: &str = include_str!("descriptions.txt");

/// The sentence about a field; of the object itself for an empty path.
pub(crate) fn describe(group: &str, kind: &str, path: &[&str]) -> Option<&'static str> {
    let lines = section(group, kind)?;
    lines
        .filter_map(|line| line.split_once(" = "))
        .find(|(written, _)| is_path(written, path))
        .map(|(_, text)| text)
}

/// The lines of a kind.
fn section(group: &str, kind: &str) -> Option<impl Iterator<Item = &'static str>> {
    let mut lines = TEXT.lines();
    lines.find(|line| {
        let head = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
        head.and_then(|head| head.split_once(' ')) == Some((kind, group))
    })?;
    Some(lines.take_while(|line| !line.starts_with('[')))
}

fn is_path(written: &str, path: &[&str]) -> bool {
    let mut segments = written.split('.');
    path.iter().all(|name| segments.next().is_some_and(|segment| segment == "*" || segment == *name))
        && segments.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::explain::{kinds_of, versions_of};
    use crate::schema::{Additional, Product, Schema};

    /// Each kind and path with its sentence.
    fn all() -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
        let mut head = ("", "");
        let mut found = Vec::new();
        for line in TEXT.lines().filter(|line| !line.is_empty()) {
            match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                Some(named) => head = named.split_once(' ').expect("[Kind group]"),
                None => {
                    let (path, text) = line.split_once(" = ").unwrap_or_else(|| panic!("{line}"));
                    found.push((head.0, head.1, path, text));
                }
            }
        }
        found
    }

    #[test]
    fn each_sentence_is_about_a_field_and_short() {
        let mut seen = std::collections::BTreeSet::new();
        for (kind, group, path, text) in all() {
            let mut kinds = kinds_of(kind);
            kinds.retain(|kind| kind.group() == group);
            let segments: Vec<&str> =
                path.split('.').map(|name| if name == "*" { "key" } else { name }).collect();
            assert!(!versions_of(&kinds, &segments).is_empty(), "{kind}.{path}");
            assert!(text.ends_with('.') && text.is_ascii() && text.len() <= 160, "{kind}.{path}: {text}");
            assert_eq!(describe(group, kind, &segments), Some(text), "{kind}.{path}");
            assert!(seen.insert((kind, group, path)), "{kind}.{path} stands there twice");
        }
    }

    #[test]
    fn each_field_of_flux_has_a_sentence() {
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
        for kind in crate::schema::table::kinds().iter().filter(|kind| kind.product == Product::Flux) {
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
