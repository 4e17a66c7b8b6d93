//! A chart as `helm template` renders it, as far as templates see it: the objects that
//! they get, in Helm's order, with Helm's words for what fails.

use forebay::internals::lang::template::{
    Data, Engine, EngineRun, Libraries, SharedBytes, Val, document, helm, with_stack,
};
use forebay::internals::lang::yaml::{Dialect, NodeKind, NodeRef, Scalar};
use std::collections::BTreeMap;

/// A chart with its values, as a recorded case gives it.
#[derive(Clone, Default)]
pub(crate) struct Chart {
    /// By their path below `templates/`.
    pub(crate) templates: BTreeMap<String, String>,
    pub(crate) values: String,
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) chart: Option<String>,
    pub(crate) args: Vec<String>,
    /// The line of Helm whose functions, and whose words for what fails, are asked for.
    pub(crate) libraries: Libraries,
}

const CHART: &str = "apiVersion: v2\nname: t\nversion: 0.1.0\n";

/// What Helm 4.1.4 says of the cluster where none is asked.
const API_VERSIONS: &str = include_str!("api_versions.txt");

/// A value on its way: what `--set` changes.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Tree>),
    Map(BTreeMap<String, Tree>),
}

impl Tree {
    pub(crate) fn of(node: NodeRef<'_>) -> Tree {
        match node.kind() {
            NodeKind::Map => Tree::Map(
                node.entries().map(|entry| (entry.key.into_owned(), Tree::of(entry.value))).collect(),
            ),
            NodeKind::Seq => Tree::List(node.items().map(Tree::of).collect()),
            _ => match node.scalar(Dialect::GoYamlV2) {
                Scalar::Null => Tree::Null,
                Scalar::Bool(value) => Tree::Bool(value),
                Scalar::Int(value) => Tree::Float(value as f64),
                Scalar::Uint(value) => Tree::Float(value as f64),
                Scalar::Float(value) => Tree::Float(value),
                Scalar::Timestamp(text) | Scalar::Str(text) => Tree::Text(text.into_owned()),
            },
        }
    }

    fn val(&self, data: &mut Data<'_>) -> Val {
        match self {
            Tree::Null => data.nil(None),
            Tree::Bool(value) => data.bool(*value, None),
            Tree::Int(value) => data.int64(*value, None),
            Tree::Float(value) => data.float(*value, None),
            Tree::Text(text) => data.text(text, None),
            Tree::List(items) => {
                let items = items.iter().map(|item| item.val(data)).collect();
                data.list(items, None)
            }
            Tree::Map(entries) => {
                let entries = entries.iter().map(|(key, item)| (key.clone(), item.val(data))).collect();
                data.map(entries, None)
            }
        }
    }

    fn at<'t>(&'t mut self, path: &[Step]) -> &'t mut Tree {
        let Some((first, rest)) = path.split_first() else {
            return self;
        };
        let next = match first {
            Step::Key(key) => {
                if !matches!(self, Tree::Map(_)) {
                    *self = Tree::Map(BTreeMap::new());
                }
                let Tree::Map(entries) = self else { unreachable!() };
                entries.entry(key.clone()).or_insert(Tree::Null)
            }
            Step::Index(index) => {
                if !matches!(self, Tree::List(_)) {
                    *self = Tree::List(Vec::new());
                }
                let Tree::List(items) = self else { unreachable!() };
                while items.len() <= *index {
                    items.push(Tree::Null);
                }
                &mut items[*index]
            }
        };
        next.at(rest)
    }
}

enum Step {
    Key(String),
    Index(usize),
}

/// The path of `--set`: `a.b[0]`.
fn path(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in text.split('.') {
        let (name, index) = part.split_once('[').unwrap_or((part, ""));
        steps.push(Step::Key(name.to_owned()));
        if let Ok(index) = index.trim_end_matches(']').parse() {
            steps.push(Step::Index(index));
        }
    }
    steps
}

