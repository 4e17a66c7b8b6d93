//! A schema: what the API server takes at one place of an object. Nodes come from
//! the table, from a CustomResourceDefinition or from a file of a catalogue.

use crate::lang::yaml::{Node, NodeRef, pointer_segments};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// A text of the table, or of a file.
pub(crate) type SchemaText = Cow<'static, str>;

/// A set of JSON types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Types(u8);

impl Types {
    pub const STRING: Types = Types(1);
    pub const INTEGER: Types = Types(2);
    /// Any number.
    pub const NUMBER: Types = Types(4);
    pub const BOOLEAN: Types = Types(8);
    pub const OBJECT: Types = Types(16);
    pub const ARRAY: Types = Types(32);
    /// null
    pub const NULL: Types = Types(64);

    const NAMES: [(&'static str, Types); 7] = [
        ("string", Types::STRING),
        ("integer", Types::INTEGER),
        ("number", Types::NUMBER),
        ("boolean", Types::BOOLEAN),
        ("object", Types::OBJECT),
        ("array", Types::ARRAY),
        ("null", Types::NULL),
    ];

    /// The type of a name in a schema.
    pub fn of_name(name: &str) -> Option<Types> {
        Types::NAMES.iter().find(|(known, _)| *known == name).map(|(_, types)| *types)
    }

    /// As the table holds it.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// From the table.
    pub fn from_bits(bits: u8) -> Types {
        Types(bits)
    }

    /// Both.
    pub fn and(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    /// Whether it has a type of another set.
    pub fn has(self, other: Types) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether nothing is said about the type.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The names of its types, as a schema writes them; null is left out.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let named = Types::NAMES.iter().filter(move |(_, types)| self.has(*types) && *types != Types::NULL);
        named.map(|(name, _)| *name)
    }
}

/// What a map may hold beside its properties.
#[derive(Clone, Debug, Default)]
pub enum Additional {
    /// Nothing is said: anything.
    #[default]
    Silent,
    /// Anything.
    Any,
    /// Nothing.
    Closed,
    /// What this says.
    Of(Child),
}

/// A schema below another one.
#[derive(Clone, Debug)]
pub enum Child {
    /// A node of the table, and what reads it there.
    Table(u16, fn(u16) -> &'static Schema),
    /// A place in a CustomResourceDefinition or in a file.
    Written(Arc<WrittenSchema>),
}

/// A schema as a text holds it, read when it is asked for.
#[derive(Debug)]
pub struct WrittenSchema {
    node: Node,
    dialect: Dialect,
    read: Read,
    cell: OnceLock<Schema>,
}

/// What reads the schema at a node.
type Read = fn(NodeRef<'_>, Dialect) -> Schema;

/// Who reads a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// The API server, in a CustomResourceDefinition: objects are closed.
    Structural,
    /// A JSON Schema of a catalogue: objects are open unless they say otherwise.
    JsonSchema,
}

impl WrittenSchema {
    /// The schema at a node of a text.
    pub fn new(node: NodeRef<'_>, dialect: Dialect, read: Read) -> Arc<WrittenSchema> {
        Arc::new(WrittenSchema { node: node.to_node(), dialect, read, cell: OnceLock::new() })
    }

