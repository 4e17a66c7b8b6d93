//! `faulty-chart`: what a chart writes by itself is what rules tell of.
//! Source: the rules that it names.

use crate::lang::text::counted;
use crate::lint::{Check, FixAvailability, Group, Level, Reporter, Rule, RunView, title};
use std::collections::BTreeMap;

pub(crate) static RULE: Rule = Rule {
    id: "faulty-chart",
    group: Group::Chart,
    level: Level::Info,
    default: true,
    since: "0.2.0",
    summary: "a chart whose own objects have findings",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/chart/faulty-chart.md"),
    check: Check::Run(check),
};

fn check(view: &RunView<'_>, report: &mut Reporter<'_>) {
    for (location, faults) in view.of_charts {
        let Some(release) = faults.releases.first() else { continue };
        let mut by_rule: BTreeMap<&str, usize> = BTreeMap::new();
        for (rule, _) in &faults.findings {
            *by_rule.entry(rule).or_default() += 1;
        }
        let rules: Vec<String> = by_rule.iter().map(|(rule, count)| format!("{rule} ({count})")).collect();
        let example = faults.findings.first().map(|(_, title)| title.clone()).unwrap_or_default();
        let count = counted(faults.findings.len(), "finding");
        let what = format!("{count} about what the chart {} itself writes", faults.chart);
        let finding = report
            .report(location.clone(), title(release, &what))
            .why(format!("no value of the release is to blame: {}; first {example}", rules.join(", ")))
            .help("take another version of the chart, or change its objects with spec.postRenderers")
            .field("", rules.join(" "));
        finding.objects.extend(faults.releases.iter().cloned());
        finding.clusters.extend(faults.clusters.iter().cloned());
    }
}