/// A value of `--set` by Helm's rules.
fn typed(text: &str) -> Tree {
    match text {
        "true" => return Tree::Bool(true),
        "false" => return Tree::Bool(false),
        "null" => return Tree::Null,
        "0" => return Tree::Int(0),
        _ => {}
    }
    if let Some(items) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
        return Tree::List(items.split(',').map(typed).collect());
    }
    match text.parse() {
        Ok(number) if !text.starts_with('0') => Tree::Int(number),
        _ => Tree::Text(text.to_owned()),
    }
}

/// Pairs of `--set`, split at commas outside of braces.
fn pairs(text: &str) -> Vec<(String, String)> {
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("one").push(c);
    }
    parts.iter().filter_map(|part| part.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
}

const NOT_A_MAP: &str = "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal KIND into Go value of type map[string]interface {}";

/// The values of a chart: the file of the chart, then that of the release, then flags.
fn values(chart: &Chart) -> Result<Tree, String> {
    let mut all = Tree::Map(BTreeMap::new());
    let wrap = |error: String| format!("failed to parse VALUES: cannot unmarshal yaml document: {error}");
    for text in [chart.files.get("values.yaml"), Some(&chart.values)].into_iter().flatten() {
        for part in documents(text) {
            let Some(node) = document(&part).map_err(wrap)? else { continue };
            let found = match Tree::of(node.get_ref()) {
                Tree::Null => continue,
                found @ Tree::Map(_) => found,
                Tree::List(_) => return Err(wrap(NOT_A_MAP.replace("KIND", "array"))),
                Tree::Text(_) => return Err(wrap(NOT_A_MAP.replace("KIND", "string"))),
                Tree::Bool(_) => return Err(wrap(NOT_A_MAP.replace("KIND", "bool"))),
                Tree::Int(_) | Tree::Float(_) => return Err(wrap(NOT_A_MAP.replace("KIND", "number"))),
            };
            merge(&mut all, found);
        }
    }
    let mut args = chart.args.iter();
    while let Some(flag) = args.next() {
        let Some(value) = args.next() else { break };
        match &**flag {
            "--set" => {
                for (key, value) in pairs(value) {
                    *all.at(&path(&key)) = typed(&value);
                }
            }
            "--set-string" => {
                for (key, value) in pairs(value) {
                    *all.at(&path(&key)) = Tree::Text(value);
                }
            }
            "--set-json" => {
                for (key, value) in pairs(value) {
                    let node = document(&value)?.ok_or("no value")?;
                    *all.at(&path(&key)) = Tree::of(node.get_ref());
                }
            }
            _ => {}
        }
    }
    Ok(all)
}

/// Values files may have several documents.
fn documents(text: &str) -> Vec<String> {
    forebay::internals::lang::yaml::go_compat::apimachinery_documents(text)
        .unwrap_or_else(|_| vec![text.to_owned()])
}

