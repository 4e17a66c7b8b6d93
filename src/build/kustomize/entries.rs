//! The entries of a kustomization file's lists, and how each is decoded.
//!
//! Mirrors the neighbours of `api/types/kustomization.go`.

use super::decode::{Decoder, Spanned, Text, TextMap, is_null};
use super::error::{BuildError, ErrorClass, Result};
use super::fieldspec::FieldSpec;
use super::path::STEP_LIMIT;
use crate::lang::yaml::{Node, NodeRef};
use std::sync::Arc;

/// An entry of `labels`.
#[derive(Clone, Debug)]
pub(super) struct Labels {
    pub pairs: TextMap,
    pub include_selectors: bool,
    pub include_templates: bool,
    pub fields: Vec<FieldSpec>,
    pub node: Node,
}

/// An entry of `patches` or `patchesJson6902`.
#[derive(Clone, Debug)]
pub(super) struct Patch {
    pub path: Option<Text>,
    pub patch: Option<Text>,
    pub target: Option<Selector>,
    pub allow_name_change: bool,
    pub allow_kind_change: bool,
    pub node: Node,
}

/// What selects objects.
#[derive(Clone, Debug)]
pub(super) struct Selector {
    pub group: Arc<str>,
    pub version: Arc<str>,
    pub kind: Arc<str>,
    pub name: Arc<str>,
    pub namespace: Arc<str>,
    pub labels: Arc<str>,
    pub annotations: Arc<str>,
    pub node: Node,
}

/// An entry of `images`.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub name: Arc<str>,
    pub new_name: Option<Text>,
    pub new_tag: Option<Text>,
    pub digest: Option<Text>,
    pub tag_suffix: Option<Text>,
    pub node: Node,
}

/// An entry of `replicas`.
#[derive(Clone, Debug)]
pub(super) struct Replica {
    pub name: Arc<str>,
    pub count: Spanned<i64>,
    pub node: Node,
}

/// An entry of `replacements`.
#[derive(Clone, Debug)]
pub(super) struct Replacement {
    pub path: Option<Text>,
    pub source: Option<ReplacementSource>,
    pub source_value: Option<Text>,
    /// `None` where the field is absent.
    pub targets: Option<Vec<ReplacementTarget>>,
    pub node: Node,
}

/// `source` of a replacement.
#[derive(Clone, Debug)]
pub(super) struct ReplacementSource {
    pub selector: Selector,
    pub field_path: Arc<str>,
    pub options: FieldOptions,
}

/// An entry of `targets` of a replacement.
#[derive(Clone, Debug)]
pub(super) struct ReplacementTarget {
    pub select: Option<Selector>,
    pub reject: Vec<Selector>,
    pub field_paths: Vec<Text>,
    pub options: FieldOptions,
    pub node: Node,
}

/// `options` of a replacement's source or target.
#[derive(Clone, Debug, Default)]
pub(super) struct FieldOptions {
    pub delimiter: Arc<str>,
    pub index: i64,
    pub create: bool,
}

/// An entry of `vars`.
#[derive(Clone, Debug)]
pub(super) struct Var {
    pub name: Arc<str>,
    pub api_version: Arc<str>,
    pub group: Arc<str>,
    pub version: Arc<str>,
    pub kind: Arc<str>,
    pub object_name: Arc<str>,
    pub namespace: Arc<str>,
    pub field_path: Arc<str>,
    pub node: Node,
}

/// An entry of `configMapGenerator` or `secretGenerator`.
#[derive(Clone, Debug)]
pub(super) struct Generator {
    pub name: Text,
    pub namespace: Option<Text>,
    pub behavior: Option<Text>,
    pub literals: Vec<Text>,
    pub files: Vec<Text>,
    pub envs: Vec<Text>,
    pub secret_type: Option<Text>,
    pub options: Option<GeneratorOptions>,
    pub node: Node,
}

/// `generatorOptions` and `options` of a generator.
#[derive(Clone, Debug, Default)]
pub(super) struct GeneratorOptions {
    pub labels: TextMap,
    pub annotations: TextMap,
    pub disable_name_suffix_hash: bool,
    pub immutable: bool,
}

/// `sortOptions`.
#[derive(Clone, Debug)]
pub(super) struct SortOptions {
    pub order: Arc<str>,
    pub legacy: Option<LegacySortOptions>,
    pub node: Node,
}

