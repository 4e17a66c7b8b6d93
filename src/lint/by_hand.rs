//! What people do beside the clusters, as far as their scripts, documents and loose
//! manifests tell: a name that stands there is made or applied by hand.

use super::Context;
use rustc_hash::FxHashSet;

/// Larger files are data.
const LARGEST: usize = 1 << 20;

/// Those of some names and paths of two components that stand in a file that no cluster
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

/// The names in a text, and the last two components of its paths.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_path = move |c: char| is_name(c) || matches!(c, '.' | '/');
    let names = text.split(move |c| !is_name(c));
    let paths = text.split(move |c| !is_path(c)).filter_map(|path| {
        let (above, _) = path.rsplit_once('/')?;
        let start = above.rfind('/').map_or(0, |at| at + 1);
        Some(&path[start..])
    });
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
        ] {
            assert_eq!(words_of(text).any(|found| found == word), holds, "{text} {word}");
        }
    }
}
