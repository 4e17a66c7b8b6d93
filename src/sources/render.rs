//! What a release's chart makes of its values, and what is asked of the chart besides.

use super::kept;
use super::load::{Loaded, files_of, leads_of, of_store, place_key};
use super::outcome::{
    Answers, ChartObjects, ChartOutcome, NoRelease, POST_RENDER_FAILS, UnreadValue, documents_of,
};
use super::request::ChartRequest as Asked;
use super::resolve::FoundChart;
use super::values::Values;
use crate::build::helm::{
    self, Capabilities, Chart, ChartRelease, Culprit, Dead, Helm, Idle, Readers, RenderError, Replaced, Value,
};
use crate::files::{Snapshot, StoredChart};
use crate::lang::text::Names;
use crate::lang::yaml::{FilePath, Location, Node};
use rustc_hash::{FxHashMap, FxHashSet};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// All that a render hangs on besides the chart.
pub(crate) struct Wish<'w> {
    /// What the release asks for.
    pub asked: &'w Asked,
    pub values: &'w Values,
    /// Its name and namespace.
    pub release: ChartRelease,
    /// What the cluster is likely to be able to do.
    pub capabilities: &'w Capabilities,
    /// The least and the most that it may be: what both decide alike is known.
    pub ends: &'w [Capabilities],
    /// Tells the API versions of all of them from others.
    pub api_versions: &'w ApiVersionsDigest,
    /// The Helm of its helm-controller.
    pub helm: Helm,
    /// `disableSchemaValidation`
    pub skips_schema: bool,
}

/// The API versions that a cluster has and may have, as a SHA-256: they are asked for with each
/// release, and are hundreds.
#[derive(Clone, Debug)]
pub(crate) struct ApiVersionsDigest([u8; 32]);

impl ApiVersionsDigest {
    /// Of all that the cluster may be.
    pub(crate) fn of<'c>(all: impl Iterator<Item = &'c Capabilities>) -> ApiVersionsDigest {
        let mut hasher = Sha256::new();
        for of in all {
            of.api_versions.iter().for_each(|version| hasher.update(format!("{}:{version}", version.len())));
            hasher.update(";");
        }
        ApiVersionsDigest(hasher.finalize().into())
    }
}

/// A release that was rendered.
#[derive(Debug)]
pub(crate) struct Rendering {
    /// What came of it.
    pub outcome: Arc<ChartOutcome>,
    /// The chart, with its values files, and what it was rendered for; nothing where there
    /// is no chart.
    of: Option<Rendered>,
    /// What of the chart a store was asked for by name alone, in words.
    pub taken_in: Arc<[String]>,
    unread: OnceLock<Arc<Unread>>,
    idle: OnceLock<Vec<Idle>>,
    culprit: OnceLock<Option<Culprit>>,
    replaced: OnceLock<Vec<Replaced>>,
    deprecation: Option<String>,
    /// The API versions that decide, each with whether the cluster has it; nothing where all
    /// may decide.
    pub(super) versions: Option<Vec<(String, bool)>>,
    /// The chart in its store, of one that was kept and what the paths of its files begin with.
    kept: Option<(Arc<StoredChart>, Helm, Vec<String>)>,
}

#[derive(Debug)]
struct Rendered {
    chart: Arc<Chart>,
    values: Value,
    release: ChartRelease,
    capabilities: Capabilities,
    helm: Helm,
    skips_schema: bool,
    /// Files of `valuesFiles`, without the chart's own values.
    values_files: Vec<FilePath>,
    /// Whether nothing was taken into the chart from elsewhere.
    is_whole: bool,
    /// How its templates ran, where they did.
    run: Option<ChartRun>,
}

/// API versions that decide on a render; nothing where all may.
type AskedVersions = Option<BTreeSet<String>>;

/// A run of the templates of a chart.
#[derive(Debug)]
struct ChartRun {
    touched: helm::Touched,
    /// What they wrote, where the same request makes them write it again.
    written: Option<helm::Digest>,
}

