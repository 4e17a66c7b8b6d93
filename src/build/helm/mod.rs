//! Charts of Helm: what `helm template` prints and what helm-controller applies, pure.
//!
//! A [`Chart`] is loaded once, from a directory of a file tree ([`Chart::of_tree`], where
//! `.helmignore` counts) or from a packed archive ([`Chart::of_archive`], bounded, in
//! memory). [`render`] runs it with values for a [`ChartRelease`]; the same request gives the
//! same answer. A request names the [`Helm`] that renders: its [`HelmLine`] and what that
//! does with null.
//!
//! ```text
//! let chart = Chart::of_tree(&tree, "charts/podinfo", "charts/podinfo", HelmLine::V4_2)?;
//! let values = Value::of_node(node);               // spec.values, with its places
//! let values = merge_maps(&of_value_files, &values); // as `-f` after `-f`
//! let release = Release { name, namespace, revision: 1, is_upgrade: false };
//! let request = Request { chart: &chart, values: &values, release: &release, capabilities: &Capabilities::of(line), helm: line.into(), .. };
//! let rendered = render(&request)?;
//! rendered.manifests; rendered.hooks; rendered.crds; rendered.notes; rendered.warnings;
//! let object = rendered.node(document);            // the object, each value with its origins
//! ```
//!
//! Each value of `values` may carry where it was written ([`Value::origin`]); one that is
//! unknown offline is [`Kind::Unknown`] or, of a text of which parts are known,
//! [`Kind::Holes`]. With `origins` each document's node ([`RenderedChart::node`]) gives for each
//! value the places that flowed into it: first those in the repository, then the chart's
//! own values, then the line of the template. What is unknown in a rendered text is a hole
//! in its node; what was decided by something unknown stands in [`RenderedChart::assumed`].
//!
//! [`RenderError::Refused`] holds Helm's words where Helm refuses, too;
//! [`RenderError::Unable`] says what is not done here: a bound that was met.
//!
//! helm-controller does not check that `charts/` is complete; Helm's commands do, by
//! [`Chart::check_installable`].

mod ahead;
mod archive;
mod chart;
mod coalesce;
mod culprit;
mod dependencies;
mod error;
mod given;
mod idle;
mod ignore;
mod json;
mod line;
mod load;
mod manifest;
mod metadata;
mod objects;
mod origins;
mod outline;
mod print;
mod readers;
mod reads;
mod replaced;
mod schema;
mod strvals;
mod value;

pub(crate) use ahead::with_archive;
pub(crate) use chart::KnownReaders;
pub use chart::{Chart, ChartFile};
pub use coalesce::Warning;
pub(crate) use culprit::{Culprit, culprit};
pub use error::{Refusal, RenderError, SchemaFault, SchemaFaultKind};
pub use given::Given;
pub(crate) use idle::{Idle, IdleReason, Touched, idle};
pub use line::{Capabilities, Helm, HelmLine, KubeVersion, Nulls};
pub use load::values_of;
pub(crate) use manifest::HOOK;
pub use manifest::{Head, Hook, ManifestDocument};
pub use metadata::{Dependency, Maintainer, Metadata};
pub(crate) use origins::key_of;
pub use print::Printed;
pub(crate) use readers::{Dead, Readers};
pub(crate) use reads::{proved, proved_defaults};
pub(crate) use replaced::{Loss, Replaced, replaced};
pub use strvals::{Style, set};
pub(crate) use value::merge_into;
pub use value::{Kind, Map, Value, merge_maps};

use crate::lang::template::{
    Bound, Engine, EngineRun, Libraries, Limits, OutputPart, Place, TemplateFailure, TemplateParser,
    TraceSource, helm, not_utf8, with_stack, with_stack_beside,
};
use crate::lang::yaml::Origin;
use coalesce::Coalescing;
use dependencies::{Processing, in_range_for};
use error::refuse;
use objects::{ChartScope, ObjectMaker};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What a chart is rendered for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChartRelease {
    /// `.Release.Name`
    pub name: String,
    /// `.Release.Namespace`
    pub namespace: String,
    /// `.Release.Revision`; Helm's commands say 1.
    pub revision: i64,
    /// Whether it is an upgrade; else an install.
    pub is_upgrade: bool,
}

