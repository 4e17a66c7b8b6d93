//! The lines of Helm, and what each of them says of itself and of the cluster.

use super::error::{Refusal, RenderError};
use crate::lang::template::{ANY_VERSION, EngineRun, TemplateParser};
use std::sync::Arc;

/// A line of Helm whose behaviour is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HelmLine {
    /// Helm 3, as 3.17.3.
    V3_17,
    /// Helm 4.0 and 4.1, as 4.1.4.
    V4_1,
    /// Helm 4.2, as 4.2.3.
    V4_2,
}

impl HelmLine {
    /// Functions that it doesn't know yet.
    pub(super) fn unknown_functions(self) -> &'static [&'static str] {
        match self {
            HelmLine::V3_17 => &["mustToYaml", "mustToToml"],
            HelmLine::V4_1 => &["mustToToml"],
            HelmLine::V4_2 => &[],
        }
    }

    /// What reads its templates.
    pub(super) fn template_parser(self) -> TemplateParser {
        TemplateParser::of(&EngineRun { without: self.unknown_functions(), ..EngineRun::default() })
    }
}

/// What becomes of null in values; it changed within lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Nulls {
    /// Up to 3.19.4 and 4.0: a nested null for a key that the chart lacks stays; over
    /// null of the chart it deletes.
    Original,
    /// 3.19.5, 3.20.0 and 4.1.0 to 4.1.2: such a null is deleted too.
    Deleting,
    /// From 3.20.1 and 4.1.3: it stays, and null over null stays.
    Keeping,
    /// From 4.2: as `Keeping`, and the nulls of a chart's own values vanish.
    Cleaning,
}

/// The Helm that renders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Helm {
    /// Its line.
    pub line: HelmLine,
    /// What it does with null.
    pub nulls: Nulls,
}

impl From<HelmLine> for Helm {
    /// The recorded version of the line.
    fn from(line: HelmLine) -> Helm {
        let nulls = match line {
            HelmLine::V3_17 => Nulls::Original,
            HelmLine::V4_1 => Nulls::Keeping,
            HelmLine::V4_2 => Nulls::Cleaning,
        };
        Helm { line, nulls }
    }
}

/// `version.BuildInfo` of a line: field and value in order.
pub(super) fn build_info(line: HelmLine) -> Vec<(&'static str, &'static str)> {
    let (version, commit, go, client) = match line {
        HelmLine::V3_17 => ("v3.17.3", "e4da49785aa6e6ee2b86efd5dd9e43400318262b", "go1.23.7", None),
        HelmLine::V4_1 => ("v4.1.4", "05fa37973dc9e42b76e1d2883494c87174b6074f", "go1.25.9", Some("v1.35")),
        HelmLine::V4_2 => ("v4.2.3", "43e8b7feece8beb0fcba47059ec9b522fd929a64", "go1.26.5", Some("v1.36")),
    };
    let mut fields =
        vec![("Version", version), ("GitCommit", commit), ("GitTreeState", "clean"), ("GoVersion", go)];
    fields.extend(client.map(|client| ("KubeClientVersion", client)));
    fields
}

/// What a template may ask about the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Capabilities {
    /// The version of Kubernetes.
    pub kube_version: KubeVersion,
    /// `.Capabilities.APIVersions`, in order: groups and versions, of a live cluster with
    /// their kinds too. There are hundreds, and releases share them.
    pub api_versions: Arc<[String]>,
    /// Why the answers are not known for sure, if so: what they decide is assumed.
    pub assumed: Option<String>,
}

/// `KubeVersion` of Helm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KubeVersion {
    /// In full, with the suffix of a distribution: `v1.33.4-gke.1245000`.
    pub version: String,
    /// What constraints are checked against.
    pub normalized: String,
    /// `1`
    pub major: String,
    /// `33`
    pub minor: String,
}

const API_VERSIONS: &str = include_str!("api_versions.txt");

