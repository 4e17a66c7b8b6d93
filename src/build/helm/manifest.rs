//! What templates wrote, cut into documents and sorted, as Helm's
//! `pkg/release/v1/util/manifest_sorter.go` does it.

use super::RenderedChart;
use super::coalesce::Warning;
use super::error::{Refusal, RenderError};
use super::line::HelmLine;
use super::outline::outline;
use super::value::{Kind, Value};
use crate::lang::template::{read_kept, with_stack_beside};
use crate::lang::yaml::go_compat::{DocumentReader, ReaderRefusal, decode};
use crate::lang::yaml::{FilePath, Node, NodeRef, Source, Stream};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Helm's annotation that makes a hook of a document.
pub(crate) const HOOK: &str = "helm.sh/hook";

/// What Helm reads of a document.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// `apiVersion`
    pub api_version: String,
    /// `kind`
    pub kind: String,
    /// `metadata.name`
    pub name: String,
    /// `metadata.annotations`
    pub annotations: BTreeMap<String, String>,
}

/// A document that a template wrote.
#[derive(Clone, Debug)]
pub struct ManifestDocument {
    /// The template: `t/templates/a.yaml`.
    pub source: Arc<str>,
    /// Its text as Helm keeps it.
    pub text: Arc<str>,
    /// Where the text stands in what the template wrote.
    pub range: Range<usize>,
    /// What Helm reads of it.
    pub head: Head,
    /// Its first YAML document, as post-renderers of helm-controller read it; nothing where it is
    /// empty, or only the text is kept.
    pub node: Option<Node>,
    /// Why they refuse it, and at which byte of it, where Helm by itself takes it.
    pub defect: Option<ReaderRefusal>,
    /// Whether and when it is run instead of applied.
    pub hook: Option<Hook>,
}

/// What makes a document a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// `pre-install` and so on, in order.
    pub events: Vec<&'static str>,
    /// `helm.sh/hook-weight`; 0 where that is no number.
    pub weight: i64,
}

impl Hook {
    /// Whether it is a test.
    pub fn is_test(&self) -> bool {
        self.events.contains(&"test")
    }
}

const EVENTS: [&str; 9] = [
    "pre-install",
    "post-install",
    "pre-delete",
    "post-delete",
    "pre-upgrade",
    "post-upgrade",
    "pre-rollback",
    "post-rollback",
    "test",
];

/// Bytes of documents below which one thread reads them as soon as two.
const MANY: usize = 256 << 10;

/// A document of a file, as it was written.
type Piece<'w> = (&'w Arc<str>, &'w str, Range<usize>);

/// The documents of files, each as Helm reads it or why it refuses it; with what they decode to, if
/// so asked: that takes ten times the memory of the text. Of many bytes half is read by another
/// thread, where there are two.
pub(super) fn documents(
    files: &[(Arc<str>, String)],
    (line, has_nodes): (HelmLine, bool),
    threads: usize,
) -> Vec<Result<ManifestDocument, RenderError>> {
    let pieces = |(source, written): &'_ (Arc<str>, String)| -> Vec<Range<usize>> {
        let is_partial = source.rsplit('/').next().is_some_and(|base| base.starts_with('_'));
        if is_partial || written.trim().is_empty() { Vec::new() } else { cut(written, line) }
    };
    let of_file = |file| pieces(file).into_iter().map(|range| (&file.0, file.1.as_str(), range));
    let all: Vec<Piece<'_>> = files.iter().flat_map(of_file).collect();
    let read = |pieces: &[Piece<'_>]| -> Vec<_> {
        pieces.iter().map(|piece| document(piece, (line, has_nodes))).collect()
    };
    let bytes: usize = all.iter().map(|(.., range)| range.len()).sum();
    if threads < 2 || bytes < MANY {
        return read(&all);
    }
    let mut passed = 0;
    let is_behind = |(.., range): &Piece<'_>| {
        passed += range.len();
        passed > bytes / 2
    };
    let (first, second) = all.split_at(all.iter().position(is_behind).unwrap_or(all.len()));
    let mut later = None;
    let mut found = with_stack_beside(|| read(first), || later = Some(read(second)));
    found.extend(later.unwrap_or_else(|| read(second)));
    found
}

