//! `forebay config`.

use super::common::Common;
use super::output;
use super::root::root_and_focus;
use super::session::{Session, cluster_filter, load_config};
use super::{Answer, Failure, Status};
use crate::config::{Config, FILE_NAME, Injected, SCHEMA, TEMPLATE};
use crate::lang::text::clean;
use crate::lang::yaml::Location;
use crate::lint::engine::NotChecked;
use crate::model::value::why_unknown;
use crate::model::{Called, Certainty, kinds};
use crate::report::coverage::{names_of, quoted};
use crate::report::parts::{of_clusters, paragraph, shared};
use crate::report::{self};
use crate::world::{ApplyTarget, Cluster, Form, Outcome, World, source_of, suggestions, target_of};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::Arc;

output::formats!(Text = "text": "for people", Json = "json": "for programs: stable, with a schema");

/// Commands about the configuration.
#[derive(clap::Subcommand)]
pub(crate) enum Arguments {
    /// Print every value in force and where it was read
    #[command(after_help = output::help::<Format>(), arg = output::argument::<Format>())]
    Show,
    /// Print the JSON Schema of .forebay.yaml
    Schema,
    /// Write a commented .forebay.yaml to the root
    Init,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    match arguments {
        Arguments::Show => show(common),
        Arguments::Schema => {
            output::emit(common, |_: output::JsonOnly, out, _| out.write_all(SCHEMA.as_bytes()))?;
            Ok(Status::Clean)
        }
        Arguments::Init => init(common),
    }
}

fn init(common: &Common) -> Answer {
    let (root, _) = root_and_focus(common.root.as_deref(), &[])?;
    let path = root.join(FILE_NAME);
    let text = match path.exists() {
        true => String::new(),
        false => filled(&Session::open(common, &[])?.world()),
    };
    let written = std::fs::File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Ok(()) => {
            output::emit(common, |_: output::TextOnly, out, _| writeln!(out, "{FILE_NAME} written"))?;
            Ok(Status::Clean)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            load_config(common, &root)?;
            Err(Failure::Usage(format!("{FILE_NAME} exists and was left as it is")))
        }
        Err(error) => Err(Failure::Work(format!("{FILE_NAME}: {error}"))),
    }
}

/// The template with the clusters, trees and sources that were found; what could
/// not be resolved stays commented.
fn filled(world: &World) -> String {
    let place = |location: &Location| {
        format!("{}:{}", clean(location.file.shown()), world.snapshot.positions(location).0.0)
    };
    let item = |name: &str, path: &str| {
        let path = if path.is_empty() { "." } else { path };
        format!("- {{name: {}, path: {}}}", quoted(name), quoted(path))
    };
    let (mut found, mut open) = (Vec::new(), Vec::new());
    let (mut trees, mut sources) = (BTreeSet::new(), BTreeSet::new());
    for cluster in world.applied_clusters() {
        let Some(name) = &cluster.name else { continue };
        let line = item(name, &cluster.root);
        if cluster.certainty == Certainty::Guessed {
            open.push(line);
            continue;
        }
        let says =
            cluster.location.as_ref().map_or(String::new(), |location| format!("  # {}", place(location)));
        found.push(format!("{line}{says}"));
        if let Some(called) = cluster.source.as_ref().filter(|_| !cluster.tree.is_empty()) {
            trees.insert(source(called, &format!("path: {}", quoted(&cluster.tree))));
        }
        for applied in
            cluster.applied.iter().filter(|applied| matches!(applied.outcome, Outcome::External(_)))
        {
            let Some(called) = source_of(&applied.id, applied.node.get_ref()) else { continue };
            let directory = format!("dir: {}", quoted(&format!("../{}", called.name)));
            sources.insert(source(&called, &directory));
        }
    }
    if found.is_empty() && open.is_empty() {
        let paths = suggestions(&world.snapshot);
        open = names_of(&paths).iter().zip(&paths).map(|(name, path)| item(name, path)).collect();
    }
    let mut out = String::new();
    let mut skipping = false;
    for line in TEMPLATE.lines() {
        skipping &= line.starts_with("#  ");
        let lists: Option<(&str, Vec<String>, Vec<String>)> = match line {
            "#clusters:" => Some(("clusters", found.clone(), open.clone())),
            "#sources:" => {
                Some(("sources", trees.iter().cloned().collect(), sources.iter().cloned().collect()))
            }
            _ => None,
        };
        match lists {
            Some((key, sure, unsure)) if !sure.is_empty() || !unsure.is_empty() => {
                skipping = true;
                let mark = if sure.is_empty() { "#" } else { "" };
                out.push_str(&format!("{mark}{key}:\n"));
                sure.iter().for_each(|line| out.push_str(&format!("  {line}\n")));
                unsure.iter().for_each(|line| out.push_str(&format!("#  {line}\n")));
            }
            _ if skipping => {}
            _ => out.push_str(&format!("{line}\n")),
        }
    }
    out
}

