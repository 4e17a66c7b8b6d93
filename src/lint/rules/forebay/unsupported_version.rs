//! `unsupported-version`: a version that is judged as another one.
//! Source: the versions that forebay knows.

use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "unsupported-version",
    group: Group::Forebay,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a version of Flux or Cluster API beyond those that are known",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/forebay/unsupported-version.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for (text, location) in &view.cluster.settings.unsupported {
        let (what, how) = text.split_once(" is ").unwrap_or((text, ""));
        report
            .report(location.clone(), format!("{what} is not a version that is known here"))
            .why(format!("it is {how}: what the controllers do may differ from what is said"))
            .help("use a release of forebay that knows the version, or state one in target")
            .field("/target", what.to_owned());
    }
}