/// What the templates of a chart do with the values of a release.
#[derive(Debug, Default)]
pub(crate) struct Unread {
    /// The values that nothing reads.
    pub dead: Vec<Dead>,
    /// Whether the templates could be followed.
    pub is_followed: bool,
    /// What the templates can read; nothing where that is too much to say, or not asked
    /// again.
    readers: Option<Arc<Readers>>,
    /// All values, as templates see them.
    coalesced: Option<Value>,
    /// What is meant by dead values, as far as that was asked.
    meant: Mutex<FxHashMap<Vec<Arc<str>>, Option<UnreadValue>>>,
    /// The keys that templates know, by the path of the map that they are of.
    known: Mutex<FxHashMap<Vec<Arc<str>>, Arc<ValueKeys>>>,
}

type ValueKeys = Names<Arc<str>>;

impl Unread {
    /// What is meant by a dead value, as far as one thing is near.
    pub(crate) fn meant(&self, dead: &Dead) -> Option<UnreadValue> {
        let known = || self.meant.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(meant) = known().get(&dead.path) {
            return meant.clone();
        }
        let meant = self.find_meant(dead);
        known().insert(dead.path.clone(), meant.clone());
        meant
    }

    fn find_meant(&self, dead: &Dead) -> Option<UnreadValue> {
        let (readers, coalesced) = (self.readers.as_ref()?, self.coalesced.as_ref()?);
        let (key, above) = dead.path.split_last()?;
        let beside = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(above).cloned();
        let beside = beside.unwrap_or_else(|| {
            let names: Arc<ValueKeys> = Arc::new(readers.siblings(dead, coalesced).into_iter().collect());
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.entry(above.to_vec()).or_insert(names).clone()
        });
        if let Some(near) = beside.nearest(key) {
            return Some(UnreadValue::Near(above.iter().cloned().chain([near.into()]).collect()));
        }
        match &*readers.elsewhere(dead, coalesced) {
            [only] => Some(UnreadValue::Elsewhere(only.clone())),
            _ => None,
        }
    }
}

/// All values of a release, and what templates do with them.
#[derive(Debug)]
pub(crate) struct ValueUse {
    /// As templates see them.
    pub values: Value,
    /// The highest keys that nothing reads.
    pub dead: FxHashSet<Vec<Arc<str>>>,
    /// The same, where a render without them says otherwise, or was not made.
    pub unsure: FxHashSet<Vec<Arc<str>>>,
    /// Whether the templates could be followed.
    pub is_followed: bool,
}

impl Rendering {
    /// All values as the templates see them, and which of them nothing reads; `None` where
    /// there is no chart.
    ///
    /// # Errors
    /// Helm refuses to put them together.
    pub(crate) fn reading(&self) -> Option<Result<ValueUse, RenderError>> {
        self.of.as_ref().map(|of| of.reading(&self.unread()))
    }

    /// The files of `valuesFiles`, without the chart's own values.
    pub(crate) fn values_files(&self) -> &[FilePath] {
        self.of.as_ref().map_or(&[], |of| &of.values_files)
    }

    /// The values of these files that nothing reads, each with where its key stands.
    pub(crate) fn unread_of_files(&self) -> Vec<(Dead, Location)> {
        let unread = self.unread();
        match (&self.of, &unread.readers, &unread.coalesced) {
            (Some(of), Some(readers), Some(coalesced)) if !of.values_files.is_empty() => {
                of.unread_of_files(readers, coalesced)
            }
            _ => Vec::new(),
        }
    }

    /// Whether there is a chart whose templates could not be followed: nobody knows what they can
    /// read.
    pub(crate) fn is_unfollowed(&self) -> bool {
        (self.of.is_some() || self.kept.is_some()) && !self.unread().is_followed
    }

