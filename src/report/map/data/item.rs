//! A thing on the map: an object, its fields and its size.

use super::{HEAD, ROW, ROWS, WIDTH};
use crate::lang::text::clean;
use crate::lang::yaml::NodeRef;
use crate::model::ObjectId;
use crate::report::layout::{Area, Size};
use crate::world::Effective;
use serde_json::Value;
use std::collections::BTreeMap;

/// Fields of Flux and Cluster API objects that say what an object does. None of
/// them can hold a secret, but for addresses, which are cut.
const FIELDS: [&str; 34] = [
    "path",
    "url",
    "endpoint",
    "bucketName",
    "ref/branch",
    "ref/tag",
    "ref/semver",
    "ref/name",
    "ref/commit",
    "chart/spec/chart",
    "chart/spec/version",
    "releaseName",
    "targetNamespace",
    "storageNamespace",
    "serviceAccountName",
    "interval",
    "retryInterval",
    "timeout",
    "prune",
    "wait",
    "force",
    "suspend",
    "deletionPolicy",
    "type",
    "channel",
    "eventSeverity",
    "summary",
    "default",
    "window",
    "image",
    "topology/version",
    "topology/class",
    "topology/classRef/name",
    "topology/controlPlane/replicas",
];

/// An object on the map.
pub(super) struct MapItem<'a> {
    pub(super) cluster: usize,
    pub(super) id: ObjectId,
    /// The item whose box it is a row of; `None` for a box.
    pub(super) within: Option<usize>,
    /// Rows of a box, in order.
    pub(super) rows: Vec<usize>,
    /// What a box says below its name.
    pub(super) note: String,
    /// What it applies that is no item, by kind.
    pub(super) others: BTreeMap<String, usize>,
    pub(super) states: Vec<&'static str>,
    pub(super) why: String,
    pub(super) effective: Option<&'a Effective>,
    pub(super) fields: Vec<(String, String)>,
    pub(super) files: Vec<Value>,
    pub(super) events: Vec<String>,
    pub(super) findings: Vec<usize>,
    pub(super) effects: Vec<usize>,
    pub(super) area: Area,
}

impl MapItem<'_> {
    pub(super) fn new(cluster: usize, id: ObjectId) -> Self {
        MapItem {
            cluster,
            id,
            within: None,
            rows: Vec::new(),
            note: String::new(),
            others: BTreeMap::new(),
            states: Vec::new(),
            why: String::new(),
            effective: None,
            fields: Vec::new(),
            files: Vec::new(),
            events: Vec::new(),
            findings: Vec::new(),
            effects: Vec::new(),
            area: Area::default(),
        }
    }

    /// The line below the rows.
    pub(super) fn more(&self) -> String {
        let hidden = self.rows.len().saturating_sub(ROWS);
        let others: usize = self.others.values().sum();
        let objects = if others == 1 { "object" } else { "objects" };
        match (hidden, others) {
            (0, 0) => String::new(),
            (0, others) if self.rows.is_empty() => format!("{others} {objects}"),
            (0, others) => format!("{others} other {objects}"),
            (hidden, 0) => format!("{hidden} more"),
            (hidden, others) => format!("{hidden} more, {others} other {objects}"),
        }
    }

    pub(super) fn size(&self) -> Size {
        let lines = self.rows.len().min(ROWS) + usize::from(!self.more().is_empty());
        Size { width: WIDTH, height: HEAD + ROW * lines as u32 + if lines == 0 { 0 } else { 6 } }
    }
}

/// Fields of the effective object, in words.
pub(super) fn fields(root: NodeRef<'_>) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    for field in FIELDS {
        let Some(node) = root.at(&format!("/spec/{field}")) else { continue };
        let Some(text) = node.text() else { continue };
        let text = if matches!(field, "url" | "endpoint") { without_user(&text) } else { text.into_owned() };
        fields.push((field.replace('/', "."), clean(&text).into_owned()));
    }
    fields
}

/// An address without the user, password and query that it may hold.
fn without_user(url: &str) -> String {
    let bare = url.split(['?', '#']).next().unwrap_or(url);
    match bare.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once('/').map_or((rest, None), |(a, p)| (a, Some(p)));
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            match path {
                Some(path) => format!("{scheme}://{host}/{path}"),
                None => format!("{scheme}://{host}"),
            }
        }
        None => bare.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lose_their_secrets() {
        for (url, expected) in [
            ("https://user:token@git.example/a/b.git?key=1#x", "https://git.example/a/b.git"),
            ("ssh://git@github.com/a/b", "ssh://github.com/a/b"),
            ("oci://ghcr.io/a/b", "oci://ghcr.io/a/b"),
            ("git@github.com:a/b", "git@github.com:a/b"),
        ] {
            assert_eq!(without_user(url), expected);
        }
    }
}
