//! What `generators`, `transformers` and `validators` configure, of the built-in
//! kinds.
//!
//! Mirrors `api/internal/target/kusttarget.go` (`configureExternalTransformers`),
//! `api/internal/plugins/loader` and the plugins in `api/internal/builtins`.

use super::builder::{Accumulator, BuildLevel, Builder};
use super::decode::{PLUGIN, Spanned, Text, TextMap, is_null};
use super::entries::{self, field_spec};
use super::error::{BuildError, ErrorClass, Omitted, Result};
use super::fieldspec::FieldSpec;
use super::names::NameIndex;
use super::nodes;
use super::resource::{Resource, Traces};
use super::transform::{self, Affix, NamespaceSetter, Subjects};
use super::{generate, patch, replacement, trace, value_add};
use crate::lang::yaml::{Known, NodeRef};

/// Run `generators`.
pub(super) fn generators(
    builder: &mut Builder<'_>,
    level: &BuildLevel,
    configs: Vec<Resource>,
    accumulator: &mut Accumulator,
) -> Result<()> {
    let mut names = NameIndex::default();
    for config in configs {
        if !is_builtin(builder, &config) {
            continue;
        }
        let node = config.node.clone();
        let secret = match &*config.id.gvk.kind {
            "ConfigMapGenerator" => false,
            "SecretGenerator" => true,
            "HelmChartInflationGenerator" => {
                builder.omit(Omitted::Helm, &config.id.name, &node);
                continue;
            }
            "IAMPolicyGenerator" => {
                builder.omit(Omitted::Plugin, &config.id.gvk.kind, &node);
                continue;
            }
            kind => return Err(unknown(kind, "generator", &config)),
        };
        let mut generator = entries::generator(PLUGIN, node.get_ref(), secret)?;
        if generator.name.value.is_empty() {
            generator.name = Spanned { value: config.id.name.clone(), node: node.clone() };
        }
        if generator.namespace.is_none() && !config.id.namespace.is_empty() {
            generator.namespace = Some(Spanned { value: config.id.namespace.clone(), node: node.clone() });
        }
        let mut resource = generate::generate(builder, level, &generator, None, secret)?;
        resource.traces = trace::configured_by(&config).map(|text| Box::new(Traces::generated(&text)));
        generate::absorb(accumulator, resource, &mut names, builder.is_partial())?;
    }
    Ok(())
}

/// Run `transformers`.
pub(super) fn transformers(
    builder: &mut Builder<'_>,
    level: &BuildLevel,
    configs: Vec<Resource>,
    resources: &mut Vec<Resource>,
) -> Result<()> {
    for config in configs {
        if is_builtin(builder, &config) {
            transform(builder, level, &config, resources)?;
            if let Some(text) = trace::configured_by(&config) {
                trace::transformed(&text, resources);
            }
            resources.retain(|resource| !nodes::is_empty(Some(resource.node.get_ref())));
        }
    }
    Ok(())
}

/// Run `validators`, which may change nothing.
pub(super) fn validators(
    builder: &mut Builder<'_>,
    level: &BuildLevel,
    configs: Vec<Resource>,
    resources: &mut Vec<Resource>,
) -> Result<()> {
    for config in configs {
        if !is_builtin(builder, &config) {
            continue;
        }
        let before = resources.clone();
        transform(builder, level, &config, resources)?;
        let changed = before.len() != resources.len()
            || before.iter().zip(resources.iter()).any(|(before, after)| {
                before.node.get_ref().same_value(after.node.get_ref()) != Known::Value(true)
            });
        if changed {
            let message = "a validator may not change objects, and this one does";
            return Err(BuildError::at(ErrorClass::Plugin, message, config.node.get_ref()));
        }
    }
    Ok(())
}

/// Whether it is for a built-in plugin; others are left out.
fn is_builtin(builder: &mut Builder<'_>, config: &Resource) -> bool {
    let builtin = &*config.id.gvk.api_version == "builtin";
    if !builtin {
        let name = format!("{} {}", config.id.gvk.api_version, config.id.gvk.kind);
        builder.omit(Omitted::Plugin, &name, &config.node);
    }
    builtin
}

fn unknown(kind: &str, wanted: &str, config: &Resource) -> Box<BuildError> {
    let message = format!("{kind} is no built-in {wanted}");
    BuildError::at(ErrorClass::Plugin, message, config.node.get_ref())
}

fn specs(node: NodeRef<'_>) -> Result<Option<Vec<FieldSpec>>> {
    match node.get("fieldSpecs").filter(|specs| !is_null(*specs)) {
        Some(specs) => PLUGIN.list(specs, |item| field_spec(PLUGIN, item)).map(Some),
        None => Ok(None),
    }
}

fn text(node: NodeRef<'_>, key: &str) -> Result<Option<Text>> {
    match node.get(key) {
        Some(value) => PLUGIN.text(value),
        None => Ok(None),
    }
}

