//! Versions of Flux that flux-operator installs: an exact one, or a range that
//! the operator's release and the artifact of manifests bound.
//! Source: flux-operator `internal/builder` (`MatchVersion` up to 0.53,
//! `MatchVersionWithEmbedded` from 0.54), `config/data/flux` at its tags.

use crate::files::{Snapshot, join};
use crate::lang::yaml::{Location, NodeRef, parse_nodes};
use crate::model::{ObjectId, Version, kinds};
use std::sync::Arc;

/// The newest Flux that a release of the operator knows: its minor from which
/// on, minor and patch of Flux 2.
const NEWEST: [(u32, u32, u32); 27] = [
    (1, 3, 0),
    (10, 4, 0),
    (15, 5, 0),
    (16, 5, 1),
    (21, 6, 0),
    (22, 6, 1),
    (23, 6, 2),
    (24, 6, 4),
    (30, 7, 0),
    (31, 7, 1),
    (32, 7, 2),
    (33, 7, 3),
    (34, 7, 4),
    (35, 7, 5),
    (42, 8, 0),
    (43, 8, 1),
    (44, 8, 2),
    (45, 8, 3),
    (46, 8, 5),
    (48, 8, 6),
    (49, 8, 7),
    (50, 8, 8),
    (53, 9, 0),
    (54, 9, 1),
    (55, 9, 2),
    (56, 9, 3),
    (58, 9, 4),
];

/// The operator release from which on the image bounds the minor.
const EMBEDDED: u32 = 54;

/// The newest Flux that a release 0.`minor` of the operator knows; `None` for
/// releases that are not known.
fn newest(operator: Version) -> Option<(u32, u32)> {
    if operator.major != 0 || operator.minor > 58 {
        return None;
    }
    let row = NEWEST.iter().rev().find(|(from, _, _)| *from <= operator.minor)?;
    Some((row.1, row.2))
}

/// A version that something states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stated {
    pub version: Version,
    pub from: Option<Location>,
}

/// What the objects of a cluster say about the version that runs.
#[derive(Debug, Default)]
pub(super) struct Distribution {
    /// `distribution.version` and where.
    range: Option<(String, Option<Location>)>,
    /// Tag of `distribution.artifact`: `latest`, or an operator release. `None`
    /// where there is no artifact.
    artifact: Option<String>,
    /// Whether values of the chart state it, whose default artifact is `latest`.
    by_chart: bool,
    /// The operator's release.
    operator: Option<Version>,
    /// Exact tags of `flux-manifests`.
    pub manifests: Vec<Stated>,
}

/// A version and how well it is known.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KnownVersion {
    /// This one; without a patch, the minor is known.
    Is(Version, Option<Location>),
    /// Between these minors of Flux 2, as far as they are known.
    Within(Option<u32>, Option<u32>, Option<Location>),
}

