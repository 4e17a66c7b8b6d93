//! `vars`, replaced where `$(NAME)` stands in the fields that the tables name.
//!
//! Mirrors `api/internal/accumulator/{resaccumulator,refvartransformer}.go`,
//! `api/filters/refvar` and its `expansion`.

use super::OUTPUT_LIMIT;
use super::config::Config;
use super::entries::Var;
use super::error::{BuildError, ErrorClass, Result};
use super::fieldspec::{self, Leaf};
use super::id::ResId;
use super::names::NameIndex;
use super::nodes::{self, Kind};
use super::path;
use super::resource::Resource;
use crate::lang::yaml::{Dialect, Location, Node, NodeRef, Scalar, Value, Via, ViaKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Note which objects the vars of a level read, and that their names are taken.
pub(super) fn register(known: &mut Vec<Var>, new: &[Var], resources: &mut [Resource]) -> Result<()> {
    let mut names = NameIndex::default();
    let mut taken: FxHashSet<Arc<str>> = known.iter().map(|var| var.name.clone()).collect();
    for var in new {
        let (group, version) = match var.api_version.split_once('/') {
            _ if var.api_version.is_empty() => (&*var.group, &*var.version),
            Some((group, version)) => (group, version),
            None => ("", &*var.api_version),
        };
        let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        let wanted = ResId::new(&api_version, &var.kind, var.object_name.clone(), var.namespace.clone());
        let exact = !var.namespace.is_empty() || wanted.cluster_scoped;
        let matches = |id: &ResId| {
            if exact { id.equals(&wanted) } else { id.gvk == wanted.gvk && id.name == wanted.name }
        };
        let mut matched = names.positions(resources, Some(&wanted.name));
        matched.retain(|at| resources[*at].ids().any(matches));
        match matched[..] {
            [] => {}
            [at] => resources[at].vars.push(var.name.clone()),
            [first, second, ..] => {
                let message = format!("several objects match the var {}", var.name);
                return Err(BuildError::at(ErrorClass::Vars, message, var.node.get_ref())
                    .related("one of them", resources[first].location())
                    .related("another one", resources[second].location()));
            }
        }
        add(known, var, &mut taken)?;
    }
    Ok(())
}

/// Take over the vars of a base.
pub(super) fn absorb(known: &mut Vec<Var>, new: &[Var]) -> Result<()> {
    let mut taken: FxHashSet<Arc<str>> = known.iter().map(|var| var.name.clone()).collect();
    new.iter().try_for_each(|var| add(known, var, &mut taken))
}

fn add(known: &mut Vec<Var>, var: &Var, taken: &mut FxHashSet<Arc<str>>) -> Result<()> {
    if !taken.insert(var.name.clone())
        && let Some(other) = known.iter().find(|known| known.name == var.name)
    {
        let message = format!("the var {} is defined twice", var.name);
        return Err(BuildError::at(ErrorClass::Vars, message, var.node.get_ref())
            .related("the other one", other.node.get_ref().location()));
    }
    known.push(var.clone());
    Ok(())
}

/// The value of a var.
struct VarValue {
    value: Value,
    text: String,
    location: Option<Location>,
}

/// Replace all vars, if there are any.
pub(super) fn resolve(vars: &[Var], config: &Config, resources: &mut [Resource]) -> Result<()> {
    let mut values: BTreeMap<Arc<str>, VarValue> = BTreeMap::new();
    let mut objects: FxHashMap<Arc<str>, usize> = FxHashMap::default();
    for (at, resource) in resources.iter().enumerate() {
        for name in &resource.vars {
            objects.entry(name.clone()).or_insert(at);
        }
    }
    for var in vars {
        let object = objects.get(&var.name).map(|at| &resources[*at]);
        values.insert(var.name.clone(), value_of(var, object)?);
    }
    if values.is_empty() {
        return Ok(());
    }
    let mut budget = OUTPUT_LIMIT as usize;
    for resource in resources {
        let gvk = resource.id.gvk.clone();
        for spec in config.var_references.iter().filter(|spec| spec.matches(&gvk)) {
            fieldspec::apply(
                &mut resource.node,
                spec,
                Leaf::Never,
                &mut |node| mentions(node),
                &mut |node| expand(node, &values, &mut budget),
            )?;
        }
        resource.sync();
    }
    Ok(())
}

fn value_of(var: &Var, object: Option<&Resource>) -> Result<VarValue> {
    let error = |message: String| BuildError::at(ErrorClass::Vars, message, var.node.get_ref());
    let Some(object) = object else {
        let message = format!("the var {} reads an object that is not in this build", var.name);
        return Err(error(message));
    };
    let field = if var.field_path.is_empty() { "metadata.name" } else { &var.field_path };
    let steps: Vec<String> = path::split(field).iter().flat_map(|step| indexed(step)).collect();
    let found = path::lookup(object.node.get_ref(), &steps).ok().flatten();
    let Some(node) = found else {
        let message = format!("the var {} reads {field}, which {} doesn't have", var.name, object.id);
        return Err(error(message).related("the object", object.location()));
    };
    if node.is_map() || node.is_seq() {
        let message = format!("the var {} reads {field} of {}, which is no scalar", var.name, object.id);
        return Err(error(message).related("the field", node.location()));
    }
    let text = nodes::text(node).into_owned();
    let mut location = node.location();
    if let (Some(location), Some(at)) = (&mut location, var.node.get_ref().location()) {
        location.via.push(Via { kind: ViaKind::Transformer, location: at });
    }
    let value = match node.scalar(Dialect::GoYamlV3) {
        Scalar::Int(value) => Value::Int(value),
        Scalar::Bool(value) => Value::Bool(value),
        Scalar::Float(value) => Value::Float(value),
        _ => Value::Str(text.as_str().into()),
    };
    let text = match &value {
        Value::Int(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Float(value) => crate::lang::yaml::resolve::format_float_yaml(*value),
        _ => text,
    };
    Ok(VarValue { value, text, location })
}

/// `ports[0]` as two steps.
fn indexed(step: &str) -> Vec<String> {
    let parts = step.strip_suffix(']').and_then(|step| step.rsplit_once('['));
    match parts {
        Some((name, index)) if !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()) => {
            let name = Some(name).filter(|name| !name.is_empty());
            name.into_iter().chain([index]).map(str::to_owned).collect()
        }
        _ => vec![step.to_owned()],
    }
}

fn mentions(node: NodeRef<'_>) -> bool {
    match nodes::kind(Some(node)) {
        Kind::Null => false,
        Kind::Scalar => is_text(node) && nodes::text(node).contains('$'),
        // Whatever else is in there is an error or stays.
        Kind::Map => node.entries().any(|entry| mentions(entry.value) || !is_text(entry.key_node)),
        Kind::Seq => node.items().any(|item| mentions(item) || !is_text(item)),
    }
}

fn expand(node: &mut Node, values: &BTreeMap<Arc<str>, VarValue>, budget: &mut usize) -> Result<()> {
    match nodes::kind(Some(node.get_ref())) {
        Kind::Null => {}
        Kind::Scalar => expand_scalar(node, values, budget)?,
        Kind::Map => {
            for entry in node.make_map().into_iter().flatten() {
                if !is_text(entry.key.get_ref()) {
                    let message = "a key of this map is no string, so no var can be replaced in it";
                    return Err(BuildError::at(ErrorClass::Vars, message, entry.key.get_ref()));
                }
                expand_scalar(&mut entry.value, values, budget)?;
            }
        }
        Kind::Seq => {
            for item in node.make_seq().into_iter().flatten() {
                if !is_text(item.get_ref()) {
                    let message = "only strings may stand in a list where vars are replaced";
                    return Err(BuildError::at(ErrorClass::Vars, message, item.get_ref()));
                }
                expand_scalar(item, values, budget)?;
            }
        }
    }
    Ok(())
}

/// A string, or a scalar that a transformer wrote without a type.
fn is_text(node: NodeRef<'_>) -> bool {
    nodes::is_string(node) || matches!(node, NodeRef::Built(built) if matches!(built.value, Value::Plain(_)))
}

fn expand_scalar(node: &mut Node, values: &BTreeMap<Arc<str>, VarValue>, budget: &mut usize) -> Result<()> {
    let old = node.get_ref();
    if nodes::kind(Some(old)) != Kind::Scalar || !is_text(old) {
        return Ok(());
    }
    let text = nodes::text(old).into_owned();
    if !text.contains('$') {
        return Ok(());
    }
    let whole = text.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
    if let Some(found) = whole.and_then(|name| values.get(name)) {
        *node = Node::scalar(found.value.clone(), found.location.clone());
        return Ok(());
    }
    let mut location = old.location();
    let mut over = false;
    let expanded = expanded(&text, &mut |name| {
        let found = values.get(name)?;
        over |= found.text.len() > *budget;
        *budget = budget.saturating_sub(found.text.len());
        if over {
            return None;
        }
        if let (Some(location), Some(source)) = (&mut location, &found.location) {
            location.via.push(Via { kind: ViaKind::Transformer, location: source.clone() });
        }
        Some(found.text.as_str())
    });
    if over {
        let message = format!("the vars in this build come to more than {} MiB", OUTPUT_LIMIT >> 20);
        return Err(BuildError::at(ErrorClass::Limit, message, old));
    }
    if expanded != text {
        *node = Node::scalar(Value::Str(expanded.into()), location);
    }
    Ok(())
}

/// `$(NAME)` by what is known of it, `$$` by `$`; anything else stays.
fn expanded<'v>(text: &str, value: &mut dyn FnMut(&str) -> Option<&'v str>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let mut chars = after.chars();
        match chars.next() {
            None => {
                out.push('$');
                rest = "";
            }
            Some('$') => {
                out.push('$');
                rest = chars.as_str();
            }
            Some('(') => match after.find(')') {
                Some(end) => {
                    let name = &after[1..end];
                    match value(name) {
                        Some(value) => out.push_str(value),
                        None => out.push_str(&format!("$({name})")),
                    }
                    rest = &after[end + 1..];
                }
                None => {
                    out.push_str("$(");
                    rest = &after[1..];
                }
            },
            Some(other) => {
                out.push('$');
                out.push(other);
                rest = chars.as_str();
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_expand_as_in_kubernetes() {
        let table = [
            ("a $(X) b", "a 1 b"),
            ("$(X)$(X)", "11"),
            ("$$(X)", "$(X)"),
            ("$$$(X)", "$1"),
            ("$(Y)", "$(Y)"),
            ("$(X", "$(X"),
            ("$x $", "$x $"),
            ("é$(X)ü", "é1ü"),
        ];
        for (text, expected) in table {
            let found = expanded(text, &mut |name| (name == "X").then_some("1"));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn indices_are_steps() {
        assert_eq!(indexed("ports[0]"), ["ports", "0"]);
        assert_eq!(indexed("[name=a]"), ["[name=a]"]);
        assert_eq!(indexed("[0]"), ["0"]);
    }
}