/// All that a render hangs on.
#[derive(Clone, Debug)]
pub struct RenderRequest<'r> {
    /// The chart.
    pub chart: &'r Chart,
    /// The user's values, a map.
    pub values: &'r Value,
    /// For whom.
    pub release: &'r ChartRelease,
    /// What the cluster can do.
    pub capabilities: &'r Capabilities,
    /// The least and the most that the cluster may be, where that is assumed: what both
    /// answer as the likely one is known.
    pub ends: &'r [Capabilities],
    /// Which Helm renders.
    pub helm: Helm,
    /// Whether `values.schema.json` is not looked at.
    pub skip_schema_validation: bool,
    /// Why something unknown follows the chart's version behind a `+`, if so.
    pub version_suffix: Option<String>,
    /// What is kept of the run.
    pub keep: Keep,
    /// Threads that may work on it: a second one parses templates.
    pub threads: usize,
    /// What it may take of the work that several renders share.
    pub work: Option<&'r Work>,
}

/// The steps of templates that several renders may take together: a chart that takes seconds to
/// render would be rendered a hundred times to find out why it fails.
#[derive(Debug)]
pub struct Work {
    left: AtomicU64,
}

impl Work {
    fn new(steps: u64) -> Work {
        Work { left: steps.into() }
    }

    fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    fn take(&self, steps: u64) {
        self.left.store(self.left().saturating_sub(steps), Ordering::Relaxed);
    }
}

/// What is kept of a run besides what it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Nothing.
    Text,
    /// The origins of values.
    Origins,
    /// The same, and what templates asked.
    Questions,
    /// The same, and what they passed over for the answers.
    Branches,
}

impl Keep {
    /// Whether what templates asked is kept.
    pub(crate) fn has_questions(self) -> bool {
        matches!(self, Keep::Questions | Keep::Branches)
    }
}

/// What a chart renders to.
#[derive(Debug, Default)]
pub struct RenderedChart {
    /// What is applied, in Helm's order.
    pub manifests: Vec<ManifestDocument>,
    /// What is run, in Helm's order of kinds.
    pub hooks: Vec<ManifestDocument>,
    /// Files of `crds/`, of the charts that take part, by what Helm calls them.
    pub crds: Vec<(String, ChartFile)>,
    /// The chart's own NOTES.txt.
    pub notes: Option<String>,
    /// What Helm warns of.
    pub warnings: Vec<Warning>,
    /// What was decided by something unknown, in words, each once.
    pub assumed: Vec<String>,
    /// What each template wrote.
    pub(crate) written: Vec<TemplateOutput>,
    /// Tells apart what all templates wrote; nothing where only the text is kept.
    pub(crate) digest: Option<Digest>,
    /// Where values were written, as the parts count them.
    pub(crate) origins: Vec<Origin>,
    /// The templates, as the parts count them.
    pub(crate) sources: Vec<ChartFile>,
    /// What templates asked, where that is kept.
    questions: Option<idle::Questions>,
}

/// What all templates of a chart wrote, but for NOTES.txt, and the files of `crds/`: a SHA-256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digest([u8; 32]);

/// What a template wrote.
#[derive(Debug)]
pub(crate) struct TemplateOutput {
    /// `t/templates/a.yaml`
    pub(crate) source: Arc<str>,
    /// In order; empty where origins are not kept and all is known.
    pub(crate) parts: Vec<OutputPart>,
}

impl RenderedChart {
    /// Whether something unknown is printed anywhere, or decided on anything.
    pub(crate) fn hangs_on(&self, unknown: &str) -> bool {
        let is_it = |source: &TraceSource| matches!(source, TraceSource::Unknown(why) if why == unknown);
        let parts = || self.written.iter().flat_map(|written| &written.parts);
        self.assumed.iter().any(|why| why == unknown)
            || parts().any(|part| part.is_unknown && part.from.iter().any(|flow| is_it(&flow.source)))
    }