impl Distribution {
    /// Read an object.
    pub(super) fn read<'o>(
        &mut self,
        id: &ObjectId,
        node: NodeRef<'o>,
        config_map: &dyn Fn(&str) -> Option<NodeRef<'o>>,
    ) {
        if id.is(kinds::OPERATOR, "FluxInstance") {
            if let Some(distribution) = node.at("/spec/distribution") {
                self.distribution(distribution, None, false);
            }
        } else if kinds::is_helm_release(id) {
            self.release(id, node, config_map);
        } else if &*id.kind == "OCIRepository"
            && let Some(url) = node.str_at("/spec/url")
            && let Some(tag) = node.at("/spec/ref/tag")
            && let Some(text) = tag.text()
        {
            let text = text.split('@').next().unwrap_or_default();
            match url.trim_end_matches('/').rsplit('/').next() {
                Some("flux-manifests") => {
                    if let Some(version) = Version::parse(text) {
                        self.manifests.push(Stated { version, from: tag.location() });
                    }
                }
                Some("flux-operator") => self.operator = self.operator.or_else(|| Version::parse(text)),
                _ => {}
            }
        }
    }

    /// Read a release of the operator's charts.
    fn release<'o>(
        &mut self,
        id: &ObjectId,
        node: NodeRef<'o>,
        config_map: &dyn Fn(&str) -> Option<NodeRef<'o>>,
    ) {
        let inline = node.at("/spec/values/instance/distribution");
        let chart = node.str_at("/spec/chart/spec/chart");
        let named = chart.or_else(|| node.str_at("/spec/chartRef/name"));
        let named = named.as_deref().and_then(|name| name.rsplit('/').next()).unwrap_or_default().to_owned();
        if let Some(inline) = inline {
            self.distribution(inline, None, true);
        } else if named == "flux-instance" || node.at("/spec/values/instance").is_some() {
            // A range that nothing writes is the chart's.
            let mut default = Some(("2.x".to_owned(), node.location_at("/spec")));
            for entry in node.items_at("/spec/valuesFrom") {
                let Some(map) = entry.str_at("/name").and_then(|name| config_map(&name)) else {
                    default = None;
                    continue;
                };
                let key = entry.str_at("/valuesKey").unwrap_or("values.yaml".into());
                let Some(values) = map.get("data").and_then(|data| data.get(&key)) else { continue };
                let text = values.as_str().unwrap_or_default();
                for document in parse_nodes(&id.name, &text) {
                    if let Some(found) = document.get_ref().at("/instance/distribution") {
                        self.distribution(found, values.location(), true);
                    }
                }
            }
            if self.range.is_none() {
                self.range = default;
                self.by_chart = true;
            }
        }
        if named == "flux-operator"
            && let Some(version) = node.str_at("/spec/chart/spec/version")
        {
            self.operator = self.operator.or_else(|| Version::parse(&version));
        }
    }

    fn distribution(&mut self, node: NodeRef<'_>, place: Option<Location>, by_chart: bool) {
        if self.range.is_some() {
            return;
        }
        let version = node.get("version").filter(|version| !version.is_null());
        let text = version.and_then(NodeRef::text).map(|text| text.into_owned());
        let place = place.or_else(|| version.and_then(NodeRef::location)).or_else(|| node.location());
        let text = match text {
            Some(text) => text,
            None if by_chart => "2.x".to_owned(),
            None => return,
        };
        self.range = Some((text, place));
        self.by_chart = by_chart;
        self.artifact = node.get("artifact").and_then(NodeRef::as_str).map(|url| {
            let last =
                url.rsplit('/').next().unwrap_or_default().split('@').next().unwrap_or_default().to_owned();
            last.split_once(':').map_or("latest".to_owned(), |(_, tag)| tag.to_owned())
        });
    }

    /// What an operator release in a bootstrap file says, where the cluster's own
    /// objects name none.
    pub(super) fn operator_of_bootstrap(&mut self, version: Version) {
        self.operator = self.operator.or(Some(version));
    }

    /// Whether an operator installs Flux here.
    pub(super) fn is_stated(&self) -> bool {
        self.range.is_some()
    }

    /// What follows.
    pub(super) fn answer(&self) -> Option<KnownVersion> {
        let (text, from) = self.range.as_ref()?;
        let from = from.clone();
        let text = text.trim().trim_start_matches(['v', '=']);
        if let Some(version) = Version::parse(text).filter(|version| version.patch.is_some()) {
            return Some(KnownVersion::Is(version, from));
        }
        let (low, high) = minors(text)?;
        if low.is_some() && low == high {
            return Some(KnownVersion::Is(Version { major: 2, minor: low?, patch: None }, from));
        }
        let image = self.operator.and_then(newest);
        let tagged = self.artifact.as_deref().filter(|tag| *tag != "latest");
        let has_latest =
            self.artifact.as_deref() == Some("latest") || (self.by_chart && self.artifact.is_none());
        let is_embedded =
            self.operator.is_some_and(|operator| operator.major > 0 || operator.minor >= EMBEDDED);
        let fits = |minor: u32| low.is_none_or(|low| minor >= low) && high.is_none_or(|high| minor <= high);
        let known = match (tagged.map(|tag| Version::parse(tag).and_then(newest)), image) {
            // The artifact's release is not known.
            (Some(None), _) => None,
            (Some(Some(artifact)), image) => match image.filter(|_| is_embedded) {
                Some(image) if image.0 < artifact.0 => Some((image.0, None)),
                _ => Some((artifact.0, Some(artifact.1))),
            },
            (None, Some(image)) if has_latest => is_embedded.then_some((image.0, None)),
            (None, Some(image)) => Some((image.0, Some(image.1))),
            (None, None) => None,
        };
        match known {
            Some((minor, patch)) if fits(minor) => {
                Some(KnownVersion::Is(Version { major: 2, minor, patch }, from))
            }
            // Something newer is known than the range takes: its newest minor.
            Some((minor, _)) if high.is_some_and(|high| high < minor) => {
                Some(KnownVersion::Is(Version { major: 2, minor: high?, patch: None }, from))
            }
            _ => {
                let at_least = low.max(image.map(|image| image.0).filter(|_| has_latest && high.is_none()));
                Some(KnownVersion::Within(at_least, high, from))
            }
        }
    }
}