fn source(called: &Called, tree: &str) -> String {
    let Called { kind, namespace, name } = called;
    let namespace = namespace.as_ref().map_or(String::new(), |own| format!(", namespace: {}", quoted(own)));
    format!("- {{kind: {kind}, name: {}{namespace}, {tree}}}", quoted(name))
}

/// One value in force. `from` is a place, or words where no file says it.
struct SettingRow {
    /// The cluster that it is about.
    cluster: Option<Arc<str>>,
    /// Path of keys in the configuration.
    key: String,
    value: Value,
    from: String,
}

fn show(common: &Common) -> Answer {
    output::chosen::<Format>(common)?;
    let session = Session::open(common, &[])?;
    let world = session.world();
    let wanted = cluster_filter(common, &world)?;
    let mut rows = configured(&session);
    for cluster in world.clusters.iter().filter(|cluster| wanted(cluster)) {
        rows.extend(of_cluster(&session.config, &world, cluster));
    }
    output::emit(common, |format: Format, out, _| {
        if format == Format::Text {
            return text(out, &rows);
        }
        let header = report::json::header("config-show", None, Some(&world), &NotChecked::default());
        let rows = rows.iter().map(|row| json!({"key": row.key, "value": row.value, "from": row.from}));
        let body = json!({"values": rows.collect::<Vec<_>>()});
        report::json::write(out, &report::json::answer(header, body))
    })?;
    Ok(Status::Clean)
}

/// What the file says, and the defaults of what it does not.
fn configured(session: &Session) -> Vec<SettingRow> {
    let config = &session.config;
    let snapshot = &session.snapshot;
    let at = |location: &Location| format!("{}:{}", location.file, snapshot.positions(location).0.0);
    let row = |key: &str, value: Value, from: Option<&Location>| SettingRow {
        cluster: None,
        key: key.to_owned(),
        value,
        from: from.map_or("default".to_owned(), at),
    };
    let mut rows = Vec::new();
    let exclude: Vec<&str> = config.exclude.iter().map(|pattern| pattern.text.as_str()).collect();
    rows.push(row("exclude", json!(exclude), config.exclude.first().map(|pattern| &pattern.location)));
    for rule in &config.rules {
        rows.push(row(&format!("rules.{}", rule.name), json!(rule.level.name()), Some(&rule.location)));
    }
    for (index, entry) in config.overrides.iter().enumerate() {
        let paths: Vec<&str> = entry.paths.iter().map(|pattern| pattern.text.as_str()).collect();
        let place = entry.paths.first().map(|pattern| &pattern.location);
        rows.push(row(&format!("overrides.{index}.paths"), json!(paths), place));
        for rule in &entry.rules {
            let key = format!("overrides.{index}.rules.{}", rule.name);
            rows.push(row(&key, json!(rule.level.name()), Some(&rule.location)));
        }
    }
    if let Some(injected) = &config.injected_variables {
        let value = match &injected.value {
            Injected::No => json!(false),
            Injected::Any => json!(true),
            Injected::Names(names) => json!(names),
        };
        rows.push(row("injectedVariables", value, Some(&injected.location)));
    }
    let reason = config.require_reason.as_ref();
    let asks = reason.is_some_and(|reason| reason.value);
    rows.push(row("requireReason", json!(asks), reason.map(|reason| &reason.location)));
    if let Some(file) = &config.baseline {
        rows.push(row("baseline", json!(file.value), Some(&file.location)));
    }
    let base = config.plan_base.as_ref();
    rows.push(match base {
        Some(base) => row("plan.base", json!(base.value), Some(&base.location)),
        None => row("plan.base", json!("auto"), None),
    });
    for source in &config.sources {
        let namespace = source.namespace.as_ref().map_or(String::new(), |namespace| format!("{namespace}/"));
        let key = format!("sources.{}/{namespace}{}", source.kind, source.name);
        rows.push(row(&key, json!(source.tree.to_string()), Some(&source.location)));
    }
    rows
}

