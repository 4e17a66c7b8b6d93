//! The user's `helm`, started by `chart pull` alone, and what it is asked for.

use crate::lang::template::{Constraints, Version};
use crate::lang::yaml::NodeRef;
use crate::sources::request::{Asked, OciReference};
use crate::sources::resolve::{is_exact, location_of, normalised};
use crate::world::{Cluster, Effective, World};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A chart that is fetched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WantedChart {
    name: String,
    /// Version, range or tag; empty for the newest.
    version: String,
    /// URL of the repository, or of the OCI artifact.
    url: String,
    /// The digest of an OCI artifact's manifest.
    digest: Option<String>,
    /// The Secret that the source names.
    secret: Option<String>,
    /// Whether the source says that its registry speaks http (`insecure`).
    insecure: bool,
}

/// The charts that the releases of some clusters mean and that are not here.
pub(super) fn collect(world: &World, filter: impl Fn(&Cluster) -> bool, wanted: &mut BTreeSet<WantedChart>) {
    let clusters = world.clusters.iter().filter(|cluster| filter(cluster) && world.counts(cluster));
    for release in clusters.flat_map(|cluster| &cluster.releases) {
        let (Ok(request), Err(missing)) = (&release.request, &release.chart) else { continue };
        if !missing.is_remote {
            continue;
        }
        let (name, version, url) = request.named();
        let Some(url) = url else { continue };
        let (url, version, digest) = match &request.chart {
            Asked::Artifact { url, reference: OciReference::Digest(digest, tag), .. } => {
                (url.clone(), tag.clone().unwrap_or_default(), Some(digest.clone()))
            }
            // A repository of OCI artifacts has no index.
            Asked::Named { name, .. } if url.starts_with("oci://") => {
                (format!("{}/{name}", url.trim_end_matches('/')), version.to_owned(), None)
            }
            _ => (url.to_owned(), version.to_owned(), None),
        };
        let (kind, namespace, source) = &request.source;
        let is_source = |object: &&Effective| {
            *object.id.kind == **kind
                && *object.id.name == **source
                && object.id.namespace.as_deref() == namespace.as_deref()
        };
        let spec =
            |field| world.objects.iter().filter(is_source).find_map(|object| object.node.get_ref().at(field));
        let insecure = spec("/spec/insecure").and_then(NodeRef::as_bool).unwrap_or(false);
        let secret = spec("/spec/secretRef/name");
        let secret = secret.and_then(NodeRef::as_str).map(|secret| match namespace {
            Some(namespace) => format!("{namespace}/{secret}"),
            None => secret.into_owned(),
        });
        wanted.insert(WantedChart { name: name.to_owned(), version, url, digest, secret, insecure });
    }
}

impl WantedChart {
    fn is_artifact(&self) -> bool {
        self.url.starts_with("oci://")
    }

    /// It in words, without what a URL may hide.
    pub(super) fn told(&self) -> String {
        format!("{} of {}", self.named(), self.source())
    }

    pub(super) fn named(&self) -> String {
        let version = if self.version.is_empty() { "" } else { " " };
        format!("{}{version}{}", self.name, self.version)
    }

    /// The URL of its source, without what it may hide.
    pub(super) fn source(&self) -> String {
        without_user(&self.url)
    }

    /// Where it comes from, as an index records it.
    pub(super) fn location(&self) -> String {
        if self.is_artifact() { normalised(&self.url) } else { location_of(&self.url, &self.name) }
    }

    /// The tag of an OCI artifact of this version.
    pub(super) fn tag(&self, version: &str) -> Option<String> {
        let is_tag = is_exact(&self.version) || Version::parse(&self.version).is_err();
        let is_range = Constraints::parse(&self.version).is_ok() && !is_exact(&self.version);
        self.is_artifact().then(|| match is_tag && !is_range && !self.version.is_empty() {
            true => self.version.clone(),
            false => version.replace('+', "_"),
        })
    }

    /// Whether a chart is what was asked for.
    pub(super) fn is_met_by(&self, name: &str, version: &str) -> bool {
        if name != self.name {
            return false;
        }
        let Ok(own) = Version::parse(version) else { return false };
        let asked = self.version.replace('_', "+");
        if self.version.is_empty() || self.digest.is_some() {
            return true;
        }
        if is_exact(&asked) {
            return Version::parse(&asked).is_ok_and(|asked| asked.compare(&own) == Ordering::Equal);
        }
        // A tag that is no version may stand for any.
        Constraints::parse(&asked).map_or(self.is_artifact(), |range| range.check(&own))
    }

