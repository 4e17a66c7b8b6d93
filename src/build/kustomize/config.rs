//! The tables that a build's transformers use: the built-in ones and what
//! `configurations` and `crds` add. They grow upwards: a base's additions hold
//! for every kustomization above it.
//!
//! Mirrors `api/internal/plugins/builtinconfig/transformerconfig.go` and
//! `api/internal/accumulator/loadconfigfromcrds.go`.

use super::decode::{Decoder, is_null};
use super::entries::field_spec;
use super::error::{BuildError, ErrorClass, Result};
use super::fieldspec::{FieldSpec, merge_all};
use super::order;
use super::tables;
use crate::lang::yaml::NodeRef;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Config {
    pub name_prefix: Vec<FieldSpec>,
    pub name_suffix: Vec<FieldSpec>,
    pub namespace: Vec<FieldSpec>,
    pub common_labels: Vec<FieldSpec>,
    pub template_labels: Vec<FieldSpec>,
    pub labels: Vec<FieldSpec>,
    pub common_annotations: Vec<FieldSpec>,
    pub name_references: Vec<BackReference>,
    pub var_references: Vec<FieldSpec>,
    pub images: Vec<FieldSpec>,
    pub replicas: Vec<FieldSpec>,
}

/// A kind and the fields that hold names of its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BackReference {
    pub group: Cow<'static, str>,
    pub version: Cow<'static, str>,
    pub kind: Cow<'static, str>,
    pub referrers: Vec<FieldSpec>,
}

impl Config {
    /// The built-in tables.
    pub(super) fn builtin() -> &'static Arc<Config> {
        static BUILTIN: OnceLock<Arc<Config>> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            let mut config = Config {
                name_prefix: tables::NAME.to_vec(),
                name_suffix: tables::NAME.to_vec(),
                namespace: tables::NAMESPACE.to_vec(),
                common_labels: tables::COMMON_LABELS.to_vec(),
                template_labels: tables::TEMPLATE_LABELS.to_vec(),
                labels: Vec::new(),
                common_annotations: tables::COMMON_ANNOTATIONS.to_vec(),
                name_references: tables::NAME_REFERENCES
                    .iter()
                    .map(|reference| BackReference {
                        group: Cow::Borrowed(reference.group),
                        version: Cow::Borrowed(reference.version),
                        kind: Cow::Borrowed(reference.kind),
                        referrers: reference.referrers.to_vec(),
                    })
                    .collect(),
                var_references: tables::VAR_REFERENCES.to_vec(),
                images: tables::IMAGES.to_vec(),
                replicas: tables::REPLICAS.to_vec(),
            };
            config.sort();
            Arc::new(config)
        })
    }

    /// Add another's tables; the error names the field that both fill
    /// differently.
    pub(super) fn merge(&mut self, other: &Config) -> std::result::Result<(), String> {
        let before = self.lengths();
        merge_all(&mut self.name_prefix, &other.name_prefix)?;
        merge_all(&mut self.name_suffix, &other.name_suffix)?;
        merge_all(&mut self.namespace, &other.namespace)?;
        merge_all(&mut self.common_labels, &other.common_labels)?;
        merge_all(&mut self.template_labels, &other.template_labels)?;
        merge_all(&mut self.labels, &other.labels)?;
        merge_all(&mut self.common_annotations, &other.common_annotations)?;
        merge_all(&mut self.var_references, &other.var_references)?;
        merge_all(&mut self.images, &other.images)?;
        merge_all(&mut self.replicas, &other.replicas)?;
        for new in &other.name_references {
            let known = self.name_references.iter_mut().find(|known| {
                (&known.group, &known.version, &known.kind) == (&new.group, &new.version, &new.kind)
            });
            match known {
                Some(known) => merge_all(&mut known.referrers, &new.referrers)?,
                None => self.name_references.push(new.clone()),
            }
        }
        // Nothing is taken away: what is as long as before is as it was.
        if self.lengths() != before {
            self.sort();
        }
        Ok(())
    }

    /// How long each table is whose order counts.
    fn lengths(&self) -> [usize; 11] {
        [
            self.name_prefix.len(),
            self.name_suffix.len(),
            self.namespace.len(),
            self.common_labels.len(),
            self.template_labels.len(),
            self.labels.len(),
            self.common_annotations.len(),
            self.var_references.len(),
            self.images.len(),
            self.replicas.len(),
            self.name_references.len(),
        ]
    }

    fn sort(&mut self) {
        let by_type = |specs: &mut Vec<FieldSpec>| {
            specs.sort_by(|a, b| {
                order::compare_gvk((&a.group, &a.version, &a.kind), (&b.group, &b.version, &b.kind))
            });
        };
        for specs in [
            &mut self.name_prefix,
            &mut self.name_suffix,
            &mut self.namespace,
            &mut self.common_labels,
            &mut self.template_labels,
            &mut self.labels,
            &mut self.common_annotations,
            &mut self.var_references,
            &mut self.images,
            &mut self.replicas,
        ] {
            by_type(specs);
        }
        self.name_references.sort_by(|a, b| {
            order::compare_gvk((&a.group, &a.version, &a.kind), (&b.group, &b.version, &b.kind))
        });
    }
}