/// A cluster with its entry point, versions and features.
fn of_cluster(config: &Config, world: &World, cluster: &Cluster) -> Vec<SettingRow> {
    let mut rows = Vec::new();
    let Some(name) = &cluster.name else { return rows };
    let key = |what: &str| format!("clusters.{name}.{what}");
    let named = config.clusters.iter().find(|entry| entry.name == **name);
    let place = |location: &Location| format!("{}:{}", location.file, world.snapshot.positions(location).0.0);
    rows.push(SettingRow {
        cluster: cluster.name.clone(),
        key: key("path"),
        value: json!(if cluster.root.is_empty() { "." } else { &cluster.root }),
        from: named.map_or("found".to_owned(), |entry| place(&entry.location)),
    });
    rows.push(SettingRow {
        cluster: cluster.name.clone(),
        key: key("known"),
        value: json!(cluster.certainty.name()),
        from: match &cluster.location {
            Some(location) => format!("{}, {}", cluster.form.map_or("", Form::words), place(location)),
            None => cluster.form.map_or("", Form::words).to_owned(),
        },
    });
    for (target, location) in targets(world, cluster) {
        let ApplyTarget::Remote(by) = &target else { continue };
        let named = config.clusters.iter().find(|entry| entry.is_reached_by(by));
        rows.push(SettingRow {
            cluster: cluster.name.clone(),
            key: key(&format!("kubeConfig.{by}")),
            value: json!(named.map_or("not followed", |entry| &entry.name)),
            from: location.as_ref().map_or("nothing says it".to_owned(), place),
        });
    }
    let settings = &cluster.settings;
    for (what, version) in [
        ("target.flux", &settings.flux),
        ("target.clusterApi", &settings.cluster_api),
        ("target.kubernetes", &settings.kubernetes),
    ] {
        let known =
            what == "target.flux" && (version.value.is_some() || settings.flux_between != (None, None));
        let value = match known {
            true => Some(report::json::flux(settings)),
            false => version.value.map(|version| json!(version.to_string())),
        };
        rows.push(setting(name, what, value, report::json::from(&world.snapshot, version)));
    }
    for (feature, state) in settings.features() {
        let value = state.value.map(|on| json!(if on { "enabled" } else { "disabled" }));
        let key = format!("target.features.{}", feature.name());
        rows.push(setting(name, &key, value, report::json::from(&world.snapshot, state)));
    }
    rows
}

/// The clusters that objects of this one send theirs to, each with the first
/// place that says so.
fn targets(world: &World, cluster: &Cluster) -> BTreeMap<ApplyTarget, Option<Location>> {
    let mut found = BTreeMap::new();
    for (_, object) in world.written(cluster).filter(|(member, _)| member.target == ApplyTarget::Local) {
        if !kinds::is_kustomization(&object.id) && !kinds::is_helm_release(&object.id) {
            continue;
        }
        let node = object.node.get_ref();
        let target = target_of(&object.id, node);
        if target != ApplyTarget::Local {
            found.entry(target).or_insert_with(|| node.location_at("/spec/kubeConfig"));
        }
    }
    found
}

fn setting(cluster: &Arc<str>, key: &str, value: Option<Value>, from: Option<String>) -> SettingRow {
    let why = match value {
        Some(_) => "default of the version".to_owned(),
        None => format!("nothing says it; set {key}"),
    };
    SettingRow {
        cluster: Some(cluster.clone()),
        key: format!("clusters.{cluster}.{key}"),
        value: value.unwrap_or_else(report::json::unstated),
        from: from.unwrap_or(why),
    }
}

/// Values of the file, then those of each cluster below its name: its own, and last
/// those that several have in common.
fn text(out: &mut dyn Write, rows: &[SettingRow]) -> io::Result<()> {
    let line = |row: &SettingRow| {
        let inner = row.cluster.as_ref().and_then(|name| row.key.strip_prefix(&format!("clusters.{name}.")));
        let key = match inner {
            Some(key) => {
                let key = key.strip_prefix("target.").unwrap_or(key);
                format!("  {}", key.strip_prefix("features.").unwrap_or(key))
            }
            None => clean(&row.key).into_owned(),
        };
        [key, words(&row.value), clean(&row.from).into_owned()]
    };
    let mut keys = 0;
    let mut values = 0;
    let mut own: Vec<[String; 3]> = Vec::new();
    let mut clusters: Vec<(Option<String>, Vec<[String; 3]>)> = Vec::new();
    for row in rows {
        let line = line(row);
        keys = keys.max(line[0].chars().count());
        values = values.max(line[1].chars().count());
        match (&row.cluster, clusters.last_mut()) {
            (None, _) => own.push(line),
            (Some(name), Some((last, lines))) if last.as_deref() == Some(&**name) => lines.push(line),
            (Some(name), _) => clusters.push((Some(name.to_string()), vec![line])),
        }
    }
    let values = values.min(20);
    let table = |out: &mut dyn Write, lines: &[[String; 3]]| -> io::Result<()> {
        for [key, value, from] in lines {
            writeln!(out, "{key:<keys$}  {value:<values$}  {from}")?;
        }
        Ok(())
    };
    table(out, &own)?;
    let mut sections = shared(clusters);
    sections.sort_by_key(|(names, _)| names.len() > 1);
    for (names, lines) in sections {
        let mut head = String::from("\n");
        paragraph(&mut head, &of_clusters(&names, ""), "  ");
        write!(out, "{head}")?;
        table(out, &lines)?;
    }
    Ok(())
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => clean(text).into_owned(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(", "),
        Value::Object(_) => match why_unknown(value) {
            Some(bounds) if bounds.starts_with("2.") || bounds.starts_with("from ") => bounds.to_owned(),
            _ => "unknown".to_owned(),
        },
        other => other.to_string(),
    }
}
