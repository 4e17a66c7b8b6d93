//! Charts out of their files, as `LoadFiles` of Helm's `pkg/chart/v2/loader` does it.

use super::archive;
use super::chart::{Chart, ChartFile};
use super::error::{Refusal, RenderError, refuse};
use super::ignore::Ignore;
use super::line::HelmLine;
use super::metadata::{Metadata, read_file};
use super::value::{Kind, Value, merge_into};
use crate::files::{Blob, FileTree, PathKind, Snapshot, Store, resolve_link};
use crate::lang::template::{not_utf8, read};
use crate::lang::yaml::go_compat::{DocumentReader, apimachinery_documents, decode};
use crate::lang::yaml::{FilePath, Source, Stream, Tree};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How deeply charts may lie in charts.
pub(super) const DEPTH: usize = 32;

/// Files of a chart's directory; Helm has no such bound.
const FILES: usize = 50_000;

/// What loading needs to know.
pub(super) struct Loading<'l> {
    pub(super) store: &'l Store,
    pub(super) line: HelmLine,
}

impl Chart {
    /// The chart in a directory of a file tree (`""` is its root): `.helmignore` counts,
    /// links within the tree are followed, and `at` is what Helm calls the directory.
    pub fn of_tree(tree: &FileTree, directory: &str, at: &str, line: HelmLine) -> Result<Chart, RenderError> {
        let loading = Loading { store: tree.snapshot().store(), line };
        let mut files = listed(tree, directory)?;
        if line != HelmLine::V3_17 {
            let Some(own) = files.iter().find(|file| &*file.name == "Chart.yaml") else {
                return refuse(format!(
                    "unable to detect chart at {at}/Chart.yaml: open {at}/Chart.yaml: no such file or directory"
                ));
            };
            loading.check_version(own)?;
        }
        let rules = files.iter().find(|file| &*file.name == ".helmignore");
        let rules = Ignore::parse(rules.and_then(ChartFile::text).unwrap_or_default())?;
        files.retain(|file| !rules.excludes(&file.name));
        for file in &files {
            if file.blob.bytes().len() as u64 > archive::FILE_LIMIT && line != HelmLine::V3_17 {
                let base = file.name.rsplit('/').next().unwrap_or_default();
                return refuse(format!(
                    "chart file {base:?} is larger than the maximum file size {}",
                    archive::FILE_LIMIT
                ));
            }
        }
        loading.files(files, 0)
    }

    /// The chart in a packed archive; its places name the tree `name@version`.
    pub fn of_archive(packed: &[u8], store: &Store, line: HelmLine) -> Result<Chart, RenderError> {
        Chart::of_members(packed, store, line, &mut |_, bytes, _| store.intern(bytes))
    }

    /// [`Chart::of_archive`], whose files are held as `hold` says.
    pub(super) fn of_members(
        packed: &[u8],
        store: &Store,
        line: HelmLine,
        hold: &mut archive::Hold<'_>,
    ) -> Result<Chart, RenderError> {
        let loading = Loading { store, line };
        let members = archive::members(packed, hold).map_err(|error| match (error, line) {
            (RenderError::Refused(refusal), HelmLine::V4_1 | HelmLine::V4_2) => {
                refusal.wrapped("unable to load chart archive: ").into()
            }
            (error, _) => error,
        })?;
        let files = loading.placed(members);
        if line != HelmLine::V3_17 {
            let Some(own) = files.iter().find(|file| &*file.name == "Chart.yaml") else {
                return refuse("unable to detect chart version, no Chart.yaml found");
            };
            loading.check_version(own)?;
        }
        loading.files(files, 0)
    }

    /// The chart in a folder that no file tree holds, by the paths in it and their bytes:
    /// as [`Chart::of_tree`], with the places of an archive.
    pub fn of_folder(
        files: &[(String, Vec<u8>)],
        store: &Store,
        line: HelmLine,
    ) -> Result<Chart, RenderError> {
        let loading = Loading { store, line };
        let members = files.iter().map(|(name, bytes)| (name.clone(), store.intern(bytes)));
        let mut files = loading.placed(members.collect());
        let rules = files.iter().find(|file| &*file.name == ".helmignore");
        let rules = Ignore::parse(rules.and_then(ChartFile::text).unwrap_or_default())?;
        files.retain(|file| !rules.excludes(&file.name));
        files.sort_by(|a, b| a.name.split('/').cmp(b.name.split('/')));
        loading.files(files, 0)
    }
}