fn pairs(node: NodeRef<'_>, key: &str) -> Result<TextMap> {
    node.get(key).map_or(Ok(Vec::new()), |value| PLUGIN.text_map(value))
}

fn transform(
    builder: &mut Builder<'_>,
    level: &BuildLevel,
    config: &Resource,
    resources: &mut Vec<Resource>,
) -> Result<()> {
    let node = config.node.get_ref();
    match &*config.id.gvk.kind {
        "AnnotationsTransformer" => {
            let specs = specs(node)?.unwrap_or_default();
            transform::set_pairs(&pairs(node, "annotations")?, &specs, resources)
        }
        "LabelTransformer" => {
            let specs = specs(node)?.unwrap_or_default();
            transform::set_pairs(&pairs(node, "labels")?, &specs, resources)
        }
        "NamespaceTransformer" => namespace(node, resources),
        kind @ ("PrefixTransformer" | "SuffixTransformer" | "PrefixSuffixTransformer") => {
            affix(kind, node, resources)
        }
        "ImageTagTransformer" => {
            let image = node.get("imageTag").filter(|image| !is_null(*image)).unwrap_or(node);
            let image = entries::image(PLUGIN, image)?;
            transform::Images::new(&specs(node)?.unwrap_or_default()).set(&image, resources).map(drop)
        }
        "ReplicaCountTransformer" => {
            let replica = node.get("replica").filter(|replica| !is_null(*replica)).unwrap_or(node);
            let replica = entries::replica(PLUGIN, replica)?;
            let specs = specs(node)?.unwrap_or_default();
            let set = transform::set_replicas(&replica, &specs, resources, &mut NameIndex::default());
            set.or_else(|error| builder.may_name(error))
        }
        "PatchTransformer" => {
            let patch = entries::patch(PLUGIN, node)?;
            patch::apply(builder, level, &patch, resources, &mut patch::PatchRow::default())
        }
        "PatchStrategicMergeTransformer" => {
            let paths = node.get("paths").map_or(Ok(Vec::new()), |paths| PLUGIN.texts(paths))?;
            let inline = text(node, "patches")?.filter(|text| !text.value.is_empty());
            patch::strategic_merges(builder, level, &paths, inline.as_ref(), resources)
        }
        "PatchJson6902Transformer" => {
            let mut patch = entries::patch(PLUGIN, node)?;
            patch.patch = text(node, "jsonOp")?;
            patch::apply_json6902(builder, level, &patch, resources)
        }
        "ReplacementTransformer" => {
            let entries = node.get("replacements").map_or(Ok(Vec::new()), |entries| {
                PLUGIN.list(entries, |item| entries::replacement(PLUGIN, item))
            })?;
            replacement::replacements(builder, level, &entries, resources)
        }
        "ValueAddTransformer" => value_add::run(builder, level, node, resources),
        "HashTransformer" => builder.add_hashes(resources),
        kind => Err(unknown(kind, "transformer", config)),
    }
}

/// A transformer of prefixes, of suffixes, or of both.
fn affix(kind: &str, node: NodeRef<'_>, resources: &mut [Resource]) -> Result<()> {
    let Some(specs) = specs(node)? else {
        return Err(BuildError::at(ErrorClass::Plugin, format!("a {kind} needs fieldSpecs"), node));
    };
    if let (Some(prefix), true) = (text(node, "prefix")?, kind.starts_with("Prefix")) {
        transform::affix(Affix::Prefix, &prefix, &specs, resources)?;
    }
    if let (Some(suffix), true) = (text(node, "suffix")?, kind != "PrefixTransformer") {
        transform::affix(Affix::Suffix, &suffix, &specs, resources)?;
    }
    Ok(())
}

fn namespace(node: NodeRef<'_>, resources: &mut [Resource]) -> Result<()> {
    let namespace = match node.get("metadata") {
        Some(metadata) => text(metadata, "namespace")?.filter(|text| !text.value.is_empty()),
        None => None,
    };
    let mode = text(node, "setRoleBindingSubjects")?;
    let subjects = match mode.as_ref().map_or("", |mode| &mode.value) {
        "" | "defaultOnly" => Subjects::Default,
        "allServiceAccounts" => Subjects::ServiceAccounts,
        "none" => Subjects::None,
        other => {
            let message =
                format!("setRoleBindingSubjects is defaultOnly, allServiceAccounts or none, not `{other}`");
            return Err(BuildError::at(ErrorClass::Plugin, message, node));
        }
    };
    let Some(namespace) = namespace else { return Ok(()) };
    let specs = specs(node)?.unwrap_or_default();
    let unset_only = match node.get("unsetOnly") {
        Some(value) => PLUGIN.boolean(value)?,
        None => false,
    };
    let setter = NamespaceSetter { namespace: &namespace, specs: &specs, unset_only, subjects };
    transform::set_namespaces(&setter, resources)
}