fn document(
    (source, written, range): &Piece<'_>,
    (line, has_nodes): (HelmLine, bool),
) -> Result<ManifestDocument, RenderError> {
    let text: Arc<str> = written[range.clone()].into();
    let failed = |why: String| Refusal {
        is_partial: true,
        ..Refusal::new(format!("YAML parse error on {source}: {why}"))
    };
    let file = FilePath::in_root(Arc::clone(source));
    let (mut node, mut defect) = (None, None);
    if !has_nodes
        && let Some(outline) = outline(&text, |key| Head::keeps(1, key))
        && let Ok((head, ..)) = head(outline.into(), &file, line)
    {
        let (source, range) = (Arc::clone(source), range.clone());
        return Ok(ManifestDocument { source, text, range, head, node, defect, hook: None });
    }
    let sent = if has_nodes { sent(written, range, line) } else { text.clone() };
    let (head, read, stream) = head(sent, &file, line).map_err(failed)?;
    if has_nodes && read.is_some() {
        let whole = Arc::new(Source { file, stream, index: 0, embed: None, via: Vec::new() });
        // Helm 3 sends its hooks past them.
        let is_sent = line != HelmLine::V3_17 || !head.annotations.contains_key(HOOK);
        let sent = is_sent.then(|| decode(&whole, DocumentReader::V3));
        node = match sent {
            Some(Ok(node)) => Some(node),
            other => {
                defect = other.and_then(Result::err);
                decode(&whole, DocumentReader::V2).ok()
            }
        };
    }
    let (source, range) = (Arc::clone(source), range.clone());
    Ok(ManifestDocument { source, text, range, head, node, defect, hook: None })
}

/// What Helm reads of a document, and what it was read from.
fn head(
    text: Arc<str>,
    file: &FilePath,
    line: HelmLine,
) -> Result<(Head, Option<Node>, Arc<Stream>), String> {
    let stream = Arc::new(Stream::of(text));
    let read = read_kept(stream.clone(), file.clone(), Some(Head::keeps))?;
    Ok((Head::read(read.as_ref(), line)?, read, stream))
}

/// The text of a document as a post-renderer of helm-controller gets it: what it ends in decides
/// whether a block scalar at its end ends in a line break.
///
/// Mirrors helm `pkg/action/action.go`: Helm 3 writes one line break behind what it trimmed, Helm
/// 4.1 reads what the template wrote up to the next separator, Helm 4.2 what it split off.
fn sent(written: &str, range: &Range<usize>, line: HelmLine) -> Arc<str> {
    let text = &written[range.clone()];
    match line {
        HelmLine::V3_17 => format!("{text}\n").into(),
        HelmLine::V4_1 => {
            let behind = written.as_bytes()[range.end..].iter().take_while(|byte| is_space(**byte)).count();
            written[range.start..range.end + behind].into()
        }
        HelmLine::V4_2 => text.into(),
    }
}

/// Puts a document where it belongs: to what is applied, or to what is run.
pub(super) fn sort(document: ManifestDocument, line: HelmLine, into: &mut RenderedChart) {
    let Some(events) = document.head.annotations.get(HOOK) else {
        into.manifests.push(document);
        return;
    };
    match hook(events, &document.head) {
        // One event that Helm doesn't know, and the document is gone.
        None => into.warnings.push(Warning::new(unknown_hook(events, line))),
        hook => into.hooks.push(ManifestDocument { hook, ..document }),
    }
}

fn unknown_hook(events: &str, line: HelmLine) -> String {
    match line {
        HelmLine::V3_17 => format!("info: skipping unknown hook: {events:?}"),
        _ if events.is_empty() => "skipping unknown hooks hookTypes=\"\"".to_owned(),
        _ => format!("skipping unknown hooks hookTypes={events}"),
    }
}

fn hook(events: &str, head: &Head) -> Option<Hook> {
    let mut found = Vec::new();
    for event in events.split(',') {
        let event = event.trim().to_lowercase();
        let event = if event == "test-success" { "test" } else { &event };
        found.push(*EVENTS.iter().find(|known| **known == event)?);
    }
    let weight = head.annotations.get("helm.sh/hook-weight");
    Some(Hook { events: found, weight: weight.and_then(|weight| weight.parse().ok()).unwrap_or(0) })
}

/// White space of Go's regular expressions.
fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

/// `SplitManifests`: ranges of the text between `(?:^|\s*\n)---\s*`.
pub(super) fn cut(written: &str, line: HelmLine) -> Vec<Range<usize>> {
    let start = written.len() - written.trim_start().len();
    let end = match line {
        HelmLine::V4_2 => written.len(),
        HelmLine::V3_17 | HelmLine::V4_1 => written.trim_end().len().max(start),
    };
    let text = &written.as_bytes()[..end];
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut begin = start;
    let behind = |mut at: usize| {
        while text.get(at).is_some_and(|byte| is_space(*byte)) {
            at += 1;
        }
        at
    };
    if text[start..].starts_with(b"---") {
        found.push(start..start);
        begin = behind(start + 3);
    }
    let mut from = begin;
    while let Some(at) = memchr::memmem::find(&text[from..], b"\n---") {
        let at = from + at;
        let mut before = at;
        while before > begin && is_space(text[before - 1]) {
            before -= 1;
        }
        found.push(begin..before);
        begin = behind(at + 4);
        from = begin;
    }
    found.push(begin..end);
    let trimmed = |range: Range<usize>| {
        let text = &written[range.clone()];
        if text.trim().is_empty() {
            return None;
        }
        let start = range.start + (text.len() - text.trim_start().len());
        let end = match line {
            HelmLine::V4_2 => range.end,
            HelmLine::V3_17 | HelmLine::V4_1 => range.start + text.trim_end().len(),
        };
        Some(start..end)
    };
    found.into_iter().filter_map(trimmed).collect()
}

