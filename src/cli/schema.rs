//! `forebay schema export`, and `forebay explain KIND.path`.

use super::common::Common;
use super::output;
use super::session::Session;
use super::{Answer, Failure, Status};
use crate::lang::text::{clean, suggest};
use crate::lint::engine::NotChecked;
use crate::model::Version;
use crate::model::kinds::kind_of_word;
use crate::report;
use crate::schema::explain::{kinds_of, names_at, versions_of};
use crate::schema::{Product, TableKind, json_schema, table};
use crate::world::Cluster;

output::formats!(Text = "text": "for people", Json = "json": "for programs: stable, with a schema");

/// Subcommands of `schema`.
#[derive(clap::Subcommand)]
pub(crate) enum Arguments {
    /// Print the schema of a kind as JSON Schema
    Export(Export),
}

/// Flags of `schema export`.
#[derive(clap::Args)]
#[command(after_help = output::help::<output::JsonOnly>(), arg = output::argument::<output::JsonOnly>())]
pub(crate) struct Export {
    /// The kind: Kustomization, hr, apps/v1/Deployment
    kind: String,
    /// The release of Flux or Cluster API, such as 2.6; the newest that has the kind
    /// without
    #[arg(long)]
    version: Option<String>,
}

/// Run `schema`.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    let Arguments::Export(export) = arguments;
    let kind = one_kind(&export.kind, export.version.as_deref())?;
    let releases = kind.releases();
    let names = kind.product.releases();
    let release = match &export.version {
        None => releases.iter().rposition(|release| release.schema().is_some()),
        Some(text) => {
            let version = Version::parse(text)
                .ok_or_else(|| Failure::Usage(format!("`{}` is no version such as 2.6", clean(text))))?;
            Some(kind.product.release(version).ok_or_else(|| {
                Failure::Usage(format!(
                    "no schemas of {} {}; there are {}",
                    kind.product.name(),
                    clean(text),
                    names.join(", ")
                ))
            })?)
        }
    };
    let schema = release.and_then(|release| releases[release].schema());
    let Some((schema, release)) = schema.zip(release) else {
        let has: Vec<&str> = releases
            .iter()
            .zip(names)
            .filter(|(one, _)| one.schema().is_some())
            .map(|(_, name)| *name)
            .collect();
        return Err(Failure::Usage(format!(
            "{} has no {}; it is in {}",
            kind.product.name(),
            kind.key,
            has.join(", ")
        )));
    };
    let title = format!("{} ({} {})", kind.key, kind.product.name(), names[release]);
    output::emit(common, |_: output::JsonOnly, out, _| {
        serde_json::to_writer_pretty(&mut *out, &json_schema(schema, &title))?;
        writeln!(out)
    })?;
    Ok(Status::Clean)
}

/// The kind that a word names: its newest version that the release has, or the one
/// that is written.
fn one_kind(word: &str, release: Option<&str>) -> Result<&'static TableKind, Failure> {
    let parts: Vec<&str> = word.split('/').collect();
    let found = match *parts {
        [group, version, kind] => table::find(group, version, kind).into_iter().collect(),
        [version, kind] => table::find("", version, kind).into_iter().collect(),
        _ => kinds_of(kind_of_word(word)),
    };
    let Some(first) = found.first() else { return Err(unknown_kind(word)) };
    let groups: Vec<&str> = found.iter().map(|kind| kind.group()).collect();
    if groups.iter().any(|group| *group != groups[0]) {
        let mut names: Vec<String> =
            found.iter().map(|kind| format!("{}/{}/{word}", kind.group(), kind.version())).collect();
        names.dedup();
        return Err(Failure::Usage(format!("several kinds are called so; write {}", names.join(" or "))));
    }
    let wanted = release.and_then(Version::parse);
    let has = |kind: &&&'static TableKind| {
        let release = wanted.and_then(|version| kind.product.release(version));
        release.is_some_and(|release| kind.releases()[release].schema().is_some())
    };
    Ok(found.iter().find(has).unwrap_or(first))
}

