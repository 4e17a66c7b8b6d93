//! The repository as the editor has it: what is on disk, under the texts that are
//! open, and what follows from them.
//!
//! A text that is open and does not parse keeps the last one that did: the clusters
//! are built of that, so that an unfinished line empties no view. What is wrong with
//! the text itself is told all the same; once it is saved, it is what Flux will read,
//! and so it is what is linted.

use super::planned::{Plans, Sides};
use super::position::{Encoding, Mapping, Ruler, path_of, uri_of};
use super::settings::EditorSettings;
use super::{Host, ServerFailure};
use crate::config::{self, Config};
use crate::files::{Snapshot, Store, git, is_manifest_path, read_named};
use crate::lang::yaml::{FilePath, Location, Node, Tree};
use crate::lint::baseline::Baseline;
use crate::lint::engine::{self, LintOptions};
use crate::lint::{Finding, Group, LintMemo};
use crate::report::objects::{self, Masks};
use crate::report::secrets::SecretValues;
use crate::world::schemas::Schemas;
use crate::world::{Effective, World};
use lsp_types::{Position, Range, TextDocumentContentChangeEvent, Uri};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A text that is open in the editor.
pub(super) struct OpenDocument {
    /// As the editor names it.
    pub(super) uri: Uri,
    /// As the editor counts it.
    pub(super) version: i32,
    /// What it says.
    pub(super) text: String,
    /// The last text that parsed.
    good: Option<String>,
    /// Whether it is no part of the repository: git ignores it, or a link leads to it.
    outside: bool,
}

/// A finding, and the files that its places are in.
pub(super) struct LocatedFinding {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) finding: Finding,
}

/// The clusters that views show, with what is looked up in them.
pub(super) struct View {
    pub(super) world: Arc<World>,
    /// Where values of Secrets stand.
    masks: RefCell<Masks>,
}

impl View {
    fn new(world: World) -> View {
        View { world: Arc::new(world), masks: RefCell::default() }
    }
}

pub(super) struct ServerState<'h> {
    pub(super) host: &'h Host<'h>,
    /// The root, as the system names it.
    pub(super) root: PathBuf,
    /// The root, as the editor names it: a link may lead to it.
    shown_root: PathBuf,
    pub(super) encoding: Encoding,
    pub(super) settings: EditorSettings,
    pub(super) config: Config,
    /// What is wrong with the configuration; the one before stays in use.
    config_mistakes: Vec<(String, String)>,
    /// Places in the text of the configuration that has mistakes.
    config_places: Vec<(Location, String)>,
    config_text: String,
    remotes: Vec<String>,
    baseline: Option<Baseline>,
    store: Arc<Store>,
    disk: Arc<Snapshot>,
    documents: BTreeMap<String, OpenDocument>,
    view: View,
    /// The texts that the view was made of: those over the disk, and the disk.
    made_of: (BTreeMap<String, String>, Arc<Snapshot>),
    /// Another world to lint, where a broken text was saved.
    truth: Option<Arc<World>>,
    findings: Vec<LocatedFinding>,
    /// How many of them are of the world; the rest is of texts that are broken.
    linted: usize,
    /// What the last lint keeps for the next one.
    memo: LintMemo,
    /// What the saved state does.
    pub(super) plans: Plans,
    /// Whether texts changed since the view was made.
    stale: bool,
    /// Whether the view changed since it was linted.
    unlinted: bool,
    /// Whether texts changed since what is broken in them was told.
    untold: bool,
    /// Whether the configuration changed: nothing of the view can be shared.
    rebuilt: bool,
}