    /// The values that the chart reads under other values only; nothing where its templates
    /// could not be followed.
    pub(crate) fn idle(&self) -> &[Idle] {
        self.idle.get_or_init(|| {
            let unread = self.unread();
            let (Some(of), Some(readers)) = (&self.of, &unread.readers) else { return Vec::new() };
            let Some(run) = &of.run else { return Vec::new() };
            helm::idle(&of.request(), (&run.touched, run.written.as_ref()), readers, &unread.dead)
        })
    }

    /// The chart by its address and the bytes of its templates, where it was loaded: of a render
    /// that was kept all is known.
    pub(crate) fn templates(&self) -> Option<(usize, usize)> {
        let chart = &self.of.as_ref()?.chart;
        Some((Arc::as_ptr(chart) as usize, chart.template_bytes()))
    }

    /// Finds what the chart's templates can read whatever the values are.
    pub(crate) fn follow(&self) {
        if let Some(of) = &self.of {
            of.chart.readers(None, of.helm.line);
        }
    }

    /// Whether its templates refuse: of what a schema refuses the value is known.
    pub(crate) fn fails(&self) -> bool {
        matches!(&*self.outcome, ChartOutcome::Refused(refusal) if refusal.faults.is_empty() && !refusal.is_of_post_renderers())
    }

    /// The value that the chart fails on, where it fails.
    pub(crate) fn culprit(&self) -> Option<&Culprit> {
        let of = self.of.as_ref();
        let find = || of.and_then(|of| helm::culprit(&of.request(), of.readers().as_deref()));
        self.culprit.get_or_init(find).as_ref()
    }

    /// The values that another version of the chart read and this one doesn't; nothing where
    /// the chart is the same, or where one of the two can't be followed.
    pub(crate) fn unread_since(&self, before: &Rendering) -> Vec<(Dead, Option<UnreadValue>)> {
        let (Some(old), Some(new)) = (&before.of, &self.of) else { return Vec::new() };
        if Arc::ptr_eq(&old.chart, &new.chart) {
            return Vec::new();
        }
        let (was, is) = (before.unread(), self.unread());
        if !was.is_followed {
            return Vec::new();
        }
        // Whether it, or what it lies in, was dead.
        let all: FxHashSet<&[Arc<str>]> = was.dead.iter().map(|dead| &*dead.path).collect();
        let was_dead = |path: &[Arc<str>]| (0..=path.len()).any(|steps| all.contains(&path[..steps]));
        let is_new = |dead: &&Dead| old.values.at(&dead.path).is_some() && !was_dead(&dead.path);
        is.dead.iter().filter(is_new).map(|dead| (dead.clone(), is.meant(dead))).collect()
    }

    /// What of the charts' values the release's stand in the place of, in another shape.
    pub(crate) fn replaced(&self) -> &[Replaced] {
        let find = || self.of.as_ref().and_then(|of| helm::replaced(&of.request()).ok()).unwrap_or_default();
        self.replaced.get_or_init(find)
    }

    /// What Chart.yaml says of a chart that is deprecated.
    pub(crate) fn deprecation(&self) -> Option<&str> {
        self.deprecation.as_deref()
    }

    fn new(outcome: Arc<ChartOutcome>, of: Option<Rendered>, taken_in: Arc<[String]>) -> Rendering {
        let metadata = of.as_ref().map(|of| &of.chart.metadata);
        let deprecated = metadata.filter(|metadata| metadata.deprecated);
        let deprecation = deprecated.map(|metadata| metadata.description.clone());
        Rendering {
            outcome,
            of,
            taken_in,
            unread: OnceLock::new(),
            idle: OnceLock::new(),
            culprit: OnceLock::new(),
            replaced: OnceLock::new(),
            deprecation,
            versions: None,
            kept: None,
        }
    }

    pub(super) fn without_chart(outcome: Arc<ChartOutcome>) -> Arc<Rendering> {
        Arc::new(Rendering::new(outcome, None, Arc::default()))
    }

