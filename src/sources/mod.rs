//! Which chart a release means, and with which values: from file trees that the
//! repository holds, else from stores of charts. Nothing is fetched.

pub(crate) mod charts;
mod kept;
mod load;
pub(crate) mod outcome;
pub(crate) mod release;
pub(crate) mod render;
pub(crate) mod request;
pub(crate) mod resolve;
pub(crate) mod values;
