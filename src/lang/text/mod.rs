//! Words for people: counting, wrapping, cleaning, "did you mean".

mod clean;
mod suggest;
mod words;

pub(crate) use clean::{clean, is_command, is_hostile, line_start, shorten};
pub(crate) use suggest::{Word, Words, edit_distance, suggest};
pub(crate) use words::{counted, with_article, wrap};
