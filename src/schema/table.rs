//! The built-in tables: what the API server accepts for the kinds of Flux, Cluster
//! API, flux-operator, Flagger, Gateway API and Kubernetes, and for those of operators that
//! many clusters run, by release.
//!
//! The bytes are written by `examples/schema_table.rs`: strings, then nodes, then
//! kinds. Each node is decoded when something first asks for it; nothing of the operators'
//! table is read before a kind is met that the first one doesn't have.

use super::tree::{Additional, Child, Schema, Types};
use crate::model::Version;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::OnceLock;

/// The first bytes of a table.
pub const MAGIC: &[u8] = b"forebay-schema-2\n";

/// The products of the first table, by the names of their files of facts, in its order.
pub const PRODUCTS: [&str; 4] = ["flux", "cluster-api", "flux-neighbours", "kubernetes"];

/// Stands for the metadata that every object has, in the table of operators.
pub const OBJECT_META: u64 = u16::MAX as u64;

/// Which of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum TableOf {
    /// [`PRODUCTS`].
    Products,
    /// Operators.
    Operators,
}

impl TableOf {
    fn bytes(self) -> &'static [u8] {
        match self {
            TableOf::Products => include_bytes!("table.bin"),
            TableOf::Operators => include_bytes!("operators.bin"),
        }
    }

    fn read(self) -> &'static Table {
        static PRODUCTS: OnceLock<Table> = OnceLock::new();
        static OPERATORS: OnceLock<Table> = OnceLock::new();
        match self {
            TableOf::Products => PRODUCTS.get_or_init(|| Table::read(self)),
            TableOf::Operators => OPERATORS.get_or_init(|| Table::read(self)),
        }
    }

    /// What reads a node of it.
    fn node(self) -> fn(u16) -> &'static Schema {
        match self {
            TableOf::Products => node,
            TableOf::Operators => operator_node,
        }
    }
}

/// Numbers of a node's fields. Each is followed by the field's value; a node ends
/// with its bytes.
pub mod field {
    #![allow(missing_docs)]
    pub const TYPES: u8 = 0;
    pub const FLAGS: u8 = 1;
    pub const PROPERTIES: u8 = 2;
    pub const REQUIRED: u8 = 3;
    pub const FILLED: u8 = 4;
    pub const ITEMS: u8 = 5;
    pub const ADDITIONAL: u8 = 6;
    pub const ENUM: u8 = 7;
    pub const OPERATOR_ENUM: u8 = 8;
    pub const CONST: u8 = 9;
    pub const DEFAULT: u8 = 10;
    pub const PATTERN: u8 = 11;
    pub const FORMAT: u8 = 12;
    pub const MINIMUM: u8 = 13;
    pub const MAXIMUM: u8 = 14;
    pub const EXCLUSIVE_MINIMUM: u8 = 15;
    pub const EXCLUSIVE_MAXIMUM: u8 = 16;
    pub const MULTIPLE_OF: u8 = 17;
    pub const MIN_LENGTH: u8 = 18;
    pub const MAX_LENGTH: u8 = 19;
    pub const MIN_ITEMS: u8 = 20;
    pub const MAX_ITEMS: u8 = 21;
    pub const MIN_PROPERTIES: u8 = 22;
    pub const MAX_PROPERTIES: u8 = 23;
    pub const LIST_TYPE: u8 = 24;
    pub const LIST_KEYS: u8 = 25;
    pub const MAP_TYPE: u8 = 26;
    pub const RULES: u8 = 27;
    pub const ANY: u8 = 28;
    pub const ALL: u8 = 29;
    pub const ONE: u8 = 30;
    pub const NOT: u8 = 31;
}

/// The bit of a JSON type's name.
pub fn type_bit(name: &str) -> Option<u8> {
    Types::of_name(name).map(Types::bits)
}

/// Which product a kind belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Product {
    /// Flux's own kinds, known by minor release.
    Flux,
    /// Cluster API's kinds, known by minor release.
    ClusterApi,
    /// flux-operator and Flagger, known at one release.
    Neighbours,
    /// Kubernetes' built-in kinds and Gateway API, known at one release.
    Kubernetes,
    /// An operator, known by minor release; its place in the table.
    Operator(u8),
}

