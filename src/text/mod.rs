//! Words for people: counting, wrapping, cleaning, "did you mean".

mod clean;
mod suggest;
mod words;

pub use clean::{clean, is_command, is_hostile, line_start, shorten};
pub use suggest::{edit_distance, suggest};
pub use words::{counted, unchecked, with_article, wrap};
