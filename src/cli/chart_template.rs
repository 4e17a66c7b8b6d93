//! `forebay chart template`.

use super::common::Common;
use super::output;
use super::{Answer, Failure, Status};
use crate::build::helm::{
    Capabilities, Chart, ChartFile, ChartRelease, Given, HelmLine, Keep, KubeVersion, ManifestDocument,
    Printed, RenderError, RenderRequest, RenderedChart, Value, no_deep_thread, render, with_archive,
};
use crate::files::{FileTree, Snapshot, Store, read_bytes};
use crate::lang::text::clean;
use crate::lang::yaml::{FilePath, LineIndex, Location, NodeRef, Tree};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

/// Flags of `chart template`.
#[derive(clap::Args)]
#[command(
    after_help = "Values go over each other in this order: the chart's own, -f in their order, --set-json, --set, \
                  --set-string, --set-file, --set-literal.\n\nExit codes: 0 rendered, 1 the chart refuses, 2 usage, 3 can't be rendered here."
)]
pub(crate) struct Arguments {
    /// The release and the chart: its directory or its packed archive
    #[arg(value_names = ["NAME", "CHART"], num_args = 1..=2, required = true)]
    names: Vec<String>,
    /// File of values, `-` for standard input; may be repeated
    #[arg(long = "values", short = 'f', value_name = "FILE")]
    values: Vec<String>,
    /// Set values: a.b=1,c={x,y}
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    set: Vec<String>,
    /// Set values that are texts
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    set_string: Vec<String>,
    /// Set values by JSON: a=[1], or a whole object
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    set_json: Vec<String>,
    /// Set values to the texts of files
    #[arg(long, value_name = "KEY=FILE", allow_hyphen_values = true)]
    set_file: Vec<String>,
    /// Set one value to all that follows
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    set_literal: Vec<String>,
    /// Print the files of crds/ too
    #[arg(long)]
    include_crds: bool,
    /// Leave out hooks that are tests
    #[arg(long)]
    skip_tests: bool,
    /// Leave out all hooks
    #[arg(long)]
    no_hooks: bool,
    /// Say that the release is upgraded, not installed
    #[arg(long)]
    is_upgrade: bool,
    /// Version of Kubernetes [default: that of the line of Helm]
    #[arg(long, value_name = "VERSION")]
    kube_version: Option<String>,
    /// API versions that the cluster has as well; may be repeated
    #[arg(long, short, value_name = "API", value_delimiter = ',')]
    api_versions: Vec<String>,
    /// Do not look at values.schema.json
    #[arg(long)]
    skip_schema_validation: bool,
    /// Only what this template writes: templates/a.yaml; may be repeated
    #[arg(long, short = 's', value_name = "TEMPLATE")]
    show_only: Vec<String>,
    /// Line of Helm that it is rendered as
    #[arg(long, value_name = "LINE", value_parser = ["3.17", "4.1", "4.2"], default_value = "4.2")]
    helm: String,
    /// Say where each document, and each value from another file, comes from
    #[arg(long)]
    origin: bool,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    match rendered(common, arguments) {
        Ok(()) => Ok(Status::Clean),
        Err(Ending::Failed(failure)) => Err(failure),
        Err(Ending::Chart(RenderError::Unable(why))) => Err(Failure::Work(clean(&why).into_owned())),
        Err(Ending::Chart(RenderError::Refused(refusal))) => {
            let mut complaints = output::stderr(common);
            for (index, line) in refusal.message.trim_end().lines().enumerate() {
                let lead = if index == 0 { "Error: " } else { "" };
                // Charts set off what they want by tabs, which do nothing to a terminal.
                let line: Vec<_> = line.split('\t').map(clean).collect();
                let _ = writeln!(complaints, "{lead}{}", line.join("\t"));
            }
            Ok(Status::Findings)
        }
    }
}

/// Why nothing is printed.
enum Ending {
    Failed(Failure),
    Chart(RenderError),
}

impl From<RenderError> for Ending {
    fn from(error: RenderError) -> Ending {
        Ending::Chart(error)
    }
}

impl From<Failure> for Ending {
    fn from(failure: Failure) -> Ending {
        Ending::Failed(failure)
    }
}

fn usage(message: String) -> Failure {
    Failure::Usage(message)
}

impl Arguments {
    fn line(&self) -> HelmLine {
        match &*self.helm {
            "3.17" => HelmLine::V3_17,
            "4.1" => HelmLine::V4_1,
            _ => HelmLine::V4_2,
        }
    }

    fn release(&self, common: &Common) -> ChartRelease {
        let name = match &*self.names {
            [name, _] => name,
            _ => "release-name",
        };
        ChartRelease {
            name: name.to_owned(),
            namespace: common.namespace.clone().unwrap_or_else(|| "default".to_owned()),
            revision: 1,
            is_upgrade: self.is_upgrade,
        }
    }