impl Product {
    const ALL: [Product; 4] = [Product::Flux, Product::ClusterApi, Product::Neighbours, Product::Kubernetes];

    /// The table that has it, and its place there.
    fn place(self) -> (TableOf, usize) {
        match self {
            Product::Flux => (TableOf::Products, 0),
            Product::ClusterApi => (TableOf::Products, 1),
            Product::Neighbours => (TableOf::Products, 2),
            Product::Kubernetes => (TableOf::Products, 3),
            Product::Operator(number) => (TableOf::Operators, usize::from(number)),
        }
    }

    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Product::Flux => "Flux",
            Product::ClusterApi => "Cluster API",
            Product::Neighbours => "flux-operator and Flagger",
            Product::Kubernetes => "Kubernetes",
            Product::Operator(_) => {
                let (table, number) = self.place();
                table.read().products.get(number).map_or("", |(name, _)| name)
            }
        }
    }

    /// Its releases, oldest first.
    pub fn releases(self) -> &'static [&'static str] {
        let (table, number) = self.place();
        table.read().products.get(number).map_or(&[], |(_, releases)| releases)
    }

    /// The release that a version belongs to, by its place in
    /// [`Product::releases`]; `None` for one that the table doesn't know.
    pub fn release(self, version: Version) -> Option<usize> {
        let name = format!("{}.{}", version.major, version.minor);
        self.releases().iter().position(|release| *release == name)
    }
}

/// A kind of the table.
#[derive(Clone, Copy, Debug)]
pub struct TableKind {
    /// `GROUP/VERSION/KIND`; the kind of a built-in one in lower case.
    pub key: &'static str,
    pub product: Product,
    /// `Namespaced` or `Cluster`; empty where the table doesn't know it.
    pub scope: &'static str,
    /// Its resource name; empty where the table doesn't know it.
    pub plural: &'static str,
    at: usize,
}

/// A kind in one release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindRelease {
    table: TableOf,
    /// Its schema; `None` where the release doesn't have it.
    root: Option<u16>,
    /// Whether the API server serves it.
    pub served: bool,
    /// Whether objects are stored as it.
    pub storage: bool,
    /// Whether it is deprecated.
    pub deprecated: bool,
}

impl KindRelease {
    /// The schema of its objects.
    pub fn schema(&self) -> Option<&'static Schema> {
        self.root.map(self.table.node())
    }

    /// What tells its schema from others of the kind.
    pub fn root(&self) -> Option<u16> {
        self.root
    }
}

impl TableKind {
    /// It in each release of its product, oldest first.
    pub fn releases(&self) -> Vec<KindRelease> {
        let (table, _) = self.product.place();
        let mut reader = TableReader::new(table, self.at);
        let count = self.product.releases().len();
        let release = |_| {
            let root = reader.number();
            let flags = reader.byte();
            KindRelease {
                table,
                root: (root as u16).checked_sub(1),
                // The table of built-in kinds has roots only.
                served: flags & 1 != 0 || (self.product == Product::Kubernetes && root > 0),
                storage: flags & 2 != 0,
                deprecated: flags & 4 != 0,
            }
        };
        (0..count).map(release).collect()
    }

    /// The API group; empty for the core group.
    pub fn group(&self) -> &'static str {
        let slash = self.key.bytes().position(|byte| byte == b'/');
        &self.key[..slash.unwrap_or(self.key.len())]
    }

    /// The API version without its group.
    pub fn version(&self) -> &'static str {
        self.key.split('/').nth(1).unwrap_or_default()
    }

    /// The kind; of a built-in one in lower case.
    pub fn kind(&self) -> &'static str {
        self.key.rsplit('/').next().unwrap_or_default()
    }
}

struct Table {
    strings: Vec<&'static str>,
    /// Where each is in the bytes, and what it says: a box, because a run asks for few of
    /// them.
    nodes: Vec<(usize, OnceLock<Box<Schema>>)>,
    object_meta: u16,
    /// The name of each product, and its releases.
    products: Vec<(&'static str, Vec<&'static str>)>,
    kinds: Vec<TableKind>,
}

