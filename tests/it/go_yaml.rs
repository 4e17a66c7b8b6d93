//! Scalars and documents against what go-yaml v2 (sigs.k8s.io/yaml), go-yaml v3
//! (kyaml), `kustomize build` and the document readers were recorded to answer.

use crate::support::recordings;
use forebay::internals::lang::yaml::go_compat::{
    DocumentReader, apimachinery_documents, decode, kustomize_documents,
};
use forebay::internals::lang::yaml::resolve::{format_float, timestamp_rfc3339};
use forebay::internals::lang::yaml::{Dialect, Node, NodeKind, NodeRef, Scalar, Stream, Value, parse_nodes};
use serde_json::Value as Json;

fn json(node: NodeRef<'_>) -> Json {
    match node.kind() {
        NodeKind::Map => node.entries().map(|entry| (entry.key.into_owned(), json(entry.value))).collect(),
        NodeKind::Seq => node.items().map(json).collect(),
        _ => match node.scalar(Dialect::GoYamlV3) {
            Scalar::Null => Json::Null,
            Scalar::Bool(value) => value.into(),
            Scalar::Int(value) => value.into(),
            Scalar::Uint(value) => value.into(),
            Scalar::Float(value) => serde_json::from_str(&format_float(value)).unwrap(),
            Scalar::Timestamp(text) | Scalar::Str(text) => text.into(),
        },
    }
}

/// What a reader makes of the first document of a text; `None` where the text
/// or the document is refused. A text without documents is null.
fn first(text: &str, reader: DocumentReader) -> Option<Node> {
    let stream = Stream::parse(text);
    if stream.errors.iter().any(|error| error.document == 0) {
        return None;
    }
    match parse_nodes("case.yaml", text).first() {
        Some(Node::Source(source, _)) => decode(source, reader).ok(),
        _ => Some(Node::scalar(Value::Null, None)),
    }
}

fn first_json(text: &str, reader: DocumentReader) -> Option<Json> {
    first(text, reader).map(|node| json(node.get_ref()))
}

/// A recorded answer: JSON, or `None` for an error.
fn answer(recorded: &Json) -> Option<Json> {
    recorded["json"].as_str().map(|text| serde_json::from_str(text).unwrap())
}

/// Scalars whose build differs from the value that go-yaml v3 decodes, by name
/// of the text, and why.
const BUILD_EXCEPTIONS: &[(&str, &str)] = &[
    ("-0.0", "printed as JSON -0, which is the integer 0 when read again"),
    ("-0.", "printed as JSON -0, which is the integer 0 when read again"),
    ("\"\\N\\_\\L\\P\"", "kyaml prints NEL raw, which is a line break when read again"),
    ("&a", "kyaml prints an anchored null as '', a string"),
    ("!!set {a, b}", "kyaml prints the nulls of a set as ''"),
];

fn build_exception(text: &str) -> bool {
    BUILD_EXCEPTIONS.iter().any(|(known, _)| *known == text)
}

/// Collects disagreements, so that one run shows them all.
#[derive(Default)]
struct Disagreements(Vec<String>);

impl Disagreements {
    fn check<T: PartialEq + std::fmt::Debug>(&mut self, what: impl std::fmt::Display, ours: T, go: T) {
        if ours != go {
            self.0.push(format!("{what}\n    ours {ours:?}\n    go   {go:?}"));
        }
    }

    fn assert_none(self) {
        assert!(self.0.is_empty(), "{} disagreements:\n{}", self.0.len(), self.0.join("\n"));
    }
}