const TABLES: &[&str] = &[
    "namePrefix",
    "nameSuffix",
    "namespace",
    "commonLabels",
    "templateLabels",
    "labels",
    "commonAnnotations",
    "nameReference",
    "varReference",
    "images",
    "replicas",
];

/// Decode a file of `configurations`.
pub(super) fn configuration(root: NodeRef<'_>) -> Result<Config> {
    let decoder = Decoder::strict(ErrorClass::KustomizationFile);
    let mut config = Config::default();
    decoder.fields(root, TABLES, |name, _, value| {
        if name == "nameReference" {
            config.name_references = decoder.list(value, |item| back_reference(decoder, item))?;
            return Ok(());
        }
        let specs = decoder.list(value, |item| field_spec(decoder, item))?;
        let table = match name {
            "namePrefix" => &mut config.name_prefix,
            "nameSuffix" => &mut config.name_suffix,
            "namespace" => &mut config.namespace,
            "commonLabels" => &mut config.common_labels,
            "templateLabels" => &mut config.template_labels,
            "labels" => &mut config.labels,
            "commonAnnotations" => &mut config.common_annotations,
            "varReference" => &mut config.var_references,
            "images" => &mut config.images,
            _ => &mut config.replicas,
        };
        *table = specs;
        Ok(())
    })?;
    config.sort();
    Ok(config)
}

fn back_reference(decoder: Decoder<'_>, node: NodeRef<'_>) -> Result<BackReference> {
    let mut reference = BackReference {
        group: Cow::Borrowed(""),
        version: Cow::Borrowed(""),
        kind: Cow::Borrowed(""),
        referrers: Vec::new(),
    };
    decoder.fields(node, &["group", "version", "kind", "fieldSpecs"], |name, _, value| {
        let text = |value| Ok::<_, Box<BuildError>>(decoder.text_or_empty(value)?.value.to_string().into());
        match name {
            "group" => reference.group = text(value)?,
            "version" => reference.version = text(value)?,
            "kind" => reference.kind = text(value)?,
            _ => reference.referrers = decoder.list(value, |item| field_spec(decoder, item))?,
        }
        Ok(())
    })?;
    Ok(reference)
}

/// The tables that a file of `crds` describes: OpenAPI definitions with
/// kustomize's extensions. A CustomResourceDefinition is none.
pub(super) fn definitions(root: NodeRef<'_>) -> Result<Config> {
    let mut config = Config::default();
    if is_null(root) {
        return Ok(config);
    }
    for entry in root.entries() {
        if !entry.value.is_map() {
            let message = format!(
                "`crds` takes OpenAPI definitions by name; `{}` holds none (a CustomResourceDefinition doesn't fit here)",
                entry.key
            );
            return Err(BuildError::at(ErrorClass::KustomizationFile, message, entry.key_node));
        }
    }
    for entry in root.entries() {
        let Some(schema) = schema_of(entry.value) else { continue };
        // Types have apiVersion, kind and metadata; the rest are parts of them.
        let properties = schema.get("properties");
        let has = |key: &str| properties.is_some_and(|properties| properties.get(key).is_some());
        if has("kind") && has("apiVersion") && has("metadata") {
            let kind = entry.key.rsplit('.').next().unwrap_or("").to_owned();
            load_properties(&mut config, root, schema, &kind, &mut Vec::new());
        }
    }
    config.sort();
    Ok(config)
}

fn schema_of(definition: NodeRef<'_>) -> Option<NodeRef<'_>> {
    definition.entries().find(|entry| entry.key.eq_ignore_ascii_case("schema")).map(|entry| entry.value)
}

/// Nesting of definitions that is followed.
const DEFINITION_DEPTH: usize = 32;

fn load_properties(
    config: &mut Config,
    root: NodeRef<'_>,
    schema: NodeRef<'_>,
    kind: &str,
    path: &mut Vec<String>,
) {
    if path.len() > DEFINITION_DEPTH {
        return;
    }
    let spec = |path: &[String]| FieldSpec {
        group: Cow::Borrowed(""),
        version: Cow::Borrowed(""),
        kind: kind.to_owned().into(),
        path: path.join("/").into(),
        create: false,
    };
    for entry in schema.entries_at("/properties") {
        path.push(entry.key.clone().into_owned());
        let property = entry.value;
        let text = |key: &str| property.get(key).and_then(NodeRef::as_str).map(|text| text.into_owned());
        if text("x-kubernetes-annotation").is_some() {
            config.common_annotations.push(spec(path));
        }
        if text("x-kubernetes-label-selector").is_some() {
            config.common_labels.push(spec(path));
        }
        if text("x-kubernetes-identity").is_some() {
            config.name_prefix.push(spec(path));
        }
        if let (Some(version), Some(target)) =
            (text("x-kubernetes-object-ref-api-version"), text("x-kubernetes-object-ref-kind"))
        {
            let mut at = path.clone();
            at.push(text("x-kubernetes-object-ref-name-key").unwrap_or_else(|| "name".to_owned()));
            config.name_references.push(BackReference {
                group: Cow::Borrowed(""),
                version: version.into(),
                kind: target.into(),
                referrers: vec![spec(&at)],
            });
        }
        if let Some(part) = text("$ref").and_then(|name| root.get(&name)).and_then(schema_of) {
            load_properties(config, root, part, kind, path);
        }
        path.pop();
    }
}
