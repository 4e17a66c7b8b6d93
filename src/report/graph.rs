//! A graph as a text tree, Mermaid, DOT and JSON.

use super::parts;
use super::parts::width;
use crate::lang::text::clean;
use crate::world::graph::{EdgeKind, Graph};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

/// A tree per cluster: who applies whom. Sources and dependencies follow a name
/// in the same line.
pub(crate) fn text(graph: &Graph) -> String {
    let mut out = String::new();
    for cluster in clusters(graph) {
        if !out.is_empty() {
            out.push('\n');
        }
        match &cluster {
            Some(name) => {
                let _ = writeln!(out, "cluster {}", clean(name));
            }
            None => out.push_str("no cluster\n"),
        }
        let mut seen = BTreeSet::new();
        for (index, node) in graph.nodes.iter().enumerate() {
            if node.is_root && node.cluster == cluster {
                branch(graph, index, "", "", &mut seen, &mut out);
            }
        }
    }
    out
}

/// One node and, indented, what it applies. What applies itself, or was shown,
/// is not gone into again.
fn branch(
    graph: &Graph,
    index: usize,
    first: &str,
    rest: &str,
    seen: &mut BTreeSet<usize>,
    out: &mut String,
) {
    let node = &graph.nodes[index];
    let mut parts = vec![clean(&node.object.to_string()).into_owned()];
    if !node.note.is_empty() {
        parts.push(clean(&node.note).into_owned());
    }
    for (kind, word) in
        [(EdgeKind::Source, "from"), (EdgeKind::DependsOn, "after"), (EdgeKind::Gate, "gated by")]
    {
        let names: Vec<String> = graph.from(index, kind).map(|to| short(graph, index, to)).collect();
        if !names.is_empty() {
            parts.push(format!("{word} {}", names.join(", ")));
        }
    }
    // A line that goes on stays under its object, beside the line to its children.
    let goes_on = graph.from(index, EdgeKind::Applies).next().is_some() || node.others > 0;
    line(out, first, &format!("{rest}{}", if goes_on { "│ " } else { "  " }), &parts);
    if !seen.insert(index) || first.chars().count() > 4 * 100 {
        return;
    }
    let children: Vec<usize> =
        graph.from(index, EdgeKind::Applies).filter(|child| !seen.contains(child)).collect();
    let others = node.others;
    for (at, child) in children.iter().enumerate() {
        let last = at + 1 == children.len() && others == 0;
        let (tee, bar) = if last { ("└── ", "    ") } else { ("├── ", "│   ") };
        branch(graph, *child, &format!("{rest}{tee}"), &format!("{rest}{bar}"), seen, out);
    }
    if others > 0 {
        let objects = if others == 1 { "object" } else { "objects" };
        let more = if children.is_empty() { "" } else { "other " };
        let _ = writeln!(out, "{rest}└── {others} {more}{objects}");
    }
}

/// Writes the parts of a line, two blanks apart, in the width that there is.
fn line(out: &mut String, first: &str, further: &str, parts: &[String]) {
    out.push_str(first);
    let mut column = first.chars().count();
    for (index, part) in parts.iter().enumerate() {
        // Kinds stay with their names: a line goes on between parts and after commas.
        let words: Vec<&str> = if index == 0 { vec![part] } else { part.split_inclusive(", ").collect() };
        for (at, word) in words.into_iter().enumerate() {
            let word = word.trim_end();
            let length = word.chars().count();
            let gap = match (index, at) {
                (0, _) => "",
                (_, 0) => "  ",
                _ => " ",
            };
            if index > 0 && column + gap.len() + length > width() {
                let _ = write!(out, "\n{further}    {word}");
                column = further.chars().count() + 4 + length;
            } else {
                let _ = write!(out, "{gap}{word}");
                column += gap.len() + length;
            }
        }
    }
    out.push('\n');
}

/// A name as seen from another object: without a namespace that they share.
fn short(graph: &Graph, from: usize, to: usize) -> String {
    let (from, to) = (&graph.nodes[from].object, &graph.nodes[to].object);
    let name = match &to.namespace {
        Some(namespace) if from.namespace != to.namespace => format!("{namespace}/{}", to.name),
        _ => to.name.to_string(),
    };
    let text = if from.kind == to.kind { name } else { format!("{} {name}", to.kind) };
    clean(&text).into_owned()
}

/// A flow chart for Markdown, a subgraph per cluster.
pub(crate) fn mermaid(graph: &Graph) -> String {
    let mut out = String::from("flowchart LR\n");
    for (number, cluster) in clusters(graph).into_iter().enumerate() {
        let indent = if let Some(name) = &cluster {
            let _ = writeln!(out, "  subgraph c{number}[\"{}\"]", mermaid_text(name));
            "    "
        } else {
            "  "
        };
        for (index, node) in graph.nodes.iter().enumerate().filter(|(_, node)| node.cluster == cluster) {
            let _ = writeln!(out, "{indent}n{index}[\"{}\"]", mermaid_text(&node.object.to_string()));
        }
        if cluster.is_some() {
            out.push_str("  end\n");
        }
    }
    for edge in &graph.edges {
        let arrow = match edge.kind {
            EdgeKind::Applies => "-->",
            EdgeKind::Source => "-. source .->",
            EdgeKind::DependsOn => "-. dependsOn .->",
            EdgeKind::Gate => "-. gate .->",
        };
        let _ = writeln!(out, "  n{} {arrow} n{}", edge.from, edge.to);
    }
    out
}

