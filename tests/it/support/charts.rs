//! Charts in memory, and what `helm template` makes of them.

use forebay::internals::build::helm::{
    Capabilities, Chart, ChartFile, ChartRelease, Given, HelmLine, Keep, KubeVersion, Printed, RenderError,
    RenderRequest, render,
};
use forebay::internals::files::{FileTree, Snapshot, Store};
use forebay::internals::lang::yaml::FilePath;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A chart with what it is rendered with.
#[derive(Clone, Default)]
pub(crate) struct Template {
    /// Files of the chart's directory.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// The file of values.
    pub(crate) values: String,
    /// Flags of `helm template`.
    pub(crate) args: Vec<String>,
}

/// What was printed, and the warnings.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) output: Result<String, RenderError>,
    pub(crate) warnings: Vec<String>,
}

/// A file that is no file of a tree.
pub(crate) fn loose(store: &Store, name: &str, text: &str) -> ChartFile {
    ChartFile { name: name.into(), blob: store.intern(text.as_bytes()), place: FilePath::in_root(name) }
}

impl Template {
    /// The chart of these files.
    pub(crate) fn chart(&self, line: HelmLine) -> Result<Chart, RenderError> {
        let store = Arc::new(Store::default());
        let files = self.files.iter().map(|(name, bytes)| (&**name, bytes.clone()));
        let tree = FileTree::root(Arc::new(Snapshot::memory(files, store)));
        Chart::of_tree(&tree, "", "CHART", line)
    }

    /// What `helm template r CHART -n ns` answers.
    pub(crate) fn run(&self, line: HelmLine) -> Answer {
        let mut warnings = Vec::new();
        let output = self.rendered(line, &mut warnings);
        Answer { output, warnings }
    }

    fn rendered(&self, line: HelmLine, warnings: &mut Vec<String>) -> Result<String, RenderError> {
        let mut flags = Flags { capabilities: Capabilities::of(line), ..Flags::new(line) };
        flags.read(&self.args, line)?;
        let store = Store::default();
        flags.given.files.push(("VALUES".to_owned(), loose(&store, "values.yaml", &self.values)));
        let values = flags.given.merge(line, &|name| Err(format!("open {name}: no such file")))?;
        let chart = self.chart(line)?;
        chart.check_installable(line)?;
        let release = ChartRelease {
            name: flags.name,
            namespace: "ns".to_owned(),
            revision: 1,
            is_upgrade: flags.is_upgrade,
        };
        let request = RenderRequest {
            chart: &chart,
            values: &values,
            release: &release,
            capabilities: &flags.capabilities,
            ends: &[],
            helm: line.into(),
            skip_schema_validation: flags.skip_schema_validation,
            version_suffix: None,
            keep: Keep::Text,
            threads: 2,
            work: None,
        };
        let rendered = render(&request)?;
        warnings.extend(rendered.warnings.iter().map(|warning| warning.message.clone()));
        let bytes = rendered.print(&flags.printed, line)?;
        Ok(String::from_utf8(bytes).expect("UTF-8"))
    }
}

struct Flags {
    name: String,
    given: Given,
    printed: Printed,
    capabilities: Capabilities,
    skip_schema_validation: bool,
    is_upgrade: bool,
}

impl Flags {
    fn new(line: HelmLine) -> Flags {
        Flags {
            name: "r".to_owned(),
            given: Given::default(),
            printed: Printed::default(),
            capabilities: Capabilities::of(line),
            skip_schema_validation: false,
            is_upgrade: false,
        }
    }

    fn read(&mut self, args: &[String], line: HelmLine) -> Result<(), RenderError> {
        let mut args = args.iter().cloned();
        while let Some(flag) = args.next() {
            let mut value = || args.next().expect("a value");
            match &*flag {
                "--include-crds" => self.printed.include_crds = true,
                "--no-hooks" => self.printed.no_hooks = true,
                "--skip-tests" => self.printed.skip_tests = true,
                "--skip-crds" | "--create-namespace" => {}
                "--skip-schema-validation" => self.skip_schema_validation = true,
                "--is-upgrade" => self.is_upgrade = true,
                "-s" => self.printed.show_only.push(value()),
                "--set" => self.given.set.push(value()),
                "--set-string" => self.given.set_string.push(value()),
                "--set-json" => self.given.set_json.push(value()),
                "--set-literal" => self.given.set_literal.push(value()),
                "--name-template" => self.name = value(),
                "--kube-version" => self.capabilities.kube_version = KubeVersion::parse(&value(), line)?,
                other => panic!("{other}"),
            }
        }
        Ok(())
    }
}
