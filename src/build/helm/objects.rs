//! What templates get: the objects of Helm's `pkg/engine`, out of a chart and a release.

use super::chart::Chart;
use super::line::{Capabilities, HelmLine, KubeVersion, build_info};
use super::metadata::{Dependency, Maintainer, Metadata};
use super::value::{Kind, Value};
use super::{ChartRelease, Keep, RenderRequest};
use crate::lang::template::{Data, OriginId, Val};
use crate::lang::yaml::Origin;
use std::sync::Arc;

/// Makes the objects, and keeps where values were written.
pub(super) struct ObjectMaker<'o, 'e> {
    pub(super) data: Data<'e>,
    pub(super) request: &'o RenderRequest<'o>,
    /// By [`OriginId`].
    pub(super) origins: Vec<Origin>,
    /// Values and bytes of files that may still be made.
    pub(super) left: Left,
}

/// What a release may hold, all its charts together.
pub(super) struct Left {
    values: usize,
    bytes: usize,
    /// The bound that was met.
    pub(super) met: Option<&'static str>,
}

impl Default for Left {
    fn default() -> Left {
        Left { values: 5_000_000, bytes: 512 << 20, met: None }
    }
}

/// What comes from `.Capabilities.APIVersions`: no value's origin, as no release has so many.
pub(super) const API_VERSIONS: OriginId = OriginId(u32::MAX);
/// What comes from the versions themselves, not only from whether some are there.
pub(super) const EACH_API_VERSION: OriginId = OriginId(u32::MAX - 1);

/// Where a chart lies that is in the one of a path.
pub(super) fn path_of(chart: &Chart, path: &str) -> String {
    format!("{path}/charts/{}", chart.name())
}

/// The objects of a chart and of those in it, each by its path.
pub(super) struct ChartScope {
    /// `t/charts/s`
    pub(super) path: String,
    /// The map that its templates share.
    pub(super) top: Val,
}

impl ObjectMaker<'_, '_> {
    fn origin(&mut self, origin: Option<&Origin>) -> Option<OriginId> {
        let origin = origin.filter(|_| self.request.keep != Keep::Text)?;
        self.origins.push(origin.clone());
        Some(OriginId(self.origins.len() as u32 - 1))
    }

    fn text(&mut self, text: &str) -> Val {
        self.data.text(text, None)
    }

    fn texts(&mut self, texts: &[String]) -> Val {
        let items = texts.iter().map(|text| self.data.text(text, None)).collect();
        self.data.list(items, None)
    }

    /// A value as templates see it.
    pub(super) fn value(&mut self, value: &Value) -> Val {
        match self.left.values.checked_sub(1) {
            Some(left) => self.left.values = left,
            None => {
                self.left.met = Some("5000000 values");
                return self.data.nil(None);
            }
        }
        let origin = self.origin(value.origin.as_ref());
        match &value.kind {
            Kind::Null => self.data.nil(origin),
            Kind::Bool(value) => self.data.bool(*value, origin),
            Kind::Int(value) => self.data.int64(*value, origin),
            Kind::Float(value) => self.data.float(*value, origin),
            Kind::Text(text) => self.data.text(text, origin),
            Kind::List(items) => {
                let items = items.iter().map(|item| self.value(item)).collect();
                self.data.list(items, origin)
            }
            Kind::Map(map) => {
                let entries: Vec<(&str, Val)> =
                    map.iter().map(|(key, value)| (&**key, self.value(value))).collect();
                self.data.entries(entries.into_iter(), origin)
            }
            Kind::Holes(holes) => {
                let parts: Vec<Option<&str>> = holes.parts.iter().map(Option::as_deref).collect();
                self.data.holes(&parts, holes.why.as_deref(), origin)
            }
            Kind::Unknown(why) => {
                let stand_in = self.data.text("unknown", origin);
                self.data.unknown(stand_in, why)
            }
        }
    }

    /// `recAllTpls`: the objects of a chart, and of those in it behind them.
    pub(super) fn scopes(&mut self, chart: &Chart, values: &Value) -> Vec<ChartScope> {
        let values = self.value(values);
        let values = self.data.values(&values);
        let release = self.release();
        let capabilities = self.capabilities(self.request.capabilities);
        let mut found = Vec::new();
        self.scope(chart, values, chart.name().to_owned(), [release, capabilities], &mut found);
        found
    }

