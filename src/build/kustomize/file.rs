//! The kustomization file.
//!
//! Mirrors `api/types/kustomization.go` and its neighbours (`Kustomization`,
//! `FixKustomization`, `CheckEmpty`, `EnforceFields`).

use super::decode::{Decoder, Dropped, Spanned, Text, TextMap, is_null};
use super::error::{BuildError, Class, Result};
use super::fieldspec::FieldSpec;
use super::path::STEP_LIMIT;
use crate::lang::yaml::{Location, Node, NodeRef};
use std::cell::RefCell;
use std::sync::Arc;

/// Names of the file, in the order in which they are looked for.
pub const FILE_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// A decoded kustomization file.
#[derive(Clone, Debug)]
pub(super) struct Kustomization {
    /// Where the file begins: the place of what has none of its own.
    pub location: Location,
    /// Its name, as `buildMetadata` reports it.
    pub file_name: &'static str,
    pub component: bool,
    pub resources: Vec<Text>,
    pub components: Vec<Text>,
    pub crds: Vec<Text>,
    pub configurations: Vec<Text>,
    pub generators: Vec<Text>,
    pub transformers: Vec<Text>,
    pub validators: Vec<Text>,
    pub namespace: Option<Text>,
    pub name_prefix: Option<Text>,
    pub name_suffix: Option<Text>,
    pub labels: Vec<Labels>,
    pub common_labels: TextMap,
    pub common_annotations: TextMap,
    pub patches_strategic_merge: Vec<Text>,
    pub patches_json6902: Vec<Patch>,
    pub patches: Vec<Patch>,
    pub images: Vec<Image>,
    pub replicas: Vec<Replica>,
    pub replacements: Vec<Replacement>,
    pub vars: Vec<Var>,
    pub config_maps: Vec<Generator>,
    pub secrets: Vec<Generator>,
    pub generator_options: Option<GeneratorOptions>,
    pub sort_options: Option<SortOptions>,
    pub build_metadata: Vec<Text>,
    pub openapi: TextMap,
    /// Charts that helm would render: names and places.
    pub charts: Vec<(String, Node)>,
    /// Fields that it doesn't have, where those are no error.
    pub dropped: Vec<Dropped>,
}

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
    pub source: Option<Source>,
    pub source_value: Option<Text>,
    /// `None` where the field is absent.
    pub targets: Option<Vec<Target>>,
    pub node: Node,
}

/// `source` of a replacement.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub selector: Selector,
    pub field_path: Arc<str>,
    pub options: FieldOptions,
}

/// An entry of `targets` of a replacement.
#[derive(Clone, Debug)]
pub(super) struct Target {
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

const FIELDS: &[&str] = &[
    "apiVersion",
    "kind",
    "metadata",
    "openapi",
    "namePrefix",
    "nameSuffix",
    "namespace",
    "commonLabels",
    "labels",
    "commonAnnotations",
    "patchesStrategicMerge",
    "patchesJson6902",
    "patches",
    "images",
    "imageTags",
    "replacements",
    "replicas",
    "vars",
    "sortOptions",
    "resources",
    "components",
    "crds",
    "bases",
    "configMapGenerator",
    "secretGenerator",
    "helmGlobals",
    "helmCharts",
    "helmChartInflationGenerator",
    "generatorOptions",
    "configurations",
    "generators",
    "transformers",
    "validators",
    "buildMetadata",
];

impl Kustomization {
    /// A kustomization without any field.
    pub(super) fn empty(location: Location, file_name: &'static str) -> Kustomization {
        Kustomization {
            location,
            file_name,
            component: false,
            resources: Vec::new(),
            components: Vec::new(),
            crds: Vec::new(),
            configurations: Vec::new(),
            generators: Vec::new(),
            transformers: Vec::new(),
            validators: Vec::new(),
            namespace: None,
            name_prefix: None,
            name_suffix: None,
            labels: Vec::new(),
            common_labels: Vec::new(),
            common_annotations: Vec::new(),
            patches_strategic_merge: Vec::new(),
            patches_json6902: Vec::new(),
            patches: Vec::new(),
            images: Vec::new(),
            replicas: Vec::new(),
            replacements: Vec::new(),
            vars: Vec::new(),
            config_maps: Vec::new(),
            secrets: Vec::new(),
            generator_options: None,
            sort_options: None,
            build_metadata: Vec::new(),
            openapi: Vec::new(),
            charts: Vec::new(),
            dropped: Vec::new(),
        }
    }