/// The tag that go-yaml v3 gives a scalar.
fn tag(scalar: &Scalar<'_>) -> &'static str {
    match scalar {
        Scalar::Null => "!!null",
        Scalar::Bool(_) => "!!bool",
        Scalar::Int(_) | Scalar::Uint(_) => "!!int",
        Scalar::Float(_) => "!!float",
        Scalar::Timestamp(_) => "!!timestamp",
        Scalar::Str(_) => "!!str",
    }
}

/// A decoded value as `fmt.Sprint` of Go shows it.
fn shown(scalar: &Scalar<'_>, decoded: &Json) -> String {
    match scalar {
        Scalar::Timestamp(text) => timestamp_rfc3339(text).unwrap(),
        Scalar::Float(value) => {
            // Go's %v and ours differ in exponents only: compare the numbers.
            let go: f64 = decoded["value"].as_str().unwrap().to_lowercase().parse().unwrap();
            if go.to_bits() == value.to_bits() || (go.is_nan() && value.is_nan()) {
                return decoded["value"].as_str().unwrap().to_owned();
            }
            value.to_string()
        }
        Scalar::Null => "null".to_owned(),
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::Uint(value) => value.to_string(),
        Scalar::Str(text) => text.to_string(),
    }
}

#[test]
fn scalars_as_values_agree_with_go() {
    let recorded = recordings::json("go-yaml-resolution.json");
    let mut disagreements = Disagreements::default();
    for case in recorded["cases"].as_array().unwrap() {
        let text = case["value_doc"].as_str().unwrap();
        let go = &case["as_value"];
        disagreements.check(
            format_args!("v2 {text:?}"),
            first_json(text, DocumentReader::V2),
            answer(&go["v2"]),
        );

        let v3 = &go["v3"];
        let nodes = parse_nodes("case.yaml", text);
        let value = nodes.first().and_then(|node| node.get_ref().get("k"));
        let refused = first(text, DocumentReader::V3).is_none();
        if v3["decoded"].is_object() {
            let scalar = value.unwrap().scalar(Dialect::GoYamlV3);
            let foreign = v3["short_tag"].as_str().unwrap();
            if foreign.starts_with("!!") && !["!!foo", "!!merge", "!!binary"].contains(&foreign) {
                disagreements.check(format_args!("v3 tag of {text:?}"), tag(&scalar), foreign);
            }
            disagreements.check(
                format_args!("v3 value of {text:?}"),
                shown(&scalar, &v3["decoded"]),
                v3["decoded"]["value"].as_str().unwrap().to_owned(),
            );
        } else if v3["error"].is_string() || v3["decode_error"].is_string() {
            disagreements.check(format_args!("v3 refuses {text:?}"), refused, true);
        }

        let build = &go["kustomize_build_api_0.21.1"]["text"];
        let ours = first(text, DocumentReader::V3).and_then(|node| node.get_ref().get("k").map(json));
        match build.as_str() {
            Some(_) if build_exception(case["text"].as_str().unwrap()) => {}
            Some(build) => {
                let go = first_json(build, DocumentReader::V2).map(|object| object["k"].clone());
                disagreements.check(format_args!("build of {text:?}"), ours, go);
            }
            None if text.contains("{{") => {
                disagreements.check(format_args!("build of {text:?}"), refused, true);
            }
            None => disagreements.check(format_args!("build of {text:?}"), ours, None),
        }
    }
    disagreements.assert_none();
}

#[test]
fn scalars_as_keys_agree_with_go() {
    let recorded = recordings::json("go-yaml-resolution.json");
    let mut disagreements = Disagreements::default();
    for case in recorded["cases"].as_array().unwrap() {
        let text = case["key_doc"].as_str().unwrap();
        let go = &case["as_key"];
        // go-yaml v2 reads `[]: v` as the empty list alone and drops `: v`.
        if !["[]", "{}"].contains(&case["text"].as_str().unwrap()) {
            disagreements.check(
                format_args!("v2 {text:?}"),
                first_json(text, DocumentReader::V2),
                answer(&go["v2"]),
            );
        }
        if go["v3"]["error"].is_string() || go["v3"]["any_error"].is_string() {
            disagreements.check(
                format_args!("v3 refuses {text:?}"),
                first(text, DocumentReader::V3).is_none(),
                true,
            );
        }
        // Below the root a key that is no string makes the build fail.
        let indented: String = text.lines().map(|line| format!("  {line}\n")).collect();
        let nested = format!("spec:\n{indented}");
        let build = &go["kustomize_build_nested_in_spec"];
        let expected = build["text"].as_str().and_then(|text| first_json(text, DocumentReader::V2));
        let ours = first_json(&nested, DocumentReader::V3);
        let spec = |object: Option<Json>| object.map(|object| object["spec"].clone());
        if !build_exception(case["text"].as_str().unwrap()) {
            disagreements.check(format_args!("build of {nested:?}"), spec(ours), spec(expected));
        }
    }
    disagreements.assert_none();
}

/// The text of a recorded document; long ones are recorded as a recipe, of
/// which the name has the numbers.
fn document_text(case: &Json) -> Option<String> {
    if let Some(text) = case["doc"].as_str() {
        return Some(text.to_owned());
    }
    let name = case["name"].as_str().unwrap();
    let numbers: Vec<usize> =
        name.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
    let recipe = |prefix: &str| name.starts_with(prefix);
    Some(if recipe("billion laughs") {
        let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..numbers[0] {
            let aliases = vec![format!("*a{}", level - 1); numbers[1]].join(",");
            text.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        text
    } else if recipe("flat aliases") {
        let entries: String = (0..numbers[1]).map(|i| format!("k{i}: {i}, ")).collect();
        format!("a: &a {{{entries}}}\nl:\n{}", "- *a\n".repeat(numbers[0]))
    } else if recipe("flow depth") {
        "[".repeat(numbers[0]) + &"]".repeat(numbers[0])
    } else if recipe("block seq depth") {
        "- ".repeat(numbers[0]) + "x\n"
    } else if recipe("explicit key") {
        format!("? {}\n: v\n", "k".repeat(numbers[0]))
    } else if name.ends_with("quoted") {
        format!("\"{}\": v\n", "k".repeat(numbers[0]))
    } else if recipe("simple key") {
        format!("{}: v\n", "k".repeat(numbers[0]))
    } else {
        // No UTF-8: those are the business of the file reader.
        return None;
    })
}

/// Go reads 10,000 levels; forebay refuses more than 255, so that nothing that
/// walks a document can run out of stack.
fn too_deep_for_us(name: &str) -> bool {
    name.contains("depth") && !name.ends_with(" 100")
}

/// The documents whose whole text go-yaml reads otherwise than forebay, and why.
const STREAM_EXCEPTIONS: &[(&str, &str)] = &[
    // The readers of the API machinery and of kustomize cut the text at every
    // line that starts with `---` and a comment before go-yaml sees it; so do we.
    ("sep \"---# c\" between two objects", "split by the readers"),
    ("sep \"---#c\" between two objects", "split by the readers"),
    // Anchors outlive their document in Go's decoder. Through the readers, which
    // cut the text first, the alias is unknown, as it is to us.
    ("alias across docs", "split by the readers"),
    // After a `---` line the readers start a text of its own, whose byte order
    // mark is skipped. Go's decoder makes it a part of the key.
    ("BOM before second doc", "split by the readers"),
    ("BOM second object", "split by the readers"),
];

fn stream_exception(name: &str) -> bool {
    STREAM_EXCEPTIONS.iter().any(|(known, _)| *known == name)
}

#[test]
fn documents_agree_with_sigs_yaml() {
    let recorded = recordings::json("go-yaml-resolution.json");
    let mut disagreements = Disagreements::default();
    let mut compared = 0;
    for case in recorded["documents"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let Some(text) = document_text(case) else { continue };
        if too_deep_for_us(name) || stream_exception(name) {
            continue;
        }
        compared += 1;
        for (field, reader) in [("v2_lenient", DocumentReader::V2), ("v2_strict", DocumentReader::V2Strict)] {
            // Keys that Go's map holds apart are one in JSON; which stays is up to
            // the order of that map, which is random.
            if ["dup 1 vs 1.0", "dup !!str 1 vs 1", "dup 1e3 vs 1000", "dup int vs string"].contains(&name) {
                disagreements.check(
                    format_args!("{field} {name}"),
                    first(&text, reader).is_some(),
                    answer(&case[field]).is_some(),
                );
                continue;
            }
            let ours = first_json(&text, reader);
            let go = &case[field];
            match go["json_len"].as_u64() {
                Some(length) => {
                    let ours = ours.map(|json| json.to_string().len() as u64);
                    disagreements.check(format_args!("{field} {name}"), ours, Some(length));
                }
                None => disagreements.check(format_args!("{field} {name}"), ours, answer(go)),
            }
        }
    }
    assert!(compared > 450, "{compared} documents compared");
    disagreements.assert_none();
}

#[test]
fn documents_agree_with_go_yaml_v3() {
    let recorded = recordings::json("go-yaml-resolution.json");
    let mut disagreements = Disagreements::default();
    for case in recorded["documents"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let Some(text) = document_text(case) else { continue };
        if too_deep_for_us(name) || stream_exception(name) {
            continue;
        }
        let stream = Stream::parse(&text);
        let decoded: Vec<_> = parse_nodes("case.yaml", &text)
            .iter()
            .map(|node| match node {
                Node::Source(source, _) => decode(source, DocumentReader::V3),
                Node::Built(_) => unreachable!(),
            })
            .collect();
        let all = &case["v3_decoder_all_docs"];
        // What v3 decodes and JSON can't say (keys that are no strings, infinities)
        // is an error of ours: it fails every build.
        let json_fails =
            |text: &str| text.starts_with("map[") || text.starts_with("[") && text.contains("Inf");
        let refused = !stream.errors.is_empty() || decoded.iter().any(Result::is_err);
        if all["error"].is_string() {
            disagreements.check(format_args!("v3 refuses {name}"), refused, true);
        } else if let Some(docs) = all["docs"].as_array() {
            disagreements.check(format_args!("documents of {name}"), stream.documents.len(), docs.len());
            for (doc, ours) in docs.iter().zip(&decoded) {
                let doc = doc.as_str().unwrap();
                if json_fails(doc) {
                    continue;
                }
                let go: Json = serde_json::from_str(doc).unwrap();
                let ours = ours.as_ref().ok().map(|node| json(node.get_ref()));
                disagreements.check(format_args!("v3 {name}"), ours, Some(go));
            }
        } else {
            disagreements.check(format_args!("v3 accepts {name}"), refused, false);
        }
    }
    disagreements.assert_none();
}

#[test]
fn the_api_machinery_cuts_texts_as_recorded() {
    let recorded = recordings::json("go-yaml-resolution.json");
    let mut disagreements = Disagreements::default();
    for case in recorded["documents"].as_array().unwrap() {
        let go = &case["apimachinery_yamlreader"];
        let (Some(text), true) = (document_text(case), go.is_object()) else { continue };
        let ours = apimachinery_documents(&text).ok();
        let chunks = match go["error"].is_string() {
            true => None,
            false => Some(
                go["chunks"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|chunk| chunk.as_str().unwrap().to_owned())
                    .collect(),
            ),
        };
        disagreements.check(&case["name"], ours, chunks);
    }
    disagreements.assert_none();
}

/// Documents that kustomize is recorded to print otherwise than forebay reads
/// them, and why.
const NODE_EXCEPTIONS: &[(&str, &str)] = &[
    ("merge self", "read, and refused when JSON is made of it"),
    ("alias self seq", "read, and refused when JSON is made of it"),
    ("alias self map", "read, and refused when JSON is made of it"),
    ("EOF block >+ two newlines", "printed with a line break too many"),
    ("block >+ then key", "printed with a line break too many"),
    ("folded more indented", "printed with a line break too many"),
    ("flow no space colon", "null printed as ''"),
    ("flow implicit null", "null printed as ''"),
    ("sep \"... x\" between two objects", "v3 scans two tokens ahead and meets the error behind `...`"),
];

#[test]
fn kustomize_reads_the_documents_as_recorded() {
    let recorded = recordings::json("go-yaml-resolution.json");
    let mut disagreements = Disagreements::default();
    for case in recorded["documents"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let go = &case["kyaml_kio_ByteReader"];
        let (Some(text), true) = (document_text(case), go.is_object()) else { continue };
        if NODE_EXCEPTIONS.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let ours = kustomize_documents(&text).ok().and_then(|chunks| {
            let mut nodes = Vec::new();
            for chunk in chunks {
                if Stream::parse(&chunk).errors.iter().any(|error| error.document == 0) {
                    return None;
                }
                let Some(node) = parse_nodes("case.yaml", &chunk).into_iter().next() else { continue };
                let node = node.get_ref();
                if node.str_at("/kind").as_deref() == Some("List") {
                    nodes.extend(node.items_at("/items").map(|item| Some(json(item))));
                } else if !node.is_null() {
                    nodes.push(first_json(&chunk, DocumentReader::V2));
                }
            }
            Some(nodes)
        });
        let expected = (!go["error"].is_string()).then(|| {
            let nodes = go["nodes"].as_array().into_iter().flatten();
            nodes.map(|node| first_json(node.as_str().unwrap(), DocumentReader::V2)).collect::<Vec<_>>()
        });
        disagreements.check(name, ours, expected);
    }
    disagreements.assert_none();
}