    /// It, read on first use.
    pub fn schema(&self) -> &Schema {
        self.cell.get_or_init(|| (self.read)(self.node.get_ref(), self.dialect))
    }
}

impl Child {
    pub fn get(&self) -> &Schema {
        match self {
            Child::Table(number, read) => read(*number),
            Child::Written(written) => written.schema(),
        }
    }
}

/// What the API server takes at one place.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Types; empty where nothing is said.
    pub types: Types,
    /// Whether null is taken.
    pub nullable: bool,
    /// `x-kubernetes-int-or-string`
    pub int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`
    pub embedded: bool,
    /// Whether items are unique.
    pub unique: bool,
    /// A quantity: a number, or a string of one.
    pub quantity: bool,
    /// Fields by name, sorted.
    pub properties: Vec<(SchemaText, Child)>,
    /// Fields that have to be there.
    pub required: Vec<SchemaText>,
    /// Required fields that a webhook fills before validation.
    pub filled: Vec<SchemaText>,
    /// The schema of items.
    pub items: Option<Child>,
    /// What is taken beside the properties.
    pub additional: Additional,
    /// Allowed values; empty where any is.
    pub enumeration: Vec<Value>,
    /// Values that flux-operator adds to those.
    pub operator_enumeration: Vec<Value>,
    /// The only value.
    pub constant: Option<Value>,
    /// What the API server fills in.
    pub default: Option<Value>,
    /// A regular expression of Go.
    pub pattern: Option<SchemaText>,
    /// The name of a format.
    pub format: Option<SchemaText>,
    /// Least number.
    pub minimum: Option<f64>,
    /// Greatest number.
    pub maximum: Option<f64>,
    /// What numbers are above.
    pub exclusive_minimum: Option<f64>,
    /// What numbers are below.
    pub exclusive_maximum: Option<f64>,
    /// What numbers are a multiple of.
    pub multiple_of: Option<f64>,
    /// Least number of characters.
    pub min_length: Option<u64>,
    /// Greatest number of characters.
    pub max_length: Option<u64>,
    /// Least number of items.
    pub min_items: Option<u64>,
    /// Greatest number of items.
    pub max_items: Option<u64>,
    /// Least number of fields.
    pub min_properties: Option<u64>,
    /// Greatest number of fields.
    pub max_properties: Option<u64>,
    /// `set`, `map` or `atomic`.
    pub list_type: Option<SchemaText>,
    /// Fields that tell the items of a list of maps apart.
    pub list_keys: Vec<SchemaText>,
    /// `granular` or `atomic`.
    pub map_type: Option<SchemaText>,
    /// CEL expressions that have to be true.
    pub rules: Vec<SchemaText>,
    /// One at least has to take the value.
    pub any: Vec<Child>,
    /// All have to take the value.
    pub all: Vec<Child>,
    /// Exactly one has to take the value.
    pub one: Vec<Child>,
    /// This must not take the value.
    pub not: Option<Child>,
}

impl Schema {
    /// The schema of a field.
    pub fn property(&self, name: &str) -> Option<&Schema> {
        let at = self.properties.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        Some(self.properties[at].1.get())
    }

    /// The schema of a key: a field's, else what other keys hold. `None` where the
    /// key is free, or not allowed.
    pub fn field(&self, name: &str) -> Option<&Schema> {
        self.property(name).or(match &self.additional {
            Additional::Of(child) => Some(child.get()),
            _ => None,
        })
    }

    /// What the text of the schema says of a field, where it is a text; that of a key where it is none.
    pub fn description_of(&self, name: &str) -> Option<String> {
        let at = self.properties.binary_search_by(|(known, _)| (**known).cmp(name));
        let child = match (at, &self.additional) {
            (Ok(at), _) => &self.properties[at].1,
            (Err(_), Additional::Of(child)) => child,
            (Err(_), _) => return None,
        };
        match child {
            Child::Written(written) => Some(written.node.get_ref().str_at("/description")?.into_owned()),
            Child::Table(..) => None,
        }
    }

    /// The schema of items.
    pub fn item(&self) -> Option<&Schema> {
        self.items.as_ref().map(Child::get)
    }

    /// Names of its fields.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.properties.iter().map(|(name, _)| &**name)
    }

    /// Whether keys that are no fields are refused or dropped.
    pub fn is_closed(&self) -> bool {
        matches!(self.additional, Additional::Closed) && !self.preserve_unknown
    }

    /// Whether this is a map with fields of its own.
    pub fn is_object(&self) -> bool {
        self.types.has(Types::OBJECT) || !self.properties.is_empty()
    }
}

/// The schema at a place of an object.
pub(crate) fn schema_at<'s>(root: &'s Schema, pointer: &str) -> Option<&'s Schema> {
    let is_index = |segment: &str| segment == "-" || segment.bytes().all(|byte| byte.is_ascii_digit());
    let mut schema = root;
    for segment in pointer_segments(pointer) {
        schema = match schema.field(&segment) {
            Some(field) => field,
            None => schema.item().filter(|_| is_index(&segment))?,
        };
    }
    Some(schema)
}