    /// Decode the first document of a file; `None` for a file without one.
    pub(super) fn decode(
        root: Option<NodeRef<'_>>,
        location: Location,
        file_name: &'static str,
        strict: bool,
    ) -> Result<Kustomization> {
        let dropped = RefCell::default();
        let decoder =
            Decoder { strict, dropped: Some(&dropped), ..Decoder::strict(Class::KustomizationFile) };
        let mut file = Kustomization::empty(location, file_name);
        let mut header = Header::default();
        if let Some(root) = root {
            decoder.fields(root, FIELDS, |name, key, value| {
                file.field(decoder, &mut header, name, key, value)
            })?;
        }
        file.dropped = dropped.into_inner();
        file.resources.append(&mut header.bases);
        file.images.append(&mut header.image_tags);
        if strict && !header.filled && file.resources.is_empty() && file.images.is_empty() {
            let message = "this kustomization is empty: it has neither resources nor anything else";
            return Err(BuildError::new(Class::KustomizationFile, message, Some(file.location)));
        }
        file.component = header.check(&file.location)?;
        Ok(file)
    }

    fn field(
        &mut self,
        decoder: Decoder<'_>,
        header: &mut Header,
        name: &'static str,
        key: NodeRef<'_>,
        value: NodeRef<'_>,
    ) -> Result<()> {
        // What is not null makes the file non-empty, except these.
        let text_set = |text: &Option<Text>| text.as_ref().is_some_and(|text| !text.value.is_empty());
        header.filled |= !is_null(value)
            && !matches!(
                name,
                "apiVersion" | "kind" | "bases" | "imageTags" | "namePrefix" | "nameSuffix" | "namespace"
            );
        match name {
            "apiVersion" => header.api_version = decoder.text(value)?,
            "kind" => header.kind = decoder.text(value)?,
            "metadata" => metadata(decoder, value)?,
            "openapi" => self.openapi = decoder.text_map(value)?,
            "namePrefix" => self.name_prefix = decoder.text(value)?,
            "nameSuffix" => self.name_suffix = decoder.text(value)?,
            "namespace" => self.namespace = decoder.text(value)?,
            "commonLabels" => self.common_labels = decoder.text_map(value)?,
            "labels" => self.labels = decoder.list(value, |item| labels(decoder, item))?,
            "commonAnnotations" => self.common_annotations = decoder.text_map(value)?,
            "patchesStrategicMerge" => self.patches_strategic_merge = decoder.texts(value)?,
            "patchesJson6902" => self.patches_json6902 = decoder.list(value, |item| patch(decoder, item))?,
            "patches" => self.patches = decoder.list(value, |item| patch(decoder, item))?,
            "images" => self.images = decoder.list(value, |item| image(decoder, item))?,
            "imageTags" => header.image_tags = decoder.list(value, |item| image(decoder, item))?,
            "replacements" => self.replacements = decoder.list(value, |item| replacement(decoder, item))?,
            "replicas" => self.replicas = decoder.list(value, |item| replica(decoder, item))?,
            "vars" => self.vars = decoder.list(value, |item| var(decoder, item))?,
            "sortOptions" => self.sort_options = sort_options(decoder, value)?,
            "resources" => self.resources = decoder.texts(value)?,
            "components" => self.components = decoder.texts(value)?,
            "crds" => self.crds = decoder.texts(value)?,
            "bases" => header.bases = decoder.texts(value)?,
            "configMapGenerator" => {
                self.config_maps = decoder.list(value, |item| generator(decoder, item, false))?;
            }
            "secretGenerator" => self.secrets = decoder.list(value, |item| generator(decoder, item, true))?,
            "generatorOptions" => self.generator_options = generator_options(decoder, value)?,
            "configurations" => self.configurations = decoder.texts(value)?,
            "generators" => self.generators = decoder.texts(value)?,
            "transformers" => self.transformers = decoder.texts(value)?,
            "validators" => self.validators = decoder.texts(value)?,
            "buildMetadata" => self.build_metadata = decoder.texts(value)?,
            "helmCharts" | "helmChartInflationGenerator" => self.charts.extend(charts(decoder, key, value)?),
            _ => {}
        }
        header.filled |=
            text_set(&self.name_prefix) || text_set(&self.name_suffix) || text_set(&self.namespace);
        Ok(())
    }
}

#[derive(Default)]
struct Header {
    api_version: Option<Text>,
    kind: Option<Text>,
    bases: Vec<Text>,
    image_tags: Vec<Image>,
    filled: bool,
}

impl Header {
    /// Whether it is a component.
    fn check(&self, location: &Location) -> Result<bool> {
        let kind = self.kind.as_ref().map_or("", |text| &text.value);
        let component = match kind {
            "" | "Kustomization" => false,
            "Component" => true,
            other => {
                let message = format!("kind must be Kustomization or Component, not `{other}`");
                let place = self.kind.as_ref().and_then(|text| text.node.get_ref().location());
                let place = place.or_else(|| Some(location.clone()));
                return Err(BuildError::new(Class::KustomizationFile, message, place));
            }
        };
        let wanted =
            if component { "kustomize.config.k8s.io/v1alpha1" } else { "kustomize.config.k8s.io/v1beta1" };
        match &self.api_version {
            Some(text) if !text.value.is_empty() && &*text.value != wanted => {
                let kind = if component { "Component" } else { "Kustomization" };
                let message = format!("apiVersion of a {kind} must be {wanted}");
                Err(BuildError::at(Class::KustomizationFile, message, text.node.get_ref()))
            }
            _ => Ok(component),
        }
    }
}

fn metadata(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<()> {
    // Nothing of it has an effect, so nothing is lost.
    let decoder = Decoder { dropped: None, ..decoder };
    decoder.fields(node, &["name", "namespace", "labels", "annotations"], |name, _, value| match name {
        "labels" | "annotations" => decoder.text_map(value).map(|_| ()),
        _ => decoder.text(value).map(|_| ()),
    })
}

fn text_into(decoder: Decoder<'_>, value: NodeRef<'_>, into: &mut Arc<str>) -> Result<()> {
    *into = decoder.text_or_empty(value)?.value;
    Ok(())
}

fn labels(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<Labels> {
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
                    return Err(BuildError::at(Class::Limit, message, value));
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

fn source(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<Source> {
    let mut source =
        Source { selector: empty_selector(node), field_path: "".into(), options: FieldOptions::default() };
    let known = ["group", "version", "kind", "name", "namespace", "fieldPath", "options"];
    decoder.fields(node, &known, |name, _, value| match name {
        "fieldPath" => text_into(decoder, value, &mut source.field_path),
        "options" => field_options(decoder, value).map(|options| source.options = options),
        _ => source.selector.field(decoder, name, value),
    })?;
    Ok(source)
}

fn target(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<Target> {
    let mut target = Target {
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

fn var(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<Var> {
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

fn generator_options(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<Option<GeneratorOptions>> {
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

fn sort_options(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<Option<SortOptions>> {
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

fn charts(decoder: Decoder<'_>, key: NodeRef<'_>, node: NodeRef<'_>) -> Result<Vec<(String, Node)>> {
    decoder.list(node, |item| {
        let name = item.get("name").or_else(|| item.get("chartName")).and_then(NodeRef::text);
        let name = name.or_else(|| key.text()).unwrap_or_default().into_owned();
        Ok((name, item.to_node()))
    })
}
