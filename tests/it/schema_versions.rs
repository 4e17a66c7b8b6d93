//! Every field that came with a later release of Flux or Cluster API than its kind: taken
//! where the cluster states that release, not available where it states the one below.

use forebay::internals::config::{self, Config};
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::lint::Group;
use forebay::internals::lint::engine::{self, LintOptions};
use forebay::internals::schema::{Schema, table};
use forebay::internals::world::World;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A field that is new in a release, and an object that has it.
struct New {
    pointer: String,
    object: Value,
}

/// A value that a schema takes, as far as its type goes; or one of another type.
fn value_of(schema: &Schema, is_right: bool) -> Value {
    let is = |name: &str| schema.types.names().any(|known| known == name);
    match () {
        () if !is_right && (is("boolean") || is("integer")) => json!("text"),
        () if !is_right => json!(true),
        () if is("boolean") => json!(true),
        () if is("integer") || is("number") => json!(1),
        () if !schema.enumeration.is_empty() => schema.enumeration[0].clone(),
        () if schema.item().is_some() => json!([]),
        () if schema.is_object() => json!({}),
        () => json!("1"),
    }
}

/// The value around one at a place below a schema; lists have one item.
fn around(steps: &[(String, bool)], value: Value) -> Value {
    steps.iter().rev().fold(value, |value, (name, is_list)| match is_list {
        true => json!([value]),
        false => {
            let mut map = serde_json::Map::new();
            map.insert(name.clone(), value);
            Value::Object(map)
        }
    })
}

/// Places of fields that `new` has and `old` doesn't, the topmost ones.
fn added(
    old: &Schema,
    new: &Schema,
    is_right: bool,
    steps: &mut Vec<(String, bool)>,
    found: &mut Vec<(Vec<(String, bool)>, Value)>,
) {
    if let (Some(old), Some(new)) = (old.item(), new.item()) {
        steps.push(("0".to_owned(), true));
        added(old, new, is_right, steps, found);
        steps.pop();
    }
    for name in new.names() {
        let is_other = steps.is_empty() && matches!(name, "status" | "metadata" | "apiVersion" | "kind");
        let Some(field) = new.property(name).filter(|_| !is_other && steps.len() < 12) else { continue };
        steps.push((name.to_owned(), false));
        match old.property(name) {
            Some(before) => added(before, field, is_right, steps, found),
            None if old.is_closed() => found.push((steps.clone(), value_of(field, is_right))),
            None => {}
        }
        steps.pop();
    }
}

/// What is new in a release, by kinds that the release before serves too.
fn news(product: &str, release: usize, is_right: bool) -> Vec<New> {
    let mut news = Vec::new();
    for kind in table::kinds().iter().filter(|kind| kind.product.name() == product) {
        let releases = kind.releases();
        let [before, after] = [&releases[release - 1], &releases[release]];
        let served = before.served && after.served;
        let Some((old, new)) = before.schema().zip(after.schema()).filter(|_| served) else { continue };
        let mut found = Vec::new();
        added(old, new, is_right, &mut Vec::new(), &mut found);
        for (steps, value) in found {
            let pointer: String = steps.iter().map(|(name, _)| format!("/{name}")).collect();
            let mut object = around(&steps, value);
            object["apiVersion"] = json!(format!("{}/{}", kind.group(), kind.version()));
            object["kind"] = json!(kind.kind());
            object["metadata"] = json!({"name": format!("field-{}", news.len()), "namespace": "fleet"});
            news.push(New { pointer, object });
        }
    }
    news
}

/// The findings of the group under a stated version: rule and message, by object and
/// field.
fn findings(news: &[New], key: &str, version: &str) -> BTreeMap<(String, String), Vec<(String, String)>> {
    let text =
        format!("version: 1\nclusters: [{{name: p, path: clusters/p, target: {{{key}: \"{version}\"}}}}]\n");
    let config: Config = config::read(config::FILE_NAME, &text).expect("a configuration");
    let files = news
        .iter()
        .enumerate()
        .map(|(at, new)| (format!("clusters/p/{at}.yaml"), new.object.to_string().into_bytes()));
    let files: Vec<(String, Vec<u8>)> = files.collect();
    let entries = files.iter().map(|(path, bytes)| (path.as_str(), bytes.clone()));
    let world = World::new(&Arc::new(Snapshot::memory(entries, Arc::new(Store::default()))), &config, &[]);
    let options = LintOptions { select: vec!["schema".to_owned()], ..LintOptions::default() };
    let mut found: BTreeMap<(String, String), Vec<(String, String)>> = BTreeMap::new();
    for finding in engine::run(&world, &config, &options).findings {
        assert!(finding.rule.group == Group::Schema);
        for object in &finding.objects {
            let key = (object.name.to_string(), finding.path.to_string());
            found.entry(key).or_default().push((finding.rule.id.to_owned(), finding.title.clone()));
        }
    }
    found
}

#[test]
fn fields_begin_with_their_release() {
    let (mut fields, mut problems) = (BTreeMap::<&str, usize>::new(), Vec::new());
    for (product, key) in [("Flux", "flux"), ("Cluster API", "clusterApi")] {
        let of_product = table::kinds().iter().find(|kind| kind.product.name() == product);
        let releases = of_product.expect("the product has kinds").product.releases();
        for release in 1..releases.len() {
            // A wrong value doesn't make the field another one's.
            let wrong = news(product, release, false);
            for ((name, pointer), told) in findings(&wrong, key, releases[release]) {
                if told.iter().any(|(rule, _)| rule == "field-not-available") {
                    problems.push(format!("{product} {} {name} {pointer}: {told:?}", releases[release]));
                }
            }
            let news = news(product, release, true);
            *fields.entry(product).or_default() += news.len();
            let [since, below] = [releases[release], releases[release - 1]];
            let (at, before) = (findings(&news, key, since), findings(&news, key, below));
            for new in &news {
                let name = new.object["metadata"]["name"].as_str().expect("a name");
                let place = (name.to_owned(), new.pointer.clone());
                let what = format!("{product} {since} {} {}", new.object["kind"], new.pointer);
                let rules = |found: &BTreeMap<(String, String), Vec<(String, String)>>| -> Vec<String> {
                    let of = found.get(&place).into_iter().flatten();
                    of.map(|(rule, title)| format!("{rule}: {title}")).collect()
                };
                // Its value may be too simple for it; the field is known.
                let taken = rules(&at);
                if taken.iter().any(|told| told.starts_with("unknown") || told.starts_with("field")) {
                    problems.push(format!("{what}: {taken:?} at its own release"));
                }
                let refused = rules(&before);
                let wanted = format!("exists since {product} {since}");
                if !refused
                    .iter()
                    .any(|told| told.starts_with("field-not-available") && told.contains(&wanted))
                {
                    problems.push(format!("{what}: {refused:?} one release below"));
                }
            }
        }
    }
    assert!(
        problems.is_empty(),
        "{} problems:\n{}",
        problems.len(),
        problems[..problems.len().min(20)].join("\n")
    );
    println!("{fields:?}");
    assert!(fields["Flux"] > 50 && fields["Cluster API"] > 100, "{fields:?}");
}
