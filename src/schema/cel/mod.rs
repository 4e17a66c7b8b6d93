//! CEL, as far as validation rules of schemas use it. What isn't known of the
//! language, its libraries or a value makes the answer unknown, never wrong.
//! Source: the language definition of github.com/google/cel-spec; apiserver
//! `pkg/cel/library`; apiextensions-apiserver `pkg/apiserver/schema/cel`.

mod eval;

pub(super) use eval::{RuleResult, RuleScope, holds};

use crate::lang::cel::{self, Expression};

use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, OnceLock};

/// The expression of a text, parsed once; `None` where it isn't understood.
pub(super) fn expression(text: &str) -> Option<Arc<Expression>> {
    type Known = Mutex<FxHashMap<String, Option<Arc<Expression>>>>;
    static KNOWN: OnceLock<Known> = OnceLock::new();
    let mut known = KNOWN.get_or_init(Known::default).lock().ok()?;
    if let Some(expression) = known.get(text) {
        return expression.clone();
    }
    let expression = cel::parse(text).ok().map(Arc::new);
    known.insert(text.to_owned(), expression.clone());
    expression
}