    /// The version of `--kube-version`.
    fn kube_version(&self, line: HelmLine) -> Result<Option<KubeVersion>, Failure> {
        let version = self.kube_version.as_ref().map(|version| KubeVersion::parse(version, line));
        version.transpose().map_err(|error| usage(error.to_string()))
    }

    /// What the flags and their files say of the cluster and of the values.
    fn inputs(&self, line: HelmLine, version: Option<KubeVersion>, store: &Store) -> Result<Inputs, Ending> {
        let mut capabilities = Capabilities::of(line).with_versions(self.api_versions.iter().cloned());
        if let Some(version) = version {
            capabilities.kube_version = version;
        }
        let given = self.given(store)?;
        let of_file = |path: &str| {
            let bytes = read_bytes(Path::new(path)).map_err(|error| format!("open {path}: {error}"))?;
            String::from_utf8(bytes).map_err(|_| format!("{path}: it is not UTF-8"))
        };
        let values = given.merge(line, &of_file)?;
        Ok(Inputs { capabilities, given, values })
    }

    fn given(&self, store: &Store) -> Result<Given, Failure> {
        let file = |name: &String| {
            let bytes = match name.trim() {
                "-" => standard_input(),
                path => read_bytes(Path::new(path)).map_err(|error| error.to_string()),
            };
            let bytes = bytes.map_err(|why| usage(format!("{}: {}", clean(name), clean(&why))))?;
            let place = FilePath::new(Tree::Outside, name.as_str());
            let file = ChartFile { name: name.as_str().into(), blob: store.intern(&bytes), place };
            Ok((name.clone(), file))
        };
        Ok(Given {
            files: self.values.iter().map(file).collect::<Result<_, Failure>>()?,
            set_json: self.set_json.clone(),
            set: self.set.clone(),
            set_string: self.set_string.clone(),
            set_file: self.set_file.clone(),
            set_literal: self.set_literal.clone(),
        })
    }
}

fn standard_input() -> Result<Vec<u8>, String> {
    /// Bytes of values that are read.
    const LIMIT: u64 = 64 << 20;
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LIMIT + 1).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LIMIT { Err("larger than 64 MiB".to_owned()) } else { Ok(bytes) }
}

/// What a chart is rendered with.
struct Inputs {
    capabilities: Capabilities,
    given: Given,
    values: Value,
}

/// Goes on with the chart at a path of the command line, and how many threads may still work on
/// it. What is done `meanwhile` is done beside the loading of an archive, where there are two.
fn with_chart(
    common: &Common,
    path: &str,
    store: &Arc<Store>,
    line: HelmLine,
    validates: bool,
    meanwhile: impl FnOnce(),
    go_on: impl FnOnce(Result<Chart, Ending>, usize) -> Result<(), Ending> + Send,
) -> Result<(), Ending> {
    let at = Path::new(path);
    let shown = clean(path);
    if at.is_dir() {
        // Several list it; an archive is read by one.
        common.start_threads(true)?;
        let root: PathBuf = at.canonicalize().map_err(|error| usage(format!("{shown}: {error}")))?;
        let snapshot =
            Snapshot::listed(&root, store.clone()).map_err(|error| usage(format!("{shown}: {error}")))?;
        let tree = FileTree::root(Arc::new(snapshot));
        meanwhile();
        let chart = Chart::of_tree(&tree, "", &root.to_string_lossy(), line);
        return go_on(chart.map_err(Ending::from), common.thread_count());
    }
    if !at.exists() {
        return Err(usage(format!("{shown}: there is no such directory or archive")).into());
    }
    let read = || read_bytes(at).map_err(|error| Ending::from(usage(format!("{shown}: {error}"))));
    // To ask how many there are takes as long as to start one.
    if common.threads == Some(1) {
        meanwhile();
        let chart = read().and_then(|packed| Ok(Chart::of_archive(&packed, store, line)?));
        return go_on(chart, 1);
    }
    with_archive(read, store, line, validates, meanwhile, |chart| go_on(chart, 1))
        .unwrap_or_else(|| Err(no_deep_thread().into()))
}

fn rendered(common: &Common, arguments: &Arguments) -> Result<(), Ending> {
    let line = arguments.line();
    let version = arguments.kube_version(line)?;
    let store = Arc::new(Store::default());
    let (tell, told) = mpsc::channel();
    let of_files = store.clone();
    let validates = !arguments.skip_schema_validation;
    let meanwhile = move || drop(tell.send(arguments.inputs(line, version, &of_files)));
    let path = arguments.names.last().map(String::as_str).unwrap_or_default();
    let answer = with_chart(common, path, &store, line, validates, meanwhile, move |chart, threads| {
        // What is wrong with values is told before what is wrong with the chart, as Helm does.
        let inputs = told.recv().unwrap_or_else(|_| Err(no_deep_thread().into()))?;
        print(common, arguments, inputs, chart?, threads)
    });
    // The process ends here: to take trees apart node by node would be a fifth of its time.
    std::mem::forget(store);
    answer
}