/// The minors of Flux 2 that a range takes, from and to, open where it says
/// none; `None` where it can't be read.
fn minors(range: &str) -> Option<(Option<u32>, Option<u32>)> {
    let number = |text: &str| -> Option<(u32, Option<u32>)> {
        let text = text.trim().trim_start_matches('v');
        let mut parts = text.split('.');
        let major = parts.next()?.parse().ok()?;
        let minor = match parts.next() {
            None | Some("x" | "X" | "*") => None,
            Some(minor) => Some(minor.parse().ok()?),
        };
        Some((major, minor))
    };
    if matches!(range, "*" | "x" | "") {
        return Some((None, None));
    }
    let (mut low, mut high) = (None, None);
    for part in range.split([' ', ',']).filter(|part| !part.is_empty()) {
        let rest = part.trim_start_matches(['>', '<', '=', '~', '^', '!']);
        let sign = &part[..part.len() - rest.len()];
        let (major, minor) = number(rest)?;
        if major != 2 {
            // `<3` says nothing more.
            if major > 2 && sign.starts_with('<') {
                continue;
            }
            return None;
        }
        match sign {
            "" | "=" | "~" => (low, high) = (minor, minor),
            "^" | ">=" | ">" => low = minor,
            "<" => {
                let whole = rest.split('.').nth(2).is_none_or(|patch| patch == "0");
                high = minor.map(|minor| if whole { minor.saturating_sub(1) } else { minor });
            }
            "<=" => high = minor,
            _ => return None,
        }
    }
    Some((low, high))
}

/// What installs Flux before it takes over, with the file that says it:
/// `flux2/manifests/install?ref=` and released manifests in a kustomization, the
/// operator's chart in a helmfile. Read once, as every cluster asks.
#[derive(Default)]
pub(crate) struct Installs {
    flux: Vec<(Arc<str>, Stated)>,
    operators: Vec<(Arc<str>, Version)>,
}

impl Installs {
    /// Reads the files that state an installation.
    pub(crate) fn of(snapshot: &Snapshot) -> Installs {
        let mut out = Installs::default();
        for file in snapshot.files() {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            let is_helmfile = name.starts_with("helmfile") || file.path.contains("helmfile.d/");
            let is_kustomization = crate::build::kustomize::FILE_NAMES.contains(&name);
            if !(is_kustomization || is_helmfile) || file.path.split('/').any(|part| part.contains("archive"))
            {
                continue;
            }
            if is_kustomization {
                let mut versions = Vec::new();
                installs(snapshot, file, &mut versions);
                out.flux.extend(versions.into_iter().map(|stated| (file.path.clone(), stated)));
            } else if let Some(stream) = snapshot.stream(file) {
                let versions = releases(&stream.text).into_iter();
                out.operators.extend(versions.map(|version| (file.path.clone(), version)));
            }
        }
        out
    }

    /// Only of files below the nearest directory above the root that says it once.
    pub(super) fn of_root(&self, root: &str) -> (Option<Stated>, Option<Version>) {
        let (mut flux, mut operator) = (None, None);
        let mut above = root.to_owned();
        loop {
            let below = |path: &str| {
                above.is_empty() || path.strip_prefix(&*above).is_some_and(|rest| rest.starts_with('/'))
            };
            let versions = self.flux.iter().filter(|(path, _)| below(path));
            let mut versions: Vec<&Stated> = versions.map(|(_, stated)| stated).collect();
            let operators = self.operators.iter().filter(|(path, _)| below(path));
            let mut operators: Vec<Version> = operators.map(|(_, version)| *version).collect();
            versions.dedup_by(|one, other| one.version == other.version);
            operators.dedup();
            if let ([only], None) = (versions.as_slice(), &flux) {
                flux = Some((*only).clone());
            }
            if let ([only], None) = (operators.as_slice(), &operator) {
                operator = Some(*only);
            }
            if above.is_empty()
                || (flux.is_some() && operator.is_some())
                || versions.len() + operators.len() > 1
            {
                return (flux, operator);
            }
            above = above.rsplit_once('/').map_or(String::new(), |(above, _)| above.to_owned());
        }
    }
}

fn installs(snapshot: &Snapshot, file: &crate::files::File, versions: &mut Vec<Stated>) {
    let Some(source) = snapshot.sources(file).first().filter(|source| !source.document().tokens.is_empty())
    else {
        return;
    };
    let root = source.root();
    for item in root.get_ref().items_at("/resources").chain(root.get_ref().items_at("/bases")) {
        let Some(text) = item.as_str().filter(|text| text.contains("fluxcd/flux2")) else { continue };
        let tag = if text.contains("manifests/install") {
            text.split_once("ref=").map(|(_, tag)| tag.split('&').next().unwrap_or(tag).to_owned())
        } else {
            let after = text.split_once("releases/download/").map(|(_, after)| after);
            after.and_then(|after| Some(after.split_once('/')?.0.to_owned()))
        };
        if let Some(version) = tag.as_deref().and_then(Version::parse) {
            versions.push(Stated { version, from: item.location() });
        }
    }
}