impl<'h> ServerState<'h> {
    /// Open the repository of a folder.
    pub(super) fn open(
        host: &'h Host<'h>,
        folder: &Path,
        encoding: Encoding,
        settings: EditorSettings,
    ) -> Result<ServerState<'h>, ServerFailure> {
        let root = (host.root)(folder).map_err(ServerFailure::Root)?;
        let shown_root = shown_root(folder, &root);
        let store = Arc::new(Store::default());
        let disk = Arc::new(Snapshot::memory([], store.clone()));
        let world = World::new(&disk, &Config::default(), &[]);
        let mut state = ServerState {
            host,
            root,
            shown_root,
            encoding,
            settings,
            config: Config::default(),
            config_mistakes: Vec::new(),
            config_places: Vec::new(),
            config_text: String::new(),
            remotes: Vec::new(),
            baseline: None,
            store,
            made_of: (BTreeMap::new(), disk.clone()),
            disk,
            documents: BTreeMap::new(),
            view: View::new(world),
            truth: None,
            findings: Vec::new(),
            linted: 0,
            memo: LintMemo::default(),
            plans: Plans::default(),
            stale: true,
            unlinted: true,
            untold: true,
            rebuilt: true,
        };
        state.reload().map_err(ServerFailure::Root)?;
        Ok(state)
    }

    /// Look at the disk again: what is there, and the configuration.
    ///
    /// # Errors
    /// The root can't be listed; everything stays as it was.
    pub(super) fn reload(&mut self) -> Result<(), String> {
        let disk = Snapshot::work_tree(&self.root, self.store.clone())
            .map_err(|error| format!("{}: {error}", self.root.display()))?;
        // Other trees are kept as they were read, so that one that changed is read anew, and
        // all that is built with it.
        self.disk = Arc::new(match self.disk.beside_is_as_read() {
            true => disk.sharing(&self.disk),
            false => {
                self.rebuilt = true;
                disk
            }
        });
        let remotes = git::remotes(&self.root);
        // Debug shows all of a configuration; two that it can't tell apart are one.
        let before = format!("{:?}", self.config);
        self.config_mistakes.clear();
        self.config_places.clear();
        match (self.host.config)(&self.root) {
            Ok(config) => self.config = config,
            Err(config::Error::Mistakes { text, mistakes }) => {
                self.config_text = text;
                for mistake in mistakes {
                    let help =
                        if mistake.help.is_empty() { String::new() } else { format!("\n{}", mistake.help) };
                    self.config_places.push((mistake.location, format!("{}{help}", mistake.message)));
                }
            }
            Err(error) => self.config_mistakes.push((config::FILE_NAME.to_owned(), error.to_string())),
        }
        let written = self.config.baseline.as_ref().map(|file| self.root.join(&file.value));
        self.baseline = written
            .and_then(|file| read_named(&self.root, &file).ok())
            .and_then(|text| Baseline::parse(&text).ok());
        let (root, disk) = (&self.root, &self.disk);
        for (path, document) in &mut self.documents {
            document.outside = is_outside(root, disk, path);
        }
        if remotes != self.remotes || before != format!("{:?}", self.config) {
            self.remotes = remotes;
            self.rebuilt = true;
        }
        self.plans.forget();
        self.stale = true;
        Ok(())
    }

    /// The path in the repository of what the editor names; `None` for what is not
    /// in it.
    pub(super) fn path(&self, uri: &Uri) -> Option<String> {
        let path = path_of(uri)?;
        let relative = |root: &Path, path: &Path| {
            let rest = path.strip_prefix(root).ok()?;
            let is_below = rest.components().all(|part| matches!(part, Component::Normal(_)));
            is_below.then(|| rest.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/"))
        };
        relative(&self.shown_root, &path).or_else(|| relative(&self.root, &path)).or_else(|| {
            // A link on the way; the file itself may not be there yet.
            let parent = path.parent()?.canonicalize().ok()?;
            relative(&self.root, &parent.join(path.file_name()?))
        })
    }

    /// What the editor calls a file of the repository.
    pub(super) fn uri(&self, path: &str) -> Option<Uri> {
        match self.documents.get(path) {
            Some(document) => Some(document.uri.clone()),
            None => uri_of(&joined(&self.shown_root, path)),
        }
    }

    pub(super) fn open_document(&mut self, uri: Uri, version: i32, text: String) {
        let Some(path) = self.path(&uri) else { return };
        let good = self.disk.file(&path).and_then(|file| self.disk.stream(file));
        let good = good.filter(|stream| stream.errors.is_empty()).map(|stream| stream.text.to_string());
        let outside = is_outside(&self.root, &self.disk, &path);
        let document = OpenDocument { uri, version, text, good, outside };
        self.documents.insert(path, document);
        self.stale = true;
    }

    pub(super) fn change_document(
        &mut self,
        uri: &Uri,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
    ) {
        let encoding = self.encoding;
        let Some(path) = self.path(uri) else { return };
        let Some(document) = self.documents.get_mut(&path) else { return };
        for change in changes {
            match change.range {
                None => document.text = change.text,
                Some(range) => {
                    let ruler = Ruler::new(&document.text, encoding);
                    let start = ruler.offset(range.start);
                    let end = ruler.offset(range.end).max(start);
                    document.text.replace_range(start..end, &change.text);
                }
            }
        }
        document.version = version;
        self.stale = true;
    }

    pub(super) fn close_document(&mut self, uri: &Uri) {
        let Some(path) = self.path(uri) else { return };
        self.documents.remove(&path);
        self.stale = true;
    }

    /// The text that is open at a path.
    pub(super) fn document(&self, path: &str) -> Option<&OpenDocument> {
        self.documents.get(path)
    }

    /// Bring the clusters that views show up to date.
    pub(super) fn refresh_view(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        self.untold = true;
        let mut texts = self.edited();
        let snapshot = match texts.is_empty() {
            true => self.disk.clone(),
            false => {
                let all = texts.iter().map(|(path, text)| (path.as_str(), text.clone().into_bytes()));
                Arc::new(self.disk.with_files(all))
            }
        };
        let mended = self.mended(&snapshot);
        let shown = match mended.is_empty() {
            true => snapshot.clone(),
            false => Arc::new(snapshot.with_files(self.good_texts(&mended))),
        };
        // What is saved is what Flux will read, broken or not.
        let is_saved = |path: &&String| is_text_of(&self.disk, path, &self.documents[*path].text);
        let (saved, unsaved): (Vec<&String>, Vec<&String>) = mended.iter().partition(is_saved);
        for path in &mended {
            if let (Some(text), Some(good)) = (texts.get_mut(path), &self.documents[path].good) {
                text.clone_from(good);
            }
        }
        let made_of = (texts, self.disk.clone());
        let same = made_of.0 == self.made_of.0 && Arc::ptr_eq(&made_of.1, &self.made_of.1);
        // While a line is broken, all keys in it come to the same.
        if same && saved.is_empty() && self.truth.is_none() && !self.rebuilt {
            return;
        }
        let truth = (!saved.is_empty()).then(|| Arc::new(snapshot.with_files(self.good_texts(unsaved))));
        let build = |snapshot: &Arc<Snapshot>| match self.rebuilt {
            true => World::new(snapshot, &self.config, &self.remotes),
            false => self.view.world.like(snapshot, &self.config, &self.remotes),
        };
        if self.rebuilt {
            self.memo = LintMemo::default();
        }
        let truth = truth.map(|snapshot| Arc::new(build(&snapshot)));
        let world = build(&shown);
        self.unlinted = true;
        self.made_of = made_of;
        self.truth = truth;
        self.view = View::new(world);
        self.rebuilt = false;
    }

    /// The texts that the editor holds of manifests of this tree, by path, where they are not
    /// what is on the disk.
    fn edited(&self) -> BTreeMap<String, String> {
        // What the editor shows of an unchanged file need not be its bytes.
        let changed = self.documents.iter().filter(|(path, document)| {
            !document.outside
                && (is_manifest_path(path) || self.disk.file(path).is_some())
                && !is_text_of(&self.disk, path, &document.text)
        });
        changed.map(|(path, document)| (path.clone(), document.text.clone())).collect()
    }

    /// Paths of documents that can't be read now and once could: their last good text is
    /// shown. The texts of all others are the good ones from now on.
    fn mended(&mut self, snapshot: &Snapshot) -> Vec<String> {
        let is_broken = |path: &&String| is_broken(snapshot, path, self.snapshot());
        let broken: Vec<String> = self.documents.keys().filter(is_broken).cloned().collect();
        for (path, document) in &mut self.documents {
            if !broken.contains(path) {
                document.good = Some(document.text.clone());
            }
        }
        let is_mended = |path: &String| self.documents[path].good.is_some() && !self.documents[path].outside;
        broken.into_iter().filter(is_mended).collect()
    }

    /// The last good texts of documents.
    fn good_texts<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p String>,
    ) -> impl Iterator<Item = (&'p str, Vec<u8>)> {
        let good = |path: &'p String| Some((path.as_str(), self.documents[path].good.clone()?.into_bytes()));
        paths.into_iter().filter_map(good)
    }

    /// Bring the findings up to date too.
    pub(super) fn refresh(&mut self) {
        self.refresh_view();
        let options = LintOptions { at: (self.host.at)(&self.config), ..LintOptions::default() };
        if std::mem::take(&mut self.unlinted) {
            self.lint(&options);
        }
        if std::mem::take(&mut self.untold) {
            self.tell_broken(&options);
        }
    }

    /// What lint has to say of the world.
    fn lint(&mut self, options: &LintOptions) {
        let world = self.truth.as_ref().unwrap_or(&self.view.world);
        let mut outcome = engine::run_again(world, &self.config, options, &mut self.memo);
        if let Some(baseline) = &self.baseline {
            baseline.apply(&mut outcome);
        }
        let show = self.host.show;
        let shown = outcome.findings.into_iter().filter(|finding| finding.level >= show);
        let found = |finding| LocatedFinding { snapshot: world.snapshot.clone(), finding };
        self.findings = shown.map(found).collect();
        self.linted = self.findings.len();
        self.store.forget_unused();
    }

    /// What is wrong with texts that the world is not made of.
    fn tell_broken(&mut self, options: &LintOptions) {
        let world = self.truth.as_ref().unwrap_or(&self.view.world);
        let show = self.host.show;
        let mut broken: Vec<LocatedFinding> = Vec::new();
        for (path, document) in &self.documents {
            let read = world.snapshot.file(path).and_then(|file| world.snapshot.stream(file));
            if document.outside
                || !is_manifest_path(path)
                || read.is_none_or(|read| *read.text == *document.text)
            {
                continue;
            }
            if is_text_of(&self.disk, path, &document.text) {
                continue;
            }
            // The text is broken, and the clusters are built of the one before.
            let alone = [(path.as_str(), document.text.clone().into_bytes())];
            let alone = Arc::new(Snapshot::memory(alone, self.store.clone()));
            let outcome = engine::run(&World::new(&alone, &self.config, &[]), &self.config, options);
            let syntax = outcome
                .findings
                .into_iter()
                .filter(|finding| finding.rule.group == Group::Syntax && finding.level >= show);
            broken.extend(syntax.map(|finding| LocatedFinding { snapshot: alone.clone(), finding }));
        }
        self.findings.truncate(self.linted);
        self.findings.extend(broken);
    }

    /// What lint has to say; of the texts as they were at the last refresh.
    pub(super) fn findings(&self) -> &[LocatedFinding] {
        &self.findings
    }

    /// What is wrong with the configuration: places of its text, and what has none.
    pub(super) fn config_mistakes(&self) -> Vec<(Range, String)> {
        let ruler = Ruler::new(&self.config_text, self.encoding);
        let placed = self
            .config_places
            .iter()
            .map(|(place, message)| (ruler.range(place.start as usize, place.end as usize), message.clone()));
        let rest = self.config_mistakes.iter().map(|(_, message)| (Range::default(), message.clone()));
        placed.chain(rest).collect()
    }

    /// The clusters that views show.
    pub(super) fn world(&self) -> &World {
        &self.view.world
    }

    /// The files that views show.
    pub(super) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.view.world.snapshot
    }

    /// The world of another state of the files.
    pub(super) fn world_of(&self, snapshot: &Arc<Snapshot>) -> World {
        self.view.world.like(snapshot, &self.config, &self.remotes)
    }

    /// What a plan of the saved state is made of.
    pub(super) fn sides(&self) -> Sides {
        Sides {
            root: self.root.clone(),
            config: self.config.clone(),
            remotes: self.remotes.clone(),
            disk: self.disk.clone(),
            world: self.view.world.clone(),
        }
    }

    /// What the API servers of the clusters take.
    pub(super) fn schemas(&self) -> &Schemas {
        &self.view.world.schemas
    }

    /// An effective object with the values of Secrets masked.
    pub(super) fn masked(&self, object: &Effective) -> Node {
        let node = object.node.get_ref();
        match self.view.masks.try_borrow_mut() {
            Ok(mut masks) => objects::masked(node, self.snapshot(), &mut masks),
            // Left so by a request that failed.
            Err(_) => objects::masked(node, self.snapshot(), &mut Masks::default()),
        }
    }

    /// What no message to the editor holds.
    pub(super) fn secrets(&self) -> Arc<SecretValues> {
        match self.view.masks.try_borrow_mut() {
            Ok(mut masks) => masks.values(self.snapshot()).clone(),
            Err(_) => Arc::new(SecretValues::of([&**self.snapshot()])),
        }
    }

    /// The text of a file: of the editor, else of the view.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        match self.documents.get(path) {
            Some(document) => Some(&document.text),
            None => text_of(self.snapshot(), path),
        }
    }

    /// Whether a file of a snapshot is what the editor shows.
    pub(super) fn is_current(&self, snapshot: &Snapshot, path: &str) -> bool {
        let document = self.documents.get(path);
        document.is_none_or(|document| text_of(snapshot, path) == Some(document.text.as_str()))
    }

    /// The byte in the view's text of a position in the editor's.
    pub(super) fn offset(&self, path: &str, position: Position) -> Option<u32> {
        let old = text_of(self.snapshot(), path)?;
        let shown = self.text(path)?;
        let offset = Ruler::new(shown, self.encoding).offset(position);
        let offset = if old == shown { offset } else { Mapping::new(old, shown).backward(offset) };
        u32::try_from(offset).ok()
    }

    /// Ranges of the editor's text for places of a snapshot, all in one file; `None`
    /// for those that were edited away.
    pub(super) fn ranges(
        &self,
        snapshot: &Snapshot,
        path: &str,
        places: impl IntoIterator<Item = (u32, u32)>,
    ) -> Vec<Option<Range>> {
        let old = text_of(snapshot, path).unwrap_or_default();
        let shown = self.documents.get(path).map_or(old, |document| &document.text);
        let ruler = Ruler::new(shown, self.encoding);
        let mapping = (old != shown).then(|| Mapping::new(old, shown));
        let at = |offset: u32| match &mapping {
            Some(mapping) => mapping.forward(offset as usize),
            None => Some(offset as usize),
        };
        places.into_iter().map(|(start, end)| Some(ruler.range(at(start)?, at(end)?))).collect()
    }

    /// The range of one place of a snapshot.
    pub(super) fn range(&self, snapshot: &Snapshot, location: &Location) -> Option<Range> {
        self.ranges(snapshot, location.file.shown(), [(location.start, location.end)]).pop()?
    }

    /// A place of the view, for the editor.
    pub(super) fn location(&self, location: &Location) -> Option<lsp_types::Location> {
        // An address of its own scheme, which not every editor opens: see `charts`.
        if location.file.in_chart().is_some() {
            return None;
        }
        let range = self.range(self.snapshot(), location).unwrap_or_default();
        Some(lsp_types::Location { uri: self.uri(location.file.shown())?, range })
    }
}

