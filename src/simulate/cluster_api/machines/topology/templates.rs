//! What templates and patches make of machines, before and after.

use super::WorkerPair;
use crate::lang::yaml::{Location, NodeRef, pointer_to};
use crate::model::EffectKind;
use crate::model::value::has_unknown;
use crate::simulate::cluster_api::machines::{EffectOrigin, MIGRATED, ReplacementPart, is_on_both_sides};
use crate::simulate::cluster_api::rollout::kubeadm_config;
use crate::simulate::cluster_api::rollout::template::{
    TemplateOutcome, differences, summarise, template_outcome,
};
use crate::simulate::cluster_api::topology::desired::TemplatePart as Template;
use crate::simulate::cluster_api::topology::patches::{is_external, writer};
use crate::simulate::cluster_api::topology::{Class, text_at};
use serde_json::{Value, json};
use std::collections::BTreeSet;

impl WorkerPair<'_, '_, '_> {
    /// A machine or bootstrap template, of which the Cluster has a clone.
    pub(super) fn template(
        &self,
        part: &mut ReplacementPart<'_>,
        what: &str,
        old: Option<&Template>,
        new: Option<&Template>,
    ) {
        let (Some(old), Some(new)) = (old, new) else {
            self.unseen(part, what, old.is_some() != new.is_some());
            return;
        };
        if old.group_kind != new.group_kind {
            let judgement = match what {
                "bootstrap" => (EffectKind::Rollout, "another kind of bootstrap template"),
                _ => (EffectKind::Rejected, "group and kind of infrastructure templates cannot change"),
            };
            let values = (json!(old.group_kind), json!(new.group_kind));
            part.push(judgement, format!("/{what}"), values, self.cause(old, new, ""), true);
            return;
        }
        let migrated = old.api_version != new.api_version;
        let (mut before, mut after) = (old.template.clone(), new.template.clone());
        if migrated && what == "bootstrap" {
            convert([&mut before, &mut after]);
        }
        let paths = differences(&before, &after);
        let dotted: Vec<String> = paths.iter().map(|path| path.join(".")).collect();
        let known = |path: &Vec<String>| {
            let pointer = pointer_to(path);
            let value = |t: &Value| t.pointer(&pointer).cloned().unwrap_or_default();
            !has_unknown(&value(&before))
                && !has_unknown(&value(&after))
                && (!migrated || is_on_both_sides(&before, &after, path))
        };
        let is_spec = |path: &&Vec<String>| path.first().is_some_and(|s| s == "spec");
        let known_spec = paths.iter().find(|path| is_spec(path) && known(path));
        let Some(first) = known_spec.or_else(|| paths.iter().find(is_spec)).or(paths.first()) else { return };
        let pointer = pointer_to(first);
        let at = |template: &Value| template.pointer(&pointer).cloned().unwrap_or_default();
        let values = (at(&before), at(&after));
        let judgement = match template_outcome(summarise(dotted.iter().map(String::as_str), &[])) {
            TemplateOutcome::Unchanged => return,
            TemplateOutcome::PatchedInPlace => {
                (EffectKind::ObjectOnly, "only metadata of the clone changes; no Machine is replaced")
            }
            TemplateOutcome::Rotated if known_spec.is_some() => {
                (EffectKind::Rollout, "the clone of the template is replaced, so Machines roll")
            }
            // Its Machines are replaced for the version anyway.
            TemplateOutcome::Rotated if self.upgrades => return,
            TemplateOutcome::Rotated if migrated => MIGRATED,
            TemplateOutcome::Rotated if paths.iter().all(|path| is_external(path)) => self.external(),
            TemplateOutcome::Rotated => (
                EffectKind::Unknown,
                "a Go template, an extension or a value that is not known offline may change the template, and so roll Machines",
            ),
        };
        part.origin = Some(self.origin(old, new, &pointer));
        part.push(judgement, format!("/{what}{pointer}"), values, self.cause(old, new, &pointer), true);
    }

    /// What is to be said where only the answer of an extension is not known.
    pub(super) fn external(&self) -> (EffectKind, &'static str) {
        if self.comparison.responses.generate_patches.is_empty() { EXTERNAL } else { OTHER_REQUEST }
    }

    /// What an extension may do to a KubeadmControlPlane, whose fields are judged one by one.
    pub(super) fn marks(&self, part: &mut ReplacementPart<'_>, old: &Template, new: &Template) {
        if self.upgrades {
            return;
        }
        let paths = differences(&old.template, &new.template);
        let Some(mark) = paths.iter().find(|path| is_external(path)) else { return };
        let pointer = pointer_to(mark);
        let at = |template: &Template| template.template.pointer(&pointer).cloned().unwrap_or_default();
        part.origin = Some(self.origin(old, new, &pointer));
        let cause = self.cause(old, new, &pointer);
        part.push(self.external(), format!("/controlPlane{pointer}"), (at(old), at(new)), cause, true);
    }

    /// The template behind a difference, and the patch that makes it.
    pub(super) fn origin(&self, old: &Template, new: &Template, pointer: &str) -> EffectOrigin {
        let operation = |class: &Class<'_>, part: &Template| {
            let written = writer(&part.written, pointer)?.pointer.clone();
            let patch = written.split('/').take(4).collect::<Vec<_>>().join("/");
            let name = text_at(class.object.node, &[&format!("{patch}/name")]).unwrap_or_default();
            Some((name, class.object.node.location_at(&written)))
        };
        EffectOrigin {
            template: (
                new.template_kind.clone(),
                format!("{}/{}", self.new.class.object.namespace(), new.template_name),
            ),
            patch: operation(&self.new.class, new)
                .or_else(|| operation(&self.old.class, old).map(|(name, _)| (name, None))),
        }
    }

    /// A template of an object that is patched in place.
    pub(super) fn generated(
        &self,
        part: &mut ReplacementPart<'_>,
        old: Option<&Template>,
        new: Option<&Template>,
    ) {
        let (Some(old), Some(new)) = (old, new) else { return };
        let paths = differences(&old.template, &new.template);
        let Some(first) = paths.first() else { return };
        let pointer = pointer_to(first);
        let at = |template: &Value| template.pointer(&pointer).cloned().unwrap_or_default();
        let values = (at(&old.template), at(&new.template));
        let judgement = match paths.iter().all(|path| is_external(path)) {
            true => self.external(),
            false => (
                EffectKind::ProviderDefined,
                "the object is patched in place; its provider decides what follows",
            ),
        };
        part.origin = Some(self.origin(old, new, &pointer));
        let cause = self.cause(old, new, &pointer);
        part.push(judgement, pointer, values, cause, true);
    }

    pub(super) fn unseen(&self, part: &mut ReplacementPart<'_>, what: &str, changed: bool) {
        if changed {
            let judgement = (EffectKind::Unknown, "its template is not in the repository on one side");
            let list = "/spec/topology";
            let places = (
                self.old.cluster.object.node.location_at(list),
                self.new.cluster.object.node.location_at(list),
            );
            part.push(judgement, format!("/{what}"), (Value::Null, Value::Null), places, true);
        }
    }

    /// What changed among the sources of templates: a variable, the class, or a
    /// template; the first of them that has to do with the place of the template.
    pub(super) fn cause(
        &self,
        before: &Template,
        after: &Template,
        place: &str,
    ) -> (Option<Location>, Option<Location>) {
        let (old, new) = (&self.old.cluster.object, &self.new.cluster.object);
        let (old_class, new_class) = (&self.old.class, &self.new.class);
        fn operation<'a>(class: &Class<'a>, part: &Template, place: &str) -> Option<(NodeRef<'a>, String)> {
            writer(&part.written, place).map(|written| (class.object.node, written.pointer.clone()))
        }
        let operations = [operation(old_class, before, place), operation(new_class, after, place)];
        let text = operations.iter().flatten().filter_map(|(class, pointer)| {
            let patch = pointer.split('/').take(4).collect::<Vec<_>>().join("/");
            Some(format!("{:?} {:?}", json(class.at(pointer))?, class.str_at(&format!("{patch}/enabledIf"))))
        });
        let text: String = text.collect();
        let mut lists: Vec<String> = ["variables", "controlPlane/variables/overrides", "classRef", "class"]
            .map(|name| format!("/spec/topology/{name}"))
            .to_vec();
        for entry in self.new.cluster.all_workers() {
            lists.push(format!("{}/variables/overrides", entry.pointer));
            lists.push(format!("{}/class", entry.pointer));
        }
        let differing = |list: &&String| json(old.node.at(list)) != json(new.node.at(list));
        let lists: Vec<&String> = lists.iter().filter(differing).collect();
        if let Some(places) = lists.iter().find_map(|list| mentioned(old.node, new.node, list, &text)) {
            return places;
        }
        if let Some(list) = lists.first() {
            return first_difference(old.node, new.node, list);
        }
        let [base, head] = &operations;
        let written =
            |one: &Option<(NodeRef<'_>, String)>| json(one.as_ref().and_then(|(class, at)| class.at(at)));
        if written(base) != written(head) {
            let location = |one: &Option<(NodeRef<'_>, String)>| {
                one.as_ref().and_then(|(class, at)| class.location_at(at))
            };
            return (location(base), location(head));
        }
        for pointer in ["/spec/patches", "/spec/variables", "/spec"] {
            let (before, after) = (old_class.object.node.at(pointer), new_class.object.node.at(pointer));
            if json(before) != json(after) {
                return first_difference(old_class.object.node, new_class.object.node, pointer);
            }
        }
        self.changed_template()
    }

    /// The first template of the class that is another.
    fn changed_template(&self) -> (Option<Location>, Option<Location>) {
        let before = &self.comparison.before.objects;
        for reference in self.new.class.templates() {
            let Some(after) = self.new.class.template(&self.comparison.after.objects, &reference) else {
                continue;
            };
            let old = self.old.class.template(before, &reference);
            if old.map(|o| json(o.node.at("/spec"))) != Some(json(after.node.at("/spec"))) {
                return (old.and_then(|o| o.node.location_at("/spec")), after.node.location_at("/spec"));
            }
        }
        (None, None)
    }
}

