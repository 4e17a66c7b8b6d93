//! Releases of charts, out of a file of lines of JSON: `{"chart": directory or archive, "name": …,
//! "namespace": …, "values": {…}, "skipSchemas": …}`, the last where a schema of the chart names
//! another host.

use forebay::internals::build::helm::{
    Capabilities, Chart, ChartFile, ChartRelease, Given, HelmLine, Keep, Printed, RenderRequest, Value,
    render,
};
use forebay::internals::files::{FileTree, Snapshot, Store};
use forebay::internals::lang::yaml::FilePath;
use std::path::Path;
use std::sync::Arc;

pub(crate) const LINE: HelmLine = HelmLine::V4_2;

pub(crate) struct Case {
    pub(crate) chart: String,
    pub(crate) release: ChartRelease,
    pub(crate) values: String,
    pub(crate) skips_schemas: bool,
}

pub(crate) fn cases(path: &str) -> Vec<Case> {
    let text = std::fs::read_to_string(path).unwrap();
    let case = |line: &str| {
        let given: serde_json::Value = serde_json::from_str(line).unwrap();
        let word = |key: &str, otherwise: &str| given[key].as_str().unwrap_or(otherwise).to_owned();
        let release = ChartRelease {
            name: word("name", "release"),
            namespace: word("namespace", "default"),
            revision: 1,
            is_upgrade: false,
        };
        let skips_schemas = given["skipSchemas"].as_bool().unwrap_or_default();
        Case { chart: word("chart", ""), release, values: given["values"].to_string(), skips_schemas }
    };
    text.lines().map(case).collect()
}

pub(crate) fn load(path: &str, store: &Arc<Store>) -> Option<Chart> {
    if Path::new(path).is_file() {
        return Chart::of_archive(&std::fs::read(path).ok()?, store, LINE).ok();
    }
    let snapshot = Snapshot::listed(Path::new(path), store.clone()).ok()?;
    let tree = FileTree::root(Arc::new(snapshot));
    Chart::of_tree(&tree, "", path, LINE).ok()
}

pub(crate) fn values(case: &Case, store: &Store) -> Value {
    let blob = store.intern(case.values.as_bytes());
    let file = ChartFile { name: "values".into(), blob, place: FilePath::in_root("values") };
    let given = Given { files: vec![("values".to_owned(), file)], ..Given::default() };
    given.merge(LINE, &|name| Err(name.to_owned())).unwrap()
}

/// The output, where the chart takes the values.
pub(crate) fn printed(
    case: &Case,
    chart: &Chart,
    values: &Value,
    (keep, threads): (Keep, usize),
) -> Option<Vec<u8>> {
    let request = RenderRequest {
        chart,
        values,
        release: &case.release,
        capabilities: &Capabilities::of(LINE),
        ends: &[],
        helm: LINE.into(),
        skip_schema_validation: case.skips_schemas,
        version_suffix: None,
        keep,
        threads,
        work: None,
    };
    let printed = Printed { include_crds: true, ..Printed::default() };
    render(&request).ok()?.print(&printed, LINE).ok()
}