    /// One that was kept: all that is asked of the chart was answered before.
    pub(super) fn kept(
        (outcome, answers): (ChartOutcome, Answers),
        (stored, helm): (&Arc<StoredChart>, Helm),
    ) -> Rendering {
        let dead = answers.dead.iter().map(|(dead, _)| dead.clone()).collect();
        let meant = Mutex::new(answers.dead.into_iter().map(|(dead, meant)| (dead.path, meant)).collect());
        let unread = Unread { dead, is_followed: answers.is_followed, meant, ..Unread::default() };
        let deprecation = answers.deprecation;
        Rendering {
            unread: Arc::new(unread).into(),
            idle: answers.idle.into(),
            culprit: answers.culprit.into(),
            replaced: answers.replaced.into(),
            deprecation,
            versions: answers.versions,
            kept: Some((stored.clone(), helm, answers.leads)),
            ..Rendering::new(Arc::new(outcome), None, Arc::default())
        }
    }

    /// Lets a snapshot find the files of its chart; of one that was kept they are read when
    /// one is asked for.
    pub(super) fn note_files(&self, snapshot: &Snapshot) {
        match (&self.of, &self.kept) {
            (Some(of), _) => {
                let (chart, leads) = (of.chart.clone(), leads_of(&of.chart));
                // The files of a chart in a tree are the tree's.
                if !leads.is_empty() {
                    snapshot.add_chart(leads, move || files_of(&chart));
                }
            }
            (None, Some((stored, helm, leads))) => {
                let (stored, helm, blobs) = (stored.clone(), *helm, snapshot.store().clone());
                let files = move || of_store(&stored, helm, &blobs).map(|chart| files_of(&chart));
                snapshot.add_chart(leads.clone(), move || files().unwrap_or_default());
            }
            (None, None) => {}
        }
    }

    /// Whether it may be kept: nothing was taken into its chart from elsewhere.
    pub(super) fn is_of_whole_chart(&self) -> bool {
        self.of.as_ref().is_some_and(|of| of.is_whole)
    }

    /// The answers to all that is asked of it.
    pub(super) fn answers(&self) -> Answers {
        let unread = self.unread();
        let told = unread.dead.iter().enumerate();
        let meant = |(at, dead): (usize, &Dead)| (at < MEANT).then(|| unread.meant(dead)).flatten();
        Answers {
            leads: self.of.as_ref().map(|of| leads_of(&of.chart)).unwrap_or_default(),
            deprecation: self.deprecation.clone(),
            is_followed: unread.is_followed,
            dead: told.map(|one| (one.1.clone(), meant(one))).collect(),
            idle: self.idle().to_vec(),
            culprit: if self.fails() { self.culprit().cloned() } else { None },
            replaced: self.replaced().to_vec(),
            versions: self.versions.clone(),
        }
    }

    /// What of the values nothing reads; found once.
    pub(crate) fn unread(&self) -> Arc<Unread> {
        let find = || self.of.as_ref().map(Rendered::unread).unwrap_or_default();
        self.unread.get_or_init(|| Arc::new(find())).clone()
    }
}

