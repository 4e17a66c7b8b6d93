//! The files of a release's chart as texts, for who reads them beside the release.

use super::releases::Release;
use crate::files::{PathKind, join};
use crate::lang::yaml::{FilePath, Tree};
use crate::sources::resolve::ChartPlace;

impl Release {
    /// Where a file of its chart is, by its path in that; `None` where the chart is not
    /// known. Whether there is such a file, the snapshot tells.
    pub(crate) fn chart_file(&self, name: &str) -> Option<FilePath> {
        let in_chart = |chart: &str, version: &str| {
            Some(FilePath::new(Tree::Chart, format!("{chart}@{version}/{name}")))
        };
        match &self.chart.as_ref().ok()?.place {
            ChartPlace::Tree(tree, path) if tree.kind(path) != Some(PathKind::File) => {
                tree.real(&join(path, name)?)
            }
            ChartPlace::Tree(..) => {
                let (chart, version) = self.label()?;
                in_chart(chart, version)
            }
            ChartPlace::Store(stored) => in_chart(&stored.name, &stored.version),
        }
    }
}
