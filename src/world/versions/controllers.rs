//! What the Deployments of the controllers, and patches for them, state: versions,
//! arguments and feature gates.

use super::{Setting, Settings};
use crate::config::Feature;
use crate::files::Snapshot;
use crate::lang::template;
use crate::lang::yaml::{Location, NodeRef};
use crate::model::{ObjectId, Version};

impl Settings {
    /// Labels of Flux's own Deployments; the header of the file they stand in.
    pub(super) fn components(&mut self, id: &ObjectId, node: NodeRef<'_>, snapshot: &Snapshot) {
        if !id.is("apps", "Deployment") || self.flux.value.is_some_and(|version| version.patch.is_some()) {
            return;
        }
        let labels = node.at("/metadata/labels");
        let label = |key: &str| labels.and_then(|labels| labels.get(key));
        let part_of_flux =
            label("app.kubernetes.io/part-of").and_then(NodeRef::as_str).is_some_and(|part| part == "flux");
        if part_of_flux
            && let Some(value) = label("app.kubernetes.io/version")
            && let Some(version) = value.text().and_then(|text| Version::parse(&text))
        {
            self.found_flux(version, value.location());
            return;
        }
        let Some((controller, _)) = CONTROLLERS.iter().find(|(name, _)| **name == *id.name) else {
            return;
        };
        let header = node.location().and_then(|location| {
            let file = snapshot.find(&location.file)?;
            let text = &snapshot.stream(file)?.text;
            let at = text.get(..4096.min(text.len()))?.find("# Flux Version:")?;
            let line = text[at..].lines().next()?;
            let version = Version::parse(line.rsplit(':').next()?.trim())?;
            Some((
                version,
                Location {
                    file: location.file,
                    start: at as u32,
                    end: (at + line.len()) as u32,
                    via: Vec::new(),
                },
            ))
        });
        if let Some((version, from)) = header {
            self.found_flux(version, Some(from));
            return;
        }
        for container in node.items_at("/spec/template/spec/containers") {
            let Some(image) = container.get("image") else { continue };
            let Some(text) = image.as_str() else { continue };
            let tag = text.split('@').next().and_then(|text| text.rsplit_once(':')).map(|(_, tag)| tag);
            let version =
                tag.and_then(Version::parse).and_then(|version| flux_of_controller(controller, version));
            if let Some(version) = version
                && self.flux.value.is_none()
            {
                self.found_flux(version, image.location());
            }
        }
    }

    /// The arguments that a patch for Deployments holds.
    pub(super) fn patch(&mut self, patch: NodeRef<'_>) {
        let Some(node) = patch.get("patch") else { return };
        let Some(text) = node.as_str() else { return };
        for argument in text.split_whitespace().map(|word| word.trim_matches(['"', '\'', ','])) {
            if argument.starts_with("--") {
                self.argument(argument, &within(node, argument));
            }
        }
    }

    /// Arguments of the controllers' Deployments.
    pub(super) fn arguments(&mut self, id: &ObjectId, node: NodeRef<'_>) {
        if !id.is("apps", "Deployment") {
            return;
        }
        let flux = is_controller(id);
        let capi = &*id.name == "capi-controller-manager";
        if &*id.name == "source-watcher" {
            self.set_once(Feature::ExternalArtifact, true, node.location());
        }
        if !flux && !capi {
            return;
        }
        for container in node.items_at("/spec/template/spec/containers") {
            match &*id.name {
                "helm-controller" => self.helm_controller = image_version(container).or(self.helm_controller),
                "notification-controller" => {
                    self.notification_controller = image_version(container).or(self.notification_controller);
                }
                _ => {}
            }
            if capi
                && let Some(image) = container.get("image")
                && let Some(text) = image.as_str()
                && let Some((_, tag)) = text.rsplit_once(':')
                && let Some(version) = Version::parse(tag)
            {
                let from = image.location();
                let judged = self.judged("Cluster API", version, &crate::model::CLUSTER_API, from.as_ref());
                self.cluster_api = Setting::read(judged, from);
            }
            for argument in container.items_at("/args") {
                if let Some(text) = argument.as_str() {
                    self.argument(&text, &argument.location());
                }
            }
        }
    }

    fn argument(&mut self, argument: &str, from: &Option<Location>) {
        if let Some(rest) = argument.strip_prefix("--no-cross-namespace-refs") {
            match rest {
                "" | "=true" => self.set(Feature::CrossNamespaceRefs, false, from.clone()),
                "=false" => self.set(Feature::CrossNamespaceRefs, true, from.clone()),
                _ => {}
            }
        }
        if let Some(gates) = argument.strip_prefix("--feature-gates=") {
            for gate in gates.split(',') {
                self.gate(gate, from);
            }
        }
    }

