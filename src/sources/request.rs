//! What a HelmRelease asks for: a chart, of which version, from where.
//!
//! Mirrors helm-controller `api/v2/helmrelease_types.go` (`spec.chart`, `spec.chartRef`),
//! source-controller `api/v1/helmchart_types.go` and `ocirepository_types.go`.

use crate::lang::yaml::{Location, Node, NodeRef};
use crate::model::ObjectId;

/// A chart that a release asks for.
#[derive(Clone, Debug)]
pub(crate) struct ChartRequest {
    /// The source: kind, namespace, name.
    pub source: (String, Option<String>, String),
    /// What is asked of it.
    pub chart: Asked,
    /// `valuesFiles`, each with its place.
    pub values_files: Vec<(String, Option<Location>)>,
    /// `ignoreMissingValuesFiles`.
    pub ignores_missing_files: bool,
    /// Whether `.Chart.Version` ends in what only the cluster knows: a digest, a revision,
    /// a generation.
    pub has_suffix: bool,
    /// Where the version is written, else what names the chart.
    pub location: Option<Location>,
}

/// What is asked of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A chart at a path of the source's tree.
    Path(String),
    /// A chart of a repository, by name and version or range; an empty one is the newest.
    Named {
        /// URL of the repository, where it is known.
        url: Option<String>,
        /// The chart's name in it; of an OCI repository, the rest of the path.
        name: String,
        /// Version or range.
        version: String,
    },
    /// An OCI artifact.
    Artifact {
        /// Its URL, without tag.
        url: String,
        /// What selects a tag.
        reference: OciReference,
        /// The media type of the layer that is taken; the first layer without one.
        layer: Option<String>,
    },
}

/// The media type of a chart among the layers of an artifact (helm `pkg/registry`,
/// `ChartLayerMediaType`).
pub(crate) const CHART_LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// `spec.ref` of an OCIRepository; the digest comes before the range, that before the tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OciReference {
    /// A manifest's digest, and the tag beside it.
    Digest(String, Option<String>),
    /// A range, and the regular expression that tags have to match.
    Range(String, Option<String>),
    /// A tag; `latest` without one.
    Tag(String),
}

/// Why nobody can say here which chart is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unclear {
    /// A field is known in the cluster only.
    Unknown(&'static str),
    /// The source, or the HelmChart, is not in the repository.
    NotHere(String),
    /// The release names no chart: the API server refuses it.
    Nothing,
}

/// What finds objects of the cluster: by kind, namespace and name.
pub(crate) type ObjectLookup<'l> = dyn Fn(&str, Option<&str>, &str) -> Option<Node> + 'l;

/// What a release asks for.
///
/// # Errors
/// Why that isn't known.
pub(crate) fn of_release(
    id: &ObjectId,
    node: NodeRef<'_>,
    lookup: &ObjectLookup<'_>,
) -> Result<ChartRequest, Unclear> {
    let namespace = id.namespace.as_deref();
    if let Some(reference) = node.at("/spec/chartRef").filter(|reference| !reference.is_null()) {
        let kind = text(reference, "/kind", "spec.chartRef.kind")?.ok_or(Unclear::Nothing)?;
        let name = text(reference, "/name", "spec.chartRef.name")?.ok_or(Unclear::Nothing)?;
        let own = text(reference, "/namespace", "spec.chartRef.namespace")?;
        let namespace = own.or_else(|| namespace.map(str::to_owned));
        return of_reference(node, (kind, namespace, name), lookup);
    }
    let chart = node.at("/spec/chart/spec").ok_or(Unclear::Nothing)?;
    of_chart(chart, namespace, lookup)
}

fn of_reference(
    release: NodeRef<'_>,
    source: (String, Option<String>, String),
    lookup: &ObjectLookup<'_>,
) -> Result<ChartRequest, Unclear> {
    let (kind, namespace, name) = &source;
    let object = lookup(kind, namespace.as_deref(), name);
    let location = release.location_at("/spec/chartRef");
    if kind == "HelmChart" {
        let object = object.ok_or_else(|| not_here(&source))?;
        let chart = object.get_ref().at("/spec").ok_or(Unclear::Nothing)?;
        return of_chart(chart, namespace.as_deref(), lookup);
    }
    let mut request = ChartRequest {
        chart: Asked::Path(String::new()),
        source,
        values_files: Vec::new(),
        ignores_missing_files: false,
        has_suffix: true,
        location,
    };
    if request.source.0 == "OCIRepository" {
        let object = object.ok_or_else(|| not_here(&request.source))?;
        let node = object.get_ref();
        let url = text(node, "/spec/url", "the url of its source")?.ok_or(Unclear::Nothing)?;
        // Extracted or copied, the chart's layer is the same chart to helm-controller.
        let layer = text(node, "/spec/layerSelector/mediaType", "the layerSelector of its source")?;
        request.chart = Asked::Artifact { url, reference: reference(node)?, layer };
        request.location = ["/spec/ref/tag", "/spec/ref/semver", "/spec/ref/digest", "/spec/url"]
            .into_iter()
            .find_map(|pointer| node.at(pointer)?.location());
    }
    Ok(request)
}

