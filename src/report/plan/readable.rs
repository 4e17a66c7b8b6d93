//! Effects as people read them: a value of which a part is not known shows what its file
//! has there, `https://a.${DOMAIN}`.

use super::Plan;
use crate::lang::yaml::NodeRef;
use crate::model::value::has_unknown;
use crate::plan::Effect;
use crate::report::objects::hole_words;
use crate::world::World;
use serde_json::{Value, json};

/// The effects of a plan, for every format that programs don't read.
pub(super) fn effects(plan: &Plan<'_>) -> Vec<Effect> {
    plan.effects.iter().map(|effect| one(plan, effect)).collect()
}

fn one(plan: &Plan<'_>, effect: &Effect) -> Effect {
    let mut effect = effect.clone();
    let fields = effect.details.get("fields").is_some_and(has_unknown);
    if !fields && !has_unknown(&effect.before) && !has_unknown(&effect.after) {
        return effect;
    }
    let path = effect.field.clone();
    let (base, head) = (plan.base_world, plan.head_world);
    let (old, new) = (object(base, &effect), object(head, &effect));
    let show = |path: &str, value: &mut Value, side: Option<NodeRef<'_>>, world: &World| {
        let node = side.and_then(|object| at(object, path));
        fill(value, node, world, 0);
    };
    show(&path, &mut effect.before, old, base);
    show(&path, &mut effect.after, new, head);
    let listed = effect.details.get_mut("fields").and_then(Value::as_array_mut);
    // Of Machines it lists paths alone.
    for field in listed.into_iter().flatten().filter(|field| field.is_object()) {
        let path = field["path"].as_str().unwrap_or_default().to_owned();
        show(&path, &mut field["before"], old, base);
        show(&path, &mut field["after"], new, head);
    }
    effect
}

/// The object of an effect in a world.
fn object<'w>(world: &'w World, effect: &Effect) -> Option<NodeRef<'w>> {
    let cluster = world.clusters.iter().find(|cluster| cluster.name == effect.cluster)?;
    let id = &effect.object;
    let member = cluster.find(&effect.target, id.named())?;
    Some(world.object(member.object).node.get_ref())
}

/// The node at the path of a field, of which items of lists are named by identity.
fn at<'n>(object: NodeRef<'n>, path: &str) -> Option<NodeRef<'n>> {
    let mut node = object;
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let mut segment = segment.to_owned();
        while segment.starts_with('{') && !segment.ends_with('}') && segments.peek().is_some() {
            segment.push('/');
            segment.push_str(segments.next().unwrap_or_default());
        }
        let item = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        node = match item.and_then(|item| item.split_once('=')) {
            Some((key, name)) => node
                .items()
                .find(|item| item.get(key).and_then(NodeRef::text).is_some_and(|text| text == name))?,
            None => node.get(&segment.replace("~1", "/").replace("~0", "~"))?,
        };
    }
    Some(node)
}

/// Depth to which values are read; what is deeper shows a sign for what is not known.
const DEPTH: usize = 64;

fn fill(value: &mut Value, node: Option<NodeRef<'_>>, world: &World, depth: usize) {
    let Some(node) = node.filter(|_| depth < DEPTH) else { return };
    if let Some(parts) = value.get("$holes").and_then(Value::as_array) {
        let mut words = hole_words(node, &world.snapshot).into_iter();
        let parts = parts.iter().map(|part| match part.as_str() {
            Some(known) => known.to_owned(),
            None => words.next().unwrap_or_else(|| "${…}".to_owned()),
        });
        *value = json!(parts.collect::<String>());
        return;
    }
    match value {
        Value::Object(map) => {
            map.iter_mut().for_each(|(key, value)| fill(value, node.get(key), world, depth + 1));
        }
        Value::Array(items) => {
            items
                .iter_mut()
                .zip(node.items())
                .for_each(|(value, item)| fill(value, Some(item), world, depth + 1));
        }
        _ => {}
    }
}
