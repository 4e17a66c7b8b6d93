//! What protects an object while it is renamed or moved, and the commands around it.
//!
//! Sources: kustomize-controller `finalizerShouldDeleteResources` (the live spec at
//! the deletion decides, a suspended Kustomization deletes nothing); helm-controller
//! `reconcileDelete` (a suspended HelmRelease leaves its release); fluxcd/pkg ssa
//! `Delete` (`prune: disabled` is read of the live object). So each of them has to be
//! in the cluster before the commit that it protects from.

use super::texts::applier;
use super::{Refused, Rename, Series};
use crate::lang::yaml::NodeRef;
use crate::lang::yaml::edit::{Content, KeyPlace, Operation, Prune};
use crate::model::{ObjectId, kinds};
use crate::plan;
use crate::rewrite::Wanted;
use crate::rewrite::subject::{Subject, manifest_of, text_of};
use crate::simulate::suspend::comment_after;
use crate::simulate::takeover::DeletionPolicy;
use crate::world::World;

/// The comment behind a release name that keeps an installed release.
pub(crate) const MARK_PIN: &str = "keeps the installed release";

const PRUNE: &str = "/metadata/annotations/kustomize.toolkit.fluxcd.io~1prune";

/// What the first step does, for the second to delete nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Nothing: one commit does it.
    None,
    /// A Kustomization prunes nothing when it is deleted.
    Prune,
    /// A HelmRelease, or a Kustomization that nothing deletes, does nothing.
    Suspend,
    /// Pruning spares the object.
    Spare,
}

impl Guard {
    /// Whether an object of this kind acts when it is deleted.
    pub(crate) fn needs(subject: &Subject<'_>) -> bool {
        let id = &subject.object.id;
        kinds::is_kustomization(id) || kinds::is_helm_release(id)
    }

    /// What a rename needs.
    ///
    /// # Errors
    /// Nothing that can be set would protect it.
    pub(super) fn of(rename: &Rename<'_>, mark: &str) -> Result<Guard, Vec<Refused>> {
        let mut guard = Guard::None;
        for subject in &rename.subjects {
            let one = Guard::of_one(rename, subject, mark)?;
            if guard != Guard::None && one != Guard::None && guard != one {
                let why = format!("{} needs other steps in {}", rename.old, subject.cluster.label());
                let place = subject.object.node.get_ref().location();
                return Err(vec![Refused::at(
                    place,
                    why,
                    "rename it with --cluster, where its texts allow it",
                )]);
            }
            if one != Guard::None {
                guard = one;
            }
        }
        Ok(guard)
    }

    fn of_one(rename: &Rename<'_>, subject: &Subject<'_>, mark: &str) -> Result<Guard, Vec<Refused>> {
        let (id, node) = (&subject.object.id, subject.object.node.get_ref());
        let flag = |pointer: &str| node.at(pointer).and_then(NodeRef::as_bool) == Some(true);
        let marked = |pointer: &str| is_marked(rename.world, node, pointer, mark);
        let applied = applier(rename.world, subject).map(|applied| applied.node.get_ref());
        // Without an entry point it may be applied by anything.
        let goes = applied.is_none_or(|by| by.at("/spec/prune").and_then(NodeRef::as_bool) == Some(true))
            && !is_spared(node);
        if kinds::is_kustomization(id) {
            let policy = DeletionPolicy::of(node.str_at("/spec/deletionPolicy").as_deref());
            let deletes = match policy {
                DeletionPolicy::MirrorPrune => flag("/spec/prune") || marked("/spec/prune"),
                DeletionPolicy::Delete => true,
                DeletionPolicy::Orphan | DeletionPolicy::Unknown => false,
            };
            if !goes {
                let suspends = !flag("/spec/suspend") || marked("/spec/suspend");
                return Ok(if suspends { Guard::Suspend } else { Guard::None });
            }
            if deletes && policy == DeletionPolicy::Delete && !flag("/spec/suspend") {
                let why = format!("{id} deletes what it applied even with prune: false");
                let place = node.location_at("/spec/deletionPolicy");
                return Err(vec![Refused::at(
                    place,
                    why,
                    "set deletionPolicy: Orphan, and wait until the cluster has it",
                )]);
            }
            let suspended = flag("/spec/suspend") && !marked("/spec/suspend");
            return Ok(if deletes && !suspended { Guard::Prune } else { Guard::None });
        }
        if kinds::is_helm_release(id) {
            let suspended = flag("/spec/suspend") && !marked("/spec/suspend");
            return Ok(if suspended { Guard::None } else { Guard::Suspend });
        }
        let precious = loses(id, node).is_some();
        Ok(if precious && (goes || marked(PRUNE)) { Guard::Spare } else { Guard::None })
    }

