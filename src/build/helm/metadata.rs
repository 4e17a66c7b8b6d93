//! Chart.yaml, as `Metadata` of Helm's `pkg/chart/v2` reads and checks it.

use super::error::{Refusal, RenderError, refuse};
use super::line::HelmLine;
use super::value::{Kind, Value};
use crate::lang::template::{Version, float};
use std::collections::BTreeMap;

/// What a chart says of itself.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    /// Its name, by which its values and paths go; of a dependency with an alias that.
    pub name: String,
    /// `home`
    pub home: String,
    /// `sources`
    pub sources: Vec<String>,
    /// Its version.
    pub version: String,
    /// `description`
    pub description: String,
    /// `keywords`
    pub keywords: Vec<String>,
    /// `maintainers`
    pub maintainers: Vec<Maintainer>,
    /// `icon`
    pub icon: String,
    /// `v1` where Chart.yaml says nothing.
    pub api_version: String,
    /// `condition`
    pub condition: String,
    /// `tags`
    pub tags: String,
    /// `appVersion`
    pub app_version: String,
    /// `deprecated`
    pub deprecated: bool,
    /// `annotations`; `None` where there are none.
    pub annotations: Option<BTreeMap<String, String>>,
    /// The versions of Kubernetes that it wants.
    pub kube_version: String,
    /// `dependencies`; `None` where there are none.
    pub dependencies: Option<Vec<Dependency>>,
    /// `application`, `library` or nothing.
    pub of_type: String,
}

/// Who maintains a chart.
#[derive(Clone, Debug, Default)]
pub struct Maintainer {
    /// `name`
    pub name: String,
    /// `email`
    pub email: String,
    /// `url`
    pub url: String,
}

/// A chart that another one wants.
#[derive(Clone, Debug, Default)]
pub struct Dependency {
    /// The name of the chart; once it is processed, its alias.
    pub name: String,
    /// The range of versions.
    pub version: String,
    /// `repository`
    pub repository: String,
    /// Paths into the values that switch it, separated by commas.
    pub condition: String,
    /// `tags`
    pub tags: Vec<String>,
    /// Whether it is rendered; what a file says of it is overwritten.
    pub enabled: bool,
    /// `import-values`
    pub import_values: Vec<Value>,
    /// `alias`
    pub alias: String,
}

/// What stands at a place of JSON that another type is wanted at.
struct JsonField<'v> {
    value: &'v Value,
    path: &'static str,
}

type ReadResult<T> = Result<T, String>;

impl JsonField<'_> {
    fn refuse<T>(&self, wanted: &str) -> ReadResult<T> {
        let found = self.value.json_type();
        Err(format!(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go struct field {} of type {wanted}",
            self.path
        ))
    }

    /// A string; of a number or a boolean its text.
    fn text(&self) -> ReadResult<Option<String>> {
        Ok(Some(match &self.value.kind {
            Kind::Null => return Ok(None),
            Kind::Text(text) => text.to_string(),
            Kind::Bool(value) => value.to_string(),
            Kind::Int(value) => value.to_string(),
            Kind::Float(value) if value.fract() == 0.0 && value.abs() < 1e18 => (*value as i64).to_string(),
            Kind::Float(value) => float(*value),
            _ => return self.refuse("string"),
        }))
    }

    fn flag(&self) -> ReadResult<Option<bool>> {
        match &self.value.kind {
            Kind::Null => Ok(None),
            Kind::Bool(value) => Ok(Some(*value)),
            _ => self.refuse("bool"),
        }
    }

    fn list(&self, wanted: &str) -> ReadResult<&[Value]> {
        match &self.value.kind {
            Kind::Null => Ok(&[]),
            Kind::List(items) => Ok(items),
            _ => self.refuse(wanted),
        }
    }

    fn texts(&self) -> ReadResult<Vec<String>> {
        let text = |item| JsonField { value: item, path: self.path }.text().map(Option::unwrap_or_default);
        self.list("[]string")?.iter().map(text).collect()
    }

    fn pairs(&self) -> ReadResult<Option<BTreeMap<String, String>>> {
        match &self.value.kind {
            Kind::Null => Ok(None),
            Kind::Map(map) => map
                .iter()
                .map(|(key, value)| {
                    let text = JsonField { value, path: self.path }.text()?.unwrap_or_default();
                    Ok((key.to_string(), text))
                })
                .collect::<ReadResult<_>>()
                .map(Some),
            _ => self.refuse("map[string]string"),
        }
    }
}