    /// Whether the same is applied and run.
    pub(crate) fn is_same(&self, other: &RenderedChart) -> bool {
        let same = |own: &[ManifestDocument], others: &[ManifestDocument]| {
            let is_same = |(one, two): (&ManifestDocument, &ManifestDocument)| {
                one.source == two.source && one.text == two.text
            };
            own.len() == others.len() && own.iter().zip(others).all(is_same)
        };
        same(&self.manifests, &other.manifests) && same(&self.hooks, &other.hooks)
    }
}

/// Renders a chart.
///
/// # Errors
/// Helm refuses, or a bound is met.
pub fn render(request: &RenderRequest<'_>) -> Result<RenderedChart, RenderError> {
    render_unless(request, None).map(Option::unwrap_or_default)
}

/// [`render`], with what tells its output apart.
pub(crate) fn render_with_digest(request: &RenderRequest<'_>) -> Result<RenderedChart, RenderError> {
    // Nothing is written again that nobody knows.
    render_unless(request, Some(&Digest::default())).map(Option::unwrap_or_default)
}

/// [`render`]; nothing where templates write again what is known. To cut that into documents
/// and read them takes as long as to write it.
///
/// # Errors
/// Helm refuses, or a bound is met.
pub(crate) fn render_unless(
    request: &RenderRequest<'_>,
    known: Option<&Digest>,
) -> Result<Option<RenderedChart>, RenderError> {
    let line = request.helm.line;
    if request.work.is_some_and(|work| work.left() == 0) {
        return Err(Bound::Steps(Limits::default().steps).into());
    }
    if request.chart.metadata.api_version == "v3" && line != HelmLine::V3_17 {
        return refuse("invalid chart apiVersion");
    }
    check_name(&request.release.name, line)?;
    let mut processing = Processing::new(request.helm);
    let chart = processing.run(request.chart, request.values).map_err(|error| match line {
        HelmLine::V3_17 => error,
        HelmLine::V4_1 | HelmLine::V4_2 => error.wrapped("chart dependencies processing failed: "),
    })?;
    let mut coalescing =
        Coalescing { nulls: request.helm.nulls, warnings: processing.warnings, merge: false };
    let values = coalescing.values(&chart, request.values)?;
    let mut warnings: Vec<Warning> =
        request.chart.warnings.iter().map(|message| Warning::new(message.clone())).collect();
    if chart.metadata.deprecated {
        warnings.push(Warning::new("this chart is deprecated"));
    }
    warnings.append(&mut coalescing.take_warnings());
    let mut rendered = with_stack(|| {
        let mut engine = engine_for(request);
        let templates = templates(&chart);
        let mut checked = check_and_parse(request, &chart, &values, engine.parser(), &templates)?;
        warnings.extend(checked.warnings.drain(..).map(Warning::new));
        checked.refusal().map_or(Ok(()), Err)?;
        check_cluster(&chart, request)?;
        let ran = run(request, &chart, &values, &mut engine, &templates);
        request.work.inspect(|work| work.take(engine.steps()));
        let (mut rendered, written, scopes) = ran?;
        if known.is_some() || request.keep != Keep::Text {
            rendered.digest = Some(digest(&written, &rendered.crds));
        }
        if known.is_some() && known == rendered.digest.as_ref() {
            return Ok(None);
        }
        finish(request, &chart, written, &mut rendered)?;
        if request.keep.has_questions() {
            let mut questions = idle::Questions::of(&rendered, &engine);
            if request.keep == Keep::Branches && !questions.are_of_all(&rendered, request.values) {
                questions.pass_over(&engine, &templates, &scopes, &chart);
            }
            rendered.questions = Some(questions);
        }
        rendered.assumed.splice(..0, checked.assumed);
        Ok::<_, RenderError>(Some(rendered))
    })
    .ok_or_else(no_deep_thread)??;
    if let Some(rendered) = &mut rendered {
        rendered.warnings.splice(..0, warnings);
    }
    Ok(rendered)
}

/// Why nothing is rendered where nothing could be run.
pub(crate) fn no_deep_thread() -> RenderError {
    RenderError::Unable("the system has no thread with a deep stack".to_owned())
}

/// The values as the templates of the chart see them, those of charts in it below their
/// names.
///
/// # Errors
/// Helm refuses.
pub fn coalesced(request: &RenderRequest<'_>) -> Result<Value, RenderError> {
    let mut processing = Processing::new(request.helm);
    let chart = processing.run(request.chart, request.values)?;
    let mut coalescing = Coalescing { nulls: request.helm.nulls, warnings: Vec::new(), merge: false };
    coalescing.values(&chart, request.values)
}

