//! `unknown-chart-value`: a value that no template of the chart reads.
//! Source: Go `text/template/exec.go` (`evalField`: a key that nothing names is passed over),
//! helm `pkg/engine/engine.go`, `pkg/chart/v2/util/dependencies.go`.

use super::{Place, chart_of, doubt, place_of};
use crate::build::helm::Dead;
use crate::lang::yaml::pointer_join;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule, title};
use crate::sources::render::{Meant, Unread};
use crate::world::releases::Release;

pub(crate) static RULE: Rule = Rule {
    id: "unknown-chart-value",
    group: Group::Chart,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "a value that no template of the chart reads",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/chart/unknown-chart-value.md"),
    check: Check::Cluster(check),
};

/// The rule about values that a schema refuses.
const REFUSED: &str = "rejected-chart-values";

/// Values of one release that are told of.
const MOST: usize = 200;

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for release in &view.cluster.releases {
        let Some(rendering) = &release.rendering else { continue };
        let unread = rendering.unread();
        // What a schema refuses is told as an error at the same key.
        let refused: Vec<&[String]> = match release.refusal() {
            Some(refusal) if view.is_selected(REFUSED) => {
                refusal.faults.iter().map(|fault| &*fault.path).collect()
            }
            _ => Vec::new(),
        };
        let is_told = |dead: &Dead| {
            refused.iter().any(|path| dead.path.iter().map(|key| &**key).eq(path.iter().map(String::as_str)))
        };
        for dead in unread.dead.iter().filter(|dead| !is_told(dead)).take(MOST) {
            one(release, &unread, dead, report);
        }
    }
}

fn one(release: &Release, unread: &Unread, dead: &Dead, report: &mut Reporter<'_>) {
    let path = &dead.path;
    let pointer = path.iter().fold(String::new(), |above, key| pointer_join(&above, key));
    let Some(Place { location, path: own, related }) = place_of(release, &pointer) else { return };
    let meant = match unread.meant(dead) {
        Some(Meant::Near(near)) => format!("; did you mean `{}`?", near.join(".")),
        Some(Meant::Elsewhere(other)) => format!("; it stands at `{}`", other.join(".")),
        None => String::new(),
    };
    let what = format!("the chart {} reads no value `{}`{meant}", chart_of(release), path.join("."));
    let mut why =
        "no template of the chart or of the charts in it names it, prints what it lies in, or goes \
                   through the keys around it: it does nothing"
            .to_owned();
    if let Some(doubt) = doubt(release) {
        why.push_str(&format!("; {doubt}"));
    }
    let finding = report.report(location, title(&release.id, &what));
    finding
        .why(why)
        .help("remove it, or correct its name or its place")
        .object(&release.id)
        .field(own.unwrap_or_default(), path.last().map(ToString::to_string).unwrap_or_default())
        .values_path(pointer);
    finding.related.extend(related);
}
