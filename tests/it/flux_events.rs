//! Upstream's cases of event metadata, alert matching and dispatch, and
//! recorded runs of the real clean-up and combination, through the library.

use std::collections::BTreeMap;

use crate::support::recordings;
use forebay::internals::lang::yaml::Known;
use forebay::internals::model::text::Text;
use forebay::internals::simulate::notify;
use forebay::internals::simulate::notify::alerts;
use forebay::internals::simulate::notify::alerts::{Alert, Event, EventSource};
use forebay::internals::simulate::notify::combine;
use forebay::internals::simulate::notify::combine::{
    CONFLICT_REASON, MetadataSource, SUMMARY_DEPRECATION_LOG,
};
use forebay::internals::simulate::notify::commit_status;
use forebay::internals::simulate::notify::commit_status::Cel;
use forebay::internals::simulate::notify::delivery::{Controller, Delivery, Dispatch, Provider, deliver};
use forebay::internals::simulate::notify::providers;
use forebay::internals::simulate::notify::providers::CommitStatusGate;
use forebay::internals::simulate::notify::providers::sets_commit_status;
use forebay::internals::simulate::notify::{InvolvedObject, Metadata};
use serde_json::{Value, json};

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A map of strings; null is Go's nil map, which reads like an empty one.
fn strings(value: &Value) -> Metadata<String> {
    let entries = value.as_object().into_iter().flatten();
    entries.map(|(key, value)| (key.clone(), text(value))).collect()
}

fn texts(value: &Value) -> Metadata<Text> {
    strings(value).into_iter().map(|(key, value)| (key, value.into())).collect()
}

fn involved_object(value: &Value) -> InvolvedObject {
    InvolvedObject {
        api_version: text(&value["apiVersion"]),
        kind: text(&value["kind"]),
        namespace: text(&value["namespace"]),
        name: text(&value["name"]),
    }
}

/// An Alert as notification-controller's own tests make it: without the
/// defaults of the API server.
fn alert(name: &str, namespace: &str, spec: &Value) -> Alert {
    let patterns = |value: &Value| list(value).iter().map(|item| text(item).into()).collect();
    Alert {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        provider: text(&spec["providerRef"]["name"]).into(),
        severity: text(&spec["eventSeverity"]).into(),
        sources: list(&spec["eventSources"]).iter().map(source).collect(),
        inclusion: patterns(&spec["inclusionList"]),
        exclusion: patterns(&spec["exclusionList"]),
        suspend: Known::Value(spec["suspend"] == json!(true)),
        event_metadata: texts(&spec["eventMetadata"]),
        summary: Some(text(&spec["summary"])).filter(|text| !text.is_empty()).map(Text::from),
        refusal: None,
    }
}

fn source(value: &Value) -> EventSource {
    EventSource {
        kind: text(&value["kind"]).into(),
        name: text(&value["name"]).into(),
        namespace: text(&value["namespace"]).into(),
        match_labels: value["matchLabels"].is_object().then(|| texts(&value["matchLabels"])),
    }
}

fn is_match(alert: &Alert, event: &Value, labels: Option<&Metadata<Text>>) -> bool {
    let object = involved_object(&event["involvedObject"]);
    let severity = text(&event["severity"]);
    let message = text(&event["message"]);
    let event = Event {
        object: &object,
        severity: &severity,
        message: Known::Value(&message),
        labels: Known::Value(labels),
    };
    let answer = alerts::matches(alert, &event);
    assert!(!answer.reason.is_empty(), "every answer has its reason");
    answer.matched.value().expect("everything is given")
}