fn set<T>(into: &mut T, read: ReadResult<Option<T>>) -> ReadResult<()> {
    if let Some(value) = read? {
        *into = value;
    }
    Ok(())
}

/// Entries of an object as encoding/json goes through them: names in order, each field by
/// its name in any case.
fn fields(value: &Value, of_type: &str) -> ReadResult<Vec<(String, Value)>> {
    match &value.kind {
        Kind::Map(map) => Ok(map.iter().map(|(key, value)| (key.to_lowercase(), value.clone())).collect()),
        Kind::Null => Ok(Vec::new()),
        _ => Err(format!(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go {of_type}",
            value.json_type()
        )),
    }
}

impl Metadata {
    /// Reads what a file says over what is known.
    pub(super) fn read(&mut self, value: &Value) -> ReadResult<()> {
        for (key, value) in &fields(value, "value of type chart.Metadata")? {
            let field = |path| JsonField { value, path };
            match &**key {
                "name" => set(&mut self.name, field("Metadata.name").text())?,
                "home" => set(&mut self.home, field("Metadata.home").text())?,
                "sources" => self.sources = field("Metadata.sources").texts()?,
                "version" => set(&mut self.version, field("Metadata.version").text())?,
                "description" => set(&mut self.description, field("Metadata.description").text())?,
                "keywords" => self.keywords = field("Metadata.keywords").texts()?,
                "icon" => set(&mut self.icon, field("Metadata.icon").text())?,
                "apiversion" => set(&mut self.api_version, field("Metadata.apiVersion").text())?,
                "condition" => set(&mut self.condition, field("Metadata.condition").text())?,
                "tags" => set(&mut self.tags, field("Metadata.tags").text())?,
                "appversion" => set(&mut self.app_version, field("Metadata.appVersion").text())?,
                "deprecated" => set(&mut self.deprecated, field("Metadata.deprecated").flag())?,
                "annotations" => self.annotations = field("Metadata.annotations").pairs()?,
                "kubeversion" => set(&mut self.kube_version, field("Metadata.kubeVersion").text())?,
                "type" => set(&mut self.of_type, field("Metadata.type").text())?,
                "maintainers" => {
                    let items = field("Metadata.maintainers");
                    let items = items.list("[]*chart.Maintainer")?;
                    self.maintainers = items.iter().map(Maintainer::read).collect::<ReadResult<_>>()?;
                }
                "dependencies" if value.is_null() => self.dependencies = None,
                "dependencies" => {
                    let items = field("Metadata.dependencies");
                    let items = items.list("[]*chart.Dependency")?;
                    self.dependencies = Some(items.iter().map(Dependency::read).collect::<ReadResult<_>>()?);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// `Validate`: what Helm refuses, and what it cleans on the way.
    pub(super) fn check(&mut self, line: HelmLine) -> Result<(), RenderError> {
        for text in [
            &mut self.name,
            &mut self.description,
            &mut self.home,
            &mut self.icon,
            &mut self.condition,
            &mut self.tags,
            &mut self.app_version,
            &mut self.kube_version,
        ] {
            sanitize(text);
        }
        self.sources.iter_mut().chain(&mut self.keywords).for_each(sanitize);
        let name = &self.name;
        if name.is_empty() {
            return refuse("validation: chart.metadata.name is required");
        }
        if line != HelmLine::V3_17 && matches!(&**name, "." | "..") {
            return refuse(format!("validation: chart.metadata.name {name:?} is not allowed"));
        }
        if name.contains('/') {
            return refuse(format!("validation: chart.metadata.name {name:?} is invalid"));
        }
        if self.version.is_empty() {
            return refuse("validation: chart.metadata.version is required");
        }
        if Version::parse(&self.version).is_err() {
            let version = &self.version;
            return refuse(format!("validation: chart.metadata.version {version:?} is invalid"));
        }
        if !matches!(&*self.of_type, "" | "application" | "library") {
            return refuse("validation: chart.metadata.type must be application or library");
        }
        for maintainer in &mut self.maintainers {
            [&mut maintainer.name, &mut maintainer.email, &mut maintainer.url].into_iter().for_each(sanitize);
        }
        let mut seen = std::collections::BTreeSet::new();
        for dependency in self.dependencies.iter_mut().flatten() {
            dependency.check()?;
            let key = if dependency.alias.is_empty() { &dependency.name } else { &dependency.alias };
            if !seen.insert(key.clone()) {
                return refuse(format!("validation: more than one dependency with name or alias {key:?}"));
            }
        }
        Ok(())
    }

    /// Whether only its partials count.
    pub fn is_library(&self) -> bool {
        self.of_type.eq_ignore_ascii_case("library")
    }
}

impl Maintainer {
    fn read(value: &Value) -> ReadResult<Maintainer> {
        let mut maintainer = Maintainer::default();
        for (key, value) in &fields(value, "struct field Metadata.maintainers of type v2.Maintainer")? {
            let field = |path| JsonField { value, path };
            match &**key {
                "name" => set(&mut maintainer.name, field("Maintainer.name").text())?,
                "email" => set(&mut maintainer.email, field("Maintainer.email").text())?,
                "url" => set(&mut maintainer.url, field("Maintainer.url").text())?,
                _ => {}
            }
        }
        Ok(maintainer)
    }
}

impl Dependency {
    fn read(value: &Value) -> ReadResult<Dependency> {
        let mut dependency = Dependency::default();
        for (key, value) in &fields(value, "struct field Metadata.dependencies of type v2.Dependency")? {
            let field = |path| JsonField { value, path };
            match &**key {
                "name" => set(&mut dependency.name, field("Dependency.name").text())?,
                "version" => set(&mut dependency.version, field("Dependency.version").text())?,
                "repository" => set(&mut dependency.repository, field("Dependency.repository").text())?,
                "condition" => set(&mut dependency.condition, field("Dependency.condition").text())?,
                "tags" => dependency.tags = field("Dependency.tags").texts()?,
                "enabled" => set(&mut dependency.enabled, field("Dependency.enabled").flag())?,
                "import-values" => {
                    dependency.import_values =
                        field("Dependency.import-values").list("[]interface {}")?.to_vec();
                }
                "alias" => set(&mut dependency.alias, field("Dependency.alias").text())?,
                _ => {}
            }
        }
        Ok(dependency)
    }

    fn check(&mut self) -> Result<(), RenderError> {
        for text in [&mut self.name, &mut self.version, &mut self.repository, &mut self.condition] {
            sanitize(text);
        }
        self.tags.iter_mut().for_each(sanitize);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if !self.alias.is_empty() && !self.alias.chars().all(is_plain) {
            let name = &self.name;
            return refuse(format!("validation: dependency {name:?} has disallowed characters in the alias"));
        }
        Ok(())
    }
}

/// Every white space becomes a blank, and what can't be printed is left out.
fn sanitize(text: &mut String) {
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return;
    }
    let clean = |c: char| match c {
        c if c.is_whitespace() => Some(' '),
        c if c.is_control() => None,
        c => Some(c),
    };
    *text = text.chars().filter_map(clean).collect();
}

/// Reads a file of metadata.
pub(super) fn read_file(into: &mut Metadata, value: Option<&Value>, name: &str) -> Result<(), RenderError> {
    let empty = Value::new(Kind::Null);
    into.read(value.unwrap_or(&empty))
        .map_err(|why| Refusal::new(format!("cannot load {name}: {why}")).into())
}
