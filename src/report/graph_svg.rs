//! A graph as SVG, for documents: the layout of the map, every object a box.

use super::layout::{Area, Size, layered, shelves};
use super::markup::escape;
use crate::lang::text::shorten;
use crate::world::graph::{Edge, EdgeKind, Graph, GraphNode};
use std::fmt::Write as _;
use std::sync::Arc;

/// Space around a cluster, and above it for its name; pixels.
const MARGIN: u32 = 20;
const TITLE: u32 = 44;

/// Height of a box with two lines of text.
const HEIGHT: u32 = 40;

/// Characters of a name that are shown; longer ones lose their middle, and are
/// whole in the box's title.
const NAME: usize = 44;

/// Colours that can be told apart on light and dark pages.
const STYLE: &str = "\
text{font:12px system-ui,sans-serif;fill:#1b2329}.soft{font-size:11px;fill:#4c5a65}.name{font-size:15px;font-weight:600}\
.page{fill:#ffffff}.cluster{fill:#f4f6f8;stroke:#b7c1c9}.node{fill:#ffffff;stroke:#4c5a65}path{fill:none;stroke:#98a4ad}\
.dependsOn{stroke:#0b5fa5;stroke-dasharray:6 4}.source{stroke:#1f6b3a;stroke-dasharray:2 3}.gate{stroke:#6b4fa0}";

/// The drawing of all nodes and edges.
pub(crate) fn render(graph: &Graph) -> String {
    let mut clusters: Vec<Option<Arc<str>>> = Vec::new();
    for node in &graph.nodes {
        if !clusters.contains(&node.cluster) {
            clusters.push(node.cluster.clone());
        }
    }
    let own: Vec<Vec<usize>> = clusters
        .iter()
        .map(|cluster| (0..graph.nodes.len()).filter(|at| graph.nodes[*at].cluster == *cluster).collect())
        .collect();
    let drawings: Vec<(Vec<Area>, Size)> = own.iter().map(|nodes| drawing(graph, nodes)).collect();
    let sizes: Vec<Size> = drawings
        .iter()
        .map(|(_, whole)| Size { width: whole.width + 2 * MARGIN, height: whole.height + TITLE + MARGIN })
        .collect();
    let (places, whole) = shelves(&sizes, MARGIN);
    let mut areas = vec![Area::default(); graph.nodes.len()];
    for ((nodes, (inner, _)), place) in own.iter().zip(&drawings).zip(&places) {
        for (node, area) in nodes.iter().zip(inner) {
            areas[*node] = Area { x: place.x + MARGIN + area.x, y: place.y + TITLE + area.y, ..*area };
        }
    }
    let (width, height) = (whole.width.max(1), whole.height.max(1));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n\
         <style>{STYLE}</style>\n<rect class=\"page\" width=\"{width}\" height=\"{height}\"/>\n"
    );
    for (cluster, place) in clusters.iter().zip(&places) {
        let name = cluster.as_deref().map_or("no cluster".to_owned(), |name| format!("cluster {name}"));
        box_of_cluster(&mut out, &name, place);
    }
    for edge in graph.edges.iter().filter(|edge| edge.from != edge.to) {
        line(&mut out, edge, &areas);
    }
    for (node, area) in graph.nodes.iter().zip(&areas) {
        box_of_node(&mut out, node, area);
    }
    out.push_str("</svg>\n");
    out
}

fn box_of_cluster(out: &mut String, name: &str, place: &Area) {
    let _ = writeln!(
        out,
        "<rect class=\"cluster\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"10\"/>\n<text class=\"name\" x=\"{}\" y=\"{}\">{}</text>",
        place.x,
        place.y,
        place.width,
        place.height,
        place.x + MARGIN,
        place.y + 27,
        escape(name)
    );
}

fn line(out: &mut String, edge: &Edge, areas: &[Area]) {
    // Along the order of work: what is waited for stands before who waits.
    let (first, second) =
        if edge.kind == EdgeKind::Applies { (edge.from, edge.to) } else { (edge.to, edge.from) };
    let (a, b) = (areas[first], areas[second]);
    let (x1, y1, x2, y2) = (a.x + a.width, a.y + HEIGHT / 2, b.x, b.y + HEIGHT / 2);
    let bend = (x1.abs_diff(x2) / 2).max(30);
    let _ = writeln!(
        out,
        "<path class=\"{}\" d=\"M{x1} {y1}C{} {y1} {} {y2} {x2} {y2}\"/>",
        edge.kind.name(),
        x1 + bend,
        i64::from(x2) - i64::from(bend),
    );
}

fn box_of_node(out: &mut String, node: &GraphNode, area: &Area) {
    let (name, note) = lines(node);
    let _ = writeln!(
        out,
        "<g><title>{}</title><rect class=\"node\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\"/><text x=\"{}\" y=\"{}\">{}</text><text class=\"soft\" x=\"{}\" y=\"{}\">{}</text></g>",
        escape(&node.object.to_string()),
        area.x,
        area.y,
        area.width,
        area.height,
        area.x + 8,
        area.y + 16,
        escape(&name),
        area.x + 8,
        area.y + 32,
        escape(&note)
    );
}

fn drawing(graph: &Graph, nodes: &[usize]) -> (Vec<Area>, Size) {
    let place = |node: usize| nodes.binary_search(&node).ok();
    let arrows: Vec<(usize, usize)> = graph
        .edges
        .iter()
        .filter_map(|edge| {
            let (from, to) = (place(edge.from)?, place(edge.to)?);
            Some(if edge.kind == EdgeKind::Applies { (from, to) } else { (to, from) })
        })
        .collect();
    let sizes: Vec<Size> = nodes
        .iter()
        .map(|node| {
            let (name, note) = lines(&graph.nodes[*node]);
            let longest = name.chars().count().max(note.chars().count()) as u32;
            Size { width: (longest * 7 + 20).max(120), height: HEIGHT }
        })
        .collect();
    layered(&sizes, &arrows)
}

fn lines(node: &GraphNode) -> (String, String) {
    let name = match &node.object.namespace {
        Some(namespace) => format!("{namespace}/{}", node.object.name),
        None => node.object.name.to_string(),
    };
    let mut note = node.object.kind.to_string();
    if !node.note.is_empty() {
        let _ = write!(note, "  {}", node.note);
    }
    if node.others > 0 {
        let _ = write!(note, "  +{}", node.others);
    }
    (shorten(&name, NAME), shorten(&note, NAME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ObjectId;
    use crate::world::graph::Edge;

    #[test]
    fn names_are_text() {
        let node = |name: &str| GraphNode {
            object: ObjectId {
                api_version: "kustomize.toolkit.fluxcd.io/v1".into(),
                kind: "Kustomization".into(),
                namespace: Some("flux-system".into()),
                name: name.into(),
            },
            cluster: Some("a & <b>".into()),
            note: String::new(),
            others: 3,
            is_root: true,
        };
        let graph = Graph {
            nodes: vec![node("<script>"), node("two")],
            edges: vec![Edge { from: 0, to: 1, kind: EdgeKind::Applies }],
        };
        let text = render(&graph);
        assert!(text.contains("cluster a &amp; &lt;b&gt;") && !text.contains("<script"), "{text}");
        assert!(text.contains("class=\"applies\""), "{text}");
    }
}
