//! A Mermaid gantt chart. Its times are wall-clock times of the view's zone:
//! Mermaid would move instants to the zone of whoever looks at them.

use std::fmt::Write as _;

use super::{ClusterGates, PICTURE_NOTE, View, charted, is_proposal, label, shown};
use crate::simulate::gating::timeline::PassState;

/// One chart per cluster.
pub fn render(view: &View<'_>) -> String {
    let mut out = String::new();
    for (index, cluster) in shown(view).into_iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        render_cluster(view, cluster, &mut out);
    }
    out
}

fn render_cluster(view: &View<'_>, cluster: &ClusterGates, out: &mut String) {
    let simulation = &cluster.simulation;
    let seconds = simulation.range.to.as_second() - simulation.range.from.as_second();
    let axis = if seconds <= 2 * 86_400 { "%H:%M" } else { "%b %d" };
    if is_proposal(cluster) {
        let _ = writeln!(out, "%% {PICTURE_NOTE}");
    }
    let _ = writeln!(out, "gantt");
    let note = if is_proposal(cluster) { ", a proposal that no released Flux has" } else { "" };
    let _ =
        writeln!(out, "    title Gates of {}, {}{note}", plain(&cluster.title()), plain(view.zone_name()));
    let _ = writeln!(out, "    dateFormat YYYY-MM-DDTHH:mm:ss");
    let _ = writeln!(out, "    axisFormat {axis}");
    for subject in charted(simulation) {
        let _ = writeln!(out, "    section {}", plain(&label(&subject.id)));
        for (from, to, state) in subject.timeline.intervals(simulation.range) {
            let tag = match state {
                PassState::Opened => "done, ",
                PassState::Closed => "crit, ",
                PassState::Unknown => "",
            };
            let time = |at| view.local(at, "%Y-%m-%dT%H:%M:%S");
            let end = time(to.unwrap_or(simulation.range.to));
            let _ = writeln!(out, "    {} :{tag}{}, {end}", state.name(), time(from));
        }
    }
}

/// Without the characters that end a Mermaid title or section.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_alphanumeric() || " ./_-+".contains(c) { c } else { '_' }).collect()
}
