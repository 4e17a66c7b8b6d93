//! Grammars of Go's standard library and of the libraries that the controllers
//! use: regular expressions, durations, cron expressions.

pub mod cron;
pub mod duration;
pub mod regexp;