/// `ValidateReleaseName` of Helm.
fn check_name(name: &str, line: HelmLine) -> Result<(), RenderError> {
    const PATTERN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        let ends = [bytes.first(), bytes.last()];
        ends.iter().all(|end| end.is_some_and(|b| is_plain(*b)))
            && bytes.iter().all(|b| is_plain(*b) || *b == b'-')
    };
    if name.len() <= 53 && name.split('.').all(is_label) {
        return Ok(());
    }
    let lead = if line == HelmLine::V3_17 { "" } else { "release name check failed: " };
    refuse(format!(
        "{lead}release name {name:?}: invalid release name, must match regex {PATTERN} and the length must not be longer than 53"
    ))
}

/// Whether the chart takes the version of the cluster at all.
pub(crate) fn takes_cluster(request: &RenderRequest<'_>) -> bool {
    check_cluster(request.chart, request).is_ok()
}

fn check_cluster(chart: &Chart, request: &RenderRequest<'_>) -> Result<(), RenderError> {
    let wanted = &chart.metadata.kube_version;
    let version = &request.capabilities.kube_version;
    if wanted.is_empty() || in_range_for(request.helm.line, wanted, &version.normalized) {
        return Ok(());
    }
    let mut refusal = Refusal::new(format!(
        "chart requires kubeVersion: {wanted} which is incompatible with Kubernetes {}",
        version.version
    ));
    refusal.assumed.extend(request.capabilities.assumed.clone());
    refusal.is_partial = true;
    Err(refusal.into())
}

/// A template that takes part.
struct Template<'c> {
    name: String,
    file: &'c ChartFile,
    scope: usize,
}

/// The templates of a chart and of those in it, in Helm's order.
fn templates(chart: &Chart) -> Vec<Template<'_>> {
    let mut found = Vec::new();
    collect(chart, chart.name(), &mut 0, &mut found);
    helm::sort(&mut found, |template| &template.name);
    // Of two files of one name Go's map keeps the last.
    found.dedup_by(|a, b| a.name == b.name);
    found
}

fn collect<'c>(chart: &'c Chart, path: &str, scopes: &mut usize, found: &mut Vec<Template<'c>>) {
    let scope = *scopes;
    *scopes += 1;
    for file in chart.templates.iter() {
        let is_partial = file.name.rsplit('/').next().is_some_and(|base| base.starts_with('_'));
        if is_partial || !chart.metadata.is_library() {
            found.push(Template { name: format!("{path}/{}", file.name), file, scope });
        }
    }
    for inner in &chart.dependencies {
        collect(inner, &objects::path_of(inner, path), scopes, found);
    }
}

