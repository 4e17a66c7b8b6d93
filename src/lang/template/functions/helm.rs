//! Helm's own functions.

use super::Native;
use crate::lang::template::error::{Fault, Result};
use crate::lang::template::flow;
use crate::lang::template::function::{Call, Flow, Function, FunctionBody, Library, Purity, Ty};
use crate::lang::template::value::{Kind, Map, MapType, Val};

const fn helm(name: &'static str, params: &'static [Ty], flow: Flow, run: FunctionBody) -> Function {
    let (library, purity) = (Library::Helm, Purity::Pure);
    Function { name, library, params, is_variadic: false, purity, flow, run }
}

const fn native(run: Native) -> FunctionBody {
    FunctionBody::Native(run)
}

pub(super) const TABLE: &[Function] = &[
    helm("include", &[Ty::Str, Ty::Any], Flow::Keeps, FunctionBody::Include),
    helm("tpl", &[Ty::Str, Ty::Any], Flow::Keeps, FunctionBody::Tpl),
    helm("required", &[Ty::Str, Ty::Any], Flow::Picks, native(required)),
    helm("fail", &[Ty::Str], Flow::Nothing, native(fail)),
    Function {
        purity: Purity::Cluster,
        ..helm("lookup", &[Ty::Str, Ty::Str, Ty::Str, Ty::Str], Flow::Unites, native(lookup))
    },
];

/// Marks a message that Helm shows alone.
fn warned(message: &str) -> Box<Fault> {
    Fault::new(format!("HELM_ERR_START{message}HELM_ERR_END"))
}

fn required(call: &mut Call<'_>) -> Result<Val> {
    let val = &call.args[1];
    let is_missing = match &val.kind {
        Kind::Nil | Kind::Null => true,
        Kind::Str(text) => text.is_empty(),
        _ => false,
    };
    if is_missing {
        return Err(warned(&call.string(0)));
    }
    Ok(val.clone())
}

fn fail(call: &mut Call<'_>) -> Result<Val> {
    Err(warned(&call.string(0)))
}

fn lookup(call: &mut Call<'_>) -> Result<Val> {
    let what: Vec<String> = (0..4).map(|index| call.string(index)).filter(|part| !part.is_empty()).collect();
    let set = call.cx.trace.unknown(format!("what the cluster has: lookup {}", what.join(" ")));
    let by = flow::of(&mut call.cx.trace, &call.args[3]);
    let set = call.cx.trace.union(set, by);
    Ok(Val::map(Map::new(MapType::Any)).with(set))
}
