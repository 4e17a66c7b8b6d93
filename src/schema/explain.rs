//! What is known of a field, over all versions of its kind.

use super::table::{self, Product, TableKind};
use super::tree::Schema;
use crate::lang::text::plural;

/// A field in one API version of its kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Versioned {
    pub kind: &'static TableKind,
    /// The field in the newest release that has it.
    pub schema: &'static Schema,
    /// Whether it has to be there.
    pub required: bool,
    /// The first release that has it.
    pub since: &'static str,
    /// The last release that has it, where a later one serves the kind or not.
    pub until: Option<&'static str>,
}

impl Versioned {
    /// Whether a release of the product has the field, by its place in
    /// [`Product::releases`].
    pub(crate) fn is_in(&self, release: usize, path: &[&str]) -> bool {
        let releases = self.kind.releases();
        let Some(one) = releases.get(release).filter(|one| one.served) else { return false };
        one.schema().and_then(|root| at(root, path)).is_some()
    }
}

/// The kinds of a name, in any case and of any group: the newest versions first.
pub(crate) fn kinds_of(name: &str) -> Vec<&'static TableKind> {
    let named = |kinds: &'static [TableKind]| -> Vec<&'static TableKind> {
        kinds.iter().filter(|kind| kind.kind().eq_ignore_ascii_case(name)).collect()
    };
    let mut found = named(table::kinds());
    if found.is_empty() {
        found = named(table::operator_kinds());
    }
    found.sort_by_key(|kind| (kind.group(), std::cmp::Reverse(age(kind.version()))));
    found
}

/// How new a version is: `v1` over `v1beta2` over `v1alpha1`, `v2beta1` below `v1`, as
/// Kubernetes orders them.
fn age(version: &str) -> (u8, u32, u32) {
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
    let rest = version.strip_prefix('v').unwrap_or(version);
    let major = digits(rest);
    let stage = &rest[major.len()..];
    let number = |text: &str| text.parse().unwrap_or(0);
    let (rank, minor) = match (stage.strip_prefix("beta"), stage.strip_prefix("alpha")) {
        (Some(minor), _) => (1, number(minor)),
        (None, Some(minor)) => (0, number(minor)),
        (None, None) => (2, 0),
    };
    (rank, number(&major), minor)
}

/// The field at a path below a schema. Lists are passed through: `dependsOn.name` is
/// the name of an item.
pub(crate) fn at<'s>(root: &'s Schema, path: &[&str]) -> Option<(&'s Schema, bool)> {
    let (mut schema, mut required) = (root, true);
    for name in path {
        while let Some(item) = schema.item().filter(|_| schema.properties.is_empty()) {
            schema = item;
        }
        required = schema.required.iter().any(|field| field == name)
            && !schema.filled.iter().any(|field| field == name);
        schema = schema.field(name)?;
        required &= schema.default.is_none();
    }
    Some((schema, required))
}

/// What a schema that is a text says of the field at a path.
pub(crate) fn description_at(root: &Schema, path: &[&str]) -> Option<String> {
    let (name, above) = path.split_last()?;
    let (mut schema, _) = at(root, above)?;
    while let Some(item) = schema.item().filter(|_| schema.properties.is_empty()) {
        schema = item;
    }
    schema.description_of(name)
}

/// The fields that a map, or a list of maps, has.
pub(crate) fn fields(schema: &Schema) -> Vec<(&str, bool)> {
    let mut inner = schema;
    while let Some(item) = inner.item().filter(|_| inner.properties.is_empty()) {
        inner = item;
    }
    let required = |name: &str| inner.required.iter().any(|field| field == name);
    inner.names().map(|name| (name, required(name))).collect()
}

/// A field in each API version that has it, the newest first.
pub(crate) fn versions_of(kinds: &[&'static TableKind], path: &[&str]) -> Vec<Versioned> {
    let of_kind = |kind: &&'static TableKind| {
        let releases = kind.releases();
        let names = kind.product.releases();
        let has = |release: usize| releases[release].schema().and_then(|root| at(root, path));
        let all: Vec<usize> = (0..releases.len()).filter(|release| has(*release).is_some()).collect();
        let (first, last) = (*all.first()?, *all.last()?);
        let (schema, required) = has(last)?;
        let until = (last + 1 < releases.len()).then(|| names[last]);
        Some(Versioned { kind, schema, required, since: names[first], until })
    };
    kinds.iter().filter_map(of_kind).collect()
}

/// Where a path ends that no version has: the names that are there, for a
/// did-you-mean.
pub(crate) fn names_at(kinds: &[&'static TableKind], path: &[&str]) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for kind in kinds {
        for schema in kind.releases().iter().filter_map(table::KindRelease::schema) {
            if let Some((parent, _)) = at(schema, path) {
                names.extend(fields(parent).into_iter().map(|(name, _)| name));
            }
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// What a list or map holds: `strings`, `lists of strings`, `integers or strings`.
fn several(one: &str) -> String {
    let (first, rest) = one.split_once(" of ").map_or((one, None), |(first, rest)| (first, Some(rest)));
    let words: Vec<String> = match first {
        "any" => vec!["any values".to_owned()],
        first => first.split(" or ").map(plural).collect(),
    };
    rest.map_or(words.join(" or "), |rest| format!("{} of {rest}", words.join(" or ")))
}

/// The types of a field in words: `list of maps`.
pub(crate) fn type_of(schema: &Schema) -> String {
    if schema.int_or_string {
        return "integer or string".to_owned();
    }
    if schema.quantity {
        return "quantity".to_owned();
    }
    let names: Vec<&str> = schema.types.names().collect();
    match names.as_slice() {
        [] => "any".to_owned(),
        ["array"] => match schema.item().map(type_of) {
            Some(item) => format!("list of {}", several(&item)),
            None => "list".to_owned(),
        },
        ["object"] => match &schema.additional {
            super::Additional::Of(child) if schema.properties.is_empty() => {
                format!("map of {}", several(&type_of(child.get())))
            }
            _ => "map".to_owned(),
        },
        names => names.join(" or "),
    }
}

/// Whether a product's releases say anything: others are known at one release.
pub(crate) fn has_releases(product: Product) -> bool {
    product.releases().len() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_known_by_version() {
        let kinds = kinds_of("kustomization");
        assert_eq!(kinds[0].version(), "v1");
        let versions = versions_of(&kinds, &["spec", "postBuild", "substituteFrom", "kind"]);
        assert_eq!(versions[0].schema.enumeration.len(), 2);
        assert!(versions[0].required && versions[0].until.is_none());
        let policy = versions_of(&kinds, &["spec", "deletionPolicy"]);
        assert_eq!((policy.len(), policy[0].since), (1, "2.5"));
        assert!(
            !policy[0].is_in(4, &["spec", "deletionPolicy"])
                && policy[0].is_in(5, &["spec", "deletionPolicy"])
        );
        assert!(names_at(&kinds, &["spec"]).contains(&"interval"));
        assert_eq!(type_of(versions_of(&kinds, &["spec", "dependsOn"])[0].schema), "list of maps");
        assert_eq!(
            type_of(versions_of(&kinds_of("pod"), &["spec", "nodeSelector"])[0].schema),
            "map of strings"
        );
    }
}
