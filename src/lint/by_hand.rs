//! What people do beside the clusters, as far as their scripts, documents and loose
//! manifests tell: a name that stands there is made or applied by hand.

use super::Context;
use rustc_hash::FxHashSet;

/// Larger files are data.
const LARGEST: usize = 1 << 20;

/// Those of some names and paths of two or three components that stand in a file that no cluster
/// reads, as whole words, with any of `beside` in the same file, which says what is done
/// with them; the word is enough where that is empty. One pass over the files.
pub(super) fn names<'w>(
    context: &Context<'_>,
    words: &FxHashSet<&'w str>,
    beside: &[&str],
) -> FxHashSet<&'w str> {
    let mut found = FxHashSet::default();
    let unread = context.snapshot.files().iter().filter(|file| !context.world.is_applied(file));
    for file in unread {
        let Ok(blob) = context.snapshot.blob(file) else { continue };
        let Some(text) = blob.text().filter(|text| text.len() <= LARGEST) else { continue };
        if beside.is_empty() || beside.iter().any(|phrase| text.contains(phrase)) {
            found.extend(words_of(text).filter_map(|word| words.get(word).copied()));
        }
    }
    found
}

/// The last components of a path that has as many.
pub(super) fn last_components(path: &str, count: usize) -> Option<&str> {
    if path.bytes().filter(|byte| *byte == b'/').count() + 1 < count {
        return None;
    }
    let start = path.rmatch_indices('/').nth(count - 1).map_or(0, |(at, _)| at + 1);
    Some(&path[start..])
}

/// The names in a text, and the last two and three components of its paths.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_path = move |c: char| is_name(c) || matches!(c, '.' | '/');
    let names = text.split(move |c| !is_name(c));
    let ends = |path| [last_components(path, 2), last_components(path, 3)];
    let paths = text.split(move |c| !is_path(c)).flat_map(ends).flatten();
    names.chain(paths).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::words_of;

    #[test]
    fn a_word_is_no_part_of_another() {
        for (text, word, holds) in [
            ("kubectl create ns media", "media", true),
            ("media", "media", true),
            ("social-media", "media", false),
            ("media-server", "media", false),
            ("path/media/x", "media", true),
            ("kubectl apply -f ./apps/media/ns.yaml;", "media/ns.yaml", true),
            ("media/ns.yaml", "media/ns.yaml", true),
            ("social-media/ns.yaml", "media/ns.yaml", false),
            ("kubectl apply -f ./apps/media/ns.yaml;", "apps/media/ns.yaml", true),
            ("readFile apps/%s/media/ns.yaml", "apps/media/ns.yaml", false),
            ("readFile apps/%s/media/ns.yaml", "media/ns.yaml", true),
        ] {
            assert_eq!(words_of(text).any(|found| found == word), holds, "{text} {word}");
        }
    }
}
