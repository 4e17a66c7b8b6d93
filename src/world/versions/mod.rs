//! Versions, flags and feature gates of a cluster's controllers, read from what
//! the repository itself states; configuration overrides.
//! Source: flux2 `manifestgen/install` (labels and header of
//! gotk-components.yaml), flux-operator `internal/builder`, each controller's
//! `main.go` and `internal/features`.

mod assumed;
mod controllers;
mod distribution;
mod helm;
mod redefined;

use crate::build::kustomize::FILE_NAMES;
use crate::config::{Assumed, Extension, Feature, TargetConfig, Written};
use crate::files::Snapshot;
use crate::lang::yaml::{Location, NodeRef};
use crate::model::ObjectId;
use crate::model::Version;
use crate::model::kinds;
pub(crate) use distribution::Installs;
use distribution::{Distribution, KnownVersion};
use redefined::Redefined;
use std::ops::RangeInclusive;

/// A value that the repository or the configuration states, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value; `None` when nothing says it.
    pub value: Option<T>,
    /// Where it was read; `None` for a default that follows from a version.
    pub from: Option<Location>,
}

impl<T> Setting<T> {
    /// Nothing says it.
    pub fn unknown() -> Setting<T> {
        Setting { value: None, from: None }
    }

    fn read(value: T, from: Option<Location>) -> Setting<T> {
        Setting { value: Some(value), from }
    }
}

/// What is known of a cluster's controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The version of Flux.
    pub flux: Setting<Version>,
    /// Where the version of Flux isn't known, the minors of Flux 2 that it lies
    /// between, as far as they are.
    pub flux_between: (Option<u32>, Option<u32>),
    /// The version of helm-controller, where an image says it: major, minor, patch.
    helm_controller: Option<(u32, u32, u32)>,
    /// The same of notification-controller.
    notification_controller: Option<(u32, u32, u32)>,
    /// The version of Cluster API.
    pub cluster_api: Setting<Version>,
    /// The version of Kubernetes.
    pub kubernetes: Setting<Version>,
    features: Vec<(Feature, Setting<bool>)>,
    /// Warnings: a version outside of what is supported.
    pub unsupported: Vec<(String, Location)>,
    /// Whether flux-operator or a FluxInstance is part of the cluster.
    pub operator: bool,
    /// Runtime extensions that the configuration states.
    pub extensions: Vec<Extension>,
    /// What of this a rehearsal assumes.
    pub assumed: Assumed,
    redefined: Redefined,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            flux: Setting::unknown(),
            flux_between: (None, None),
            helm_controller: None,
            notification_controller: None,
            cluster_api: Setting::unknown(),
            kubernetes: Setting::unknown(),
            features: Feature::ALL.into_iter().map(|feature| (feature, Setting::unknown())).collect(),
            unsupported: Vec::new(),
            operator: false,
            extensions: Vec::new(),
            assumed: Assumed::default(),
            redefined: Redefined::default(),
        }
    }
}

impl Settings {
    /// A feature's state and where it was read; unknown when nothing decides it.
    pub fn feature(&self, feature: Feature) -> &Setting<bool> {
        static UNKNOWN: Setting<bool> = Setting { value: None, from: None };
        self.features.iter().find(|(known, _)| *known == feature).map_or(&UNKNOWN, |(_, setting)| setting)
    }

    /// All features in order.
    pub fn features(&self) -> impl Iterator<Item = (Feature, &Setting<bool>)> {
        self.features.iter().map(|(feature, setting)| (*feature, setting))
    }

    /// Whether Flux is at least 2.`minor`; unknown without a version.
    pub fn flux_at_least(&self, minor: u32) -> Option<bool> {
        if let Some(version) = self.flux.value {
            return Some(version.at_least(2, minor));
        }
        let (low, high) = self.flux_between;
        match (low.is_some_and(|low| low >= minor), high.is_some_and(|high| high < minor)) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// Whether an instance patches the definition of a kind.
    pub(crate) fn redefines(&self, group: &str, kind: &str) -> bool {
        self.redefined.holds(group, kind)
    }

    /// What several clusters have in common: the rest is unknown.
    pub fn common<'s>(all: impl Iterator<Item = &'s Settings>) -> Settings {
        let all: Vec<&Settings> = all.collect();
        let Some(first) = all.first() else { return Settings::default() };
        fn same<T: Clone + PartialEq>(values: impl Iterator<Item = Setting<T>>) -> Setting<T> {
            let mut values = values;
            let Some(first) = values.next() else { return Setting::unknown() };
            if values.all(|other| other.value == first.value) { first } else { Setting::unknown() }
        }
        let between = all.iter().map(|one| one.flux_between);
        let of = |feature| same(all.iter().map(|one| one.feature(feature).clone()));
        Settings {
            flux: same(all.iter().map(|one| one.flux.clone())),
            flux_between: match between.clone().all(|other| other == first.flux_between) {
                true => first.flux_between,
                false => (None, None),
            },
            helm_controller: first
                .helm_controller
                .filter(|version| all.iter().all(|one| one.helm_controller == Some(*version))),
            notification_controller: first
                .notification_controller
                .filter(|version| all.iter().all(|one| one.notification_controller == Some(*version))),
            cluster_api: same(all.iter().map(|one| one.cluster_api.clone())),
            kubernetes: same(all.iter().map(|one| one.kubernetes.clone())),
            features: Feature::ALL.into_iter().map(|feature| (feature, of(feature))).collect(),
            unsupported: Vec::new(),
            operator: all.iter().any(|one| one.operator),
            extensions: first.extensions.clone(),
            assumed: first.assumed.clone(),
            redefined: first.redefined.clone(),
        }
    }

