//! Writes the table of `src/schema/table.bin` from the facts: one JSON file for
//! each product, in the form that `docs/schemas.md` describes.
//!
//! ```text
//! cargo run --example schema_table -- DIRECTORY src/schema/table.bin
//! ```
//!
//! The directory holds `flux.json`, `cluster-api.json`, `flux-neighbours.json` and
//! `kubernetes.json`; or, for `src/schema/operators.bin`, the files that `.ci/operator-schemas`
//! writes. Equal nodes of all products become one; an object that a CRD
//! closes by saying nothing is closed in words; `metadata` of a custom resource
//! becomes Kubernetes' ObjectMeta. The format is that of `forebay::internals::schema::table`,
//! which a test decodes in full.

use forebay::internals::schema::table::{self, field};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err("usage: schema_table DIRECTORY OUTPUT".into());
    };
    let is_first = Path::new(&from).join("kubernetes.json").exists();
    let mut names: Vec<String> = table::PRODUCTS.map(|name| format!("{name}.json")).to_vec();
    if !is_first {
        let files =
            std::fs::read_dir(&from)?.map(|file| Ok(file?.file_name().to_string_lossy().into_owned()));
        names = files.collect::<std::io::Result<_>>()?;
        names.sort();
    }
    let mut products = Vec::new();
    for name in names {
        let text = std::fs::read_to_string(Path::new(&from).join(name))?;
        products.push(serde_json::from_str::<Value>(&text)?);
    }
    let bytes = Writer { is_first, ..Writer::default() }.table(&products)?;
    std::fs::write(&to, bytes)?;
    Ok(())
}

#[derive(Default)]
struct Writer {
    /// Whether it is the table of the products, which the other one leaves kinds to.
    is_first: bool,
    strings: Vec<String>,
    by_string: HashMap<String, u64>,
    nodes: Vec<Vec<u8>>,
    by_node: HashMap<Vec<u8>, u64>,
}

/// Whether the first table has a kind.
fn is_known(key: &str) -> bool {
    if key.split('/').next() == Some(table::GATEWAY) {
        return false;
    }
    let lower = key.rsplit_once('/').map(|(start, kind)| format!("{start}/{}", kind.to_lowercase()));
    table::kinds().iter().any(|kind| kind.key == key || Some(kind.key) == lower.as_deref())
}

/// One product's nodes while they are written.
struct Product<'v> {
    nodes: &'v [Value],
    /// Whether its objects are closed unless they say otherwise.
    closed: bool,
    done: HashMap<u64, u64>,
}

impl Writer {
    fn table(mut self, products: &[Value]) -> Result<Vec<u8>, Box<dyn Error>> {
        let object_meta = match self.is_first {
            true => self.object_meta(products.last().ok_or("no product")?)?,
            false => table::OBJECT_META,
        };
        let mut kinds: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
        for (number, value) in products.iter().enumerate() {
            let mut product = Product::new(value, !self.is_first || table::PRODUCTS[number] != "kubernetes")?;
            let releases: Vec<&str> = list(value, "releases")?.iter().filter_map(Value::as_str).collect();
            for (key, kind) in value["kinds"].as_object().ok_or("no kinds")? {
                if !self.is_first && is_known(key) {
                    continue;
                }
                let mut out = vec![number as u8];
                for name in ["scope", "plural"] {
                    let text = self.string(kind[name].as_str().unwrap_or_default());
                    varint(&mut out, text);
                }
                for release in &releases {
                    let root = match kind["roots"][release].as_u64() {
                        None => 0,
                        Some(root) => self.root(&mut product, root, object_meta, key)? + 1,
                    };
                    varint(&mut out, root);
                    let flag = |name: &str| u8::from(kind[name][release] == Value::Bool(true));
                    out.push(flag("served") | flag("storage") << 1 | flag("deprecated") << 2);
                }
                kinds.insert(key, out);
            }
        }
        let mut body = Vec::new();
        varint(&mut body, object_meta);
        varint(&mut body, products.len() as u64);
        for value in products {
            let releases = list(value, "releases")?;
            let name = self.string(value["product"].as_str().unwrap_or_default());
            varint(&mut body, name);
            varint(&mut body, releases.len() as u64);
            for release in releases {
                let release = self.string(release.as_str().unwrap_or_default());
                varint(&mut body, release);
            }
        }
        varint(&mut body, kinds.len() as u64);
        for (key, bytes) in kinds {
            let key = self.string(key);
            varint(&mut body, key);
            varint(&mut body, bytes.len() as u64);
            body.extend(bytes);
        }
        let mut out = table::MAGIC.to_vec();
        varint(&mut out, self.strings.len() as u64);
        for text in &self.strings {
            varint(&mut out, text.len() as u64);
            out.extend(text.as_bytes());
        }
        varint(&mut out, self.nodes.len() as u64);
        for node in &self.nodes {
            varint(&mut out, node.len() as u64);
            out.extend(node);
        }
        out.extend(body);
        Ok(out)
    }