/// What `spec.chart.spec` of a HelmRelease, or `spec` of a HelmChart, asks for.
fn of_chart(
    chart: NodeRef<'_>,
    namespace: Option<&str>,
    lookup: &ObjectLookup<'_>,
) -> Result<ChartRequest, Unclear> {
    let name = text(chart, "/chart", "the chart's name")?.ok_or(Unclear::Nothing)?;
    let kind = text(chart, "/sourceRef/kind", "the kind of its source")?;
    let kind = kind.ok_or_else(|| Unclear::NotHere("its sourceRef names no kind".to_owned()))?;
    let source = text(chart, "/sourceRef/name", "the name of its source")?.ok_or(Unclear::Nothing)?;
    let own = text(chart, "/sourceRef/namespace", "the namespace of its source")?;
    let source = (kind, own.or_else(|| namespace.map(str::to_owned)), source);
    let version = text(chart, "/version", "the chart's version")?.unwrap_or_default();
    let files = chart.items_at("/valuesFiles").chain(chart.at("/valuesFile"));
    let files: Vec<(String, Option<Location>)> =
        files.filter_map(|file| Some((file.as_str()?.into_owned(), file.location()))).collect();
    let is_known = |pointer: &str| chart.at(pointer).is_none_or(|node| !node.is_unknown());
    if !is_known("/valuesFiles") || chart.items_at("/valuesFiles").any(NodeRef::is_unknown) {
        return Err(Unclear::Unknown("valuesFiles"));
    }
    let by_revision = chart.str_at("/reconcileStrategy").is_some_and(|strategy| strategy == "Revision");
    let is_repository = source.0 == "HelmRepository";
    let asked = if is_repository {
        let object = lookup(&source.0, source.1.as_deref(), &source.2);
        let url = match &object {
            Some(object) => text(object.get_ref(), "/spec/url", "the url of its source")?,
            None => None,
        };
        Asked::Named { url, name, version }
    } else {
        Asked::Path(name)
    };
    Ok(ChartRequest {
        source,
        chart: asked,
        // The list of the defaults alone is none.
        has_suffix: (by_revision && !is_repository)
            || (!files.is_empty() && files.iter().any(|(file, _)| file != "values.yaml")),
        values_files: files,
        ignores_missing_files: chart
            .at("/ignoreMissingValuesFiles")
            .and_then(NodeRef::as_bool)
            .unwrap_or(false),
        location: ["/version", "/chart"].into_iter().find_map(|field| chart.at(field)?.location()),
    })
}

fn reference(node: NodeRef<'_>) -> Result<OciReference, Unclear> {
    let field = |pointer: &str| text(node, pointer, "the ref of its source");
    let tag = field("/spec/ref/tag")?;
    if let Some(digest) = field("/spec/ref/digest")? {
        return Ok(OciReference::Digest(digest, tag));
    }
    if let Some(range) = field("/spec/ref/semver")? {
        return Ok(OciReference::Range(range, field("/spec/ref/semverFilter")?));
    }
    Ok(OciReference::Tag(tag.unwrap_or_else(|| "latest".to_owned())))
}

fn not_here((kind, namespace, name): &(String, Option<String>, String)) -> Unclear {
    let name = namespace.as_ref().map_or_else(|| name.clone(), |namespace| format!("{namespace}/{name}"));
    Unclear::NotHere(format!("nothing here makes {kind} {name}"))
}

/// The text at a pointer; none where it is absent, null or empty.
fn text(node: NodeRef<'_>, pointer: &str, what: &'static str) -> Result<Option<String>, Unclear> {
    match node.at(pointer) {
        Some(found) if found.is_unknown() => Err(Unclear::Unknown(what)),
        Some(found) => Ok(found.text().filter(|text| !text.is_empty() && !found.is_null()).map(Into::into)),
        None => Ok(None),
    }
}