/// What is unknown and decided something in the templates so far, in words, each once;
/// what is printed for people alone decides nothing.
fn questions(engine: &Engine, templates: &[Template<'_>]) -> Vec<String> {
    let counts = |asked: Option<Place>| {
        let template = asked.and_then(|place| templates.get(place.source as usize));
        !template.is_some_and(|template| template.name.ends_with("NOTES.txt"))
    };
    engine.reasons(&counts).into_iter().map(str::to_owned).collect()
}

fn failed(name: &str, failure: &TemplateFailure, assumed: Vec<String>, line: HelmLine) -> RenderError {
    if let Some(bound) = failure.bound {
        return bound.into();
    }
    let message = match line {
        HelmLine::V3_17 => helm::execution_error_in_a_line(name, failure),
        HelmLine::V4_1 | HelmLine::V4_2 => helm::execution_error(name, failure),
    };
    Refusal { is_partial: true, assumed, ..Refusal::new(message) }.into()
}

/// Bytes of all templates of a chart; Helm bounds those of an archive alone.
const TEMPLATES: usize = 100 << 20;

/// What the templates of a release run in.
fn engine_for(request: &RenderRequest<'_>) -> Engine {
    let line = request.helm.line;
    let limits = Limits::default();
    let steps = request.work.map_or(limits.steps, |work| limits.steps.min(work.left()));
    Engine::new(&EngineRun {
        limits: Limits { steps, ..limits },
        origins: request.keep != Keep::Text,
        questions: request.keep.has_questions(),
        without: line.unknown_functions(),
        libraries: libraries(line),
        documents: request.chart.prepared.documents(request.chart),
        ..EngineRun::default()
    })
}

/// Checks the values against the schemas. Templates that no render parsed so far are parsed
/// meanwhile, by two threads where there are two: of a process that renders one release both
/// together are half.
fn check_and_parse(
    request: &RenderRequest<'_>,
    chart: &Chart,
    values: &Value,
    parser: &TemplateParser,
    templates: &[Template<'_>],
) -> Result<schema::Checked, RenderError> {
    /// Bytes of templates that pay for a thread.
    const MANY: usize = 64 << 10;
    let prepared = &request.chart.prepared;
    let check_values = || match request.skip_schema_validation {
        true => Ok(schema::Checked::default()),
        false => schema::check(chart, values, request.helm.line, prepared),
    };
    let bytes: usize = templates.iter().map(|template| template.file.bytes().len()).sum();
    if request.threads < 2 || !(MANY..=TEMPLATES).contains(&bytes) || prepared.has_templates() {
        return check_values();
    }
    let next = AtomicUsize::new(0);
    let parse = || {
        while let Some(template) = templates.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Some(text) = template.file.shared_text() {
                prepared
                    .templates(&template.name, &template.file.blob, || parser.parse(&template.name, text));
            }
        }
    };
    with_stack_beside(
        || {
            let checked = check_values();
            match &checked {
                Ok(fits) if fits.is_fit() => parse(),
                // Nothing is run then.
                _ => next.store(templates.len(), Ordering::Relaxed),
            }
            checked
        },
        parse,
    )
}

/// Runs all templates.
fn run(
    request: &RenderRequest<'_>,
    chart: &Chart,
    values: &Value,
    engine: &mut Engine,
    templates: &[Template<'_>],
) -> Result<(RenderedChart, Vec<Output>, Vec<ChartScope>), RenderError> {
    let line = request.helm.line;
    let mut objects =
        ObjectMaker { data: engine.data(), request, origins: Vec::new(), left: objects::Left::default() };
    let scopes = objects.scopes(chart, values);
    if let Some(bound) = objects.left.met {
        return Err(RenderError::Unable(format!("more than forebay's bound: {bound} in a release")));
    }
    let mut rendered = RenderedChart { origins: objects.origins, ..RenderedChart::default() };
    rendered.sources = add_templates(request, engine, templates)?;
    let (mut names, mut outputs): (Vec<Arc<str>>, Vec<_>) = (Vec::new(), Vec::new());
    for template in templates {
        if template.name.rsplit('/').next().is_some_and(|base| base.starts_with('_')) {
            continue;
        }
        let scope = &scopes[template.scope];
        let mut data = engine.data();
        let base = format!("{}/templates", scope.path);
        let own = [("BasePath", data.text(&base, None)), ("Name", data.text(&template.name, None))];
        let own = data.entries(own.into_iter(), None);
        let own = data.values(&own);
        data.set_key(&scope.top, "Template", own);
        let output = engine
            .run(&template.name, &scope.top)
            .map_err(|failure| failed(&template.name, &failure, questions(engine, templates), line))?;
        names.push(template.name.as_str().into());
        outputs.push(engine.without_no_value(&output));
    }
    let mut parts = if request.keep != Keep::Text { engine.parts_of(&outputs) } else { Vec::new() };
    parts.resize_with(outputs.len(), Vec::new);
    let bytes = outputs.into_iter().map(|output| output.into_bytes());
    let written = names.into_iter().zip(bytes).zip(parts).map(|((name, bytes), parts)| (name, bytes, parts));
    let mut written: Vec<Output> = written.collect();
    written.sort_by(|a, b| a.0.cmp(&b.0));
    rendered.assumed = questions(engine, templates);
    rendered.crds = crds(chart, chart.name());
    Ok((rendered, written, scopes))
}

fn libraries(line: HelmLine) -> Libraries {
    match line {
        HelmLine::V3_17 => Libraries::Helm3_17,
        HelmLine::V4_1 => Libraries::Helm4_1,
        HelmLine::V4_2 => Libraries::Helm4_2,
    }
}

/// Give the engine all templates; the files that they are.
fn add_templates(
    request: &RenderRequest<'_>,
    engine: &mut Engine,
    templates: &[Template<'_>],
) -> Result<Vec<ChartFile>, RenderError> {
    let mut sources = Vec::new();
    let mut left = TEMPLATES;
    for template in templates {
        let text = template
            .file
            .shared_text()
            .ok_or_else(|| RenderError::Unable(format!("{}: a template that is not UTF-8", template.name)))?;
        left = left.checked_sub(text.len()).ok_or_else(|| {
            RenderError::Unable(format!("more than forebay's bound: {TEMPLATES} bytes of templates"))
        })?;
        sources.push(template.file.clone());
        let parsed = request
            .chart
            .prepared
            .templates(&template.name, &template.file.blob, || engine.parser().parse(&template.name, text));
        if let Some(error) = engine.add_parsed(&parsed).first() {
            let message = helm::parse_error(&template.name, error);
            return Err(Refusal { is_partial: true, ..Refusal::new(message) }.into());
        }
    }
    Ok(sources)
}

type Output = (Arc<str>, Vec<u8>, Vec<OutputPart>);

fn digest(written: &[Output], crds: &[(String, ChartFile)]) -> Digest {
    let mut hasher = Sha256::new();
    let mut add = |name: &str, bytes: &[u8]| {
        hasher.update(format!("{}:{name}{}:", name.len(), bytes.len()));
        hasher.update(bytes);
    };
    for (source, bytes, _) in written.iter().filter(|(source, ..)| !source.ends_with("NOTES.txt")) {
        add(source, bytes);
    }
    // Their contents are the chart's; which of them there are hangs on the values.
    crds.iter().for_each(|(name, _)| add(name, b""));
    Digest(hasher.finalize().into())
}

/// Cuts and sorts what was written.
fn finish(
    request: &RenderRequest<'_>,
    chart: &Chart,
    written: Vec<Output>,
    rendered: &mut RenderedChart,
) -> Result<(), RenderError> {
    let line = request.helm.line;
    let own_notes = format!("{}/templates/NOTES.txt", chart.name());
    let (mut files, mut broken) = (Vec::with_capacity(written.len()), None);
    for (source, bytes, parts) in written {
        let text = String::from_utf8(bytes);
        if source.ends_with("NOTES.txt") {
            if *source == *own_notes {
                rendered.notes = text.ok();
            }
            continue;
        }
        match text {
            Ok(text) => files.push((source.clone(), text)),
            Err(error) => {
                let why = not_utf8(error.as_bytes()).unwrap_or_default();
                broken = Some(format!("YAML parse error on {source}: {why}"));
                break;
            }
        }
        rendered.written.push(TemplateOutput { source, parts });
    }
    for document in manifest::documents(&files, (line, request.keep != Keep::Text), request.threads) {
        manifest::sort(document?, line, rendered);
    }
    if let Some(message) = broken {
        return Err(Refusal { is_partial: true, ..Refusal::new(message) }.into());
    }
    manifest::by_kind(&mut rendered.manifests, line);
    manifest::by_kind(&mut rendered.hooks, line);
    Ok(())
}

/// `CRDObjects`: the files of `crds/`, of the chart and of those in it.
fn crds(chart: &Chart, path: &str) -> Vec<(String, ChartFile)> {
    let is_manifest = |name: &str| {
        let extension = name.rsplit('/').next().and_then(|base| base.rsplit_once('.'));
        extension.is_some_and(|(_, end)| {
            ["yaml", "yml", "json"].iter().any(|known| known.eq_ignore_ascii_case(end))
        })
    };
    let own = chart.files.iter().filter(|file| file.name.starts_with("crds/") && is_manifest(&file.name));
    let mut found: Vec<(String, ChartFile)> =
        own.map(|file| (format!("{path}/{}", file.name), file.clone())).collect();
    for inner in &chart.dependencies {
        found.append(&mut crds(inner, &format!("{path}/charts/{}", inner.name())));
    }
    found
}