/// The versions of releases of the operator's chart in a helmfile, read as text.
fn releases(text: &str) -> Vec<Version> {
    let mut found = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let Some(chart) = line.trim().trim_start_matches("- ").strip_prefix("chart:") else { continue };
        let chart = chart.trim().trim_matches(['"', '\'']);
        if chart.rsplit('/').next() != Some("flux-operator") {
            continue;
        }
        let near = lines.iter().skip(index + 1).take_while(|line| !line.trim_start().starts_with("- "));
        let version = near.filter_map(|line| line.trim().strip_prefix("version:")).next();
        found.extend(version.and_then(|text| Version::parse(text.trim().trim_matches(['"', '\'']))));
    }
    found
}

/// The directory of bootstrap components of a root, `flux-system` or any other
/// namespace, where its `gotk-components.yaml` lies.
pub(super) fn components_head(snapshot: &Snapshot, root: &str) -> Option<Stated> {
    let directory = snapshot.files_below(root);
    let depth = |path: &str| path.split('/').count();
    let own = if root.is_empty() { 0 } else { depth(root) };
    let mut found: Option<Stated> = None;
    for file in directory {
        let is_components = file.path.rsplit('/').next() == Some("gotk-components.yaml");
        if !is_components || depth(&file.path) > own + 2 {
            continue;
        }
        let stated = head(snapshot, &file.path)?;
        match &found {
            Some(other) if other.version != stated.version => return None,
            _ => found = Some(stated),
        }
    }
    found
}

/// `# Flux Version: v2.9.4` at the head of a file.
pub(super) fn head(snapshot: &Snapshot, path: &str) -> Option<Stated> {
    let file = snapshot.file(&join("", path)?)?;
    let text = &snapshot.stream(file)?.text;
    let mut end = text.len().min(4096);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let at = text[..end].find("# Flux Version:")?;
    let line = text[at..].lines().next()?;
    let version = Version::parse(line.rsplit(':').next()?.trim())?;
    let from =
        Location { file: file.name(), start: at as u32, end: (at + line.len()) as u32, via: Vec::new() };
    Some(Stated { version, from: Some(from) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(range: &str, artifact: Option<&str>, by_chart: bool, operator: Option<&str>) -> String {
        let distribution = Distribution {
            range: Some((range.to_owned(), None)),
            artifact: artifact.map(str::to_owned),
            by_chart,
            operator: operator.and_then(Version::parse),
            manifests: Vec::new(),
        };
        match distribution.answer() {
            Some(KnownVersion::Is(version, _)) => version.to_string(),
            Some(KnownVersion::Within(low, high, _)) => format!("{low:?} to {high:?}"),
            None => "unknown".to_owned(),
        }
    }

    #[test]
    fn ranges_are_bounded_by_the_operator() {
        for (range, artifact, by_chart, operator, expected) in [
            ("2.9.4", None, false, None, "2.9.4"),
            ("2.7.x", Some("latest"), true, None, "2.7"),
            ("~2.7", None, false, None, "2.7"),
            ("2.3", None, false, None, "2.3"),
            ("2.x", Some("v0.58.0"), true, None, "2.9.4"),
            ("2.x", Some("v0.56.0"), true, Some("0.54.0"), "2.9.3"),
            ("2.x", Some("latest"), true, Some("0.55.1"), "2.9"),
            ("2.x", None, true, Some("0.54.0"), "2.9"),
            ("2.x", Some("latest"), true, Some("0.40.0"), "Some(7) to None"),
            ("2.x", None, false, Some("0.46.0"), "2.8.5"),
            ("2.x", None, false, None, "None to None"),
            (">=2.6 <2.9", None, false, Some("0.58.0"), "2.8"),
            ("^2.7", None, false, None, "Some(7) to None"),
            ("2.x", None, false, Some("0.99.0"), "None to None"),
        ] {
            assert_eq!(
                answer(range, artifact, by_chart, operator),
                expected,
                "{range} {artifact:?} {operator:?}"
            );
        }
    }

    #[test]
    fn helmfiles_name_the_operator() {
        let text = "releases:\n  - name: flux-operator\n    chart: oci://ghcr.io/x/charts/flux-operator\n    version: 0.50.0\n  - name: y\n    version: 1.0.0\n";
        assert_eq!(releases(text).iter().map(ToString::to_string).collect::<Vec<_>>(), ["0.50.0"]);
    }
}