const METADATA: &str = "struct { Name string \"json:\\\"name\\\"\"; Annotations map[string]string \"json:\\\"annotations\\\"\" }";

impl Head {
    /// Whether it is made of the value of a key, by the maps around it.
    fn keeps(depth: usize, key: &str) -> bool {
        match depth {
            1 => is_one_of(key, &["apiversion", "kind", "metadata"]),
            2 => is_one_of(key, &["name", "annotations"]),
            _ => true,
        }
    }

    fn read(node: Option<&Node>, line: HelmLine) -> Result<Head, String> {
        let mut head = Head::default();
        let Some(node) = node else { return Ok(head) };
        let package = if line == HelmLine::V3_17 { "releaseutil" } else { "util" };
        let node = node.get_ref();
        let shallow = |node: NodeRef<'_>| Value::shallow(node);
        if !node.is_map() {
            let value = shallow(node);
            if value.is_null() {
                return Ok(head);
            }
            return Err(refused(&value, format!("value of type {package}.SimpleHead")));
        }
        let mut entries: Vec<_> = node.entries().collect();
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        for entry in entries {
            let value = shallow(entry.value);
            match &*entry.key.to_lowercase() {
                "apiversion" => set(&mut head.api_version, &value)
                    .map_err(|()| refused(&value, field("apiVersion", "string")))?,
                "kind" => {
                    set(&mut head.kind, &value).map_err(|()| refused(&value, field("kind", "string")))?
                }
                "metadata" if value.is_null() => {}
                "metadata" if !value.is_map() => return Err(refused(&value, field("metadata", METADATA))),
                "metadata" => {
                    head.read_metadata(entry.value)?;
                }
                _ => {}
            }
        }
        Ok(head)
    }

    /// Read name and annotations.
    fn read_metadata(&mut self, metadata: NodeRef<'_>) -> Result<(), String> {
        for entry in metadata.entries() {
            let value = Value::shallow(entry.value);
            match &*entry.key.to_lowercase() {
                "name" => set(&mut self.name, &value)
                    .map_err(|()| refused(&value, field("metadata.name", "string")))?,
                "annotations" if value.is_null() => {}
                "annotations" if !value.is_map() => {
                    return Err(refused(&value, field("metadata.annotations", "map[string]string")));
                }
                "annotations" => {
                    for entry in entry.value.entries() {
                        let value = Value::shallow(entry.value);
                        let mut text = String::new();
                        set(&mut text, &value)
                            .map_err(|()| refused(&value, field("metadata.annotations", "string")))?;
                        self.annotations.insert(entry.key.into_owned(), text);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether a key is one of these, whatever letters are small in it.
fn is_one_of(key: &str, known: &[&str]) -> bool {
    match key.is_ascii() {
        true => known.iter().any(|known| known.eq_ignore_ascii_case(key)),
        false => known.contains(&&*key.to_lowercase()),
    }
}

/// A text, of a number or a boolean its own.
fn set(into: &mut String, value: &Value) -> Result<(), ()> {
    match &value.kind {
        Kind::Null => {}
        Kind::List(_) | Kind::Map(_) => return Err(()),
        _ => *into = value.to_string(),
    }
    Ok(())
}

/// Helm's order of kinds at an install.
const ORDER: [&str; 38] = [
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
    // Of Helm 4 alone.
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// Sorts by kind, what Helm doesn't know behind it by its name.
pub(super) fn by_kind(documents: &mut [ManifestDocument], line: HelmLine) {
    let known = match line {
        HelmLine::V3_17 => &ORDER[..36],
        HelmLine::V4_1 | HelmLine::V4_2 => &ORDER[..],
    };
    let place = |kind: &str| known.iter().position(|known| *known == kind).unwrap_or(known.len());
    documents.sort_by(|a, b| {
        let (one, two) = (&a.head.kind, &b.head.kind);
        let (first, second) = (place(one), place(two));
        first.cmp(&second).then_with(|| match first == known.len() {
            true => one.cmp(two),
            false => std::cmp::Ordering::Equal,
        })
    });
}
/// Go's words for a value that a field of a type can't hold.
fn refused(value: &Value, place: String) -> String {
    let kind = value.json_type();
    format!("error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into Go {place}")
}

fn field(name: &str, of_type: &str) -> String {
    format!("struct field SimpleHead.{name} of type {of_type}")
}
