//! Words for people: counting, wrapping, cleaning, "did you mean".

mod clean;
pub(crate) mod markdown;
mod suggest;
mod words;

pub(crate) use clean::{
    clean, dotted, is_command, is_hostile, is_sign, is_visible, line_start, push, shorten,
};
pub(crate) use suggest::{Names, Word, Words, edit_distance, nearest, suggest};
pub(crate) use words::{counted, plural, with_article, wrap};
