//! Which parts of its input a set of templates can read, whatever the input is.
//!
//! An abstract interpretation: every branch is taken, loops run until nothing is new, and
//! a value is the set of the parts of the input that it may be. Copying is no reading: a
//! part keeps its identity through variables, `include`, maps and lists that templates
//! make, `merge`, `set` and a text that is parsed again. Whatever a template does that is
//! not followed reads all that it is given; past a bound there is no answer at all.
//!
//! Values are flow-insensitive: a map that was changed anywhere is changed everywhere. So
//! the templates run in rounds until no set grows; a run that read nothing which grew since
//! then is not done again.

mod calls;
mod clock;
mod containers;
mod guards;
mod heap;
mod look_ups;
mod marks;
mod paths;
mod reading;
mod texts;
mod walk;

use super::ast::{FieldLookup, PathStep, Tree};
use super::function::FunctionNames;
use super::functions::FuncMap;
use super::lookups::lookups;
use super::parse::Parsed;
use super::source::TemplateSource;
pub(crate) use paths::{Has, PathReads, Seg, States};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use walk::ReadsWalk;

/// What a template is given.
#[derive(Clone, Debug)]
pub(crate) enum DataShape {
    /// A part of the input, by its keys.
    Input(Vec<Arc<str>>),
    /// A map with these fields.
    Map(Vec<(Arc<str>, DataShape)>),
    /// The same as another template is given.
    Root(usize),
    Text(Arc<str>),
    /// Files, as [`Program::files`] counts them.
    Files(usize),
    /// Nothing of the input.
    Other,
}

/// A set of templates, and what it is run with.
pub(crate) struct Program<'p> {
    /// In the order in which an engine gets them.
    pub templates: Vec<Arc<Parsed>>,
    /// What the templates that are run are given.
    pub roots: Vec<DataShape>,
    /// The templates that are run, with the number of what they are given.
    pub runs: Vec<(Arc<str>, usize)>,
    /// What templates are given that can't be parsed: nobody knows what they would read of it.
    pub broken: Vec<usize>,
    /// Texts of the input that are templates themselves.
    pub texts: &'p [Arc<str>],
    /// Texts of files that are templates, by their paths.
    pub files: Vec<FxHashMap<Arc<str>, Arc<str>>>,
}

/// What templates can read; nothing where a bound was met.
pub(crate) fn reads(program: &Program<'_>) -> Option<PathReads> {
    ReadsWalk::new(program).run()
}

/// Whether a text, run as a template, may read more of what it is given than some fields.
pub(crate) fn may_read(text: &str, harmless: &[&str]) -> bool {
    let mut templates = Templates::new(&[]);
    let Some(own) = templates.text(text) else { return false };
    let calls = ["include", "template", "tpl"];
    if calls.iter().any(|call| text.contains(call)) {
        return true;
    }
    let tree = templates.all[own].tree.clone();
    let trees = std::iter::once((tree.name.clone(), tree)).collect();
    let is_harmless = |lookup: &FieldLookup| match lookup.path.first() {
        Some(PathStep::Field(name)) => harmless.contains(&&**name),
        _ => false,
    };
    !lookups("gotpl", &trees).iter().all(is_harmless)
}

/// A template with a name.
#[derive(Clone)]
struct Template {
    tree: Arc<Tree>,
    source: u32,
}

/// The templates of a program, and the sources that they stand in.
struct Templates {
    all: Vec<Template>,
    by_name: FxHashMap<Arc<str>, usize>,
    sources: Vec<Arc<TemplateSource>>,
}

impl Templates {
    fn new(parsed: &[Arc<Parsed>]) -> Templates {
        let mut own = Templates { all: Vec::new(), by_name: FxHashMap::default(), sources: Vec::new() };
        for parsed in parsed {
            own.add(parsed);
        }
        own
    }

    /// As [`super::Engine`] adds a text: of two templates of one name the later one counts,
    /// unless nothing is in it.
    fn add(&mut self, parsed: &Parsed) -> Option<usize> {
        let source = self.sources.len() as u32;
        self.sources.push(parsed.source.clone());
        if !parsed.errors.is_empty() {
            return None;
        }
        let mut first = None;
        for tree in &parsed.trees {
            let is_known = self.by_name.contains_key(&tree.name);
            if is_known && super::ast::is_empty(&tree.root, &parsed.source.text) {
                continue;
            }
            let index = self.all.len();
            self.all.push(Template { tree: tree.clone(), source });
            self.by_name.insert(tree.name.clone(), index);
            first = first.or(Some(index));
        }
        first
    }

    /// A text that is run by itself; what it defines is its own.
    fn text(&mut self, text: &str) -> Option<usize> {
        let functions = FunctionNames { all: FuncMap::Helm.finder(), without: &[] };
        let parsed = super::parse::parse(
            "gotpl",
            text.into(),
            &super::lex::Delimiters::default(),
            functions,
            &mut Default::default(),
        );
        let source = self.sources.len() as u32;
        self.sources.push(parsed.source.clone());
        if !parsed.errors.is_empty() {
            return None;
        }
        let tree = parsed.trees.first()?.clone();
        self.all.push(Template { tree, source });
        Some(self.all.len() - 1)
    }
}