    fn gate(&mut self, gate: &str, from: &Option<Location>) {
        let Some((name, value)) = gate.split_once('=') else { return };
        let Ok(value) = value.trim().parse::<bool>() else { return };
        let feature = match name.trim() {
            "StrictPostBuildSubstitutions" => Feature::StrictSubstitution,
            "ExternalArtifact" => Feature::ExternalArtifact,
            "AdditiveCELDependencyCheck" => Feature::AdditiveCelDependencyCheck,
            "ClusterTopology" => Feature::ClusterTopology,
            "RuntimeSDK" => Feature::RuntimeSdk,
            "InPlaceUpdates" => Feature::InPlaceUpdates,
            "MachineTaintPropagation" => Feature::MachineTaintPropagation,
            _ => return,
        };
        self.set(feature, value, from.clone());
    }

    /// A CRD of the gating proposal.
    pub(super) fn evidence(&mut self, id: &ObjectId, node: NodeRef<'_>) {
        if !id.is("apiextensions.k8s.io", "CustomResourceDefinition") {
            return;
        }
        let gates = &*id.name == "gates.gating.toolkit.fluxcd.io"
            || (id.name.ends_with(".toolkit.fluxcd.io")
                && node.items_at("/spec/versions").any(|version| {
                    version.at("/schema/openAPIV3Schema/properties/spec/properties/gates").is_some()
                }));
        if gates {
            self.set(Feature::Gates, true, node.at("/metadata/name").and_then(NodeRef::location));
        }
    }

    pub(super) fn core_provider(&mut self, id: &ObjectId, node: NodeRef<'_>) {
        if !id.is("operator.cluster.x-k8s.io", "CoreProvider") {
            return;
        }
        if let Some(value) = node.at("/spec/version")
            && let Some(version) = value.text().and_then(|text| Version::parse(&text))
        {
            let from = value.location();
            let judged = self.judged("Cluster API", version, &crate::model::CLUSTER_API, from.as_ref());
            self.cluster_api = Setting::read(judged, from);
        }
        for entry in node.entries_at("/spec/manager/featureGates") {
            let text = entry.value.text().unwrap_or_default();
            self.gate(&format!("{}={text}", entry.key), &entry.value.location());
        }
    }
}

/// Flux's controllers and the controller minor of Flux 2.0, by major version 1
/// (or 0): `minor of Flux = minor of the controller + offset`.
static CONTROLLERS: &[(&str, &[(u32, i64)])] = &[
    ("source-controller", &[(1, 0)]),
    ("kustomize-controller", &[(1, 0)]),
    ("notification-controller", &[(1, 0)]),
    ("helm-controller", &[(1, 3), (0, -35)]),
    ("image-reflector-controller", &[(1, 7), (0, -29)]),
    ("image-automation-controller", &[(1, 7), (0, -35)]),
];

/// Whether an object is the Deployment of one of Flux's controllers.
pub(super) fn is_controller(id: &ObjectId) -> bool {
    id.is("apps", "Deployment") && CONTROLLERS.iter().any(|(name, _)| **name == *id.name)
}

/// Where a part of a scalar stands; the scalar where it isn't written as it is.
fn within(node: NodeRef<'_>, part: &str) -> Option<Location> {
    let mut location = node.location()?;
    if let NodeRef::Source(source, _) = node
        && source.embed.is_none()
        && let Some(text) = source.stream.text.get(location.start as usize..location.end as usize)
        && let Some(at) = text.find(part)
    {
        location.start += at as u32;
        location.end = location.start + part.len() as u32;
    }
    Some(location)
}

/// Major, minor and patch of a container's image, where its tag says them.
fn image_version(container: NodeRef<'_>) -> Option<(u32, u32, u32)> {
    let image = container.str_at("/image")?;
    let (_, tag) = image.split('@').next()?.rsplit_once(':')?;
    template::Version::parse(tag).ok()?.numbers()
}

/// The Flux minor that ships a controller's version.
fn flux_of_controller(controller: &str, version: Version) -> Option<Version> {
    let (_, offsets) = CONTROLLERS.iter().find(|(name, _)| *name == controller)?;
    let (_, offset) = offsets.iter().find(|(major, _)| *major == version.major)?;
    let minor = u32::try_from(i64::from(version.minor) + offset).ok()?;
    Some(Version { major: 2, minor, patch: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_tell_the_flux_minor() {
        for (controller, version, expected) in [
            ("kustomize-controller", "v1.9.2", Some(9)),
            ("helm-controller", "v0.37.4", Some(2)),
            ("helm-controller", "v1.5.0", Some(8)),
            ("image-reflector-controller", "v0.35.2", Some(6)),
            ("image-automation-controller", "v1.1.0", Some(8)),
            ("helm-controller", "v0.30.0", None),
            ("flagger", "v1.44.0", None),
        ] {
            let version = Version::parse(version).expect("written above");
            assert_eq!(
                flux_of_controller(controller, version).map(|flux| flux.minor),
                expected,
                "{controller}"
            );
        }
    }
}