    fn scope(
        &mut self,
        chart: &Chart,
        values: Val,
        path: String,
        shared: [Val; 2],
        found: &mut Vec<ChartScope>,
    ) -> Val {
        let at = found.len();
        let is_root = at == 0;
        let bytes = chart.files.iter().map(|file| file.blob.size()).sum();
        let mut files = chart.files.clone();
        match self.left.bytes.checked_sub(bytes) {
            Some(left) => self.left.bytes = left,
            None => {
                self.left.met = Some("512 MiB of files");
                files = Arc::default();
            }
        }
        let files = self.data.files(move || {
            let named = |at: usize| {
                let files = files.clone();
                (files[at].name.clone(), move || files[at].shared_bytes())
            };
            (0..files.len()).map(named).collect::<Vec<_>>()
        });
        let own = match self.request.helm.line {
            HelmLine::V3_17 => self.structure_of(&chart.metadata, is_root),
            HelmLine::V4_1 | HelmLine::V4_2 => self.map_of(&chart.metadata, is_root),
        };
        let [release, capabilities] = shared.clone();
        let subcharts = self.data.map(Vec::new(), None);
        let entries = [
            ("Capabilities", capabilities),
            ("Chart", own),
            ("Files", files),
            ("Release", release),
            ("Subcharts", subcharts.clone()),
            ("Values", values.clone()),
        ];
        let top = self.data.entries(entries.into_iter(), None);
        found.push(ChartScope { path: path.clone(), top: self.data.values(&top) });
        for inner in &chart.dependencies {
            let own = match values.get(inner.name()).filter(Val::is_map) {
                Some(own) => own,
                None => self.data.map(Vec::new(), None),
            };
            let own = self.data.values(&own);
            let path = path_of(inner, &path);
            let below = self.scope(inner, own, path, shared.clone(), found);
            self.data.set_key(&subcharts, inner.name(), below);
        }
        top
    }

    fn release(&mut self) -> Val {
        let ChartRelease { name, namespace, revision, is_upgrade } = self.request.release;
        let entries = [
            ("IsInstall", self.data.bool(!is_upgrade, None)),
            ("IsUpgrade", self.data.bool(*is_upgrade, None)),
            ("Name", self.text(name)),
            ("Namespace", self.text(namespace)),
            ("Revision", self.data.int(*revision, None)),
            ("Service", self.text("Helm")),
        ];
        self.data.entries(entries.into_iter(), None)
    }

    fn capabilities(&mut self, of: &Capabilities) -> Val {
        let line = self.request.helm.line;
        let version: fn(&KubeVersion) -> String = |of| of.version.clone();
        let normalized: fn(&KubeVersion) -> String = |of| of.normalized.clone();
        let mut fields = vec![("Version".to_owned(), self.of_cluster(of, version))];
        let methods = match line {
            HelmLine::V3_17 => [version, version],
            HelmLine::V4_1 | HelmLine::V4_2 => {
                fields.push(("normalizedVersion".to_owned(), self.of_cluster(of, normalized)));
                [normalized, version]
            }
        };
        fields.push(("Major".to_owned(), self.of_cluster(of, |of| of.major.clone())));
        fields.push(("Minor".to_owned(), self.of_cluster(of, |of| of.minor.clone())));
        let [string, git] = methods;
        let shown = string(&of.kube_version);
        let methods = vec![
            ("String".to_owned(), self.of_cluster(of, string)),
            ("GitVersion".to_owned(), self.of_cluster(of, git)),
        ];
        let package = if line == HelmLine::V3_17 { "chartutil" } else { "common" };
        let kube = self.data.structure(&format!("{package}.KubeVersion"), fields, methods, Some(&shown));
        let has_questions = self.request.keep.has_questions();
        let asked = [API_VERSIONS, EACH_API_VERSION].map(|id| has_questions.then_some(id));
        let versions = self.data.version_set(of.api_versions.clone(), asked);
        let (kube, versions) = match &of.assumed {
            None => (kube, versions),
            Some(why) => {
                let ends = self.request.ends;
                let others =
                    ends.iter().map(|end| self.data.version_set(end.api_versions.clone(), asked)).collect();
                (self.data.unknown(kube, why), self.data.one_of(versions, others, why))
            }
        };
        let build = build_info(line).into_iter().map(|(name, value)| (name.to_owned(), self.text(value)));
        let build: Vec<(String, Val)> = build.collect();
        let build = self.data.structure("version.BuildInfo", build, Vec::new(), None);
        let fields = vec![
            ("KubeVersion".to_owned(), kube),
            ("APIVersions".to_owned(), versions),
            ("HelmVersion".to_owned(), build),
        ];
        self.data.structure(&format!("*{package}.Capabilities"), fields, Vec::new(), None)
    }