    /// The arguments of `helm`; `repository` is its own name for the URL.
    ///
    /// # Errors
    /// It is not to be asked for.
    pub(super) fn arguments(&self, repository: Option<&str>, into: &str) -> Result<Vec<String>, String> {
        let is_scheme = |scheme: &&str| self.url.starts_with(*scheme);
        if !["oci://", "https://", "http://"].iter().any(is_scheme) {
            return Err("its URL is neither http nor oci".to_owned());
        }
        if self.url != without_user(&self.url) {
            return Err("its URL holds a user or a password; take them out, and log in with helm".to_owned());
        }
        if self.name.is_empty() || self.name.starts_with('-') {
            return Err("its name is none of a chart".to_owned());
        }
        let mut arguments = vec!["pull".to_owned()];
        let is_version = self.version.is_empty()
            || is_exact(&self.version)
            || Constraints::parse(&self.version.replace('_', "+")).is_ok();
        match (self.is_artifact(), repository, &self.digest) {
            (true, _, Some(digest)) => arguments.push(format!("{}@{digest}", self.url)),
            (true, _, None) if !is_version => arguments.push(format!("{}:{}", self.url, self.version)),
            (true, ..) => arguments.push(self.url.clone()),
            (false, Some(repository), _) => arguments.push(format!("{repository}/{}", self.name)),
            (false, None, _) => arguments.extend([self.name.clone(), "--repo".to_owned(), self.url.clone()]),
        }
        if !self.version.is_empty() && self.digest.is_none() && is_version {
            arguments.push(format!("--version={}", self.version.replace('_', "+")));
        }
        if self.is_artifact() && self.insecure {
            arguments.push("--plain-http".to_owned());
        }
        arguments.extend(["--destination".to_owned(), into.to_owned()]);
        Ok(arguments)
    }

    /// What may be missing, where the source has a Secret.
    pub(super) fn login(&self) -> Option<String> {
        let secret = self.secret.as_deref()?;
        let host = self.url.split_once("://")?.1.split('/').next()?;
        Some(match self.is_artifact() {
            true => format!("its source names Secret {secret}; log in with `helm registry login {host}`"),
            false => format!(
                "its source names Secret {secret}; log in with `helm repo add NAME {} --username USER`",
                without_user(&self.url)
            ),
        })
    }
}

fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    path.map_or_else(|| format!("{scheme}://{host}"), |path| format!("{scheme}://{host}/{path}"))
}

/// A `helm` that was found.
pub(super) struct Helm {
    program: PathBuf,
    /// The repositories that it knows: URL and name.
    repositories: Vec<(String, String)>,
}

impl Helm {
    /// The helm of a path, else of PATH.
    ///
    /// # Errors
    /// There is none, or it is too old.
    pub(super) fn find(given: Option<&Path>) -> Result<Helm, String> {
        let program = given.map_or_else(|| PathBuf::from("helm"), Path::to_owned);
        let run = |arguments: &[&str]| start(&program, arguments.iter().map(OsString::from));
        let told = run(&["version", "--short"])
            .map_err(|error| format!("{}: {error}; name a helm with --helm PATH", program.display()))?;
        let text = String::from_utf8_lossy(&told.stdout).trim().to_owned();
        let version = Version::parse(&text).ok().and_then(|version| version.numbers());
        match version {
            Some(version) if version >= (3, 8, 0) => {}
            _ => return Err(format!("{} is {text}; helm 3.8 or later is needed", program.display())),
        }
        let listed = run(&["repo", "list", "-o", "json"]).map(|output| output.stdout).unwrap_or_default();
        let listed: serde_json::Value = serde_json::from_slice(&listed).unwrap_or_default();
        let repository = |one: &serde_json::Value| {
            Some((normalised(one["url"].as_str()?), one["name"].as_str()?.to_owned()))
        };
        let repositories = listed.as_array().into_iter().flatten().filter_map(repository).collect();
        Ok(Helm { program, repositories })
    }

    /// Fetches a chart into a directory; the digest of its manifest, where helm tells one.
    ///
    /// # Errors
    /// Helm's words.
    pub(super) fn pull(&self, wanted: &WantedChart, into: &Path) -> Result<Option<String>, String> {
        let own = normalised(&wanted.url);
        let repository = self.repositories.iter().find(|(url, _)| *url == own).map(|(_, name)| name.as_str());
        let into = into.to_str().ok_or("its directory is not UTF-8")?;
        let arguments = wanted.arguments(repository.filter(|name| !name.starts_with('-')), into)?;
        let output = start(&self.program, arguments.into_iter().map(OsString::from))
            .map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if !output.status.success() {
            let told = text(&output.stderr);
            let told = told.trim().trim_start_matches("Error: ");
            return Err(if told.is_empty() { "helm failed".to_owned() } else { told.to_owned() });
        }
        let all = text(&output.stdout) + &text(&output.stderr);
        Ok(all.lines().find_map(|line| line.strip_prefix("Digest: ")).map(|digest| digest.trim().to_owned()))
    }
}

fn start(program: &Path, arguments: impl Iterator<Item = OsString>) -> std::io::Result<Output> {
    Command::new(program).args(arguments).stdin(Stdio::null()).output()
}