fn unknown_kind(word: &str) -> Failure {
    let names = table::kinds().iter().map(TableKind::kind);
    let help = match suggest(word, names.filter(|name| !name.ends_with("list"))) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "known are the kinds of Flux, Cluster API, Kubernetes and Gateway API".to_owned(),
    };
    Failure::Usage(format!("no kind `{}` with a schema; {help}", clean(word)))
}

/// Whether a word names a kind with a schema.
pub(super) fn is_kind(word: &str) -> bool {
    !kinds_of(kind_of_word(word)).is_empty()
}

/// Explain a field: `KIND.path`.
pub(super) fn explain(common: &Common, subject: &str) -> Answer {
    output::chosen::<Format>(common)?;
    let (word, rest) = subject.split_once('.').unwrap_or((subject, ""));
    let kinds = kinds_of(kind_of_word(word));
    if kinds.is_empty() {
        return Err(unknown_kind(word));
    }
    // A list is passed through, with and without its brackets.
    let path: Vec<&str> = rest
        .split('.')
        .map(|part| part.split_once('[').map_or(part, |(name, _)| name))
        .filter(|part| !part.is_empty())
        .collect();
    let versions = versions_of(&kinds, &path);
    let Some(first) = versions.first() else { return Err(unknown_path(&kinds, word, &path)) };
    let name = match first.kind.product {
        Product::Kubernetes => word.to_owned(),
        _ => first.kind.kind().to_owned(),
    };
    let session = Session::open(common, &[])?;
    let world = session.world();
    let wanted = super::session::cluster_filter(common, &world)?;
    let clusters: Vec<(String, Option<String>, Option<bool>)> = world
        .clusters
        .iter()
        .filter(|cluster| wanted(cluster))
        .filter_map(|cluster| Some((cluster.name.as_deref()?.to_owned(), cluster)))
        .map(|(name, cluster)| {
            let (version, release) = version_of(cluster, first.kind.product);
            let has = match first.kind.product {
                Product::Kubernetes | Product::Neighbours => None,
                _ => release.map(|release| versions.iter().any(|one| one.is_in(release, &path))),
            };
            (name, version, has)
        })
        .collect();
    let field =
        report::schema::SchemaField { kind: &name, path: &path, versions: &versions, clusters: &clusters };
    output::emit(common, |format, out, _| match format {
        Format::Json => {
            let header = report::json::header("explain", None, Some(&world), &NotChecked::default());
            report::json::write(out, &report::json::answer(header, report::schema::json(&field)))
        }
        Format::Text => out.write_all(report::schema::text(&field).as_bytes()),
    })?;
    Ok(Status::Clean)
}

fn version_of(cluster: &Cluster, product: Product) -> (Option<String>, Option<usize>) {
    let version = match product {
        Product::Flux => cluster.settings.flux.value,
        Product::ClusterApi => cluster.settings.cluster_api.value,
        Product::Neighbours | Product::Kubernetes | Product::Operator(_) => None,
    };
    let name = version.map(|version| format!("{} {version}", product.name()));
    (name, version.and_then(|version| product.release(version)))
}

fn unknown_path(kinds: &[&'static TableKind], word: &str, path: &[&str]) -> Failure {
    let known =
        (0..path.len()).rev().find(|length| !names_at(kinds, &path[..*length]).is_empty()).unwrap_or(0);
    let names = names_at(kinds, &path[..known]);
    let wrong = path.get(known).copied().unwrap_or_default();
    let parent: Vec<&str> = std::iter::once(word).chain(path[..known].iter().copied()).collect();
    let help = match suggest(wrong, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", names.join(", ")),
    };
    Failure::Usage(format!("{} has no field `{}`; {help}", clean(&parent.join(".")), clean(wrong)))
}
