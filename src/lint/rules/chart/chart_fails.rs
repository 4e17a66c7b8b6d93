//! `chart-fails`: Helm refuses to render the chart of a release.
//! Source: helm-controller `internal/reconcile/install.go`, `upgrade.go` (`InstallFailed`,
//! `UpgradeFailed`); helm `pkg/action`, `pkg/engine`.

use super::{chart_of, chart_place, doubt, lacks_values, place_of};
use crate::build::helm::Dead;
use crate::lang::text::dotted;
use crate::lang::yaml::pointer_to;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule, title};
use crate::sources::outcome::NoRelease;
use crate::world::releases::Release;
use std::sync::Arc;

/// See the module.
pub(crate) static RULE: Rule = Rule {
    id: "chart-fails",
    group: Group::Chart,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a release whose chart Helm refuses to render",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/chart/chart-fails.md"),
    check: Check::Cluster(check),
};

/// Values that nothing reads, named beside a failure.
const NAMED: usize = 3;

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for release in &view.cluster.releases {
        let Some(refusal) = refusal(release) else { continue };
        match refusal.is_of_post_renderers() {
            true => post_rendered(view, release, refusal, report),
            false => rendered(view, release, refusal, report),
        }
    }
}

/// A refusal but by a schema, which is told at each value.
fn refusal(release: &Release) -> Option<&NoRelease> {
    release.refusal().filter(|refusal| refusal.faults.is_empty())
}

/// What Helm takes and helm-controller's post-renderers refuse.
fn post_rendered(view: &ClusterView<'_>, release: &Release, refusal: &NoRelease, report: &mut Reporter<'_>) {
    let Some(chart) = chart_place(view, release) else { return };
    let (own, made) = match &refusal.location {
        Some(place) if !release.is_of_its_chart(&place.file) => (Some(place.clone()), None),
        place => (None, place.clone()),
    };
    let doubt = doubt(release);
    let cause = cause(&refusal.message);
    let mut why = format!(
        "helm-controller installs and upgrades nothing: {cause}; `helm template` doesn't show it, as only helm-controller reads what a chart makes once more, the way kustomize does"
    );
    why.extend(doubt.as_ref().map(|doubt| format!("; {doubt}")));
    let what = format!("what the chart {} makes can't be post-rendered", chart_of(release));
    let level = match doubt {
        None => Level::Error,
        Some(_) if hangs_on_unknown(release, refusal) => Level::Info,
        Some(_) => Level::Warning,
    };
    let is_elsewhere = own.is_some();
    let finding = report.report(own.unwrap_or_else(|| chart.clone()), title(&release.id, &what));
    finding
        .level(level)
        .why(why)
        .help("give it values by which it makes other objects, or take another version of the chart")
        .object(&release.id)
        .field("", cause);
    if is_elsewhere {
        finding.related("the chart", chart);
    }
    if let Some(made) = made {
        finding.related("what the chart writes", made);
    }
}

fn rendered(view: &ClusterView<'_>, release: &Release, refusal: &NoRelease, report: &mut Reporter<'_>) {
    let culprit = release.rendering.as_ref().and_then(|rendering| rendering.culprit());
    let culprit = culprit.and_then(|culprit| Some((place_of(release, &pointer_to(&culprit.path))?, culprit)));
    let Some(chart) = chart_place(view, release) else { return };
    let cause = cause(&refusal.message);
    let doubt = doubt(release);
    // Where values stand that can't be read.
    let stated = refusal.location.clone().filter(|place| !release.is_of_its_chart(&place.file));
    let is_elsewhere = culprit.is_none() && stated.is_some();
    let (mut what, mut why, help) = match is_elsewhere {
        true => (
            "its values can't be read".to_owned(),
            format!("helm-controller installs and upgrades nothing: {cause}"),
            "correct what stands there, or the reference to it",
        ),
        false => (
            format!("the chart {} fails", chart_of(release)),
            format!("helm-controller installs and upgrades nothing; Helm says: {cause}"),
            "give the chart the values that it asks for",
        ),
    };
    match culprit.as_ref().map(|(_, culprit)| (culprit, &culprit.meant)) {
        Some((culprit, Some(meant))) => {
            what.push_str(&format!(" with `{}`; did you mean `{}`?", dotted(&culprit.path), dotted(meant)));
            why.push_str("; with the value of that name the chart renders");
        }
        Some((culprit, None)) => {
            what.push_str(&format!(" with `{}`", dotted(&culprit.path)));
            why.push_str("; without this value, or with what it lacks, the chart renders");
        }
        None => {}
    }
    why.extend(unread(release, culprit.as_ref().map(|(_, culprit)| &*culprit.path)));
    why.extend(doubt.as_ref().map(|doubt| format!("; {doubt}")));
    let own = culprit.as_ref().map(|(place, _)| place.location.clone()).or(stated);
    let location = own.unwrap_or_else(|| chart.clone());
    let level = match (&doubt, culprit.as_ref().and_then(|(_, culprit)| culprit.meant.as_ref())) {
        (None, _) => Level::Error,
        // Most charts that fail on what is not known here do not fail in the cluster.
        (Some(_), None) if hangs_on_unknown(release, refusal) => Level::Info,
        (Some(_), _) => Level::Warning,
    };
    let finding = report.report(location, title(&release.id, &what));
    finding.level(level).why(why).help(help).object(&release.id);
    let Some((place, culprit)) = culprit else {
        finding.field("", cause);
        if is_elsewhere {
            finding.related("the chart", chart);
        }
        return;
    };
    finding.field(place.path.unwrap_or_default(), cause).values_path(pointer_to(&culprit.path));
    finding.related.extend(place.related);
    finding.related("the chart that fails", chart);
}

/// Whether values that are not known here, or something that a cluster answers, may be why Helm
/// refuses.
fn hangs_on_unknown(release: &Release, refusal: &NoRelease) -> bool {
    lacks_values(release) || !refusal.assumed.is_empty()
}

/// Helm's first line, and its last, where that says why.
fn cause(message: &str) -> String {
    let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let first = lines.first().map_or("", |first| first.trim_end_matches(':'));
    match lines.last().filter(|_| lines.len() > 1) {
        Some(last) => format!("{first}: {last}"),
        None => first.to_owned(),
    }
}

/// The values near the one that it fails on that no template reads: one of them is, often,
/// what is missing under another name.
fn unread(release: &Release, culprit: Option<&[Arc<str>]>) -> Option<String> {
    let unread = release.rendering.as_ref()?.unread();
    let is_near = |dead: &&Dead| {
        let above = dead.path.split_last().map_or(&[][..], |(_, above)| above);
        culprit.is_none_or(|path| path.starts_with(above) || above.starts_with(path))
    };
    let near: Vec<String> = unread
        .dead
        .iter()
        .filter(is_near)
        .take(NAMED)
        .map(|dead| format!("`{}`", dotted(&dead.path)))
        .collect();
    (!near.is_empty()).then(|| format!("; no template reads {}", near.join(", ")))
}
