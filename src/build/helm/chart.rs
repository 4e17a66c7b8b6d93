//! A chart as it is loaded.

use super::error::{Refusal, RenderError};
use super::line::HelmLine;
use super::metadata::Metadata;
use super::readers::Readers;
use super::schema::ready::Schema;
use super::value::Value;
use crate::files::Blob;
use crate::lang::template::{Documents, Parsed, SharedBytes};
use crate::lang::yaml::FilePath;
use rustc_hash::FxHashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A file of a chart.
#[derive(Clone, Debug)]
pub struct ChartFile {
    /// Its path below the chart.
    pub name: Arc<str>,
    /// Its content.
    pub blob: Arc<Blob>,
    /// Where it lies.
    pub place: FilePath,
}

impl ChartFile {
    /// Its bytes without a byte order mark, as Helm loads them.
    pub fn bytes(&self) -> &[u8] {
        let bytes = self.blob.bytes();
        bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
    }

    /// [`ChartFile::bytes`], shared with the file where that can be.
    pub(super) fn shared_bytes(&self) -> SharedBytes {
        match self.shared_text() {
            Some(text) => SharedBytes::Text(text),
            None => SharedBytes::Other(self.bytes().into()),
        }
    }

    /// [`ChartFile::text`], shared with the file where that can be.
    pub(super) fn shared_text(&self) -> Option<Arc<str>> {
        text_of(&self.blob)
    }

    /// Its text without a byte order mark; nothing where it is no UTF-8.
    pub fn text(&self) -> Option<&str> {
        let text = self.blob.text()?;
        Some(text.strip_prefix('\u{feff}').unwrap_or(text))
    }
}

/// The text of a file without a byte order mark.
pub(super) fn text_of(blob: &Blob) -> Option<Arc<str>> {
    let all = blob.shared_text()?;
    Some(all.strip_prefix('\u{feff}').map(Arc::from).unwrap_or(all))
}

/// A chart. Cloning is a few reference counts.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What it says of itself.
    pub metadata: Arc<Metadata>,
    /// Its values.yaml, a map; `None` where it has none.
    pub values: Option<Value>,
    /// `values.schema.json`
    pub schema: Option<ChartFile>,
    /// Files below `templates/`.
    pub templates: Arc<[ChartFile]>,
    /// What `.Files` shows.
    pub files: Arc<[ChartFile]>,
    /// The charts in `charts/`.
    pub dependencies: Vec<Chart>,
    /// All files as they were loaded, those of charts in folders in it too.
    pub(crate) all: Arc<[ChartFile]>,
    /// What loading it made Helm say.
    pub warnings: Vec<String>,
    /// What renders of it, and of the charts in it, made of its files so far.
    pub(crate) prepared: Arc<Prepared>,
}

/// What templates can read, once that is found out; nothing where a bound was met.
type Readable = OnceLock<Option<Arc<Readers>>>;

/// What the templates of charts can read, as far as that was asked, by the templates and the texts
/// of values that are templates. To find it out takes as long as many renders, and hangs on the line
/// of Helm in nearly no chart: those of one store may share it.
#[derive(Default)]
pub(crate) struct KnownReaders(Mutex<FxHashMap<[u8; 32], Arc<Readable>>>);

impl fmt::Debug for KnownReaders {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("KnownReaders")
    }
}

/// What is made of a chart's files once for all its renders: a chart is loaded for one
/// line of Helm, so the functions and the drafts of schemas are the same.
#[derive(Default)]
pub(crate) struct Prepared {
    /// By the address of the content, which the chart holds, and the name of the template.
    templates: Mutex<FxHashMap<usize, ByName<Parsed>>>,
    /// By the addresses of the schema and of all files that may answer its references.
    schemas: Memo<Vec<usize>, Schema>,
    /// What the templates can read.
    readers: OnceLock<Arc<KnownReaders>>,
    /// Tells what the templates can read from what those of other charts can.
    shape: OnceLock<[u8; 32]>,
    /// YAML texts that they read: no more than their files hold.
    documents: OnceLock<Arc<Documents>>,
}

type Memo<K, V> = Mutex<FxHashMap<K, Cell<V>>>;

type ByName<V> = FxHashMap<Arc<str>, Cell<V>>;

/// What is made once; who comes while it is made waits for it.
type Cell<V> = Arc<OnceLock<Arc<V>>>;

/// What was made for a key.
fn known<K: Hash + Eq, V>(memo: &Memo<K, V>, key: K, make: impl FnOnce() -> V) -> Arc<V> {
    let lock = memo.lock();
    let cell = lock.unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
    cell.get_or_init(|| Arc::new(make())).clone()
}

