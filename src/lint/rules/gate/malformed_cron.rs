//! `malformed-cron`: a schedule that its controller refuses.
//! Source: robfig/cron v3 `parser.go`; flux-operator `internal/schedule`
//! `Parse`; Kubernetes `pkg/apis/batch/validation` for CronJobs.

use crate::lang::go::cron::{CronError, CronSchedule};
use crate::lang::yaml::NodeRef;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "malformed-cron",
    group: Group::Gate,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a cron expression or time zone that the controller refuses",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/gate/malformed-cron.md"),
    check: Check::Object(check),
};

const STALLED: &str = "flux-operator stalls it with reason InvalidSchedule and exports no new inputs";
const REFUSED: &str = "Kubernetes refuses the CronJob, and with it whatever is applied together";

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if view.id.is("fluxcd.controlplane.io", "ResourceSetInputProvider") {
        for (index, item) in view.node.items_at("/spec/schedule").enumerate() {
            check_entry(view, report, &format!("/spec/schedule/{index}"), item, "cron", STALLED);
        }
    } else if view.id.is("batch", "CronJob")
        && let Some(spec) = view.node.at("/spec")
    {
        check_entry(view, report, "/spec", spec, "schedule", REFUSED);
    }
}

/// Checks the expression in `field` and the zone beside it in `timeZone`.
fn check_entry(
    view: &ObjectView<'_>,
    report: &mut Reporter<'_>,
    at: &str,
    entry: NodeRef<'_>,
    field: &str,
    consequence: &str,
) {
    let text = |key: &str| entry.get(key).filter(|value| !value.is_null()).map(|value| value.as_str());
    // A missing expression is the schema's business; unknown parts are nobody's.
    let Some(Some(expression)) = text(field) else {
        return;
    };
    let zone = match text("timeZone") {
        None => "UTC".into(),
        Some(Some(zone)) => zone,
        Some(None) => return,
    };
    let mut fault = |key: &str, value: &str, defect: String, why: String, help: &str| {
        let Some(location) = entry.location_at(&format!("/{key}")) else {
            return;
        };
        report
            .report(location, format!("{}: {defect}", view.id))
            .why(format!("{why}; {consequence}"))
            .help(help)
            .object(view.id)
            .field(format!("{at}/{key}"), value);
    };
    let has_zone = expression.starts_with("TZ=") || expression.starts_with("CRON_TZ=");
    if has_zone || (field == "schedule" && expression.contains("TZ")) {
        let why = "the zone has a field of its own, which is always set, so a second one is an error";
        let help = "move the zone to `timeZone`";
        return fault(field, &expression, format!("a time zone inside `{field}`"), why.into(), help);
    }
    if let Err(CronError::Malformed(why)) = CronSchedule::parse_in(&expression, "UTC") {
        let why = why.rsplit_once("with timezone 'UTC': ").map_or(&*why, |(_, why)| why);
        let defect = format!("`{field}` is no cron expression");
        return fault(field, &expression, defect, why.to_string(), help_for(&expression));
    }
    if field == "schedule" && (zone.is_empty() || zone.eq_ignore_ascii_case("local")) {
        let why = "the zone must be one of the IANA database";
        return fault("timeZone", &zone, format!("unknown time zone `{zone}`"), why.into(), ZONE_HELP);
    }
    if let Err(CronError::Malformed(why)) = CronSchedule::parse_in(&expression, &zone) {
        let why = why.rsplit_once(": provided bad location ").map_or(&*why, |(_, why)| why);
        fault("timeZone", &zone, format!("unknown time zone `{zone}`"), why.to_string(), ZONE_HELP);
    }
}

const ZONE_HELP: &str = "write an IANA name with its capitals: `Europe/Berlin`, `America/New_York`, `UTC`";

fn help_for(expression: &str) -> &'static str {
    let fields: Vec<&str> = expression.split_whitespace().collect();
    let day_of_week = fields.last().is_some_and(|field| field.contains('7'));
    if matches!(fields.len(), 6 | 7) && !expression.starts_with('@') {
        "write five fields, without seconds and year: minute hour day month weekday"
    } else if fields.len() == 5 && day_of_week {
        "Sunday is 0 or `sun`; a range may not go over the end of the week"
    } else if fields.len() == 5 && fields.iter().any(|field| field.contains(['L', 'W', '#', 'H'])) {
        "`L`, `W`, `#` and `H` are of other cron dialects; write numbers or names"
    } else if expression.starts_with('@') {
        "write @hourly, @daily, @weekly, @monthly, @yearly or @every with a duration such as 1h30m"
    } else {
        "write five fields, minute hour day month weekday, or a descriptor such as @daily"
    }
}