    /// The metadata of a built-in kind, which custom resources have too.
    fn object_meta(&mut self, kubernetes: &Value) -> Result<u64, Box<dyn Error>> {
        let mut product = Product::new(kubernetes, false)?;
        let root = kubernetes["kinds"]["apps/v1/deployment"]["roots"]["latest"].as_u64();
        let root = &kubernetes["nodes"][root.ok_or("no Deployment")? as usize];
        let metadata = root["p"]["metadata"].as_u64().ok_or("no metadata")?;
        self.node(&mut product, metadata)
    }

    /// The root of a kind: its metadata are ObjectMeta.
    fn root(
        &mut self,
        product: &mut Product<'_>,
        at: u64,
        object_meta: u64,
        key: &str,
    ) -> Result<u64, Box<dyn Error>> {
        if !product.closed && !key.starts_with("gateway.networking.k8s.io/") {
            return self.node(product, at);
        }
        let mut value = product.nodes.get(at as usize).ok_or("no such node")?.clone();
        let properties = value["p"].as_object_mut().ok_or("a root without properties")?;
        properties.remove("metadata");
        let closed = std::mem::replace(&mut product.closed, true);
        let node = self.encode(product, &value, Some(object_meta));
        product.closed = closed;
        Ok(self.intern(node?))
    }

    fn node(&mut self, product: &mut Product<'_>, at: u64) -> Result<u64, Box<dyn Error>> {
        if let Some(done) = product.done.get(&at) {
            return Ok(*done);
        }
        let value = product.nodes.get(at as usize).ok_or("no such node")?.clone();
        let bytes = self.encode(product, &value, None)?;
        let id = self.intern(bytes);
        product.done.insert(at, id);
        Ok(id)
    }

    fn intern(&mut self, bytes: Vec<u8>) -> u64 {
        if let Some(known) = self.by_node.get(&bytes) {
            return *known;
        }
        let id = self.nodes.len() as u64;
        self.nodes.push(bytes.clone());
        self.by_node.insert(bytes, id);
        id
    }

    fn string(&mut self, text: &str) -> u64 {
        if let Some(known) = self.by_string.get(text) {
            return *known;
        }
        let id = self.strings.len() as u64;
        self.strings.push(text.to_owned());
        self.by_string.insert(text.to_owned(), id);
        id
    }

    fn encode(
        &mut self,
        product: &mut Product<'_>,
        value: &Value,
        metadata: Option<u64>,
    ) -> Result<Vec<u8>, Box<dyn Error>> {
        let node = value.as_object().ok_or("a node that is no map")?;
        let mut fields: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
        for (key, value) in node {
            let mut out = Vec::new();
            let number = match key.as_str() {
                "t" => {
                    let one = std::slice::from_ref(value);
                    let names = value.as_array().map_or(one, |names| names.as_slice());
                    let mut bits =
                        names.iter().map(|name| table::type_bit(name.as_str().unwrap_or_default()));
                    out.push(bits.try_fold(0, |all, bit| Some(all | bit?)).ok_or("an unknown type")?);
                    field::TYPES
                }
                "p" => {
                    self.properties(product, value, metadata, &mut out)?;
                    field::PROPERTIES
                }
                "r" => self.strings_of(value, &mut out, field::REQUIRED)?,
                "rw" => self.strings_of(value, &mut out, field::FILLED)?,
                "lk" => self.strings_of(value, &mut out, field::LIST_KEYS)?,
                "i" => self.child(product, value, &mut out, field::ITEMS)?,
                "not" => self.child(product, value, &mut out, field::NOT)?,
                "a" => match value {
                    Value::Bool(open) => {
                        out.push(u8::from(*open));
                        field::ADDITIONAL
                    }
                    value => {
                        out.push(2);
                        self.child(product, value, &mut out, field::ADDITIONAL)?
                    }
                },
                "any" => self.children(product, value, &mut out, field::ANY)?,
                "all" => self.children(product, value, &mut out, field::ALL)?,
                "one" => self.children(product, value, &mut out, field::ONE)?,
                "e" => self.values(value, &mut out, field::ENUM)?,
                "eo" => self.values(value, &mut out, field::OPERATOR_ENUM)?,
                "c" => self.value(value, &mut out, field::CONST),
                "d" => self.value(value, &mut out, field::DEFAULT),
                "re" => self.text(value, &mut out, field::PATTERN)?,
                "f" => self.text(value, &mut out, field::FORMAT)?,
                "lt" => self.text(value, &mut out, field::LIST_TYPE)?,
                "mt" => self.text(value, &mut out, field::MAP_TYPE)?,
                "min" => self.value(value, &mut out, field::MINIMUM),
                "max" => self.value(value, &mut out, field::MAXIMUM),
                "xmin" => self.value(value, &mut out, field::EXCLUSIVE_MINIMUM),
                "xmax" => self.value(value, &mut out, field::EXCLUSIVE_MAXIMUM),
                "mul" => self.value(value, &mut out, field::MULTIPLE_OF),
                "minLen" => size(value, &mut out, field::MIN_LENGTH)?,
                "maxLen" => size(value, &mut out, field::MAX_LENGTH)?,
                "minItems" => size(value, &mut out, field::MIN_ITEMS)?,
                "maxItems" => size(value, &mut out, field::MAX_ITEMS)?,
                "minProps" => size(value, &mut out, field::MIN_PROPERTIES)?,
                "maxProps" => size(value, &mut out, field::MAX_PROPERTIES)?,
                "v" => {
                    let rules = value.as_array().ok_or("rules that are no list")?;
                    varint(&mut out, rules.len() as u64);
                    for rule in rules {
                        let text = self.string(rule["rule"].as_str().ok_or("a rule without a text")?);
                        varint(&mut out, text);
                    }
                    field::RULES
                }
                "n" | "io" | "px" | "em" | "u" | "q" => continue,
                other => return Err(format!("a node has the unknown key `{other}`").into()),
            };
            fields.insert(number, out);
        }
        let is_object = node.contains_key("p") || node.get("t").is_some_and(names_object);
        let silent = !node.contains_key("a") && !node.contains_key("px");
        // Alternatives are pieces of a schema: their surroundings close it.
        if product.closed && is_object && silent && node.contains_key("t") {
            fields.insert(field::ADDITIONAL, vec![0]);
        }
        let flags = flags(node);
        if flags != 0 {
            fields.insert(field::FLAGS, vec![flags]);
        }
        Ok(fields.into_iter().flat_map(|(number, bytes)| std::iter::once(number).chain(bytes)).collect())
    }