fn merge(into: &mut Tree, from: Tree) {
    match (into, from) {
        (Tree::Map(into), Tree::Map(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Tree::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// Names of Chart.yaml and of Go's struct, with what is there by default.
const FIELDS: [(&str, &str, char); 17] = [
    ("apiVersion", "APIVersion", 's'),
    ("annotations", "Annotations", 'm'),
    ("appVersion", "AppVersion", 's'),
    ("condition", "Condition", 's'),
    ("dependencies", "Dependencies", 'l'),
    ("deprecated", "Deprecated", 'b'),
    ("description", "Description", 's'),
    ("home", "Home", 's'),
    ("icon", "Icon", 's'),
    ("keywords", "Keywords", 'l'),
    ("kubeVersion", "KubeVersion", 's'),
    ("maintainers", "Maintainers", 'l'),
    ("name", "Name", 's'),
    ("sources", "Sources", 'l'),
    ("tags", "Tags", 's'),
    ("type", "Type", 's'),
    ("version", "Version", 's'),
];

/// A scalar of Chart.yaml in a field that is a text: JSON's text of it.
fn as_text(tree: &Tree) -> Tree {
    match tree {
        Tree::Bool(value) => Tree::Text(value.to_string()),
        Tree::Float(value) => Tree::Text(value.to_string()),
        other => other.clone(),
    }
}

fn metadata(chart: &Chart) -> Tree {
    let text = chart.chart.as_deref().unwrap_or(CHART);
    let node = document(text).expect("a Chart.yaml").expect("one that says something");
    let Tree::Map(given) = Tree::of(node.get_ref()) else { panic!("Chart.yaml is a map") };
    let mut out = BTreeMap::new();
    for (key, name, kind) in FIELDS {
        let value = match (given.get(key), kind) {
            (Some(Tree::List(items)), 'l') if name == "Maintainers" => Tree::List(
                items
                    .iter()
                    .map(|item| {
                        let Tree::Map(item) = item else { panic!("a maintainer is a map") };
                        let mut entry = BTreeMap::new();
                        for (key, name) in [("name", "Name"), ("email", "Email"), ("url", "URL")] {
                            let value = item
                                .get(key)
                                .or_else(|| (key == "name").then(|| item.get("false")).flatten());
                            entry.insert(name.to_owned(), value.map_or(Tree::Text(String::new()), as_text));
                        }
                        Tree::Map(entry)
                    })
                    .collect(),
            ),
            (Some(value), 's') => as_text(value),
            (Some(value), _) => value.clone(),
            (None, 's') => Tree::Text(String::new()),
            (None, 'b') => Tree::Bool(false),
            (None, 'm') => Tree::Null,
            (None, _) => Tree::List(Vec::new()),
        };
        out.insert(name.to_owned(), value);
    }
    out.insert("IsRoot".to_owned(), Tree::Bool(true));
    Tree::Map(out)
}

/// The version of `--kube-version`: as written, without its suffix, major, minor.
fn kube_version(text: &str) -> Result<[String; 4], String> {
    let bad = || format!("invalid kube version '{text}': could not parse \"{text}\" as version");
    let bare = text.trim_start_matches('v');
    let numbers: Vec<&str> = bare.split(['-', '+']).next().unwrap_or_default().split('.').collect();
    if numbers.iter().any(|number| number.parse::<u32>().is_err()) {
        return Err(bad());
    }
    let minor = numbers.get(1).copied().unwrap_or("0");
    // What a distribution adds is no part of what is compared; build metadata is.
    let plain = bare.split('-').next().unwrap_or_default();
    Ok([format!("v{bare}"), format!("v{plain}"), numbers[0].to_owned(), minor.to_owned()])
}

fn flag<'c>(chart: &'c Chart, names: &[&str]) -> Option<&'c str> {
    let at = chart.args.iter().position(|arg| names.contains(&&**arg))?;
    chart.args.get(at + 1).map(String::as_str)
}

fn capabilities(chart: &Chart, data: &mut Data<'_>) -> Result<Val, String> {
    let [version, plain, major, minor] = kube_version(flag(chart, &["--kube-version"]).unwrap_or("1.35.0"))?;
    let text = |data: &mut Data<'_>, text: &str| data.text(text, None);
    let fields = vec![
        ("Version".to_owned(), text(data, &version)),
        ("normalizedVersion".to_owned(), text(data, &plain)),
        ("Major".to_owned(), text(data, &major)),
        ("Minor".to_owned(), text(data, &minor)),
    ];
    let methods =
        vec![("String".to_owned(), text(data, &plain)), ("GitVersion".to_owned(), text(data, &plain))];
    let kube = data.structure("common.KubeVersion", fields, methods, Some(&plain));
    let mut versions: Vec<String> = API_VERSIONS.split_whitespace().map(str::to_owned).collect();
    versions.extend(
        flag(chart, &["-a", "--api-versions"])
            .into_iter()
            .flat_map(|more| more.split(','))
            .map(str::to_owned),
    );
    let versions = data.version_set(versions.into(), [None, None]);
    let build = [
        ("Version", "v4.1.4"),
        ("GitCommit", "05fa37973dc9e42b76e1d2883494c87174b6074f"),
        ("GitTreeState", "clean"),
        ("GoVersion", "go1.25.9"),
        ("KubeClientVersion", "v1.35"),
    ];
    let build = build.iter().map(|(name, value)| ((*name).to_owned(), text(data, value))).collect();
    let build = data.structure("version.BuildInfo", build, Vec::new(), None);
    let fields = vec![
        ("KubeVersion".to_owned(), kube),
        ("APIVersions".to_owned(), versions),
        ("HelmVersion".to_owned(), build),
    ];
    Ok(data.structure("*common.Capabilities", fields, Vec::new(), None))
}

/// The objects that all templates of a chart share.
fn top(chart: &Chart, data: &mut Data<'_>) -> Result<Vec<(String, Val)>, String> {
    let values = values(chart)?.val(data);
    let values = data.values(&values);
    let upgrade = chart.args.iter().any(|arg| arg == "--is-upgrade");
    let release = vec![
        ("IsInstall".to_owned(), data.bool(!upgrade, None)),
        ("IsUpgrade".to_owned(), data.bool(upgrade, None)),
        ("Name".to_owned(), data.text("r", None)),
        ("Namespace".to_owned(), data.text("ns", None)),
        ("Revision".to_owned(), data.int(1, None)),
        ("Service".to_owned(), data.text("Helm", None)),
    ];
    let release = data.map(release, None);
    let files = chart.files.iter().filter(|(name, _)| *name != "values.yaml" && *name != "Chart.yaml");
    let named = |(name, text): (&String, &String)| {
        let text = SharedBytes::Text(text.as_str().into());
        (name.as_str().into(), move || text)
    };
    let files: Vec<_> = files.map(named).collect();
    Ok(vec![
        ("Capabilities".to_owned(), capabilities(chart, data)?),
        ("Chart".to_owned(), metadata(chart).val(data)),
        ("Files".to_owned(), data.files(move || files)),
        ("Release".to_owned(), release),
        ("Subcharts".to_owned(), data.map(Vec::new(), None)),
        ("Values".to_owned(), values),
    ])
}

/// What Helm renders: each file's text by its name, or Helm's error.
pub(crate) fn render(chart: &Chart, origins: bool) -> Result<Vec<(String, Vec<u8>)>, String> {
    with_stack(|| rendered(chart, origins)).expect("a thread with a deep stack")
}

fn rendered(chart: &Chart, origins: bool) -> Result<Vec<(String, Vec<u8>)>, String> {
    let libraries = chart.libraries;
    let mut engine = Engine::new(&EngineRun { origins, libraries, ..EngineRun::default() });
    let top = top(chart, &mut engine.data())?;
    let mut names: Vec<String> = chart.templates.keys().map(|name| format!("t/templates/{name}")).collect();
    helm::sort(&mut names, |name| name);
    for name in &names {
        let text = &chart.templates[name.trim_start_matches("t/templates/")];
        if let Some(error) = engine.add(name, text).first() {
            return Err(helm::parse_error(name, error));
        }
    }
    let mut out = Vec::new();
    for name in names {
        if name.rsplit('/').next().is_some_and(|base| base.starts_with('_')) {
            continue;
        }
        let mut data = engine.data();
        let own = vec![
            ("BasePath".to_owned(), data.text("t/templates", None)),
            ("Name".to_owned(), data.text(&name, None)),
        ];
        let own = data.map(own, None);
        let own = data.values(&own);
        let mut entries = top.clone();
        entries.push(("Template".to_owned(), own));
        let dot = data.map(entries, None);
        let dot = data.values(&dot);
        let told = match libraries {
            Libraries::Helm3_17 => helm::execution_error_in_a_line,
            Libraries::Helm4_1 | Libraries::Helm4_2 => helm::execution_error,
        };
        let output = engine.run(&name, &dot).map_err(|failure| told(&name, &failure))?;
        let output = engine.without_no_value(&output);
        out.push((name, output.bytes().to_vec()));
    }
    Ok(out)
}