/// The files of a directory, in the order of Go's walk.
fn listed(tree: &FileTree, directory: &str) -> Result<Vec<ChartFile>, RenderError> {
    let snapshot: &Snapshot = tree.snapshot();
    let cut = if directory.is_empty() { 0 } else { directory.len() + 1 };
    let mut found = Vec::new();
    for (path, file) in tree.walk(directory) {
        if found.len() >= FILES {
            return Err(RenderError::Unable(format!("more than forebay's bound: {FILES} files of a chart")));
        }
        let name = &path[cut..];
        let is_link = tree.kind(&path) == Some(PathKind::Symlink);
        if is_link {
            linked(tree, &path, name, &mut found)?;
            continue;
        }
        if tree.kind(&path) != Some(PathKind::File) {
            return refuse(format!("cannot load irregular file {name} as it has file mode type bits set"));
        }
        let blob = snapshot.blob(file).map_err(|why| RenderError::Unable(format!("{path}: {why:?}")))?;
        found.push(ChartFile { name: name.into(), blob: blob.clone(), place: file.name() });
    }
    found.sort_by(|a, b| a.name.split('/').cmp(b.name.split('/')));
    Ok(found)
}

/// What a link of the chart leads to, within the tree.
fn linked(tree: &FileTree, path: &str, name: &str, found: &mut Vec<ChartFile>) -> Result<(), RenderError> {
    let snapshot: &Snapshot = tree.snapshot();
    let outside = || RenderError::Unable(format!("{path}: a link that leads out of the tree, or nowhere"));
    let mut at = path.to_owned();
    for _ in 0..40 {
        let Some(file) = tree.file(&at) else {
            // A directory: its files, under the link's name.
            let mut any = false;
            for (inner, file) in tree.walk(&at) {
                any = true;
                if tree.kind(&inner) != Some(PathKind::File) || found.len() >= FILES {
                    return Err(outside());
                }
                let blob = snapshot.blob(file).map_err(|_| outside())?;
                let name = format!("{name}{}", &inner[at.len()..]);
                found.push(ChartFile { name: name.into(), blob: blob.clone(), place: file.name() });
            }
            return if any { Ok(()) } else { Err(outside()) };
        };
        match &file.kind {
            crate::files::FileKind::Symlink(target) => {
                at = resolve_link(&at, target).ok_or_else(outside)?;
            }
            crate::files::FileKind::Regular => {
                let blob = snapshot.blob(file).map_err(|_| outside())?;
                found.push(ChartFile { name: name.into(), blob: blob.clone(), place: file.name() });
                return Ok(());
            }
            _ => return Err(outside()),
        }
    }
    Err(outside())
}