impl Capabilities {
    /// The constants of a line: what `helm template` answers without a cluster.
    pub fn of(line: HelmLine) -> Capabilities {
        let minor = match line {
            HelmLine::V3_17 => 32,
            HelmLine::V4_1 => 35,
            HelmLine::V4_2 => 36,
        };
        let version = format!("v1.{minor}.0");
        let kube_version = KubeVersion {
            normalized: version.clone(),
            version,
            major: "1".to_owned(),
            minor: minor.to_string(),
        };
        let column = match line {
            HelmLine::V3_17 => "3.17",
            HelmLine::V4_1 => "4.1",
            HelmLine::V4_2 => "4.2",
        };
        let of_line = |row: &str| {
            let mut words = row.split(' ');
            let name = words.next()?;
            let lines: Vec<&str> = words.collect();
            (lines.is_empty() || lines.contains(&column)).then(|| name.to_owned())
        };
        Capabilities {
            kube_version,
            api_versions: API_VERSIONS.lines().filter_map(of_line).collect(),
            assumed: None,
        }
    }
}

impl Capabilities {
    /// The same of a cluster that has these API versions, too.
    pub fn with_versions(self, more: impl IntoIterator<Item = String>) -> Capabilities {
        let api_versions = self.api_versions.iter().cloned().chain(more).collect();
        Capabilities { api_versions, ..self }
    }

    /// The same of a cluster that has every API version.
    pub(crate) fn with_any_api(self) -> Capabilities {
        self.with_versions([ANY_VERSION.to_owned()])
    }
}

impl KubeVersion {
    /// `ParseKubeVersion`: of Helm 4 as the API machinery reads versions, of Helm 3 as
    /// semantic ones.
    pub fn parse(text: &str, line: HelmLine) -> Result<KubeVersion, RenderError> {
        match line {
            HelmLine::V3_17 => semantic(text),
            HelmLine::V4_1 | HelmLine::V4_2 => generic(text),
        }
    }
}

fn semantic(text: &str) -> Result<KubeVersion, RenderError> {
    let version = crate::lang::template::Version::parse(text)
        .map_err(|_| Refusal::new(format!("invalid kube version '{text}': Invalid Semantic Version")))?;
    let full = format!("v{}", version.full());
    Ok(KubeVersion {
        version: full.clone(),
        normalized: full,
        major: version.major.to_string(),
        minor: version.minor.to_string(),
    })
}

/// `ParseGeneric` of k8s.io/apimachinery/pkg/util/version.
fn generic(text: &str) -> Result<KubeVersion, RenderError> {
    let refused =
        |why: String| RenderError::from(Refusal::new(format!("invalid kube version '{text}': {why}")));
    let trimmed = text.trim_start();
    let bare = trimmed.strip_prefix('v').unwrap_or(trimmed);
    let mut components: Vec<&str> = Vec::new();
    let mut rest = bare;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if end == 0 {
            break;
        }
        components.push(&rest[..end]);
        match rest[end..].strip_prefix('.') {
            Some(after) => rest = after,
            None => break,
        }
    }
    if components.is_empty() {
        return Err(refused(format!("could not parse \"{text}\" as version")));
    }
    if components.len() < 2 {
        return Err(refused(format!("illegal version string \"{text}\"")));
    }
    if components[0].starts_with('0') && components[0] != "0" {
        let first = components[0];
        return Err(refused(format!("illegal zero-prefixed version component \"{first}\" in \"{text}\"")));
    }
    let mut numbers = Vec::new();
    for component in components {
        let number = component.parse::<u64>().map_err(|_| {
            let why = format!("strconv.ParseUint: parsing \"{component}\": value out of range");
            refused(format!("illegal non-numeric version component \"{component}\" in \"{text}\": {why}"))
        })?;
        numbers.push(number.to_string());
    }
    let version = if text.starts_with('v') { text.to_owned() } else { format!("v{text}") };
    Ok(KubeVersion {
        version,
        normalized: format!("v{}", numbers.join(".")),
        major: numbers[0].clone(),
        minor: numbers[1].clone(),
    })
}
