//! What a chart makes of a release, or why it makes nothing, and what is asked of it
//! besides.

use crate::build::helm::{ChartFile, Culprit, Dead, Idle, RenderError, Replaced, SchemaFault};
use crate::lang::yaml::{Location, Node, Source};
use std::sync::Arc;

/// What a chart makes of a release.
#[derive(Debug)]
pub(crate) enum ChartOutcome {
    Rendered(ChartObjects),
    /// Helm, or helm-controller, refuses.
    Refused(Box<NoRelease>),
    /// Nobody can say here, and why.
    Unable(String),
}

/// What helm-controller says where its post-renderers refuse what the chart made.
pub(crate) const POST_RENDER_FAILS: &str = "error while running post render on files";

/// Why there is no release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoRelease {
    /// Helm's words.
    pub message: String,
    /// Where it is written, as far as that is known.
    pub location: Option<Location>,
    /// What of it hangs on something unknown.
    pub assumed: Vec<String>,
    /// The values that schemas refuse.
    pub faults: Vec<SchemaFault>,
}

impl NoRelease {
    /// One of helm-controller itself, that hangs on nothing unknown.
    pub(crate) fn new(message: String, location: Option<Location>) -> NoRelease {
        NoRelease { message, location, assumed: Vec::new(), faults: Vec::new() }
    }

    /// Whether Helm by itself takes what the chart makes.
    pub(crate) fn is_of_post_renderers(&self) -> bool {
        self.message.starts_with(POST_RENDER_FAILS)
    }
}

/// The objects of a chart.
#[derive(Debug)]
pub(crate) struct ChartObjects {
    /// The chart: name and version.
    pub label: (String, String),
    /// What is applied, in Helm's order.
    pub objects: Vec<Node>,
    /// What is run around an install or upgrade; some of it stays.
    pub hooks: Vec<Node>,
    /// The CustomResourceDefinitions of `crds/`.
    pub definitions: Vec<Node>,
    /// What was decided by something unknown.
    pub assumed: Vec<String>,
}

/// What is meant by a value that nothing reads: keys from the root of all values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UnreadValue {
    /// A key beside it that is written nearly alike.
    Near(Vec<Arc<str>>),
    /// The only other place where templates read its key.
    Elsewhere(Vec<Arc<str>>),
}

/// What is asked of a chart and the values of a release besides what it makes of them.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// What the paths of its files and of those of the charts in it begin with.
    pub leads: Vec<String>,
    /// What Chart.yaml says of a chart that is deprecated.
    pub deprecation: Option<String>,
    /// Whether its templates could be followed.
    pub is_followed: bool,
    /// The values that nothing reads, and what is meant by each.
    pub dead: Vec<(Dead, Option<UnreadValue>)>,
    /// The values that are read under other values only.
    pub idle: Vec<Idle>,
    /// The value that it fails on.
    pub culprit: Option<Culprit>,
    /// What of the charts' values the release's stand in the place of.
    pub replaced: Vec<Replaced>,
    /// The API versions that decide, each with whether the cluster has it; nothing where all may
    /// decide.
    pub versions: Option<Vec<(String, bool)>>,
}

impl ChartOutcome {
    pub(super) fn of(error: RenderError) -> ChartOutcome {
        match error {
            RenderError::Unable(why) => ChartOutcome::Unable(why),
            RenderError::Refused(refusal) => ChartOutcome::Refused(Box::new(NoRelease {
                message: refusal.message,
                location: refusal.location,
                assumed: refusal.assumed,
                faults: refusal.faults,
            })),
        }
    }
}

/// The documents of a file of `crds/`.
pub(super) fn documents_of(file: &ChartFile) -> Vec<Node> {
    let Some(stream) = file.blob.stream() else { return Vec::new() };
    let filled = (0..stream.documents.len() as u32)
        .filter(|index| stream.documents[*index as usize].tokens.first().is_some_and(|root| !root.empty));
    let node = |index| {
        let (file, stream) = (file.place.clone(), stream.clone());
        let source = Source { file, stream, index, embed: None, via: Vec::new() };
        Arc::new(source).root()
    };
    filled.map(node).collect()
}