#[test]
fn recorded_pipeline() {
    let file = recordings::json("combine-metadata.json");
    assert_eq!(list(&file["cases"]).len(), 352);
    for case in list(&file["cases"]) {
        let name = text(&case["name"]);
        let object = InvolvedObject {
            namespace: "ns".into(),
            name: "obj".into(),
            ..involved_object(&case["involvedObject"])
        };
        assert_eq!(object.group(), text(&case["group"]), "{name}");
        let posted =
            notify::posted(&strings(&case["controller_metadata"]), &strings(&case["object_annotations"]));
        assert_eq!(posted, strings(&case["posted_metadata"]), "{name}: posted");
        let mut metadata = notify::clean_up(object.group(), &posted);
        assert_eq!(metadata, strings(&case["after_cleanup"]), "{name}: cleaned up");
        assert_eq!(
            notify::rate_limit_key(&object, "msg", &metadata),
            text(&case["rate_limit_key_sha256"]),
            "{name}: rate limit key"
        );
        notify::exclude_internal(object.group(), &mut metadata);
        assert_eq!(metadata, strings(&case["after_exclude"]), "{name}: without internal keys");

        let summary = Some(text(&case["alert_summary"])).filter(|text| !text.is_empty());
        let alert_metadata = strings(&case["alert_eventMetadata"]);
        let combined = combine::combine(object.group(), &metadata, &alert_metadata, summary.as_ref());
        assert_eq!(combined.metadata(), strings(&case["result_metadata"]), "{name}: combined");
        let conflicts = combined.conflicts();
        let as_json = |with: &[combine::Conflict]| -> Value {
            let all = with.iter().map(|conflict| {
                let sources: Vec<&str> = conflict.sources.iter().map(|s| s.label()).collect();
                json!({"key": conflict.key, "sources": sources})
            });
            all.collect()
        };
        assert_eq!(as_json(&conflicts), case["conflicts"], "{name}: conflicts");
        let report = combine::report(&conflicts);
        let mut logs = Vec::new();
        if summary.is_some() {
            logs.push(json!({"msg": SUMMARY_DEPRECATION_LOG}));
        }
        if let Some(report) = &report {
            logs.push(json!({"msg": report.log, "conflictingKeys": as_json(&conflicts)}));
        }
        assert_eq!(json!(logs), json!(list(&case["logs"])), "{name}: logs");
        match (&report, case["k8s_event"].is_object()) {
            (Some(_), true) => {
                let event = &case["k8s_event"];
                assert_eq!(event["reason"], json!(CONFLICT_REASON), "{name}");
                assert_eq!(event["message"], json!(combine::CONFLICT_MESSAGE), "{name}");
            }
            (None, false) => {}
            _ => panic!("{name}: event on the Alert"),
        }
    }
}

#[test]
fn combination() {
    let file = recordings::json("flux-events.json");
    let constants = &file["constants"];
    assert_eq!(constants["eventGroupPrefix"], json!(notify::EVENT_PREFIX));
    let order = [
        MetadataSource::ObjectAnnotations,
        MetadataSource::AlertEventMetadata,
        MetadataSource::AlertSummary,
        MetadataSource::ControllerMetadata,
    ];
    assert_eq!(constants["precedenceLowToHigh"], json!(order.map(MetadataSource::label)));
    assert_eq!(constants["conflictMessage"], json!(combine::CONFLICT_MESSAGE));
    assert_eq!(constants["conflictLogPrefix"], json!(combine::LOG_PREFIX));
    let written = list(&file["combineEventMetadata"]).iter();
    for case in written.chain(list(&file["combineEventMetadata_derived"])) {
        let id = text(&case["id"]);
        let (input, expect) = (&case["input"], &case["expect"]);
        let object = involved_object(&input["involvedObject"]);
        let mut posted = strings(&input["eventMetadata"]);
        posted.extend(strings(&input["rawEventMetadata"]));
        let mut metadata = notify::clean_up(object.group(), &posted);
        if expect["afterCleanup"].is_object() {
            assert_eq!(metadata, strings(&expect["afterCleanup"]), "{id}");
        }
        notify::exclude_internal(object.group(), &mut metadata);
        let spec = &input["alert"]["spec"];
        let summary = Some(text(&spec["summary"])).filter(|text| !text.is_empty());
        let alert_metadata = strings(&spec["eventMetadata"]);
        let combined = combine::combine(object.group(), &metadata, &alert_metadata, summary.as_ref());
        assert_eq!(combined.metadata(), strings(&expect["metadata"]), "{id}");
        let conflicts = combined.conflicts();
        let by_key: BTreeMap<String, Vec<&str>> = conflicts
            .iter()
            .map(|c| (c.key.clone(), c.sources.iter().map(|s| s.label()).collect()))
            .collect();
        assert_eq!(json!(by_key), expect["conflicts"], "{id}");
        let report = combine::report(&conflicts);
        if let Some(annotations) = expect["k8sEvent"]["annotations"].as_object() {
            let report = report.as_ref().expect(&id);
            assert_eq!(json!(report.annotations), json!(annotations), "{id}");
            assert_eq!(report.log, format!("{}{}", combine::LOG_PREFIX, combine::CONFLICT_MESSAGE));
        } else {
            assert_eq!(report, None, "{id}");
        }
        if let Some(logged) = expect["summaryDeprecationLog"].as_bool() {
            assert_eq!(summary.is_some(), logged, "{id}");
        }
    }
}

