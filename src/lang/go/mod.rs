//! Grammars of Go's standard library and of the libraries that the controllers
//! use: regular expressions, durations, cron expressions, quantities.

pub(crate) mod cron;
pub(crate) mod duration;
pub(crate) mod quantity;
pub(crate) mod regexp;