impl Table {
    fn read(of: TableOf) -> Table {
        let mut reader = TableReader::new(of, MAGIC.len());
        let strings: Vec<&'static str> = (0..reader.number())
            .map(|_| {
                let length = reader.number() as usize;
                let bytes = reader.bytes.get(reader.at..reader.at + length).unwrap_or_default();
                reader.at += length;
                std::str::from_utf8(bytes).unwrap_or_default()
            })
            .collect();
        let nodes = (0..reader.number())
            .map(|_| {
                let length = reader.number() as usize;
                let at = reader.at;
                reader.at += length;
                ((at << 16) | length, OnceLock::new())
            })
            .collect();
        let string = |reader: &mut TableReader| strings.get(reader.number() as usize).copied().unwrap_or("");
        let object_meta = reader.number() as u16;
        let products = (0..reader.number())
            .map(|_| {
                let name = string(&mut reader);
                (name, (0..reader.number()).map(|_| string(&mut reader)).collect())
            })
            .collect();
        let kinds = (0..reader.number())
            .map(|_| {
                let key = string(&mut reader);
                let length = reader.number() as usize;
                let end = reader.at + length;
                let number = reader.byte();
                let product = match of {
                    TableOf::Products => Product::ALL[usize::from(number).min(3)],
                    TableOf::Operators => Product::Operator(number),
                };
                let (scope, plural) = (string(&mut reader), string(&mut reader));
                let at = std::mem::replace(&mut reader.at, end);
                TableKind { key, product, scope, plural, at }
            })
            .collect();
        Table { strings, nodes, object_meta, products, kinds }
    }

    fn find(&self, group: &str, version: &str, kind: &str) -> Option<&TableKind> {
        let at = |key: &str| self.kinds.binary_search_by(|known| known.key.cmp(key)).ok();
        let found = at(&format!("{group}/{version}/{kind}"))
            .or_else(|| at(&format!("{group}/{version}/{}", kind.to_ascii_lowercase())))?;
        self.kinds.get(found)
    }

    fn node(&'static self, number: u16, of: TableOf) -> &'static Schema {
        static EMPTY: OnceLock<Schema> = OnceLock::new();
        match self.nodes.get(number as usize) {
            Some((place, cell)) => cell.get_or_init(|| Box::new(decode(of, place >> 16, place & 0xffff))),
            None => EMPTY.get_or_init(Schema::default),
        }
    }
}

/// All kinds of the first table, sorted by [`TableKind::key`].
pub fn kinds() -> &'static [TableKind] {
    &TableOf::Products.read().kinds
}

/// All kinds of operators, sorted in the same way.
pub fn operator_kinds() -> &'static [TableKind] {
    &TableOf::Operators.read().kinds
}

/// The kind of a group, version and name.
pub fn find(group: &str, version: &str, kind: &str) -> Option<&'static TableKind> {
    let found = TableOf::Products.read().find(group, version, kind);
    found.or_else(|| TableOf::Operators.read().find(group, version, kind))
}

/// Whether objects of a kind lie in namespaces, in any of its versions; `None` of a kind that
/// neither table has.
pub(crate) fn is_namespaced(group: &str, kind: &str) -> Option<bool> {
    let found = |of: TableOf| {
        let kinds = &of.read().kinds;
        let start = kinds.partition_point(|known| known.group() < group);
        let of_group = kinds[start..].iter().take_while(|known| known.group() == group);
        of_group
            .filter(|known| known.kind() == kind && !known.scope.is_empty())
            .map(|known| known.scope)
            .next()
    };
    found(TableOf::Products).or_else(|| found(TableOf::Operators)).map(|scope| scope == "Namespaced")
}

/// A kind of Gateway API as its experimental channel has it.
pub(crate) fn experimental(group: &str, version: &str, kind: &str) -> Option<&'static TableKind> {
    TableOf::Operators.read().find(group, version, kind).filter(|_| group == GATEWAY)
}

/// The group whose kinds are in both tables: the channels of Gateway API differ.
pub const GATEWAY: &str = "gateway.networking.k8s.io";

/// The metadata that every object has.
pub(crate) fn object_meta() -> &'static Schema {
    node(TableOf::Products.read().object_meta)
}