    /// What the first step is.
    pub(crate) fn title(self, new: &str) -> String {
        match self {
            Guard::None => format!("it is called {new}"),
            Guard::Prune => "it prunes nothing when it is deleted (prune: false)".to_owned(),
            Guard::Suspend => "it is suspended, so its deletion leaves everything".to_owned(),
            Guard::Spare => "pruning spares it (prune: disabled)".to_owned(),
        }
    }

    /// What the second step undoes.
    pub(crate) fn undone(self) -> &'static str {
        match self {
            Guard::None => "",
            Guard::Prune => ", with prune: true again",
            Guard::Suspend => ", not suspended any more",
            Guard::Spare => ", without the annotation",
        }
    }

    /// The field that it sets.
    pub(crate) fn pointer(self) -> &'static str {
        match self {
            Guard::None => "",
            Guard::Prune => "/spec/prune",
            Guard::Suspend => "/spec/suspend",
            Guard::Spare => PRUNE,
        }
    }

    /// Whether an object is protected so.
    pub(crate) fn holds(self, node: NodeRef<'_>) -> bool {
        match self {
            Guard::None => true,
            Guard::Prune => node.at("/spec/prune").and_then(NodeRef::as_bool) != Some(true),
            Guard::Suspend => node.at("/spec/suspend").and_then(NodeRef::as_bool) == Some(true),
            Guard::Spare => is_spared(node),
        }
    }
}