/// The places of the first variable that differs and that the text of a patch names.
fn mentioned(
    old: NodeRef<'_>,
    new: NodeRef<'_>,
    list: &str,
    patch: &str,
) -> Option<(Option<Location>, Option<Location>)> {
    let names: BTreeSet<String> = [old, new]
        .iter()
        .flat_map(|node| node.items_at(list))
        .filter_map(|item| text_at(item, &["/name"]))
        .collect();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_named = |name: &String| patch.split(|c| !is_part(c)).any(|word| word == name);
    fn of<'a>(node: NodeRef<'a>, list: &str, name: &str) -> Option<NodeRef<'a>> {
        node.items_at(list).find(|item| text_at(*item, &["/name"]).as_deref() == Some(name))
    }
    names.iter().filter(|name| is_named(name)).find_map(|name| {
        let (before, after) = (of(old, list, name), of(new, list, name));
        let location = |node: Option<NodeRef<'_>>| node.and_then(NodeRef::location);
        (json(before) != json(after)).then(|| (location(before), location(after)))
    })
}

pub(super) fn json(node: Option<NodeRef<'_>>) -> Option<Value> {
    node.map(crate::model::value::to_json)
}

/// The places, before and after, of the first item of a list that differs; of the whole value
/// where no item of it does, or it is no list.
fn first_difference(
    old: NodeRef<'_>,
    new: NodeRef<'_>,
    pointer: &str,
) -> (Option<Location>, Option<Location>) {
    let mut before = old.items_at(pointer);
    for item in new.items_at(pointer) {
        let same = before.next();
        if json(same) != json(Some(item)) {
            return (same.and_then(NodeRef::location), item.location());
        }
    }
    (old.location_at(pointer), new.location_at(pointer))
}

/// A template that differs only in what an extension is asked about: `GeneratePatches` answers
/// with any patch of its spec, or with none (cluster-api
/// `core/reconcilers/topology/cluster/patches/engine.go`, `Apply`).
const EXTERNAL: (EffectKind, &str) = (
    EffectKind::ProviderDefined,
    "what the extension answers decides whether the template changes, and so whether Machines roll",
);

/// The same, of a template for which one answer is stated.
const OTHER_REQUEST: (EffectKind, &str) = (
    EffectKind::ProviderDefined,
    "the stated answer of the extension was to one request, and this is another: \
     GeneratePatches=BEFORE..AFTER states both",
);

/// Bring bootstrap templates to the fields that the newest version calls them.
fn convert(templates: [&mut Value; 2]) {
    for template in templates {
        if let Some(spec) = template.pointer_mut("/spec/template/spec") {
            *spec = kubeadm_config::converted(spec);
        }
    }
}
