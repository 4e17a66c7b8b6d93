//! The Common Expression Language: the text of an expression to its tree. What a tree
//! comes to is told where its variables are known: the validation rules of schemas
//! (`schema::cel`), the identifier of a commit status (`simulate::notify`).

mod parse;

pub(crate) use parse::{CelFault, Expression, parse};