impl Loading<'_> {
    /// The files of an archive, each at its place in the tree that the chart is.
    fn unpacked(&self, packed: &[u8]) -> Result<Vec<ChartFile>, RenderError> {
        Ok(self.placed(archive::members(packed, &mut |_, bytes, _| self.store.intern(bytes))?))
    }

    /// Files that no file tree holds, each at its place in the tree that the chart is.
    fn placed(&self, members: Vec<(String, Arc<Blob>)>) -> Vec<ChartFile> {
        let own = members.iter().find(|(name, _)| name == "Chart.yaml");
        let own = own.map(|(_, blob)| String::from_utf8_lossy(blob.bytes()));
        let label = label(own.as_deref().unwrap_or_default());
        let file = |(name, blob): (String, Arc<Blob>)| {
            let place = FilePath::new(Tree::Chart, format!("{label}/{name}"));
            ChartFile { name: name.into(), blob, place }
        };
        members.into_iter().map(file).collect()
    }

    /// Helm 4 looks at `apiVersion` before it loads.
    fn check_version(&self, own: &ChartFile) -> Result<(), RenderError> {
        let mut metadata = Metadata::default();
        let value = self.document(own, "Chart.yaml")?;
        read_file(&mut metadata, value.as_ref(), "Chart.yaml")?;
        match &*metadata.api_version {
            "" | "v1" | "v2" | "v3" => Ok(()),
            _ => refuse("unsupported chart version"),
        }
    }

    /// The first document of a file.
    fn document(&self, file: &ChartFile, name: &str) -> Result<Option<Value>, RenderError> {
        let refused = |why: String| RenderError::from(Refusal::new(format!("cannot load {name}: {why}")));
        let Some(stream) = file.blob.stream() else {
            return Err(refused(not_utf8(file.blob.bytes()).unwrap_or_default()));
        };
        let node = read(stream.clone(), file.place.clone()).map_err(refused)?;
        Ok(match node {
            Some(node) => Some(Value::of_node(node.get_ref()).ok_or_else(too_deep)?),
            None => None,
        })
    }

    fn files(&self, files: Vec<ChartFile>, depth: usize) -> Result<Chart, RenderError> {
        if depth > DEPTH {
            return Err(RenderError::Unable(format!(
                "more than forebay's bound: {DEPTH} charts within charts"
            )));
        }
        let mut metadata: Option<Metadata> = None;
        for file in files.iter().filter(|file| &*file.name == "Chart.yaml") {
            let metadata = metadata.get_or_insert_default();
            read_file(metadata, self.document(file, "Chart.yaml")?.as_ref(), "Chart.yaml")?;
            if metadata.api_version.is_empty() {
                "v1".clone_into(&mut metadata.api_version);
            }
        }
        let mut parts = Parts::default();
        let all: Arc<[ChartFile]> = files.as_slice().into();
        for file in files {
            self.sort(file, &mut metadata, &mut parts)?;
        }
        let Some(mut metadata) = metadata else {
            return refuse("Chart.yaml file is missing");
        };
        metadata.check(self.line)?;
        let mut dependencies = Vec::new();
        for (name, files) in parts.subcharts {
            dependencies.extend(self.subchart(&name, files, &metadata.name, depth)?);
        }
        Ok(Chart {
            metadata: Arc::new(metadata),
            values: parts.values,
            schema: parts.schema,
            templates: parts.templates.into(),
            files: parts.files.into(),
            dependencies,
            all,
            warnings: parts.warnings,
            prepared: Arc::default(),
        })
    }

    /// Puts a file where it belongs.
    fn sort(
        &self,
        file: ChartFile,
        metadata: &mut Option<Metadata>,
        parts: &mut Parts,
    ) -> Result<(), RenderError> {
        let name = file.name.clone();
        match &*name {
            "Chart.yaml" => {}
            "Chart.lock" => drop(self.document(&file, "Chart.lock")?),
            "values.yaml" => {
                let read = values_of(&file, self.line);
                parts.values = Some(read.map_err(|why| why.wrapped("cannot load values.yaml: "))?);
            }
            "values.schema.json" => parts.schema = Some(file),
            "requirements.yaml" | "requirements.lock" => {
                let metadata = metadata.get_or_insert_default();
                let is_v1 = metadata.api_version == "v1";
                if !is_v1 {
                    parts.warnings.push(migration(&name).to_owned());
                }
                let value = self.document(&file, &name)?;
                if &*name == "requirements.yaml" {
                    read_file(metadata, value.as_ref(), &name)?;
                }
                if metadata.api_version == "v1" {
                    parts.files.push(file);
                }
            }
            path if path.starts_with("templates/") => parts.templates.push(file),
            path if path.starts_with("charts/") && !path.ends_with(".prov") => {
                let inner: Arc<str> = path["charts/".len()..].into();
                let first = inner.split('/').next().unwrap_or_default().to_owned();
                parts.subcharts.entry(first).or_default().push(ChartFile { name: inner, ..file });
            }
            _ => parts.files.push(file),
        }
        Ok(())
    }

    /// A chart in `charts/`; nothing for what Helm passes over.
    fn subchart(
        &self,
        name: &str,
        files: Vec<ChartFile>,
        parent: &str,
        depth: usize,
    ) -> Result<Option<Chart>, RenderError> {
        if name.starts_with(['_', '.']) {
            return Ok(None);
        }
        let loaded = if name.ends_with(".tgz") {
            let Some(first) = files.first() else { return Ok(None) };
            if &*first.name != name {
                return refuse(format!(
                    "error unpacking subchart tar in {parent}: expected {name}, got {}",
                    first.name
                ));
            }
            self.unpacked(first.bytes()).and_then(|files| self.files(files, depth + 1))
        } else {
            let inner = files.into_iter().filter_map(|file| {
                let (_, rest) = file.name.split_once('/')?;
                let name: Arc<str> = rest.into();
                Some(ChartFile { name, ..file })
            });
            self.files(inner.collect(), depth + 1)
        };
        loaded.map(Some).map_err(|error| match error {
            RenderError::Refused(refusal) => {
                refusal.wrapped(&format!("error unpacking subchart {name} in {parent}: ")).into()
            }
            unable => unable,
        })
    }
}

