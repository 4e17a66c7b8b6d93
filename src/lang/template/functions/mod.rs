//! The functions of templates: Go's, Sprig's and Helm's, as one table.

mod builtin;
mod cases;
mod cast;
mod dates;
mod decimal;
mod dicts;
mod funcmap;
mod helm;
mod json;
mod json_check;
mod lists;
mod misc;
mod numbers;
mod page;
mod regexes;
mod secrets;
mod slug;
mod strings;
mod toml;
mod url;
mod yaml;
mod yaml_tree;

pub use funcmap::FuncMap;
pub(crate) use json_check::check as json_error;
pub(crate) use misc::adler32;
pub(super) use misc::base_name;
pub use page::page;
pub(crate) use url::url_scheme;
pub(super) use yaml::yaml_of;

use super::error::Result;
use super::flow;
use super::function::{Call, Flow, Function, FunctionBody, Library, Purity, Ty};
use super::rope::{Builder, Text};
use super::trace::{ProvId, SetId};
use super::value::{Kind, List, Map, Val};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// All functions, by library.
const TABLES: [&[Function]; 13] = [
    builtin::TABLE,
    dates::TABLE,
    dicts::TABLE,
    helm::TABLE,
    json::TABLE,
    lists::TABLE,
    misc::TABLE,
    numbers::TABLE,
    regexes::TABLE,
    secrets::TABLE,
    strings::TABLE,
    toml::TABLE,
    yaml::TABLE,
];

/// The function of this name that Helm has.
fn find(name: &str) -> Option<&'static Function> {
    static BY_NAME: OnceLock<FxHashMap<&'static str, &'static Function>> = OnceLock::new();
    BY_NAME
        .get_or_init(|| TABLES.iter().flat_map(|table| table.iter()).map(|line| (line.name, line)).collect())
        .get(name)
        .copied()
}

const STR: &[Ty] = &[Ty::Str];

type Native = fn(&mut Call<'_>) -> Result<Val>;

/// A pure function of Sprig's.
const fn sprig(name: &'static str, params: &'static [Ty], flow: Flow, run: Native) -> Function {
    let run = FunctionBody::Native(run);
    Function { name, library: Library::Sprig, params, is_variadic: false, purity: Purity::Pure, flow, run }
}

/// As [`sprig`], with any number of what the last parameter takes.
const fn variadic(name: &'static str, params: &'static [Ty], flow: Flow, run: Native) -> Function {
    Function { is_variadic: true, ..sprig(name, params, flow, run) }
}

impl<'c> Call<'c> {
    /// An argument that is a text, with what flowed into the value as a whole.
    pub(super) fn text(&mut self, index: usize) -> Text {
        match &self.args[index].kind {
            Kind::Str(text) | Kind::Bytes(text) => {
                flow::also(&mut self.cx.trace, text, self.args[index].from)
            }
            _ => Text::empty(),
        }
    }

    pub(super) fn string(&self, index: usize) -> String {
        match &self.args[index].kind {
            Kind::Str(text) | Kind::Bytes(text) => text.str().into_owned(),
            _ => String::new(),
        }
    }

    pub(super) fn bytes(&self, index: usize) -> &'c [u8] {
        match &self.args[index].kind {
            Kind::Str(text) | Kind::Bytes(text) => text.bytes(),
            _ => &[],
        }
    }

    pub(super) fn int(&self, index: usize) -> i64 {
        match self.args[index].kind {
            Kind::Int(value, _) => value,
            _ => 0,
        }
    }

    pub(super) fn map(&self, index: usize) -> Option<&'c Map> {
        match &self.args[index].kind {
            Kind::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The set of what flowed into an argument itself.
    pub(super) fn set(&mut self, index: usize) -> SetId {
        flow::of(&mut self.cx.trace, &self.args[index])
    }

    /// What an argument decides about the result.
    pub(super) fn deciding(&mut self, index: usize) -> SetId {
        let set = self.set(index);
        self.cx.trace.decides(set)
    }

    /// A text out of no part of the arguments.
    pub(super) fn made(&mut self, text: impl Into<Vec<u8>>) -> Result<Val> {
        let text = text.into();
        self.cx.text(text.len())?;
        Ok(Val::text(Text::new(text, ProvId::default())))
    }

    pub(super) fn built(&mut self, out: Builder) -> Result<Val> {
        self.cx.text(out.len())?;
        Ok(Val::text(out.finish()))
    }

    pub(super) fn listed(&mut self, list: List) -> Result<Val> {
        self.cx.list(list.len())?;
        Ok(Val::list(list))
    }
}

/// A text of a value as Sprig's `strval` makes it.
fn strval(call: &mut Call<'_>, val: &Val) -> Text {
    match &val.kind {
        Kind::Str(text) | Kind::Bytes(text) => flow::also(&mut call.cx.trace, text, val.from),
        _ => {
            let mut printer = super::print::Printer::new(&mut call.cx.trace, call.cx.limits.text);
            printer.value(val, false, 0);
            printer.out.finish()
        }
    }
}

/// A value by `%v`.
fn percent_v(call: &mut Call<'_>, val: &Val) -> Text {
    match &val.kind {
        Kind::Str(text) => flow::also(&mut call.cx.trace, text, val.from),
        _ => {
            let mut printer = super::print::Printer::new(&mut call.cx.trace, call.cx.limits.text);
            printer.value(val, false, 0);
            printer.out.finish()
        }
    }
}