fn mermaid_text(text: &str) -> String {
    clean(text).replace('&', "#amp;").replace('"', "#quot;").replace('<', "#lt;").replace('>', "#gt;")
}

/// A directed graph for Graphviz.
pub(crate) fn dot(graph: &Graph) -> String {
    let mut out = String::from("digraph forebay {\n  rankdir=LR;\n  node [shape=box];\n");
    for (number, cluster) in clusters(graph).into_iter().enumerate() {
        if let Some(name) = &cluster {
            let _ = writeln!(out, "  subgraph cluster_{number} {{\n    label={};", dot_text(name));
        }
        for (index, node) in graph.nodes.iter().enumerate().filter(|(_, node)| node.cluster == cluster) {
            let _ = writeln!(out, "    n{index} [label={}];", dot_text(&node.object.to_string()));
        }
        if cluster.is_some() {
            out.push_str("  }\n");
        }
    }
    for edge in &graph.edges {
        let style = match edge.kind {
            EdgeKind::Applies => String::new(),
            kind => format!(" [style=dashed, label={}]", dot_text(kind.name())),
        };
        let _ = writeln!(out, "  n{} -> n{}{style};", edge.from, edge.to);
    }
    out.push_str("}\n");
    out
}

fn dot_text(text: &str) -> String {
    format!("\"{}\"", clean(text).replace('\\', "\\\\").replace('"', "\\\""))
}

/// `nodes` and `edges` of the contract.
pub(crate) fn json(graph: &Graph) -> serde_json::Value {
    let nodes = graph.nodes.iter().enumerate().map(|(index, node)| {
        serde_json::json!({
            "id": format!("n{index}"),
            "object": parts::object(&node.object),
            "cluster": node.cluster.as_deref(),
        })
    });
    let edges = graph.edges.iter().map(|edge| {
        serde_json::json!({
            "from": format!("n{}", edge.from),
            "to": format!("n{}", edge.to),
            "kind": edge.kind.name(),
        })
    });
    serde_json::json!({"nodes": nodes.collect::<Vec<_>>(), "edges": edges.collect::<Vec<_>>()})
}

/// The clusters in order of their first node.
fn clusters(graph: &Graph) -> Vec<Option<Arc<str>>> {
    let mut clusters: Vec<Option<Arc<str>>> = Vec::new();
    for node in &graph.nodes {
        if !clusters.contains(&node.cluster) {
            clusters.push(node.cluster.clone());
        }
    }
    clusters
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ObjectId;
    use crate::report::parts::in_columns;
    use crate::world::graph::{Edge, GraphNode};

    fn graph() -> Graph {
        let node = |kind: &str, name: &str, note: &str, others, is_root| GraphNode {
            object: ObjectId {
                api_version: "x/v1".into(),
                kind: kind.into(),
                namespace: Some("flux-system".into()),
                name: name.into(),
            },
            cluster: Some("prod \"eu\"".into()),
            note: note.into(),
            others,
            is_root,
        };
        let edge = |from, to, kind| Edge { from, to, kind };
        Graph {
            nodes: vec![
                node("Kustomization", "flux-system", "clusters/prod", 1, true),
                node("GitRepository", "flux-system", "", 0, false),
                node("Kustomization", "infra", "infra", 2, false),
                node("Kustomization", "apps", "apps", 0, false),
            ],
            edges: vec![
                edge(0, 0, EdgeKind::Applies),
                edge(0, 1, EdgeKind::Applies),
                edge(0, 2, EdgeKind::Applies),
                edge(0, 3, EdgeKind::Applies),
                edge(3, 1, EdgeKind::Source),
                edge(3, 2, EdgeKind::DependsOn),
            ],
        }
    }

    #[test]
    fn a_tree_goes_into_nothing_twice() {
        let expected = "\
cluster prod \"eu\"
Kustomization flux-system/flux-system  clusters/prod
├── GitRepository flux-system/flux-system
├── Kustomization flux-system/infra  infra
│   └── 2 objects
├── Kustomization flux-system/apps  apps  from GitRepository flux-system  after infra
└── 1 other object
";
        assert_eq!(in_columns(100, || text(&graph())), expected);
        let narrow = expected.replace("  after infra", "\n│         after infra");
        assert_eq!(in_columns(80, || text(&graph())), narrow);
    }

    #[test]
    fn names_are_escaped() {
        assert!(mermaid(&graph()).contains("subgraph c0[\"prod #quot;eu#quot;\"]"), "{}", mermaid(&graph()));
        assert!(dot(&graph()).contains("label=\"prod \\\"eu\\\"\";"), "{}", dot(&graph()));
    }
}