/// A node of the first table by its number.
pub(in crate::schema) fn node(number: u16) -> &'static Schema {
    TableOf::Products.read().node(number, TableOf::Products)
}

/// A node of the table of operators by its number.
fn operator_node(number: u16) -> &'static Schema {
    match u64::from(number) {
        OBJECT_META => object_meta(),
        _ => TableOf::Operators.read().node(number, TableOf::Operators),
    }
}

/// How many nodes there are in the first table; for the test that decodes all.
#[cfg(test)]
pub(super) fn node_count() -> u16 {
    TableOf::Products.read().nodes.len() as u16
}

/// A place in the bytes. Reading past the end gives zeros: the table is ours, and
/// a test decodes all of it.
struct TableReader {
    of: TableOf,
    bytes: &'static [u8],
    at: usize,
}

impl TableReader {
    fn new(of: TableOf, at: usize) -> TableReader {
        TableReader { of, bytes: of.bytes(), at }
    }

    fn byte(&mut self) -> u8 {
        let byte = self.bytes.get(self.at).copied().unwrap_or_default();
        self.at += 1;
        byte
    }

    fn number(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 || shift > 56 {
                return number;
            }
        }
    }

    fn string(&mut self) -> &'static str {
        self.of.read().strings.get(self.number() as usize).copied().unwrap_or_default()
    }

    fn text(&mut self) -> Cow<'static, str> {
        Cow::Borrowed(self.string())
    }

    fn texts(&mut self) -> Vec<Cow<'static, str>> {
        (0..self.number()).map(|_| self.text()).collect()
    }

    fn value(&mut self) -> Value {
        serde_json::from_str(self.string()).unwrap_or_default()
    }

    fn values(&mut self) -> Vec<Value> {
        (0..self.number()).map(|_| self.value()).collect()
    }

    fn child(&mut self) -> Child {
        Child::Table(self.number() as u16, self.of.node())
    }

    fn children(&mut self) -> Vec<Child> {
        (0..self.number()).map(|_| self.child()).collect()
    }
}