/// `sortOptions.legacySortOptions`.
#[derive(Clone, Debug)]
pub(super) struct LegacySortOptions {
    pub first: Vec<Text>,
    pub last: Vec<Text>,
}

fn text_into(decoder: Decoder<'_>, value: NodeRef<'_>, into: &mut Arc<str>) -> Result<()> {
    *into = decoder.text_or_empty(value)?.value;
    Ok(())
}

pub(super) fn labels(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<Labels> {
    let mut labels = Labels {
        pairs: Vec::new(),
        include_selectors: false,
        include_templates: false,
        fields: Vec::new(),
        node: node.to_node(),
    };
    decoder.fields(
        node,
        &["pairs", "includeSelectors", "includeTemplates", "fields"],
        |name, _, value| {
            match name {
                "pairs" => labels.pairs = decoder.text_map(value)?,
                "includeSelectors" => labels.include_selectors = decoder.boolean(value)?,
                "includeTemplates" => labels.include_templates = decoder.boolean(value)?,
                _ => labels.fields = decoder.list(value, |item| field_spec(decoder, item))?,
            }
            Ok(())
        },
    )?;
    Ok(labels)
}

/// A field spec of a configuration file, a plugin file or `labels`.
pub(super) fn field_spec(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<FieldSpec> {
    let mut spec = FieldSpec::fixed("", "", "", "", false);
    decoder.fields(node, &["group", "version", "kind", "path", "create"], |name, _, value| {
        let text = |value| Ok::<_, Box<BuildError>>(decoder.text_or_empty(value)?.value.to_string().into());
        match name {
            "group" => spec.group = text(value)?,
            "version" => spec.version = text(value)?,
            "kind" => spec.kind = text(value)?,
            "path" => {
                spec.path = text(value)?;
                if spec.path.split('/').count() > STEP_LIMIT {
                    let message = format!("a path has at most {STEP_LIMIT} steps here");
                    return Err(BuildError::at(ErrorClass::Limit, message, value));
                }
            }
            _ => spec.create = decoder.boolean(value)?,
        }
        Ok(())
    })?;
    Ok(spec)
}

/// A patch of `patches`, `patchesJson6902` or a Flux Kustomization.
pub(super) fn patch(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<Patch> {
    let mut patch = Patch {
        path: None,
        patch: None,
        target: None,
        allow_name_change: false,
        allow_kind_change: false,
        node: node.to_node(),
    };
    decoder.fields(node, &["path", "patch", "target", "options"], |name, _, value| {
        match name {
            "path" => patch.path = decoder.text(value)?.filter(|text| !text.value.is_empty()),
            "patch" => patch.patch = decoder.text(value)?,
            "target" if is_null(value) => patch.target = None,
            "target" => patch.target = Some(selector(decoder, value)?),
            _ => patch_options(decoder, value, &mut patch)?,
        }
        Ok(())
    })?;
    Ok(patch)
}

/// `options` of a patch.
pub(super) fn patch_options(decoder: Decoder<'_>, node: NodeRef<'_>, patch: &mut Patch) -> Result<()> {
    decoder.fields(node, &["allowNameChange", "allowKindChange"], |name, _, value| {
        match name {
            "allowNameChange" => patch.allow_name_change = decoder.boolean(value)?,
            _ => patch.allow_kind_change = decoder.boolean(value)?,
        }
        Ok(())
    })
}

const SELECTOR_FIELDS: &[&str] =
    &["group", "version", "kind", "name", "namespace", "labelSelector", "annotationSelector"];

fn empty_selector(node: NodeRef<'_>) -> Selector {
    let empty: Arc<str> = "".into();
    Selector {
        group: empty.clone(),
        version: empty.clone(),
        kind: empty.clone(),
        name: empty.clone(),
        namespace: empty.clone(),
        labels: empty.clone(),
        annotations: empty,
        node: node.to_node(),
    }
}

impl Selector {
    fn field(&mut self, decoder: Decoder<'_>, name: &str, value: NodeRef<'_>) -> Result<()> {
        let field = match name {
            "group" => &mut self.group,
            "version" => &mut self.version,
            "kind" => &mut self.kind,
            "name" => &mut self.name,
            "namespace" => &mut self.namespace,
            "labelSelector" => &mut self.labels,
            _ => &mut self.annotations,
        };
        text_into(decoder, value, field)
    }
}

/// A selector of objects.
pub(super) fn selector(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<Selector> {
    let mut selector = empty_selector(node);
    decoder.fields(node, SELECTOR_FIELDS, |name, _, value| selector.field(decoder, name, value))?;
    Ok(selector)
}

/// An entry of `images`.
pub(super) fn image(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<Image> {
    let mut image = Image {
        name: "".into(),
        new_name: None,
        new_tag: None,
        digest: None,
        tag_suffix: None,
        node: node.to_node(),
    };
    decoder.fields(node, &["name", "newName", "tagSuffix", "newTag", "digest"], |name, _, value| {
        if name == "name" {
            return text_into(decoder, value, &mut image.name);
        }
        let text = decoder.text(value)?.filter(|text| !text.value.is_empty());
        match name {
            "newName" => image.new_name = text,
            "tagSuffix" => image.tag_suffix = text,
            "newTag" => image.new_tag = text,
            _ => image.digest = text,
        }
        Ok(())
    })?;
    Ok(image)
}

/// An entry of `replicas`.
pub(super) fn replica(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<Replica> {
    let mut replica =
        Replica { name: "".into(), count: Spanned { value: 0, node: node.to_node() }, node: node.to_node() };
    decoder.fields(node, &["name", "count"], |name, _, value| {
        match name {
            "name" => text_into(decoder, value, &mut replica.name)?,
            _ => replica.count = Spanned { value: decoder.integer(value)?, node: value.to_node() },
        }
        Ok(())
    })?;
    Ok(replica)
}

/// An entry of `replacements`.
pub(super) fn replacement(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<Replacement> {
    let mut replacement =
        Replacement { path: None, source: None, source_value: None, targets: None, node: node.to_node() };
    decoder.fields(node, &["path", "source", "sourceValue", "targets"], |name, _, value| {
        match name {
            "path" => replacement.path = decoder.text(value)?.filter(|text| !text.value.is_empty()),
            "sourceValue" => replacement.source_value = decoder.text(value)?,
            "source" if is_null(value) => {}
            "source" => replacement.source = Some(source(decoder, value)?),
            _ if is_null(value) => {}
            _ => replacement.targets = Some(decoder.list(value, |item| target(decoder, item))?),
        }
        Ok(())
    })?;
    Ok(replacement)
}

fn source(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<ReplacementSource> {
    let mut source = ReplacementSource {
        selector: empty_selector(node),
        field_path: "".into(),
        options: FieldOptions::default(),
    };
    let known = ["group", "version", "kind", "name", "namespace", "fieldPath", "options"];
    decoder.fields(node, &known, |name, _, value| match name {
        "fieldPath" => text_into(decoder, value, &mut source.field_path),
        "options" => field_options(decoder, value).map(|options| source.options = options),
        _ => source.selector.field(decoder, name, value),
    })?;
    Ok(source)
}

fn target(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<ReplacementTarget> {
    let mut target = ReplacementTarget {
        select: None,
        reject: Vec::new(),
        field_paths: Vec::new(),
        options: FieldOptions::default(),
        node: node.to_node(),
    };
    decoder.fields(node, &["select", "reject", "fieldPaths", "options"], |name, _, value| {
        match name {
            "select" if is_null(value) => {}
            "select" => target.select = Some(selector(decoder, value)?),
            "reject" => target.reject = decoder.list(value, |item| selector(decoder, item))?,
            "fieldPaths" => target.field_paths = decoder.texts(value)?,
            _ => target.options = field_options(decoder, value)?,
        }
        Ok(())
    })?;
    Ok(target)
}

fn field_options(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<FieldOptions> {
    let mut options = FieldOptions::default();
    decoder.fields(node, &["delimiter", "index", "encoding", "create"], |name, _, value| {
        match name {
            "delimiter" => text_into(decoder, value, &mut options.delimiter)?,
            "index" => options.index = decoder.integer(value)?,
            "create" => options.create = decoder.boolean(value)?,
            _ => drop(decoder.text(value)?),
        }
        Ok(())
    })?;
    Ok(options)
}

pub(super) fn var(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<Var> {
    let empty: Arc<str> = "".into();
    let mut var = Var {
        name: empty.clone(),
        api_version: empty.clone(),
        group: empty.clone(),
        version: empty.clone(),
        kind: empty.clone(),
        object_name: empty.clone(),
        namespace: empty.clone(),
        field_path: empty,
        node: node.to_node(),
    };
    decoder.fields(node, &["name", "objref", "fieldref"], |name, _, value| match name {
        "name" => text_into(decoder, value, &mut var.name),
        "fieldref" => decoder
            .fields(value, &["fieldPath"], |_, _, value| text_into(decoder, value, &mut var.field_path)),
        _ => {
            let known = ["apiVersion", "group", "version", "kind", "name", "namespace"];
            decoder.fields(value, &known, |name, _, value| {
                let field = match name {
                    "apiVersion" => &mut var.api_version,
                    "group" => &mut var.group,
                    "version" => &mut var.version,
                    "kind" => &mut var.kind,
                    "name" => &mut var.object_name,
                    _ => &mut var.namespace,
                };
                text_into(decoder, value, field)
            })
        }
    })?;
    Ok(var)
}

/// An entry of `configMapGenerator` or `secretGenerator`.
pub(super) fn generator(decoder: Decoder<'_>, node: NodeRef<'_>, secret: bool) -> Result<Generator> {
    let mut generator = Generator {
        name: Spanned { value: "".into(), node: node.to_node() },
        namespace: None,
        behavior: None,
        literals: Vec::new(),
        files: Vec::new(),
        envs: Vec::new(),
        secret_type: None,
        options: None,
        node: node.to_node(),
    };
    let mut env = None;
    let known = ["namespace", "name", "behavior", "literals", "files", "envs", "env", "options", "type"];
    let known = if secret { &known[..] } else { &known[..8] };
    decoder.fields(node, known, |name, _, value| {
        match name {
            "namespace" => generator.namespace = decoder.text(value)?.filter(|text| !text.value.is_empty()),
            "name" => generator.name = decoder.text_or_empty(value)?,
            "behavior" => generator.behavior = decoder.text(value)?,
            "literals" => generator.literals = decoder.texts(value)?,
            "files" => generator.files = decoder.texts(value)?,
            "envs" => generator.envs = decoder.texts(value)?,
            "env" => env = decoder.text(value)?.filter(|text| !text.value.is_empty()),
            "options" => generator.options = generator_options(decoder, value)?,
            _ => generator.secret_type = decoder.text(value)?.filter(|text| !text.value.is_empty()),
        }
        Ok(())
    })?;
    generator.envs.extend(env);
    Ok(generator)
}

pub(super) fn generator_options(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<Option<GeneratorOptions>> {
    if is_null(node) {
        return Ok(None);
    }
    let mut options = GeneratorOptions::default();
    let known = ["labels", "annotations", "disableNameSuffixHash", "immutable"];
    decoder.fields(node, &known, |name, _, value| {
        match name {
            "labels" => options.labels = decoder.text_map(value)?,
            "annotations" => options.annotations = decoder.text_map(value)?,
            "immutable" => options.immutable = decoder.boolean(value)?,
            _ => options.disable_name_suffix_hash = decoder.boolean(value)?,
        }
        Ok(())
    })?;
    Ok(Some(options))
}

pub(super) fn sort_options(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<Option<SortOptions>> {
    if is_null(node) {
        return Ok(None);
    }
    let mut options = SortOptions { order: "".into(), legacy: None, node: node.to_node() };
    decoder.fields(node, &["order", "legacySortOptions"], |name, _, value| {
        match name {
            "order" => text_into(decoder, value, &mut options.order)?,
            _ if is_null(value) => {}
            _ => {
                let mut legacy = LegacySortOptions { first: Vec::new(), last: Vec::new() };
                decoder.fields(value, &["orderFirst", "orderLast"], |name, _, value| {
                    match name {
                        "orderFirst" => legacy.first = decoder.texts(value)?,
                        _ => legacy.last = decoder.texts(value)?,
                    }
                    Ok(())
                })?;
                options.legacy = Some(legacy);
            }
        }
        Ok(())
    })?;
    Ok(Some(options))
}

pub(super) fn charts(
    decoder: Decoder<'_>,
    key: NodeRef<'_>,
    node: NodeRef<'_>,
) -> Result<Vec<(String, Node)>> {
    decoder.list(node, |item| {
        let name = item.get("name").or_else(|| item.get("chartName")).and_then(NodeRef::text);
        let name = name.or_else(|| key.text()).unwrap_or_default().into_owned();
        Ok((name, item.to_node()))
    })
}