    /// The version of notification-controller, where its image says it.
    pub(crate) fn notification_controller(&self) -> Option<(u32, u32, u32)> {
        self.notification_controller
    }

    fn set(&mut self, feature: Feature, value: bool, from: Option<Location>) {
        if let Some(entry) = self.features.iter_mut().find(|(known, _)| *known == feature) {
            entry.1 = Setting::read(value, from);
        }
    }

    fn set_once(&mut self, feature: Feature, value: bool, from: Option<Location>) {
        if self.feature(feature).value.is_none() {
            self.set(feature, value, from);
        }
    }

    /// Read the settings of a cluster from its objects, and from the patches for
    /// objects that `flux bootstrap` has yet to write below its root directory;
    /// what `target` of the configuration says wins, and what a rehearsal assumes above all.
    pub(crate) fn read<'o>(
        objects: impl Iterator<Item = (&'o ObjectId, NodeRef<'o>)> + Clone,
        snapshot: &Snapshot,
        installs: &Installs,
        root: &str,
        (target, assumed): (&TargetConfig, &Assumed),
    ) -> Settings {
        let mut settings = Settings::default();
        for (id, node) in objects.clone() {
            settings.components(id, node, snapshot);
        }
        for (id, node) in objects.clone() {
            settings.instance(id, node);
        }
        settings.distribution(objects.clone(), snapshot, installs, root);
        for (id, node) in objects.clone() {
            settings.evidence(id, node);
            settings.core_provider(id, node);
        }
        if !objects.clone().any(|(id, _)| controllers::is_controller(id)) {
            settings.bootstrap(snapshot, root);
        }
        for (id, node) in objects {
            settings.arguments(id, node);
        }
        settings.configured(target);
        settings.assume(assumed);
        settings.defaults();
        settings
    }

    /// A version outside of what is known is judged as the nearest one that is.
    fn found_flux(&mut self, version: Version, from: Option<Location>) {
        let judged = self.judged("Flux", version, &crate::model::FLUX, from.as_ref());
        self.flux = Setting::read(judged, from);
    }

    /// The version to judge a stated one by: a newer one as the newest known, an
    /// older one as the oldest, with a warning. A newer minor stays what it is,
    /// as every comparison takes it for the newest.
    fn judged(
        &mut self,
        product: &str,
        version: Version,
        range: &(u32, RangeInclusive<u32>),
        from: Option<&Location>,
    ) -> Version {
        if version.within(range) {
            return version;
        }
        let judged = version.clamped(range);
        if let Some(from) = from.filter(|from| self.unsupported.iter().all(|(_, other)| other != *from)) {
            let side = if version.at_least(range.0, *range.1.end()) {
                format!("newer than {}.{}, the newest known, and judged as that", range.0, range.1.end())
            } else {
                format!(
                    "older than {}.{}, the oldest supported, and judged as that",
                    range.0,
                    range.1.start()
                )
            };
            self.unsupported.push((format!("{product} {version} is {side}"), from.clone()));
        }
        judged
    }

    /// What installs and keeps Flux, where its components don't say it: tagged
    /// manifests, the operator's instance, `gotk-components.yaml` that no build
    /// lists, then what bootstraps it.
    fn distribution<'o>(
        &mut self,
        objects: impl Iterator<Item = (&'o ObjectId, NodeRef<'o>)> + Clone,
        snapshot: &Snapshot,
        installs: &Installs,
        root: &str,
    ) {
        if self.flux.value.is_some() {
            return;
        }
        let mut distribution = Distribution::default();
        let all = objects.clone();
        let config_map = |name: &str| {
            let mut maps = all.clone().filter(|(id, _)| id.is("", "ConfigMap") && *id.name == *name);
            maps.next().map(|(_, node)| node)
        };
        for (id, node) in objects {
            distribution.read(id, node, &config_map);
        }
        // Its instance may be a chart's, so that no FluxInstance is seen.
        self.operator |= distribution.is_stated();
        if let Some(first) = distribution.manifests.first() {
            // Two that disagree: which one runs is not known.
            if distribution.manifests.iter().all(|other| other.version == first.version) {
                self.found_flux(first.version, first.from.clone());
            }
            return;
        }
        if !distribution.is_stated()
            && let Some(found) = distribution::components_head(snapshot, root)
        {
            return self.found_flux(found.version, found.from);
        }
        let (base, operator) = installs.of_root(root);
        if let Some(operator) = operator {
            self.operator = true;
            distribution.operator_of_bootstrap(operator);
        }
        match distribution.answer() {
            Some(KnownVersion::Is(version, from)) => self.found_flux(version, from),
            Some(KnownVersion::Within(low, high, from)) => {
                self.flux_between = (low, high);
                self.flux = Setting { value: None, from };
            }
            None => {
                if let Some(base) = base.filter(|_| !distribution.is_stated()) {
                    self.found_flux(base.version, base.from);
                }
            }
        }
    }

    /// A FluxInstance: an exact version, tenancy, patched arguments.
    fn instance(&mut self, id: &ObjectId, node: NodeRef<'_>) {
        if !id.is(kinds::OPERATOR, "FluxInstance") {
            return;
        }
        self.operator = true;
        if let Some(value) = node.at("/spec/cluster/multitenant")
            && let Some(multitenant) = value.as_bool()
        {
            self.set(Feature::CrossNamespaceRefs, !multitenant, value.location());
        }
        if let Some(components) = node.at("/spec/components")
            && components.items().any(|item| item.as_str().is_some_and(|name| name == "source-watcher"))
        {
            self.set(Feature::ExternalArtifact, true, components.location());
        }
        for patch in node.items_at("/spec/kustomize/patches") {
            self.patch(patch);
            self.redefined.read(patch);
        }
    }

    /// A kustomization beside a gotk-components.yaml that is empty until
    /// `flux bootstrap` writes it.
    fn bootstrap(&mut self, snapshot: &Snapshot, root: &str) {
        for file in snapshot.files_below(root) {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            if !FILE_NAMES.contains(&name) {
                continue;
            }
            let Some(source) =
                snapshot.sources(file).first().filter(|source| !source.document().tokens.is_empty())
            else {
                continue;
            };
            let node = source.root();
            let view = node.get_ref();
            let is_components = |item: NodeRef<'_>| {
                item.as_str().is_some_and(|path| path.rsplit('/').next() == Some("gotk-components.yaml"))
            };
            if view.items_at("/resources").any(is_components) {
                for patch in view.items_at("/patches") {
                    self.patch(patch);
                }
            }
        }
    }

    fn configured(&mut self, target: &TargetConfig) {
        fn over(setting: &mut Setting<Version>, written: &Option<Written<Version>>) {
            if let Some(written) = written {
                *setting = Setting::read(written.value, Some(written.location.clone()));
            }
        }
        let ranges = [
            ("Flux", &target.flux, &crate::model::FLUX),
            ("Cluster API", &target.cluster_api, &crate::model::CLUSTER_API),
        ];
        let [flux, cluster_api] = ranges.map(|(product, written, range)| {
            written.as_ref().map(|written| Written {
                value: self.judged(product, written.value, range, Some(&written.location)),
                location: written.location.clone(),
            })
        });
        over(&mut self.flux, &flux);
        over(&mut self.cluster_api, &cluster_api);
        over(&mut self.kubernetes, &target.kubernetes);
        self.extensions.clone_from(&target.extensions);
        for feature in Feature::ALL {
            if let Some(written) = target.feature(feature) {
                self.set(feature, written.value, Some(written.location.clone()));
            }
        }
    }

    /// What a released version does unless told otherwise.
    fn defaults(&mut self) {
        self.set_once(Feature::SuspendAnnotation, false, None);
        if let Some(flux) = self.flux.value {
            self.set_once(Feature::CrossNamespaceRefs, true, None);
            self.set_once(Feature::StrictSubstitution, flux.at_least(2, 9), None);
            self.set_once(Feature::ExternalArtifact, false, None);
            self.set_once(Feature::AdditiveCelDependencyCheck, false, None);
        }
        if self.cluster_api.value.is_some() {
            for feature in [
                Feature::ClusterTopology,
                Feature::RuntimeSdk,
                Feature::InPlaceUpdates,
                Feature::MachineTaintPropagation,
            ] {
                self.set_once(feature, false, None);
            }
        }
    }
}