impl Prepared {
    /// YAML texts that the templates of a chart read.
    pub(super) fn documents(&self, chart: &Chart) -> Arc<Documents> {
        let size = || chart.all_files().iter().map(|file| file.blob.size()).sum();
        self.documents.get_or_init(|| Arc::new(Documents::up_to(size()))).clone()
    }

    /// Has each YAML text read anew, for who renders once: what is kept takes memory.
    pub(crate) fn keep_no_documents(&self) {
        self.documents.get_or_init(Arc::default);
    }

    /// Whether any templates were parsed.
    pub(super) fn has_templates(&self) -> bool {
        !self.templates.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// The templates of a file, by the name that the render gives it.
    pub(super) fn templates(
        &self,
        name: &str,
        blob: &Arc<Blob>,
        parse: impl FnOnce() -> Parsed,
    ) -> Arc<Parsed> {
        let mut lock = self.templates.lock().unwrap_or_else(PoisonError::into_inner);
        let alike = lock.entry(Arc::as_ptr(blob) as usize).or_default();
        let cell = match alike.get(name) {
            Some(cell) => cell.clone(),
            None => alike.entry(name.into()).or_default().clone(),
        };
        drop(lock);
        cell.get_or_init(|| Arc::new(parse())).clone()
    }

    /// The compiled schema of a file, whose references any of the others may answer.
    pub(super) fn schema<'f>(
        &self,
        file: &'f ChartFile,
        others: impl Iterator<Item = &'f ChartFile>,
        compile: impl FnOnce() -> Schema,
    ) -> Arc<Schema> {
        known(&self.schemas, std::iter::once(file).chain(others).map(address).collect(), compile)
    }

    /// What they can read; others wait for who finds it out.
    pub(super) fn readers(
        &self,
        key: [u8; 32],
        find: impl FnOnce() -> Option<Arc<Readers>>,
    ) -> Option<Arc<Readers>> {
        let KnownReaders(known) = &**self.readers.get_or_init(Arc::default);
        let cell = known.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
        cell.get_or_init(find).clone()
    }

    /// What tells its templates from others.
    pub(super) fn shape(&self, find: impl FnOnce() -> [u8; 32]) -> [u8; 32] {
        *self.shape.get_or_init(find)
    }

    /// Lets it know what templates of other charts can read, and these of it; before anybody asks.
    pub(crate) fn share(&self, known: Arc<KnownReaders>) {
        let _ = self.readers.set(known);
    }
}

fn address(file: &ChartFile) -> usize {
    Arc::as_ptr(&file.blob) as usize
}

impl fmt::Debug for Prepared {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Prepared")
    }
}

impl Chart {
    /// Its name; of a dependency with an alias that.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// `name@version`, as a tree is named in answers.
    pub fn label(&self) -> String {
        format!("{}@{}", self.metadata.name, self.metadata.version)
    }

    /// What Helm's commands, but not helm-controller, refuse before they render: a
    /// library, and a chart whose `charts/` lacks a dependency.
    pub fn check_installable(&self, line: HelmLine) -> Result<(), RenderError> {
        if !matches!(&*self.metadata.of_type, "" | "application") {
            return Err(Refusal::new(format!("{} charts are not installable", self.metadata.of_type)).into());
        }
        let missing = self.missing_dependencies();
        if missing.is_empty() {
            return Ok(());
        }
        let (start, quote) = match line {
            HelmLine::V3_17 => ("An", '`'),
            HelmLine::V4_1 => ("an", '`'),
            HelmLine::V4_2 => ("an", '\''),
        };
        Err(Refusal::new(format!(
            "{start} error occurred while checking for chart dependencies. You may need to run \
             {quote}helm dependency build{quote} to fetch missing dependencies: found in Chart.yaml, but \
             missing in charts/ directory: {}",
            missing.join(", ")
        ))
        .into())
    }

    /// Names of `dependencies` that no chart in `charts/` has.
    pub fn missing_dependencies(&self) -> Vec<&str> {
        let has = |name: &str| self.dependencies.iter().any(|chart| chart.name() == name);
        let wanted = self.metadata.dependencies.iter().flatten();
        wanted.map(|dependency| &*dependency.name).filter(|name| !has(name)).collect()
    }

    /// Bytes of its templates and of those of the charts in it.
    pub(crate) fn template_bytes(&self) -> usize {
        let own = self.templates.iter().map(|file| file.bytes().len());
        own.chain(self.dependencies.iter().map(Chart::template_bytes)).sum()
    }

    /// Files of the chart and of the charts in it.
    pub fn all_files(&self) -> Vec<&ChartFile> {
        let mut found: Vec<&ChartFile> = self.all.iter().collect();
        for inner in &self.dependencies {
            found.extend(inner.all_files());
        }
        found
    }
}
