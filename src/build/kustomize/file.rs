//! The kustomization file.
//!
//! Mirrors `api/types/kustomization.go` (`Kustomization`, `FixKustomization`, `CheckEmpty`,
//! `EnforceFields`).

use super::decode::{Decoder, Dropped, Text, TextMap, is_null};
use super::entries::{
    Generator, GeneratorOptions, Image, Labels, Patch, Replacement, Replica, SortOptions, Var, charts,
    generator, generator_options, image, labels, patch, replacement, replica, sort_options, var,
};
use super::error::{BuildError, ErrorClass, Result};
use crate::lang::yaml::{Location, Node, NodeRef};
use std::cell::RefCell;

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
            Decoder { strict, dropped: Some(&dropped), ..Decoder::strict(ErrorClass::KustomizationFile) };
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
            return Err(BuildError::new(ErrorClass::KustomizationFile, message, Some(file.location)));
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
                return Err(BuildError::new(ErrorClass::KustomizationFile, message, place));
            }
        };
        let wanted =
            if component { "kustomize.config.k8s.io/v1alpha1" } else { "kustomize.config.k8s.io/v1beta1" };
        match &self.api_version {
            Some(text) if !text.value.is_empty() && &*text.value != wanted => {
                let kind = if component { "Component" } else { "Kustomization" };
                let message = format!("apiVersion of a {kind} must be {wanted}");
                Err(BuildError::at(ErrorClass::KustomizationFile, message, text.node.get_ref()))
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