impl Rendered {
    fn request(&self) -> helm::RenderRequest<'_> {
        helm::RenderRequest {
            chart: &self.chart,
            values: &self.values,
            release: &self.release,
            capabilities: &self.capabilities,
            ends: &[],
            helm: self.helm,
            skip_schema_validation: self.skips_schema,
            version_suffix: None,
            keep: helm::Keep::Text,
            // Other releases are rendered beside it.
            threads: 1,
            work: None,
        }
    }

    fn written(&self) -> Option<&helm::Digest> {
        self.run.as_ref()?.written.as_ref()
    }

    /// What nothing reads. To follow the templates takes as long as many renders: for the texts
    /// of these values only where something is dead without them, for with them templates read
    /// more.
    fn unread(&self) -> Unread {
        let request = self.request();
        let coalesced = helm::coalesced(&request).ok();
        let dead = |readers: &Option<Arc<Readers>>| match (readers, &coalesced) {
            (Some(readers), Some(coalesced)) => readers.dead(&self.values, coalesced),
            _ => Vec::new(),
        };
        let mut readers = self.chart.readers(None, self.helm.line);
        let mut found = dead(&readers);
        if !found.is_empty() || !self.values_files.is_empty() {
            readers = self.readers();
            found = dead(&readers);
        }
        let dead = helm::proved(&request, self.written(), found);
        let is_followed = readers.is_some();
        Unread { dead, is_followed, readers, coalesced, ..Unread::default() }
    }

    /// What the templates can read, with the texts of these values.
    fn readers(&self) -> Option<Arc<Readers>> {
        self.chart.readers(Some(&self.values), self.helm.line)
    }

    fn unread_of_files(&self, readers: &Readers, coalesced: &Value) -> Vec<(Dead, Location)> {
        let Some(defaults) = &self.chart.values else { return Vec::new() };
        let mut dead = readers.dead(defaults, coalesced);
        // What the release sets itself is told there.
        dead.retain(|dead| self.values.at(&dead.path).is_none());
        let place = |dead: &Dead| {
            let origin = defaults.at(&dead.path)?.origin.as_ref()?;
            let is_own = self.values_files.contains(&origin.location().file);
            is_own.then(|| helm::key_of(origin).unwrap_or_else(|| origin.location()))
        };
        dead.retain(|dead| place(dead).is_some());
        let proved = helm::proved_defaults(&self.request(), self.written(), coalesced, dead);
        proved.into_iter().filter_map(|dead| Some((dead.clone(), place(&dead)?))).collect()
    }

    fn reading(&self, unread: &Unread) -> Result<ValueUse, RenderError> {
        let request = self.request();
        let values = helm::coalesced(&request)?;
        let Some(readers) = self.readers() else {
            return Ok(ValueUse {
                values,
                dead: FxHashSet::default(),
                unsure: FxHashSet::default(),
                is_followed: false,
            });
        };
        let mut dead: FxHashSet<Vec<Arc<str>>> = unread.dead.iter().map(|dead| dead.path.clone()).collect();
        let mut others = readers.dead(&values, &values);
        others.retain(|other| !dead.contains(&other.path));
        let proved = helm::proved_defaults(&request, self.written(), &values, others.clone());
        dead.extend(proved.into_iter().map(|dead| dead.path));
        let unsure = others.into_iter().map(|dead| dead.path).filter(|path| !dead.contains(path)).collect();
        Ok(ValueUse { values, dead, unsure, is_followed: true })
    }
}

/// Dead values of one release of which it is kept what is meant: those that are told.
const MEANT: usize = 200;