/// The path of a file as seen from a root, which may lie beside it.
fn joined(root: &Path, seen: &str) -> PathBuf {
    let mut path = root.to_owned();
    for part in seen.split('/') {
        match part {
            ".." => drop(path.pop()),
            part => path.push(part),
        }
    }
    path
}

/// The text of a file by its path as seen from the root, of whichever tree.
fn text_of<'s>(snapshot: &'s Snapshot, path: &str) -> Option<&'s str> {
    let beside = || snapshot.find(&FilePath::new(Tree::Outside, path));
    Some(&snapshot.stream(snapshot.file(path).or_else(beside)?)?.text)
}

/// Whether a file says this: a byte order mark, which editors keep to themselves, and
/// the encoding are not looked at.
fn is_text_of(snapshot: &Snapshot, path: &str, text: &str) -> bool {
    text_of(snapshot, path)
        .is_some_and(|old| old.trim_start_matches('\u{feff}') == text.trim_start_matches('\u{feff}'))
}

/// Whether a text does not parse. An unfinished line does not make a template of a
/// manifest with `{{` in it that `before` could read.
fn is_broken(snapshot: &Snapshot, path: &str, before: &Snapshot) -> bool {
    let Some(file) = snapshot.file(path).filter(|file| file.is_manifest) else { return false };
    let was_read = || before.file(path).is_some_and(|file| !before.is_template(file));
    snapshot.stream(file).is_some_and(|stream| !stream.errors.is_empty())
        && (!snapshot.is_template(file) || was_read())
}

/// Whether a file is no part of the repository, though it lies in its directory.
fn is_outside(root: &Path, disk: &Snapshot, path: &str) -> bool {
    use crate::files::FileKind;
    match disk.file(path) {
        Some(file) => file.kind != FileKind::Regular,
        None => {
            path.split('/').any(|part| part == ".git")
                || root.join(path).exists()
                || disk.git_ignores(path).is_some()
        }
    }
}

/// The root as the editor would name it.
fn shown_root(folder: &Path, root: &Path) -> PathBuf {
    let below = folder.canonicalize().ok();
    let below = below.as_deref().and_then(|real| real.strip_prefix(root).ok());
    match below {
        Some(rest) if folder.ends_with(rest) => {
            folder.ancestors().nth(rest.iter().count()).unwrap_or(root).to_owned()
        }
        _ => root.to_owned(),
    }
}
