//! What people do beside the clusters, as far as their scripts, documents and loose
//! manifests tell: a name that stands there is made or applied by hand.

use super::Context;
use crate::files::File;
use crate::world::World;

/// Larger files are data.
const LARGEST: usize = 1 << 20;

/// Whether a file that no cluster reads holds one of `words`, as whole words, and
/// `beside`, any of which says what is done with it; none asks for the word alone.
pub(super) fn names(context: &Context<'_>, words: &[&str], beside: &[&str]) -> bool {
    let says = |text: &str| {
        words.iter().any(|word| holds_word(text, word))
            && (beside.is_empty() || beside.iter().any(|phrase| text.contains(phrase)))
    };
    unread(context.world).any(|file| {
        context
            .snapshot
            .blob(file)
            .is_ok_and(|blob| blob.bytes().len() <= LARGEST && blob.text().is_some_and(says))
    })
}

/// The files that no cluster reads.
fn unread(world: &World) -> impl Iterator<Item = &File> {
    let files = world.snapshot.files().iter().map(|file| &**file);
    files.filter(|file| !world.is_applied(file))
}

/// Whether a text has a word with no part of a name before or after it.
fn holds_word(text: &str, word: &str) -> bool {
    let is_name = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    !word.is_empty()
        && memchr::memmem::find_iter(text.as_bytes(), word.as_bytes()).any(|at| {
            let before = at.checked_sub(1).and_then(|before| text.as_bytes().get(before));
            !is_name(before) && !is_name(text.as_bytes().get(at + word.len()))
        })
}

#[cfg(test)]
mod tests {
    use super::holds_word;

    #[test]
    fn a_word_is_no_part_of_another() {
        for (text, word, holds) in [
            ("kubectl create ns media", "media", true),
            ("media", "media", true),
            ("social-media", "media", false),
            ("media-server", "media", false),
            ("path/media/x", "media", true),
            ("", "media", false),
            ("media", "", false),
        ] {
            assert_eq!(holds_word(text, word), holds, "{text} {word}");
        }
    }
}