    /// A part of the version of Kubernetes, as the cluster is or may be.
    fn of_cluster(&mut self, of: &Capabilities, part: fn(&KubeVersion) -> String) -> Val {
        let likely = self.text(&part(&of.kube_version));
        let Some(why) = &of.assumed else { return likely };
        let ends = self.request.ends;
        let others = ends.iter().map(|end| self.text(&part(&end.kube_version))).collect();
        self.data.one_of(likely, others, why)
    }

    /// The version of the chart, which a source may add to.
    fn version(&mut self, of: &Metadata, is_root: bool) -> Val {
        match &self.request.version_suffix {
            Some(why) if is_root => {
                let known = format!("{}+", of.version);
                let _ = why;
                self.data.holes(&[Some(&known), None], None, None)
            }
            _ => self.text(&of.version),
        }
    }

    /// The fields of `Metadata` but for the lists of structs, in order.
    fn fields(&mut self, of: &Metadata, is_root: bool) -> Vec<(&'static str, Val)> {
        let annotations = of
            .annotations
            .as_ref()
            .map(|map| map.iter().map(|(key, text)| (key.clone(), self.data.text(text, None))).collect());
        vec![
            ("Name", self.text(&of.name)),
            ("Home", self.text(&of.home)),
            ("Sources", self.texts(&of.sources)),
            ("Version", self.version(of, is_root)),
            ("Description", self.text(&of.description)),
            ("Keywords", self.texts(&of.keywords)),
            ("Icon", self.text(&of.icon)),
            ("APIVersion", self.text(&of.api_version)),
            ("Condition", self.text(&of.condition)),
            ("Tags", self.text(&of.tags)),
            ("AppVersion", self.text(&of.app_version)),
            ("Deprecated", self.data.bool(of.deprecated, None)),
            ("Annotations", self.data.texts(annotations)),
            ("KubeVersion", self.text(&of.kube_version)),
            ("Type", self.text(&of.of_type)),
            ("IsRoot", self.data.bool(is_root, None)),
        ]
    }

    fn maintainer(&mut self, of: &Maintainer) -> Vec<(&'static str, Val)> {
        vec![("Name", self.text(&of.name)), ("Email", self.text(&of.email)), ("URL", self.text(&of.url))]
    }

    fn dependency(&mut self, of: &Dependency) -> Vec<(&'static str, Val)> {
        let imports = of.import_values.iter().map(|value| self.value(value)).collect();
        vec![
            ("Name", self.text(&of.name)),
            ("Version", self.text(&of.version)),
            ("Repository", self.text(&of.repository)),
            ("Condition", self.text(&of.condition)),
            ("Tags", self.texts(&of.tags)),
            ("Enabled", self.data.bool(of.enabled, None)),
            ("ImportValues", self.data.list(imports, None)),
            ("Alias", self.text(&of.alias)),
        ]
    }

    /// `MetadataAsMap` of Helm 4.
    fn map_of(&mut self, of: &Metadata, is_root: bool) -> Val {
        let mut fields = self.fields(of, is_root);
        let mut items = Vec::new();
        for maintainer in &of.maintainers {
            let fields = self.maintainer(maintainer);
            items.push(self.data.entries(fields.into_iter(), None));
        }
        fields.push(("Maintainers", self.data.list(items, None)));
        let mut items = Vec::new();
        for dependency in of.dependencies.iter().flatten() {
            let fields = self.dependency(dependency);
            items.push(self.data.entries(fields.into_iter(), None));
        }
        fields.push(("Dependencies", self.data.list(items, None)));
        self.data.entries(fields.into_iter(), None)
    }

    /// The struct of Helm 3.
    fn structure_of(&mut self, of: &Metadata, is_root: bool) -> Val {
        let owned = |fields: Vec<(&'static str, Val)>| -> Vec<(String, Val)> {
            fields.into_iter().map(|(name, val)| (name.to_owned(), val)).collect()
        };
        let mut fields = owned(self.fields(of, is_root));
        let mut items = Vec::new();
        for maintainer in &of.maintainers {
            let fields = owned(self.maintainer(maintainer));
            items.push(self.data.structure("*chart.Maintainer", fields, Vec::new(), None));
        }
        fields.push(("Maintainers".to_owned(), self.data.list(items, None)));
        let mut items = Vec::new();
        for dependency in of.dependencies.iter().flatten() {
            let fields = owned(self.dependency(dependency));
            items.push(self.data.structure("*chart.Dependency", fields, Vec::new(), None));
        }
        fields.push(("Dependencies".to_owned(), self.data.list(items, None)));
        self.data.structure("struct { chart.Metadata; IsRoot bool }", fields, Vec::new(), None)
    }
}