/// What is lost with an object that a new one of another name does not have.
pub(crate) fn loses(id: &ObjectId, node: NodeRef<'_>) -> Option<&'static str> {
    match (id.group(), &*id.kind) {
        ("", "PersistentVolumeClaim") => Some("its volume and data, where the reclaim policy is Delete"),
        ("", "Service") if node.str_at("/spec/type").as_deref() == Some("LoadBalancer") => {
            Some("its load balancer and address")
        }
        ("apps", "StatefulSet") if node.items_at("/spec/volumeClaimTemplates").next().is_some() => {
            Some("its pods; the claims stay, and the new one gets empty ones")
        }
        ("networking.k8s.io", "Ingress") => Some("its address and the certificates that were issued for it"),
        ("gateway.networking.k8s.io", "Gateway") => {
            Some("its address and the certificates that were issued for it")
        }
        ("batch", "Job") => Some("its result; the new one runs again"),
        ("external-secrets.io", "ExternalSecret" | "PushSecret") | ("bitnami.com", "SealedSecret") => {
            Some("the Secret that it made")
        }
        ("cert-manager.io", "Certificate") => Some("the state of its issuing"),
        (group, _) if group.contains("crossplane.io") || group.ends_with("upbound.io") => {
            Some("the resource that it stands for")
        }
        _ => None,
    }
}

fn is_spared(node: NodeRef<'_>) -> bool {
    let key = "kustomize.toolkit.fluxcd.io/prune";
    ["/metadata/annotations", "/metadata/labels"].iter().any(|map| {
        let value = node.at(map).and_then(|map| map.get(key)).and_then(NodeRef::text);
        value.is_some_and(|value| value.eq_ignore_ascii_case("disabled"))
    })
}

/// Whether a value is what a first step wrote.
fn is_marked(world: &World, node: NodeRef<'_>, pointer: &str, mark: &str) -> bool {
    let place = node.at(pointer).and_then(NodeRef::location);
    place.and_then(|place| comment_after(&world.snapshot, &place)).as_deref() == Some(mark)
}

/// The changes that protect, and what comes of going without.
pub(super) mod guards {
    use super::*;

    /// Whether every subject is protected by a first step.
    pub(crate) fn are_set(rename: &Rename<'_>, guard: Guard, mark: &str) -> bool {
        rename
            .subjects
            .iter()
            .all(|subject| is_marked(rename.world, subject.object.node.get_ref(), guard.pointer(), mark))
    }

    /// The first step.
    pub(crate) fn set(rename: &Rename<'_>, guard: Guard, mark: &str) -> Result<Vec<Wanted>, Vec<Refused>> {
        let snapshot = &rename.world.snapshot;
        let mut wanted = Vec::new();
        for subject in &rename.subjects {
            let node = subject.object.node.get_ref();
            let comment = Some(mark.to_owned());
            let existing = node.at(guard.pointer());
            if let Some(place) = existing.and_then(NodeRef::location)
                && let Some(said) = comment_after(snapshot, &place)
            {
                let why = format!("the comment `{said}` stands where the first step says what it is for");
                return Err(vec![Refused::at(Some(place), why, "move that comment to a line of its own")]);
            }
            let no_text = || vec![Refused::no_text(node.location(), &subject.object.id, "change it by hand")];
            let manifest = manifest_of(snapshot, subject.object).ok_or_else(no_text)?;
            let value = match guard {
                Guard::Prune => Content::Bool(false),
                Guard::Spare => Content::str("disabled"),
                _ => Content::Bool(true),
            };
            let text = existing.and_then(|node| text_of(snapshot, node));
            let one = match text {
                Some(text) => Wanted {
                    path: text.path,
                    document: text.document,
                    operation: Operation::Set { pointer: text.pointer, value, comment },
                },
                None if guard == Guard::Suspend => Wanted {
                    operation: Operation::InsertKey {
                        map: format!("{}/spec", manifest.pointer),
                        key: "suspend".to_owned(),
                        value,
                        place: manifest
                            .keys(snapshot, "/spec")
                            .into_iter()
                            .next()
                            .map_or(KeyPlace::End, KeyPlace::Before),
                        comment,
                    },
                    path: manifest.path,
                    document: manifest.document,
                },
                None => Wanted {
                    operation: Operation::Set {
                        pointer: format!("{}{}", manifest.pointer, guard.pointer()),
                        value,
                        comment,
                    },
                    path: manifest.path,
                    document: manifest.document,
                },
            };
            wanted.push(one);
        }
        Ok(wanted)
    }

    /// What a Kustomization loses whose objects move to another one.
    fn lost_by_move(rename: &Rename<'_>, taken: &plan::Takeover, said: &mut Vec<String>) {
        let mut counts = std::collections::BTreeMap::new();
        for (id, _) in &taken.lost {
            *counts.entry(id.kind.to_string()).or_insert(0u64) += 1;
        }
        let kinds = plan::counted_kinds(&counts);
        let kinds = if kinds.is_empty() { String::new() } else { format!(": {kinds}") };
        let cluster = taken.cluster.as_deref().map_or(String::new(), |name| format!(" in cluster {name}"));
        let all = if taken.lost.len() == taken.objects { "all " } else { "" };
        said.push(format!(
        "{all}{} of {}{cluster} would be deleted where its finalizer runs before {} has applied them{kinds}",
        crate::lang::text::counted(taken.lost.len(), "object"),
        taken.from.name,
        taken.to.name,
    ));
        for (id, _) in &taken.lost {
            let member = rename.world.objects.iter().find(|object| object.id == *id);
            if let Some(what) = member.and_then(|object| super::what(id, object.node.get_ref()))
                && said.len() < 8
            {
                said.push(format!("{id}: {what}"));
            }
        }
    }

    /// What doing it in one commit loses.
    pub(crate) fn lost(rename: &Rename<'_>, naive: &World) -> Vec<String> {
        let mut said = Vec::new();
        for taken in plan::takeovers(rename.world, naive) {
            if !taken.lost.is_empty() {
                lost_by_move(rename, &taken, &mut said);
            }
        }
        let id = ObjectId { name: rename.new.as_str().into(), ..rename.old.clone() };
        for one in plan::replacements(rename.world, naive, &rename.old, &id) {
            if let Some(release) = one.uninstalled {
                let line = format!(
                    "the release {release} would be uninstalled, and installed anew with nothing in it"
                );
                if !said.contains(&line) {
                    said.push(line);
                }
            }
        }
        for subject in &rename.subjects {
            if let Some(what) = super::loses(&rename.old, subject.object.node.get_ref()) {
                let line = format!("{} would be deleted, and with it {what}", rename.old);
                if !said.contains(&line) {
                    said.push(line);
                }
            }
        }
        if said.is_empty() && kinds::is_kustomization(&rename.old) {
            let goes = rename.subjects.iter().any(|subject| {
                let by = applier(rename.world, subject);
                by.is_none_or(|by| {
                    by.node.get_ref().at("/spec/prune").and_then(NodeRef::as_bool) == Some(true)
                })
            });
            said.push(match goes {
                true => "its finalizer would delete all that it applied, which this repository does not show"
                    .to_owned(),
                false => {
                    "the old one would stay and apply the same objects in turn with the new one".to_owned()
                }
            });
        }
        said
    }
}

/// What is lost with an object, in words for a list.
fn what(id: &ObjectId, node: NodeRef<'_>) -> Option<&'static str> {
    match (id.group(), &*id.kind) {
        ("", "Namespace") => Some("everything in it, also what Git does not know"),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            Some("all objects of its kind in the cluster")
        }
        (kinds::HELM, "HelmRelease") => Some("its release is uninstalled"),
        (kinds::KUSTOMIZE, "Kustomization") => Some("what it applies, by its own prune"),
        ("apps", "StatefulSet") => Some("its pods; its claims stay"),
        _ => loses(id, node),
    }
}

/// The changes that take away what a first step wrote.
pub(super) fn ungarded(rename: &Rename<'_>, mark: &str) -> Vec<Wanted> {
    let snapshot = &rename.world.snapshot;
    let mut wanted: Vec<Wanted> = Vec::new();
    for subject in &rename.subjects {
        let node = subject.object.node.get_ref();
        for guard in [Guard::Prune, Guard::Suspend, Guard::Spare] {
            let pointer = guard.pointer();
            if !is_marked(rename.world, node, pointer, mark) {
                continue;
            }
            let Some(value) = node.at(pointer) else { continue };
            let (Some(text), Some(place)) = (text_of(snapshot, value), value.location()) else { continue };
            let mut take = |operation| {
                let one = Wanted { path: text.path.clone(), document: text.document, operation };
                if !wanted.contains(&one) {
                    wanted.push(one);
                }
            };
            match guard {
                Guard::Prune => {
                    take(Operation::Set {
                        pointer: text.pointer.clone(),
                        value: Content::Bool(true),
                        comment: None,
                    });
                    let document = super::texts::root_of(snapshot, &text.path, text.document);
                    if let Some(crate::lang::yaml::Node::Source(source, _)) = document
                        && let Some(comment) =
                            source.document().comments.iter().find(|comment| comment.start >= place.end)
                    {
                        take(Operation::RemoveComment { start: comment.start });
                    }
                }
                Guard::Suspend => {
                    take(Operation::RemoveKey { pointer: text.pointer.clone(), prune: Prune::Keep })
                }
                _ => take(Operation::RemoveKey { pointer: text.pointer.clone(), prune: Prune::Empty }),
            }
        }
    }
    wanted
}

/// Commands for people.
pub(super) mod commands {
    use super::*;

    fn kubectl(id: &ObjectId) -> String {
        let namespace = id.namespace.as_deref().map_or(String::new(), |namespace| format!(" -n {namespace}"));
        let group = id.group();
        let kind = id.kind.to_ascii_lowercase();
        let kind = if group.is_empty() { kind } else { format!("{kind}.{group}") };
        format!("{namespace} {kind} {}", id.name)
    }

    /// `kubectl get …` of an object.
    pub(crate) fn get(id: &ObjectId) -> String {
        format!("kubectl get{}", kubectl(id))
    }

    /// `kubectl delete …` of an object.
    pub(crate) fn delete(id: &ObjectId) -> String {
        format!("kubectl delete{}", kubectl(id))
    }

    fn reconcile(world: &World, subject: &Subject<'_>) -> Option<String> {
        let by = &applier(world, subject)?.id;
        let namespace = by.namespace.as_deref().unwrap_or("flux-system");
        Some(format!("flux reconcile kustomization {} -n {namespace} --with-source", by.name))
    }

    /// How to see that the cluster has the first step.
    pub(crate) fn guarded(rename: &Rename<'_>, guard: Guard) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        out.extend(reconcile(rename.world, &rename.subjects[0]));
        let get = get(&rename.old);
        out.push(match guard {
            Guard::Prune => format!("{get} -o jsonpath='{{.spec.prune}}'  # says false"),
            Guard::Suspend => format!("{get} -o jsonpath='{{.spec.suspend}}'  # says true"),
            _ => format!("{get} -o yaml | grep kustomize.toolkit.fluxcd.io/prune  # says disabled"),
        });
        out
    }

    /// How to see that the rename is done.
    pub(crate) fn settled(rename: &Rename<'_>, _: &World) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        out.extend(reconcile(rename.world, &rename.subjects[0]));
        let old = &rename.old;
        let namespace = old.namespace.as_deref().unwrap_or("default");
        match (old.group(), &*old.kind) {
            (kinds::KUSTOMIZE, _) => {
                out.push(format!("flux get kustomization {} -n {namespace}  # Ready", rename.new));
            }
            (kinds::HELM, _) => {
                out.push(format!("flux get helmrelease {} -n {namespace}  # Ready", rename.new))
            }
            _ => out.push(get(&ObjectId { name: rename.new.as_str().into(), ..old.clone() })),
        }
        out
    }
}

/// What is left to people.
pub(super) struct Hand<'r, 'w> {
    pub rename: &'r Rename<'w>,
    pub guard: Guard,
    pub many: bool,
}

impl Hand<'_, '_> {
    pub(super) fn tell(&self, subject: &Subject<'_>, new: &ObjectId, series: &mut Series) {
        let (rename, old) = (self.rename, &self.rename.old);
        let node = subject.object.node.get_ref();
        if self.many && self.guard != Guard::None {
            series.notes.push("wait until every one of these clusters has a step before the next".to_owned());
        }
        let by = applier(rename.world, subject);
        let stays = is_spared(node)
            || by.is_some_and(|by| {
                by.node.get_ref().at("/spec/prune").and_then(NodeRef::as_bool) != Some(true)
            });
        if stays || self.guard == Guard::Spare {
            let why = match (self.guard, by) {
                (Guard::Spare, _) => "pruning spares the old one; when nothing uses it any more".to_owned(),
                (_, Some(by)) if !is_spared(node) => {
                    format!("{} does not prune, so the old one stays", by.id.name)
                }
                _ => "pruning spares the old one".to_owned(),
            };
            series.by_hand.push(format!("{}  # {why}", commands::delete(old)));
        }
        if let Some(suspended) = suspended_above(rename.world, subject) {
            series
                .notes
                .push(format!("{suspended} is suspended: no step reaches the cluster before it is resumed"));
        }
        if kinds::is_helm_release(old)
            && let Some(kind) = text_at(node, "/spec/chart/spec/sourceRef/kind")
        {
            let own = old.namespace.as_deref().unwrap_or("default");
            let namespace = text_at(node, "/spec/chart/spec/sourceRef/namespace");
            let namespace = namespace.as_deref().unwrap_or(own);
            let name = format!(
                "kubectl delete -n {namespace} helmchart.source.toolkit.fluxcd.io {own}-{}",
                old.name
            );
            series
                .by_hand
                .push(format!("{name}  # a suspended HelmRelease leaves its HelmChart of the {kind}"));
        }
        if matches!(self.guard, Guard::Prune | Guard::Suspend) {
            let line = "a revert of step 2 is a rename in one commit: name it back with `forebay rename`";
            series.notes.push(line.to_owned());
        }
        if let Some(what) = loses(old, node) {
            series
                .notes
                .push(format!("{} is another object, without what {} has: {what}", new.name, old.name));
        }
        if old.is(kinds::NOTIFICATION, "Receiver") {
            series.notes.push(
                "its webhook path follows from its name: the Git host has to be told the new one".to_owned(),
            );
        }
        if self.guard == Guard::None && !Guard::needs(subject) && !stays {
            series.notes.push(format!("{new} is created, then {} is deleted", old.name));
        }
    }
}

/// The first suspended Kustomization on the way from the root to an object.
fn suspended_above(world: &World, subject: &Subject<'_>) -> Option<ObjectId> {
    let mut by = applier(world, subject);
    for _ in 0..64 {
        let applied = by?;
        if applied.node.get_ref().at("/spec/suspend").and_then(NodeRef::as_bool) == Some(true) {
            return Some(applied.id.clone());
        }
        by = applied
            .parent
            .and_then(|by| subject.cluster.applied.get(by as usize))
            .filter(|by| by.id != applied.id);
    }
    None
}

/// The value of a text field that says something.
fn text_at(node: NodeRef<'_>, pointer: &str) -> Option<String> {
    node.str_at(pointer).map(|text| text.into_owned()).filter(|text| !text.is_empty())
}