/// Prints what a chart renders to.
fn print(
    common: &Common,
    arguments: &Arguments,
    inputs: Inputs,
    chart: Chart,
    threads: usize,
) -> Result<(), Ending> {
    let line = arguments.line();
    chart.check_installable(line)?;
    chart.prepared.keep_no_documents();
    let request = RenderRequest {
        chart: &chart,
        values: &inputs.values,
        release: &arguments.release(common),
        capabilities: &inputs.capabilities,
        ends: &[],
        helm: line.into(),
        skip_schema_validation: arguments.skip_schema_validation,
        version_suffix: None,
        keep: if arguments.origin { Keep::Origins } else { Keep::Text },
        threads,
        work: None,
    };
    let places = TemplatePlaces { chart: &chart, given: &inputs.given, files: OnceCell::new() };
    let rendered = render(&request).map_err(|error| places.told(error))?;
    let printed = Printed {
        include_crds: arguments.include_crds,
        no_hooks: arguments.no_hooks,
        skip_tests: arguments.skip_tests,
        show_only: arguments.show_only.clone(),
    };
    if !common.quiet {
        let mut complaints = output::stderr(common);
        for warning in &rendered.warnings {
            let _ = writeln!(complaints, "warning: {}", clean(&warning.message));
        }
    }
    let bytes = if arguments.origin {
        rendered.print_with(&printed, line, &|document| places.comment(&rendered, document))?
    } else {
        rendered.print(&printed, line)?
    };
    let mut out = std::io::stdout().lock();
    let written = out.write_all(&bytes).and_then(|()| out.flush());
    let told = |error| Failure::Work(format!("standard output: {error}"));
    let answer = written.or_else(output::went_away).map_err(|error| told(error).into());
    drop(places);
    std::mem::forget((chart, rendered, inputs));
    answer
}

/// Lines and columns in the files of a chart and of its values.
struct TemplatePlaces<'p> {
    chart: &'p Chart,
    given: &'p Given,
    /// Made when the first place is asked for: most runs ask for none.
    files: OnceCell<BTreeMap<FilePath, (&'p str, OnceCell<LineIndex>)>>,
}

impl<'p> TemplatePlaces<'p> {
    fn files(&self) -> &BTreeMap<FilePath, (&'p str, OnceCell<LineIndex>)> {
        let entry = |file: &'p ChartFile| Some((file.place.clone(), (file.blob.text()?, OnceCell::new())));
        self.files.get_or_init(|| {
            let given = self.given.files.iter().map(|(_, file)| file);
            self.chart.all_files().into_iter().chain(given).filter_map(entry).collect()
        })
    }

    /// `path:line:column`
    fn shown(&self, location: &Location) -> String {
        let shown = clean(location.file.shown());
        match self.files().get(&location.file) {
            Some((text, lines)) => {
                let lines = lines.get_or_init(|| LineIndex::new(text));
                let (line, column) = lines.position(text, location.start);
                format!("{shown}:{line}:{column}")
            }
            None => shown.into_owned(),
        }
    }

    /// A refusal with the places of the values that schemas refuse.
    fn told(&self, error: RenderError) -> RenderError {
        let RenderError::Refused(mut refusal) = error else { return error };
        let mut message = refusal.message.trim_end().to_owned();
        for fault in &refusal.faults {
            if let Some(location) = &fault.location {
                message.push_str(&format!("\n  /{}: {}", fault.path.join("/"), self.shown(location)));
            }
        }
        refusal.message = message;
        RenderError::Refused(refusal)
    }

    /// Where the values of a document come from, a comment for each.
    fn comment(&self, rendered: &RenderedChart, document: &ManifestDocument) -> String {
        let mut lines = Vec::new();
        if let Some(node) = rendered.node(document) {
            self.leaves(node.get_ref(), "", 0, &mut lines);
        }
        lines.iter().map(|line| format!("# {line}\n")).collect()
    }

    fn leaves(&self, node: NodeRef<'_>, pointer: &str, depth: usize, lines: &mut Vec<String>) {
        /// As deep as a document is decoded.
        const DEPTH: usize = 1_000;
        if depth > DEPTH {
            return;
        }
        if node.is_map() {
            for entry in node.entries() {
                let pointer = crate::lang::yaml::pointer_join(pointer, &entry.key);
                self.leaves(entry.value, &pointer, depth + 1, lines);
            }
        } else if node.is_seq() {
            for (index, item) in node.items().enumerate() {
                self.leaves(item, &format!("{pointer}/{index}"), depth + 1, lines);
            }
        } else {
            let places: Vec<String> = node.origins().iter().map(|location| self.shown(location)).collect();
            if !places.is_empty() {
                lines.push(format!("{}: {}", clean(pointer), places.join(", ")));
            }
        }
    }
}