fn decode(of: TableOf, at: usize, length: usize) -> Schema {
    let mut reader = TableReader::new(of, at);
    let mut node = Schema::default();
    while reader.at < at + length {
        match reader.byte() {
            field::TYPES => node.types = Types::from_bits(reader.byte()),
            field::FLAGS => {
                let flags = reader.byte();
                node.nullable = flags & 1 != 0;
                node.int_or_string = flags & 2 != 0;
                node.preserve_unknown = flags & 4 != 0;
                node.embedded = flags & 8 != 0;
                node.unique = flags & 16 != 0;
                node.quantity = flags & 32 != 0;
            }
            field::PROPERTIES => {
                node.properties = (0..reader.number()).map(|_| (reader.text(), reader.child())).collect();
            }
            field::REQUIRED => node.required = reader.texts(),
            field::FILLED => node.filled = reader.texts(),
            field::ITEMS => node.items = Some(reader.child()),
            field::ADDITIONAL => {
                node.additional = match reader.byte() {
                    0 => Additional::Closed,
                    1 => Additional::Any,
                    _ => Additional::Of(reader.child()),
                };
            }
            field::ENUM => node.enumeration = reader.values(),
            field::OPERATOR_ENUM => node.operator_enumeration = reader.values(),
            field::CONST => node.constant = Some(reader.value()),
            field::DEFAULT => node.default = Some(reader.value()),
            field::PATTERN => node.pattern = Some(reader.text()),
            field::FORMAT => node.format = Some(reader.text()),
            field::MINIMUM => node.minimum = reader.value().as_f64(),
            field::MAXIMUM => node.maximum = reader.value().as_f64(),
            field::EXCLUSIVE_MINIMUM => node.exclusive_minimum = reader.value().as_f64(),
            field::EXCLUSIVE_MAXIMUM => node.exclusive_maximum = reader.value().as_f64(),
            field::MULTIPLE_OF => node.multiple_of = reader.value().as_f64(),
            field::MIN_LENGTH => node.min_length = Some(reader.number()),
            field::MAX_LENGTH => node.max_length = Some(reader.number()),
            field::MIN_ITEMS => node.min_items = Some(reader.number()),
            field::MAX_ITEMS => node.max_items = Some(reader.number()),
            field::MIN_PROPERTIES => node.min_properties = Some(reader.number()),
            field::MAX_PROPERTIES => node.max_properties = Some(reader.number()),
            field::LIST_TYPE => node.list_type = Some(reader.text()),
            field::LIST_KEYS => node.list_keys = reader.texts(),
            field::MAP_TYPE => node.map_type = Some(reader.text()),
            field::RULES => node.rules = reader.texts(),
            field::ANY => node.any = reader.children(),
            field::ALL => node.all = reader.children(),
            field::ONE => node.one = reader.children(),
            field::NOT => node.not = Some(reader.child()),
            _ => break,
        }
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_decodes_and_every_child_exists() {
        for of in [TableOf::Products, TableOf::Operators] {
            assert!(of.bytes().starts_with(MAGIC));
            let count = of.read().nodes.len() as u16;
            assert!(count > 2000 && u64::from(count) < OBJECT_META);
            for number in 0..count {
                let (place, _) = &of.read().nodes[number as usize];
                let mut reader = TableReader::new(of, place >> 16);
                let schema = of.node()(number);
                let mut children: Vec<&Child> = schema.properties.iter().map(|(_, child)| child).collect();
                children.extend(&schema.items);
                children.extend(schema.any.iter().chain(&schema.all).chain(&schema.one).chain(&schema.not));
                if let Additional::Of(child) = &schema.additional {
                    children.push(child);
                }
                for child in children {
                    let is_there = |child: u16| child < count || u64::from(child) == OBJECT_META;
                    assert!(matches!(child, Child::Table(child, _) if is_there(*child)), "{number}");
                }
                if place & 0xffff > 0 {
                    assert!(reader.byte() <= field::NOT, "{number}");
                }
                if let Some(pattern) = &schema.pattern {
                    assert!(crate::lang::go::regexp::GoRegexp::new(pattern).is_ok(), "{pattern}");
                }
            }
        }
    }

    #[test]
    fn kinds_of_operators_have_their_releases() {
        let certificate = find("cert-manager.io", "v1", "Certificate").expect("known");
        assert_eq!((certificate.product.name(), certificate.scope), ("cert-manager", "Namespaced"));
        let releases = certificate.product.releases();
        assert!(releases.len() > 5, "{releases:?}");
        let newest = certificate.releases().into_iter().next_back().and_then(|release| release.schema());
        let root = newest.expect("a schema");
        assert!(root.property("metadata").and_then(|metadata| metadata.property("labels")).is_some());
        assert!(root.property("spec").and_then(|spec| spec.property("secretName")).is_some());
        // Each kind is in one table only.
        for kind in operator_kinds() {
            let first = TableOf::Products.read();
            let is_twice = first.find(kind.group(), kind.version(), kind.kind()).is_some();
            assert!(!is_twice || kind.group() == GATEWAY, "{}", kind.key);
            assert!(kind.releases().iter().any(|release| release.schema().is_some()), "{}", kind.key);
        }
    }

    #[test]
    fn kinds_are_found_by_group_version_and_kind() {
        let kustomization = find("kustomize.toolkit.fluxcd.io", "v1", "Kustomization").expect("known");
        assert_eq!(kustomization.product, Product::Flux);
        assert_eq!((kustomization.scope, kustomization.plural), ("Namespaced", "kustomizations"));
        assert_eq!(Product::Flux.releases().len(), 10);
        assert!(kustomization.releases().iter().all(|release| release.served && release.schema().is_some()));
        assert_eq!(find("apps", "v1", "Deployment").map(|kind| kind.product), Some(Product::Kubernetes));
        assert!(find("", "v1", "ConfigMap").is_some() && find("", "v1", "Nothing").is_none());
        let policy = find("image.toolkit.fluxcd.io", "v1", "ImagePolicy").expect("known").releases();
        assert!(policy[6].root().is_none() && policy[7].root().is_some(), "since 2.7");
        let alert = find("notification.toolkit.fluxcd.io", "v1beta2", "Alert").expect("known").releases();
        assert!(alert[9].root().is_none() || !alert[9].served || alert[0].served);
    }
}
