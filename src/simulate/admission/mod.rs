//! What expressions of admission policies may name: the variables and functions that the API
//! server declares for them.

mod patch_types;

pub(crate) use patch_types::{JSON_PATCH_FIELDS, Patch, PatchFault, patch_fault};

use crate::lang::cel::Expression;
use crate::lang::text::suggest;
use std::collections::BTreeSet;

/// The variables of an expression.
/// Source: kubernetes apiserver `pkg/admission/plugin/cel/compile.go` (`ObjectVarName` and the
/// like, `OptionalVariableDeclarations`), `composition.go` for `variables`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declared {
    params: bool,
    is_policy: bool,
    /// Whether `authorizer` is there.
    pub authorizer: bool,
    /// The variables of the policy that are there; `None` where there are none at all.
    pub variables: Option<BTreeSet<String>>,
}

impl Declared {
    /// Those of a policy's expressions, before its own variables.
    pub(crate) fn policy(has_params: bool) -> Declared {
        Declared { params: has_params, is_policy: true, authorizer: true, variables: None }
    }

    /// Those of a webhook's match conditions.
    pub(crate) fn webhook() -> Declared {
        Declared { authorizer: true, ..Declared::default() }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        let optional = [
            (self.params, "params"),
            (self.authorizer, "authorizer"),
            (self.variables.is_some(), "variables"),
        ];
        let here = optional.into_iter().filter(|(is_there, _)| *is_there).map(|(_, name)| name);
        ["object", "oldObject", "request", "namespaceObject"].into_iter().chain(here)
    }

    /// Why one that others have is not there.
    pub(crate) fn why_not(&self, name: &str) -> Option<&'static str> {
        match name {
            "params" if self.is_policy => Some("a policy has `params` with a `spec.paramKind` only"),
            "variables" if self.is_policy => {
                Some("`matchConditions` are looked at before the variables: write it out")
            }
            "authorizer" if self.is_policy => Some("a `messageExpression` has no `authorizer`"),
            _ => None,
        }
    }
}

/// A name that nothing declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Undeclared {
    Name(String),
    /// A variable of the policy: `variables.x`.
    Variable(String),
    /// A function, and the one that it may mean.
    Function(String, &'static str),
}

/// The types of the language. Source: cel-spec `doc/langdef.md` ("Values").
const TYPES: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "int",
    "list",
    "map",
    "null_type",
    "optional_type",
    "string",
    "timestamp",
    "type",
    "uint",
];

/// What stands before a function like a name. Source: cel-go `ext` (`Sets`, `Strings`, `Math`,
/// `OptionalTypes`), apiserver `pkg/cel/library` (`ip.go`, `format.go`, `jsonpatch.go`).
const NAMESPACES: &[&str] =
    &["base64", "cel", "format", "ip", "jsonpatch", "lists", "math", "optional", "sets", "strings"];

/// What binds variables: how many of the first arguments.
/// Source: cel-go `parser/macro.go`; `ext/comprehensions.go` for those of two variables.
fn bound(name: &str, arguments: usize) -> usize {
    match (name, arguments) {
        ("all" | "exists" | "exists_one" | "existsOne", 3) => 2,
        ("transformList" | "transformMap" | "transformMapEntry", _) => 2,
        ("all" | "exists" | "exists_one" | "existsOne" | "map" | "filter" | "optMap" | "optFlatMap", _) => 1,
        _ => 0,
    }
}

/// The functions, by who brings them.
/// Source: cel-spec `doc/langdef.md` ("Standard Definitions"); cel-go `ext/strings.go`,
/// `ext/sets.go`, `ext/comprehensions.go`, `cel/library.go` (optional types); apiserver
/// `pkg/cel/environment/base.go` for the list and `pkg/cel/library/*.go` for the names.
const FUNCTIONS: &[&[&str]] = &[
    // The language.
    &[
        "all",
        "contains",
        "endsWith",
        "exists",
        "exists_one",
        "filter",
        "getDate",
        "getDayOfMonth",
        "getDayOfWeek",
        "getDayOfYear",
        "getFullYear",
        "getHours",
        "getMilliseconds",
        "getMinutes",
        "getMonth",
        "getSeconds",
        "has",
        "map",
        "matches",
        "size",
        "startsWith",
    ],
    // Texts, sets, comprehensions of two variables, what may be absent.
    &[
        "charAt",
        "format",
        "indexOf",
        "join",
        "lastIndexOf",
        "lowerAscii",
        "quote",
        "replace",
        "reverse",
        "split",
        "substring",
        "trim",
        "upperAscii",
    ],
    &["equivalent", "intersects"],
    &["existsOne", "transformList", "transformMap", "transformMapEntry"],
    &["hasValue", "none", "of", "ofNonZeroValue", "optFlatMap", "optMap", "or", "orValue", "value"],
    // URLs, regular expressions, lists.
    &["getEscapedPath", "getHost", "getHostname", "getPort", "getQuery", "getScheme", "isURL", "url"],
    &["find", "findAll"],
    &["isSorted", "max", "min", "sum"],
    // Authorization.
    &[
        "allowed",
        "check",
        "error",
        "errored",
        "fieldSelector",
        "group",
        "labelSelector",
        "name",
        "namespace",
        "path",
        "reason",
        "resource",
        "serviceAccount",
        "subresource",
    ],
    // Quantities, addresses, formats, versions, images.
    &[
        "add",
        "asApproximateFloat",
        "asInteger",
        "compareTo",
        "isGreaterThan",
        "isInteger",
        "isLessThan",
        "isQuantity",
        "quantity",
        "sign",
        "sub",
    ],
    &[
        "cidr",
        "containsCIDR",
        "containsIP",
        "family",
        "ip",
        "isCIDR",
        "isCanonical",
        "isGlobalUnicast",
        "isIP",
        "isLinkLocalMulticast",
        "isLinkLocalUnicast",
        "isLoopback",
        "isUnspecified",
        "masked",
        "prefixLength",
    ],
    &["dns1035Label", "dns1123Label", "dns1123Subdomain", "named", "validate"],
    &["isSemver", "major", "minor", "patch", "semver"],
    &["escapeKey"],
];