    fn properties(
        &mut self,
        product: &mut Product<'_>,
        value: &Value,
        metadata: Option<u64>,
        out: &mut Vec<u8>,
    ) -> Result<(), Box<dyn Error>> {
        let mut children: BTreeMap<&str, u64> = BTreeMap::new();
        for (name, child) in value.as_object().ok_or("properties that are no map")? {
            children.insert(name, self.node(product, child.as_u64().ok_or("no index")?)?);
        }
        children.extend(metadata.map(|metadata| ("metadata", metadata)));
        varint(out, children.len() as u64);
        for (name, child) in children {
            let name = self.string(name);
            varint(out, name);
            varint(out, child);
        }
        Ok(())
    }

    fn child(
        &mut self,
        product: &mut Product<'_>,
        value: &Value,
        out: &mut Vec<u8>,
        number: u8,
    ) -> Result<u8, Box<dyn Error>> {
        let child = self.node(product, value.as_u64().ok_or("no index")?)?;
        varint(out, child);
        Ok(number)
    }

    fn children(
        &mut self,
        product: &mut Product<'_>,
        value: &Value,
        out: &mut Vec<u8>,
        number: u8,
    ) -> Result<u8, Box<dyn Error>> {
        let children = value.as_array().ok_or("alternatives that are no list")?;
        varint(out, children.len() as u64);
        for child in children {
            self.child(product, child, out, number)?;
        }
        Ok(number)
    }

    fn strings_of(&mut self, value: &Value, out: &mut Vec<u8>, number: u8) -> Result<u8, Box<dyn Error>> {
        let names = value.as_array().ok_or("names that are no list")?;
        varint(out, names.len() as u64);
        for name in names {
            self.text(name, out, number)?;
        }
        Ok(number)
    }

    fn values(&mut self, value: &Value, out: &mut Vec<u8>, number: u8) -> Result<u8, Box<dyn Error>> {
        let values = value.as_array().ok_or("values that are no list")?;
        varint(out, values.len() as u64);
        for value in values {
            self.value(value, out, number);
        }
        Ok(number)
    }

    /// A value as JSON text.
    fn value(&mut self, value: &Value, out: &mut Vec<u8>, number: u8) -> u8 {
        let text = self.string(&value.to_string());
        varint(out, text);
        number
    }

    fn text(&mut self, value: &Value, out: &mut Vec<u8>, number: u8) -> Result<u8, Box<dyn Error>> {
        let text = self.string(value.as_str().ok_or("a text that is no string")?);
        varint(out, text);
        Ok(number)
    }
}

impl<'v> Product<'v> {
    fn new(value: &'v Value, closed: bool) -> Result<Product<'v>, Box<dyn Error>> {
        Ok(Product { nodes: list(value, "nodes")?, closed, done: HashMap::new() })
    }
}

fn names_object(types: &Value) -> bool {
    let is_object = |value: &Value| value.as_str() == Some("object");
    is_object(types) || types.as_array().is_some_and(|names| names.iter().any(is_object))
}

fn flags(node: &Map<String, Value>) -> u8 {
    let names = ["n", "io", "px", "em", "u", "q"];
    let set = names.iter().enumerate().filter(|(_, name)| node.get(**name) == Some(&Value::Bool(true)));
    set.fold(0, |all, (bit, _)| all | 1 << bit)
}

fn list<'v>(value: &'v Value, key: &str) -> Result<&'v [Value], Box<dyn Error>> {
    Ok(value[key].as_array().ok_or_else(|| format!("`{key}` is no list"))?)
}

fn size(value: &Value, out: &mut Vec<u8>, number: u8) -> Result<u8, Box<dyn Error>> {
    varint(out, value.as_u64().ok_or("a size that is no number")?);
    Ok(number)
}

/// A number in groups of seven bits, the lowest first.
fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