impl Wish<'_> {
    /// What a chart makes of it.
    pub(super) fn rendering(&self, loaded: &Loaded, values_files: Vec<FilePath>) -> Rendering {
        let (outcome, run, versions) = self.render(&loaded.chart);
        let of = Rendered {
            chart: loaded.chart.clone(),
            values: self.values.value.clone(),
            release: self.release.clone(),
            capabilities: self.capabilities.clone(),
            helm: self.helm,
            skips_schema: self.skips_schema,
            values_files,
            is_whole: loaded.is_whole,
            run,
        };
        let taken_in = loaded.taken_in.clone();
        let known = |version: String| {
            let is_there = self.capabilities.api_versions.contains(&version);
            (version, is_there)
        };
        let versions = versions.map(|versions| versions.into_iter().map(known).collect());
        Rendering { versions, ..Rendering::new(Arc::new(outcome), Some(of), taken_in) }
    }

    /// What comes of it, how the templates ran, and which API versions decide on that.
    fn render(&self, chart: &Chart) -> (ChartOutcome, Option<ChartRun>, AskedVersions) {
        let (result, versions) = self.judged(chart);
        match result {
            Ok(mut rendered) => {
                if let Some((why, location)) = rendered.refused_document() {
                    let message = format!("{POST_RENDER_FAILS}: {why}");
                    let refusal =
                        NoRelease { assumed: rendered.assumed, ..NoRelease::new(message, location) };
                    return (ChartOutcome::Refused(Box::new(refusal)), None, versions);
                }
                let made = made(chart, &rendered);
                // The release is rendered without the suffix where it is compared.
                let written = rendered.digest.filter(|_| !self.asked.has_suffix);
                let run = rendered.touched(&self.values.value).map(|touched| ChartRun { touched, written });
                (ChartOutcome::Rendered(made), run, versions)
            }
            Err(error) => (ChartOutcome::of(error), None, None),
        }
    }

    /// What comes of all that the cluster may be where that is one and the same, else of what it
    /// is likely to be, with what is assumed; and the API versions that decide.
    fn judged(&self, chart: &Chart) -> (Result<helm::RenderedChart, RenderError>, AskedVersions) {
        let mut likely = helm::render(&self.request(chart, self.capabilities));
        if let (Some(assumed), Err(RenderError::Refused(refusal))) = (&self.capabilities.assumed, &mut likely)
            && refusal.assumed.contains(assumed)
            && self.is_refused_anyway(chart, &refusal.message)
        {
            refusal.assumed.retain(|unknown| unknown != assumed);
        }
        let is_assumed = |unknown: &String| match &likely {
            Ok(rendered) => rendered.hangs_on(unknown),
            Err(RenderError::Refused(refusal)) => refusal.assumed.contains(unknown),
            Err(RenderError::Unable(_)) => false,
        };
        let mut versions = versions_of(&likely);
        if !self.capabilities.assumed.as_ref().is_some_and(is_assumed) {
            return (likely, versions);
        }
        let alike = self.alike(chart, &likely, &mut versions);
        (alike.unwrap_or(likely), versions)
    }

    /// What comes of everything that the cluster may be, where that is the same as of what it is
    /// likely to be: as that of which nothing is assumed. The most that it may be has any API, so
    /// no version decides there; those that decide on the least are added.
    fn alike(
        &self,
        chart: &Chart,
        likely: &Result<helm::RenderedChart, RenderError>,
        versions: &mut AskedVersions,
    ) -> Option<Result<helm::RenderedChart, RenderError>> {
        let (least, others) = self.ends.split_first()?;
        // Most that differ differ from the most that the cluster may be, and only the text tells.
        others.iter().all(|end| self.is_alike(chart, likely, end)).then_some(())?;
        let least = helm::render(&self.request(chart, least));
        let is_same = match (likely, &least) {
            (Ok(one), Ok(other)) => one.digest == other.digest || one.is_same(other),
            (one, other) => are_one_refusal(one, other),
        };
        *versions = versions.take().zip(versions_of(&least)).map(|(one, other)| &one | &other);
        is_same.then_some(least)
    }

    /// Whether a cluster that can do other things makes no difference.
    fn is_alike(
        &self,
        chart: &Chart,
        likely: &Result<helm::RenderedChart, RenderError>,
        end: &Capabilities,
    ) -> bool {
        let request = helm::RenderRequest { keep: helm::Keep::Text, ..self.request(chart, end) };
        let known = likely.as_ref().ok().and_then(|likely| likely.digest.as_ref());
        match (likely, helm::render_unless(&request, known)) {
            (Ok(_), Ok(None)) => true,
            (Ok(one), Ok(Some(other))) => one.is_same(&other),
            (one, Err(error)) => are_one_refusal(one, &Err(error)),
            _ => false,
        }
    }

    /// Whether Helm says the same of everything that the cluster may be, but for a version that
    /// the chart does not take: nothing is installed there either.
    fn is_refused_anyway(&self, chart: &Chart, message: &str) -> bool {
        let is_refused = |end: &Capabilities| {
            let request = helm::RenderRequest { keep: helm::Keep::Text, ..self.request(chart, end) };
            let refuses = || matches!(helm::render(&request), Err(RenderError::Refused(other)) if other.message == message);
            !helm::takes_cluster(&request) || refuses()
        };
        let request = self.request(chart, self.capabilities);
        helm::takes_cluster(&request) && !self.ends.is_empty() && self.ends.iter().all(is_refused)
    }

    fn request<'r>(&'r self, chart: &'r Chart, capabilities: &'r Capabilities) -> helm::RenderRequest<'r> {
        let suffix = self.asked.has_suffix.then(|| "the digest or generation behind the version".to_owned());
        helm::RenderRequest {
            chart,
            values: &self.values.value,
            release: &self.release,
            capabilities,
            ends: self.ends,
            helm: self.helm,
            skip_schema_validation: self.skips_schema,
            version_suffix: suffix,
            keep: helm::Keep::Branches,
            // Other releases are rendered beside it.
            threads: 1,
            work: None,
        }
    }

    /// What tells requests apart, by content and by the places of the values: without the API
    /// versions of the cluster, and with them.
    pub(super) fn keys(&self, chart: &Chart, found: &FoundChart) -> [[u8; 32]; 2] {
        let mut all_else = self.all_else(&place_key(found));
        if !self.asked.values_files.is_empty()
            && let Some(values) = &chart.values
        {
            kept::write_value(values, &mut all_else);
        }
        let mut hasher = Sha256::new();
        hasher.update(&all_else);
        let first = hasher.clone().finalize().into();
        hasher.update(self.api_versions.0);
        [first, hasher.finalize().into()]
    }

    /// All that a render of a stored chart hangs on, by content and by the places of the
    /// values: without the API versions of the cluster, and with them. `None` where more lies
    /// in other files.
    pub(super) fn to_bytes(&self, chart: &StoredChart) -> Option<[Vec<u8>; 2]> {
        if self.asked.values_files.iter().any(|(file, _)| file != "values.yaml") {
            return None;
        }
        let all_else = self.all_else(chart.digest()?);
        let mut all = all_else.clone();
        all.extend_from_slice(&self.api_versions.0);
        Some([all_else, all])
    }

    fn all_else(&self, chart: &str) -> Vec<u8> {
        let of_cluster = |of: &Capabilities| (of.kube_version.clone(), of.assumed.clone());
        let ends: Vec<_> = self.ends.iter().map(of_cluster).collect();
        let likely = of_cluster(self.capabilities);
        let release = (&self.release, self.helm, self.skips_schema, self.asked.has_suffix);
        let mut out = format!("{chart} {release:?} {likely:?} {ends:?}").into_bytes();
        kept::write_value(&self.values.value, &mut out);
        out
    }
}

fn versions_of(result: &Result<helm::RenderedChart, RenderError>) -> AskedVersions {
    result.as_ref().ok().and_then(helm::RenderedChart::asked_api_versions)
}

fn are_one_refusal(
    one: &Result<helm::RenderedChart, RenderError>,
    other: &Result<helm::RenderedChart, RenderError>,
) -> bool {
    match (one, other) {
        (Err(RenderError::Refused(one)), Err(RenderError::Refused(other))) => one.message == other.message,
        _ => false,
    }
}

fn made(chart: &Chart, rendered: &helm::RenderedChart) -> ChartObjects {
    let nodes = |documents: &[helm::ManifestDocument]| -> Vec<Node> {
        documents.iter().filter_map(|document| rendered.node(document)).collect()
    };
    let definitions = rendered.crds.iter().flat_map(|(_, file)| documents_of(file)).collect();
    ChartObjects {
        label: (chart.metadata.name.clone(), chart.metadata.version.clone()),
        objects: nodes(&rendered.manifests),
        hooks: nodes(&rendered.hooks),
        definitions,
        assumed: rendered.assumed.clone(),
    }
}
