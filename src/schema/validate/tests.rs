use super::*;
use crate::lang::yaml::parse_nodes;
use crate::schema::WrittenSchema;
use crate::schema::tree::Dialect;

fn schema(text: &str) -> std::sync::Arc<WrittenSchema> {
    crd::written(parse_nodes("schema.yaml", text)[0].get_ref(), Dialect::Structural)
}

fn faults(schema: &Schema, text: &str, options: Options) -> Vec<String> {
    let nodes = parse_nodes("object.yaml", text);
    let report = validate(nodes[0].get_ref(), schema, options);
    let name = |violation: &Violation<'_, '_>| {
        let word = match &violation.fault {
            Fault::UnknownField { .. } => "unknown",
            Fault::Malformed { .. } => "malformed",
            Fault::MissingField { .. } => "missing",
            Fault::Duplicate { .. } => "duplicate",
            Fault::Rejected { .. } => "rejected",
        };
        format!("{word} {}", violation.pointer)
    };
    report.violations.iter().map(name).collect()
}

const SCHEMA: &str = "
type: object
properties:
  spec:
    type: object
    required: [name, kind]
    properties:
      name: {type: string, maxLength: 5}
      kind: {type: string, default: Widget, enum: [Widget, Gadget]}
      size: {x-kubernetes-int-or-string: true}
      count: {type: integer, minimum: 1, maximum: 3}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true}
      labels: {type: object, additionalProperties: {type: string}}
      template: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}
      ports:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [port, protocol]
        items:
          type: object
          properties: {port: {type: integer}, protocol: {type: string, default: TCP}}
      finalizers: {type: array, x-kubernetes-list-type: set, items: {type: string}}
      url: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}
    x-kubernetes-validations:
      - rule: '!has(self.count) || has(self.size)'
";

#[test]
fn objects_are_judged_as_the_api_server_does() {
    let written = schema(SCHEMA);
    let schema = written.schema();
    let head = "apiVersion: v1\nkind: Widget\nmetadata: {name: a}\n";
    for (spec, expected) in [
        ("spec: {name: a}", &[][..]),
        ("spec: {name: a, size: 1, count: 2, free: {x: 1}, labels: {a: b}}", &[]),
        ("spec: {name: a, size: 50%}\nstatus: {anything: 1}\nsops: {}", &[]),
        ("spec: {}", &["missing /spec/name"]),
        ("spec: {name: null}", &["missing /spec/name"]),
        ("spec: {nme: a}", &["unknown /spec/nme", "missing /spec/name"]),
        ("spec: {name: 1}", &["malformed /spec/name"]),
        ("spec:\n  name: ${NAME}", &[]),
        ("spec:\n  ${KEY}: 1", &[]),
        ("spec: {name: toolong}", &["malformed /spec/name"]),
        ("spec: {name: a, kind: Other}", &["malformed /spec/kind"]),
        ("spec: {name: a, size: true}", &["malformed /spec/size"]),
        ("spec: {name: a, size: 1, count: 4}", &["malformed /spec/count"]),
        ("spec: {name: a, size: 1, count: 0o2}", &[]),
        ("spec: {name: a, count: 2}", &["rejected /spec"]),
        ("spec: {name: a, labels: {a: 1}}", &["malformed /spec/labels/a"]),
        ("spec: {name: a, template: {apiVersion: v1, kind: X, metadata: {}, spec: {}}}", &[]),
        ("spec: {name: a, template: {apiVersion: v1, kind: X, data: {}}}", &["unknown /spec/template/data"]),
        (
            "spec: {name: a, template: {spec: {}}}",
            &["missing /spec/template/apiVersion", "missing /spec/template/kind"],
        ),
        (
            "spec: {name: a, template: {apiVersion: v1, kind: X, metadata: {lables: {}}}}",
            &["unknown /spec/template/metadata/lables"],
        ),
        ("spec: {name: a, template: null}", &[]),
        ("spec: {name: a, ports: [{port: 53}, {port: 53, protocol: UDP}]}", &[]),
        ("spec: {name: a, ports: [{port: 53}, {port: 53, protocol: TCP}]}", &["duplicate /spec/ports/1"]),
        ("spec: {name: a, finalizers: [x, y, x]}", &["duplicate /spec/finalizers/2"]),
        ("spec: {name: a}\nextra: 1", &["unknown /extra"]),
    ] {
        assert_eq!(faults(schema, &format!("{head}{spec}\n"), Options::default()), expected, "{spec}");
    }
    let labels =
        format!("{head}spec: {{name: a}}\n").replace("{name: a}\nspec", "{name: a, suspend: true}\nspec");
    assert_eq!(faults(schema, &labels, Options::default()), ["unknown /metadata/suspend"]);
    let patch = format!("{head}spec: {{count: 2, $patch: replace, nme: a}}\n");
    let partial = Options { partial: true, ..Options::default() };
    assert_eq!(faults(schema, &patch, partial), ["unknown /spec/nme"]);
}

#[test]
fn rules_about_changes_need_both_objects() {
    let written = schema(SCHEMA);
    let objects = parse_nodes(
        "object.yaml",
        "spec: {name: a, url: x}\n---\nspec: {name: a, url: y}\n---\nspec: {name: a, url: '${u}'}\n",
    );
    let update = |old: usize, new: usize| {
        let (old, new) = (objects[old].get_ref(), objects[new].get_ref());
        validate_update(old, new, written.schema(), Options::default()).violations.len()
    };
    assert_eq!((update(0, 0), update(0, 1), update(0, 2)), (0, 1, 0));
}