#[test]
fn matching_alerts() {
    let file = recordings::json("flux-events.json");
    for case in list(&file["filterAlerts"]) {
        let input = &case["input"];
        let namespace = text(&input["alertNamespace"]);
        let matching: Vec<String> = list(&input["alerts"])
            .iter()
            .map(|item| alert(&text(&item["name"]), &namespace, &item["spec"]))
            .filter(|alert| is_match(alert, &input["event"], None))
            .map(|alert| alert.name)
            .collect();
        assert_eq!(json!(matching), case["expect"]["matchingAlerts"], "{}", case["id"]);
    }
    for case in list(&file["matchAlertSource"]) {
        let input = &case["input"];
        let mut alert = alert(
            &text(&input["alert"]["name"]),
            &text(&input["alert"]["namespace"]),
            &input["alert"]["spec"],
        );
        alert.sources = vec![source(&input["source"])];
        let object = &input["clusterObject"];
        let labels = (object["exists"] == json!(true)).then(|| texts(&object["labels"]));
        assert_eq!(
            json!(is_match(&alert, &input["event"], labels.as_ref())),
            case["expect"]["match"],
            "{}",
            case["id"]
        );
    }
    for case in list(&file["eventServerEndToEnd"]) {
        let input = &case["input"];
        let alert = alert(
            &text(&input["alert"]["name"]),
            &text(&input["alert"]["namespace"]),
            &input["alert"]["spec"],
        );
        let object = &input["event"]["involvedObject"];
        let labels = list(&input["clusterObjects"])
            .iter()
            .find(|item| ["kind", "namespace", "name"].iter().all(|key| item[*key] == object[*key]))
            .map(|item| texts(&item["labels"]));
        let blocked = input["noCrossNamespaceRefs"] == json!(true)
            && object["namespace"] != input["alert"]["namespace"];
        let forwarded = is_match(&alert, &input["event"], labels.as_ref()) && !blocked;
        assert_eq!(json!(forwarded), case["expect"]["forwarded"], "{}", case["id"]);
    }
}

/// The events of the dispatch cases are about this object.
fn kustomization(namespace: &str) -> InvolvedObject {
    InvolvedObject {
        api_version: "kustomize.toolkit.fluxcd.io/v1".into(),
        kind: "Kustomization".into(),
        namespace: namespace.into(),
        name: "foo".into(),
    }
}

const CONTROLLER: Controller = Controller {
    no_cross_namespace_refs: false,
    commit_status: CommitStatusGate::NEWEST,
    object_level_workload_identity: Known::Value(false),
};

#[test]
fn dispatching() {
    let file = recordings::json("flux-events.json");
    for case in list(&file["dispatch"]) {
        let (input, expect) = (&case["input"], &case["expect"]);
        let namespace = text(&input["alertNamespace"]);
        let provider = Provider {
            name: "provider-foo".into(),
            kind: text(&input["provider"]["type"]).into(),
            suspend: Known::Value(input["provider"]["suspend"] == json!(true)),
            commit_status_expr: None,
            service_account: false,
            refusal: None,
        };
        let found = input["provider"]["namespace"] == input["alertNamespace"];
        let delivery = deliver(
            &Dispatch {
                object: &kustomization(&namespace),
                severity: "",
                alert: (&namespace, "alert-foo"),
                provider_name: "provider-foo",
                provider: Known::Value(found.then_some(&provider)),
                metadata: &Metadata::new(),
                combined: &Metadata::new(),
                complete: true,
                variables: &BTreeMap::new(),
            },
            &CONTROLLER,
        );
        let failed = matches!(delivery, Delivery::Failed(_));
        assert_eq!(json!(failed), expect["error"], "{}: {delivery:?}", case["id"]);
        let sent = expect["sent"].as_bool().unwrap_or(expect["error"] == json!(false));
        assert_eq!(delivery == Delivery::Delivered, sent, "{}", case["id"]);
    }
    for case in list(&file["notificationParams"]) {
        let (input, expect) = (&case["input"], &case["expect"]);
        let namespace = text(&input["alertNamespace"]);
        let object = kustomization(&text(&input["eventNamespace"]));
        let provider = Provider {
            name: "provider-foo".into(),
            kind: text(&input["providerType"]).into(),
            suspend: Known::Value(input["providerSuspended"] == json!(true)),
            commit_status_expr: None,
            service_account: input["providerServiceAccount"].is_string(),
            refusal: None,
        };
        let found = input["providerNamespace"] == input["alertNamespace"];
        let mut metadata = notify::clean_up(object.group(), &texts(&input["eventMetadata"]));
        notify::exclude_internal(object.group(), &mut metadata);
        let summary = input["alertSummary"].as_str().map(Text::from);
        let combined = combine::combine(
            object.group(),
            &metadata,
            &texts(&input["alertEventMetadata"]),
            summary.as_ref(),
        )
        .metadata();
        let delivery = deliver(
            &Dispatch {
                object: &object,
                severity: &text(&input["severity"]),
                alert: (&namespace, "alert-foo"),
                provider_name: "provider-foo",
                provider: Known::Value(found.then_some(&provider)),
                metadata: &metadata,
                combined: &combined,
                complete: true,
                variables: &BTreeMap::new(),
            },
            &CONTROLLER,
        );
        let id = text(&case["id"]);
        assert_eq!(json!(delivery == Delivery::Delivered), expect["dispatched"], "{id}");
        let dropped = delivery == Delivery::Dropped(providers::ProviderGate::MissingCommit.reason().into());
        assert_eq!(json!(dropped), expect["droppedForMissingCommit"], "{id}");
        for (key, value) in texts(&input["expectMetadata"]) {
            assert_eq!(combined.get(&key), Some(&value), "{id}: {key}");
        }
    }
}