/// The first name of an expression that nothing declares. Functions are only told where a
/// known one is near: each release of Kubernetes brings more.
pub(crate) fn undeclared(expression: &Expression, declared: &Declared) -> Option<Undeclared> {
    // What is open, with the variables that are bound around it.
    let mut open: Vec<(&Expression, Vec<&str>)> = vec![(expression, Vec::new())];
    while let Some((one, around)) = open.pop() {
        if let Some(found) = undeclared_here(one, &around, declared) {
            return Some(found);
        }
        let before = open.len();
        match one {
            Expression::Select(of, _) if is_variables(of, &around) => {}
            Expression::Call(of, name, arguments) => {
                if let Some(of) = of.as_deref().filter(|of| !is_namespace(of)) {
                    open.push((of, around.clone()));
                }
                let names = bound_names(of.is_some(), name, arguments);
                let mut inner = around.clone();
                inner.extend(&names);
                open.extend(arguments.iter().skip(names.len()).map(|part| (part, inner.clone())));
            }
            _ => open.extend(one.parts().into_iter().map(|part| (part, around.clone()))),
        }
        open[before..].reverse();
    }
    None
}

/// The variables that a macro binds, where it is one.
fn bound_names<'e>(is_member: bool, name: &str, arguments: &'e [Expression]) -> Vec<&'e str> {
    let count = if is_member { bound(name, arguments.len()) } else { 0 };
    let names = arguments.iter().take(count).filter_map(|one| match one {
        Expression::Name(name) => Some(name.as_str()),
        _ => None,
    });
    let names: Vec<&str> = names.collect();
    if names.len() == count { names } else { Vec::new() }
}

fn is_namespace(expression: &Expression) -> bool {
    matches!(expression, Expression::Name(name) if NAMESPACES.contains(&name.as_str()))
}

fn is_variables(expression: &Expression, around: &[&str]) -> bool {
    matches!(expression, Expression::Name(name) if name == "variables" && !around.contains(&"variables"))
}

fn undeclared_here(one: &Expression, around: &[&str], declared: &Declared) -> Option<Undeclared> {
    match one {
        Expression::Name(name) => {
            let name = name.as_str();
            let is_known = around.contains(&name)
                || TYPES.contains(&name)
                || declared.names().any(|known| known == name);
            (!is_known).then(|| Undeclared::Name(name.to_owned()))
        }
        Expression::Select(of, field) if is_variables(of, around) => match &declared.variables {
            None => Some(Undeclared::Name("variables".to_owned())),
            Some(known) => (!known.contains(field)).then(|| Undeclared::Variable(field.clone())),
        },
        Expression::Call(_, name, _) => {
            let functions = || FUNCTIONS.iter().copied().flatten().copied();
            if functions().any(|known| known == name) || TYPES.contains(&name.as_str()) {
                return None;
            }
            suggest(name, functions()).map(|near| Undeclared::Function(name.clone(), near))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::cel::parse;

    fn told(text: &str, declared: &Declared) -> Option<Undeclared> {
        undeclared(&parse(text).expect("an expression"), declared)
    }

    #[test]
    fn what_the_api_server_declares_is_known() {
        let mut declared = Declared::policy(true);
        declared.variables = Some(BTreeSet::from(["size".to_owned()]));
        for text in [
            "object.spec.replicas <= params.maxReplicas",
            "request.operation == 'DELETE' || oldObject == null",
            "object.spec.containers.all(c, c.image.startsWith(variables.size))",
            "object.metadata.labels.all(key, value, key != value)",
            "object.spec.?replicas.orValue(1) > 0 && namespaceObject.metadata.name != ''",
            "authorizer.group('apps').resource('deployments').check('get').allowed()",
            "sets.contains(object.a, ['x']) && quantity(object.b).isLessThan(quantity('1Gi'))",
            "has(object.metadata.annotations) ? {'a': [1, 2]} : {}",
            "Object{metadata: Object.metadata{labels: {'a': object.metadata.name}}}",
            "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), value: 'x'}]",
            "object.spec.items.map(i, i.size, i.name)[?0].hasValue()",
            "optional.none().or(optional.of(1)).value() == int('1')",
            "object.x.somethingNewOfLaterReleases()",
            "type(object.a) == string",
        ] {
            assert_eq!(told(text, &declared), None, "{text}");
        }
    }

    #[test]
    fn what_it_does_not_declare_is_told() {
        let name = |name: &str| Some(Undeclared::Name(name.to_owned()));
        let mut declared = Declared::policy(false);
        assert_eq!(told("params.a == 1", &declared), name("params"));
        assert_eq!(told("variables.a == 1", &declared), name("variables"));
        declared.variables = Some(BTreeSet::new());
        assert_eq!(told("variables.a == 1", &declared), Some(Undeclared::Variable("a".to_owned())));
        assert_eq!(told("objct.spec.a == 1", &declared), name("objct"));
        assert_eq!(told("object.list.all(c, c.a == d.a)", &declared), name("d"));
        assert_eq!(told("object.list.all(c, true) && c.a", &declared), name("c"));
        let near = |name: &str, near| Some(Undeclared::Function(name.to_owned(), near));
        assert_eq!(told("object.a.startWith('x')", &declared), near("startWith", "startsWith"));
        assert_eq!(told("params.a == 1", &Declared::webhook()), name("params"));
    }
}
