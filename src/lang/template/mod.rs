//! Go's templates with Sprig's and Helm's functions, and the origin of every byte.
//!
//! A text is parsed by [`parse`] to the trees of [`ast`]; [`exec`] runs them over the
//! values of [`value`], with the functions of [`functions`]. Texts are ropes ([`rope`])
//! whose parts know by whom they were written and out of which values ([`trace`]).
//! What nobody can know offline (a clock, chance, the cluster) is a stand-in of the
//! right shape whose origins say that it is unknown: parts that come from it are
//! holes, and what was decided by it is assumed.

mod ast;
mod bits;
mod bound;
mod compare;
mod documents;
mod engine;
mod error;
mod exec;
mod flow;
mod function;
mod functions;
mod glob;
pub(crate) mod helm;
mod lex;
mod limits;
mod lookups;
mod methods;
mod number;
mod one_of;
mod parse;
mod print;
mod printf;
mod quote;
pub(crate) mod reads;
mod rope;
mod scope;
mod sigs_yaml;
mod source;
mod stack;
mod time;
mod trace;
mod value;
mod version;

pub(crate) use ast::{FieldLookup, PathStep};
pub use bound::Bound;
pub use documents::Documents;
pub(crate) use engine::TemplateParser;
pub use engine::{Data, Engine, EngineRun, Output, OutputPart, TemplateFailure};
pub use exec::MissingKey;
pub use functions::{FuncMap, page};
pub(crate) use functions::{adler32, json_error, url_scheme};
pub use limits::{Libraries, Limits};
pub(crate) use lookups::PassedOver;
pub(crate) use methods::ANY_VERSION;
pub use parse::ParseError;
pub(crate) use parse::Parsed;
pub(crate) use print::float_v as float;
pub(crate) use quote::go_quote_text as go_quote;
pub use rope::SharedBytes;
pub use sigs_yaml::document;
pub(crate) use sigs_yaml::{not_utf8, read, read_kept};
pub use source::Span;
pub use stack::with_stack;
pub(crate) use stack::{start_deep, with_stack_beside, with_stack_for, with_stack_while};
pub use trace::{Condition, Flow, OriginId, Place, TraceSource};
pub use value::Val;
pub(crate) use version::{Constraints, Version};