#[test]
fn clean_up_and_rate_limit() {
    let file = recordings::json("flux-events.json");
    for case in list(&file["cleanupMetadata"]) {
        let object = involved_object(&case["input"]["involvedObject"]);
        let cleaned = notify::clean_up(object.group(), &strings(&case["input"]["metadata"]));
        assert_eq!(json!(cleaned), case["expect"]["metadata"], "{}", case["id"]);
    }
    for case in list(&file["excludeInternalMetadata"]) {
        let object = involved_object(&case["input"]["involvedObject"]);
        let mut metadata = strings(&case["input"]["metadata"]);
        notify::exclude_internal(object.group(), &mut metadata);
        assert_eq!(metadata, strings(&case["expect"]["metadata"]), "{}", case["id"]);
    }
    let mut seen = std::collections::BTreeSet::new();
    for case in list(&file["rateLimitKey"]["cases"]) {
        let object = involved_object(&case["input"]["involvedObject"]);
        let metadata = notify::clean_up(object.group(), &strings(&case["input"]["metadata"]));
        let key = notify::rate_limit_key(&object, &text(&case["input"]["message"]), &metadata);
        let limited = !seen.insert(key);
        assert_eq!(json!(limited), case["expect"]["rateLimited"], "{}", case["id"]);
    }
}

#[test]
fn commit_statuses() {
    let file = recordings::json("flux-events.json");
    for case in list(&file["commitStatus"]) {
        let (input, expect) = (&case["input"], &case["expect"]);
        let object = involved_object(&input["event"]["involvedObject"]);
        let uid = text(&input["provider"]["uid"]);
        let metadata = strings(&input["event"]["metadata"]);
        let named = |name: &str, uid: &str| {
            let metadata = Cel::map([("name", Cel::text(name)), ("uid", Cel::text(uid))]);
            Cel::map([("metadata", metadata)])
        };
        let involved = Cel::map([("kind", Cel::text(&object.kind)), ("name", Cel::text(&object.name))]);
        let metadata =
            Cel::Map(metadata.iter().map(|(key, value)| (key.clone(), Cel::text(value))).collect());
        let variables = BTreeMap::from([
            ("event".to_owned(), Cel::map([("involvedObject", involved), ("metadata", metadata)])),
            ("alert".to_owned(), named(&text(&input["alertName"]), "")),
            ("provider".to_owned(), named("provider", &uid)),
        ]);
        let status = match input["provider"]["commitStatusExpr"].as_str() {
            _ if !sets_commit_status(&text(&input["provider"]["type"])) => Ok(String::new()),
            Some(expression) => {
                commit_status::evaluate(expression, &variables).value().expect("within the subset")
            }
            None => Ok(commit_status::default_commit_status(&object, &uid)),
        };
        assert_eq!(json!(status.is_err()), expect["error"], "{}: {status:?}", case["id"]);
        assert_eq!(json!(status.unwrap_or_default()), expect["commitStatus"], "{}", case["id"]);
    }
}