/// The files of a chart, sorted.
#[derive(Default)]
struct Parts {
    values: Option<Value>,
    schema: Option<ChartFile>,
    templates: Vec<ChartFile>,
    files: Vec<ChartFile>,
    subcharts: BTreeMap<String, Vec<ChartFile>>,
    warnings: Vec<String>,
}

fn migration(name: &str) -> &'static str {
    match name {
        "requirements.yaml" => {
            "Warning: Dependencies are handled in Chart.yaml since apiVersion \"v2\". We recommend migrating dependencies to Chart.yaml."
        }
        _ => {
            "Warning: Dependency locking is handled in Chart.lock since apiVersion \"v2\". We recommend migrating to Chart.lock."
        }
    }
}

/// `name@version` of a Chart.yaml, as far as it says them.
fn label(text: &str) -> String {
    let node = read(Arc::new(Stream::parse(text)), FilePath::in_root("Chart.yaml")).ok().flatten();
    let text = |key: &str| {
        let node = node.as_ref()?.get_ref().get(key)?;
        node.text().map(std::borrow::Cow::into_owned)
    };
    format!("{}@{}", text("name").unwrap_or_default(), text("version").unwrap_or_default())
}

fn too_deep() -> RenderError {
    let depth = super::value::DEPTH_HERE;
    RenderError::Unable(format!("more than forebay's bound: values nested {depth} deep"))
}

/// The values of a file, by `LoadValues`: Helm 4 merges the documents of it, Helm 3 reads
/// the first alone.
pub fn values_of(file: &ChartFile, line: HelmLine) -> Result<Value, RenderError> {
    let refused = |why: String| match line {
        HelmLine::V3_17 => Refusal::new(why),
        HelmLine::V4_1 | HelmLine::V4_2 => Refusal::new(format!("cannot unmarshal yaml document: {why}")),
    };
    let no_text = || refused(not_utf8(file.blob.bytes()).unwrap_or_default());
    let stream = file.blob.stream().ok_or_else(no_text)?;
    let text = file.text().ok_or_else(no_text)?;
    let mut all = Value::empty();
    let separated = memchr::memmem::find(text.as_bytes(), b"\n---").is_some() || text.starts_with("---");
    if line == HelmLine::V3_17 || !separated {
        if let Some(value) = map_of(stream.clone(), &file.place).map_err(refused)? {
            all = value;
        }
        return Ok(all);
    }
    let documents = apimachinery_documents(text)
        .map_err(|refusal| Refusal::new(format!("error reading yaml document: {}", refusal.message)))?;
    if let [_] = &*documents {
        return Ok(map_of(stream.clone(), &file.place).map_err(refused)?.unwrap_or(all));
    }
    let same = documents.len() == stream.documents.len();
    for (index, document) in documents.iter().enumerate() {
        let Some(cut) = map_of(Arc::new(Stream::parse(document)), &file.place).map_err(refused)? else {
            continue;
        };
        // Of what was cut out the places are not those of the file.
        let own = if same { placed(stream, &file.place, index) } else { None };
        merge_into(&mut all, &own.unwrap_or_else(|| cut.without_origins()));
    }
    Ok(all)
}

/// The values of one document of a file, where they stand.
fn placed(stream: &Arc<Stream>, file: &FilePath, index: usize) -> Option<Value> {
    let index = index as u32;
    let source = Source { file: file.clone(), stream: stream.clone(), index, embed: None, via: Vec::new() };
    Value::of_node(decode(&Arc::new(source), DocumentReader::V2).ok()?.get_ref()).filter(Value::is_map)
}

/// A document that has to be a map; nothing where it is null.
fn map_of(stream: Arc<Stream>, file: &FilePath) -> Result<Option<Value>, String> {
    let Some(node) = read(stream, file.clone())? else { return Ok(None) };
    let value = Value::of_node(node.get_ref()).ok_or("exceeded max depth")?;
    match &value.kind {
        Kind::Null => Ok(None),
        Kind::Map(_) => Ok(Some(value)),
        _ => Err(format!(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            value.json_type()
        )),
    }
}
