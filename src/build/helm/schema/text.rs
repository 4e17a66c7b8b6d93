//! Faults in the words of the libraries that Helm uses: github.com/santhosh-tekuri/jsonschema
//! in Helm 4, github.com/xeipuuv/gojsonschema in Helm 3.

use super::validate::{ValidationFault, Wrong, is_integer, type_name};
use crate::build::helm::value::{Kind, Value};
use crate::lang::template::float;

/// Faults as Helm 4 tells them, a line each.
pub(super) fn told(faults: &[ValidationFault], indent: usize, out: &mut String) {
    for fault in faults {
        let skipped = matches!(fault.kind, Wrong::Reference) && fault.causes.len() == 1;
        if !skipped {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(&"  ".repeat(indent));
            let pointer: String = fault
                .path
                .iter()
                .map(|part| format!("/{}", part.replace('~', "~0").replace('/', "~1")))
                .collect();
            out.push_str(&format!("- at {}: {}", quoted(&pointer), words(&fault.kind)));
        }
        told(&fault.causes, indent + usize::from(!skipped), out);
    }
}

fn quoted(text: &str) -> String {
    let text = crate::lang::template::go_quote(text);
    let inner = text[1..text.len() - 1].replace("\\\"", "\"").replace('\'', "\\'");
    format!("'{inner}'")
}

fn list(texts: &[String]) -> String {
    texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ")
}

fn display(value: &Value) -> String {
    match &value.kind {
        Kind::Text(text) => quoted(text),
        Kind::List(_) | Kind::Map(_) => "value".to_owned(),
        _ => value.to_string(),
    }
}

/// A whole number with separators, as golang.org/x/text prints it in English.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number by `%v` of golang.org/x/text: `1,234.5`, `2×10⁰⁶`.
fn number(value: f64) -> String {
    let plain = float(value);
    if let Some((mantissa, exponent)) = plain.split_once('e') {
        let raised: String = exponent.trim_start_matches('+').chars().map(superscript).collect();
        return format!("{mantissa}×10{raised}");
    }
    let (sign, digits) = plain.strip_prefix('-').map_or(("", &*plain), |rest| ("-", rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), grouped);
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

fn superscript(c: char) -> char {
    match c {
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '-' => '⁻',
        '0' => '⁰',
        digit => char::from_u32(0x2070 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit),
    }
}

fn indices(found: &[usize]) -> String {
    found.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
}

/// The first of what a fault comes from, in Helm 4's words.
pub(super) fn causes(fault: &ValidationFault) -> Vec<String> {
    /// More of them help nobody.
    const MOST: usize = 4;
    let mut all = String::new();
    told(&fault.causes, 0, &mut all);
    let lines = all.lines().map(|line| line.trim_start().trim_start_matches("- "));
    // That of a group is told by what is in it.
    lines.filter(|line| !line.ends_with(": validation failed")).take(MOST).map(str::to_owned).collect()
}

/// A fault in Helm 4's words, without what it comes from.
pub(super) fn words(kind: &Wrong) -> String {
    match kind {
        Wrong::Group | Wrong::Reference => "validation failed".to_owned(),
        Wrong::FalseSchema => "false schema".to_owned(),
        Wrong::RefCycle => "the references of the schema go in a circle".to_owned(),
        Wrong::Type(wanted, value) => {
            // Upstream holds them as bits.
            const ORDER: [&str; 7] = ["null", "boolean", "number", "integer", "string", "array", "object"];
            let mut wanted = wanted.clone();
            wanted.sort_by_key(|name| ORDER.iter().position(|known| known == name));
            format!("got {}, want {}", type_name(value), wanted.join(" or "))
        }
        Wrong::Const(wanted) => match wanted.kind {
            Kind::List(_) | Kind::Map(_) => "'const' failed".to_owned(),
            _ => format!("value must be {}", display(wanted)),
        },
        Wrong::Enum(wanted) if wanted.iter().any(|one| matches!(one.kind, Kind::List(_) | Kind::Map(_))) => {
            "'enum' failed".to_owned()
        }
        Wrong::Enum(wanted) => match &**wanted {
            [one] => format!("value must be {}", display(one)),
            all => format!("value must be one of {}", all.iter().map(display).collect::<Vec<_>>().join(", ")),
        },
        Wrong::Format(value, format, why) => format!("{} is not valid {format}: {why}", display(value)),
        Wrong::Required(missing) => match &**missing {
            [one] => format!("missing property {}", quoted(one)),
            all => format!("missing properties {}", list(all)),
        },
        Wrong::Dependency(name, missing) => {
            format!("properties {} required, if {} exists", list(missing), quoted(name))
        }
        Wrong::AdditionalProperties(names) => format!("additional properties {} not allowed", list(names)),
        Wrong::PropertyName(name) => format!("invalid propertyName {}", quoted(name)),
        Wrong::UniqueItems(one, two) => format!("items at {} and {} are equal", grouped(*one), grouped(*two)),
        Wrong::AdditionalItems(count) => format!("last {} additionalItem(s) not allowed", grouped(*count)),
        Wrong::Contains => "no items match contains schema".to_owned(),
        Wrong::MinContains(found, wanted) if found.is_empty() => {
            format!("min {} items required to match contains schema, but none matched", grouped(*wanted))
        }
        Wrong::MinContains(found, wanted) => format!(
            "min {} items required to match contains schema, but matched {} items at {}",
            grouped(*wanted),
            grouped(found.len()),
            indices(found)
        ),
        Wrong::MaxContains(found, wanted) => format!(
            "max {} items required to match contains schema, but matched {} items at {}",
            grouped(*wanted),
            grouped(found.len()),
            indices(found)
        ),
        Wrong::Pattern(text, pattern) => {
            format!("{} does not match pattern {}", quoted(text), quoted(pattern))
        }
        Wrong::Not => "'not' failed".to_owned(),
        Wrong::AllOf => "'allOf' failed".to_owned(),
        Wrong::AnyOf => "'anyOf' failed".to_owned(),
        Wrong::OneOf(None) => "'oneOf' failed, none matched".to_owned(),
        Wrong::OneOf(Some((one, two))) => {
            format!("'oneOf' failed, subschemas {}, {} matched", grouped(*one), grouped(*two))
        }
        other => compared(other),
    }
}

/// Faults of what is counted or measured.
fn compared(kind: &Wrong) -> String {
    let counts =
        |name: &str, got: usize, want: usize| format!("{name}: got {}, want {}", grouped(got), grouped(want));
    let numbers =
        |name: &str, got: f64, want: f64| format!("{name}: got {}, want {}", number(got), number(want));
    match *kind {
        Wrong::MinProperties(got, want) => counts("minProperties", got, want),
        Wrong::MaxProperties(got, want) => counts("maxProperties", got, want),
        Wrong::MinItems(got, want) => counts("minItems", got, want),
        Wrong::MaxItems(got, want) => counts("maxItems", got, want),
        Wrong::MinLength(got, want) => counts("minLength", got, want),
        Wrong::MaxLength(got, want) => counts("maxLength", got, want),
        Wrong::Minimum(got, want) => numbers("minimum", got, want),
        Wrong::Maximum(got, want) => numbers("maximum", got, want),
        Wrong::ExclusiveMinimum(got, want) => numbers("exclusiveMinimum", got, want),
        Wrong::ExclusiveMaximum(got, want) => numbers("exclusiveMaximum", got, want),
        Wrong::MultipleOf(got, want) => numbers("multipleOf", got, want),
        _ => String::new(),
    }
}

/// Faults as Helm 3 tells them.
pub(super) fn told_in_3(faults: &[ValidationFault], out: &mut Vec<String>) {
    for fault in faults {
        let field = if fault.path.is_empty() { "(root)".to_owned() } else { fault.path.join(".") };
        let around = matches!(fault.kind, Wrong::Group | Wrong::Reference);
        if matches!(fault.kind, Wrong::AllOf) || around {
            told_in_3(&fault.causes, out);
        }
        if around {
            continue;
        }
        for words in words_of_3(fault, &field) {
            out.push(format!("- {field}: {words}"));
        }
        if matches!(fault.kind, Wrong::AnyOf | Wrong::OneOf(_)) {
            // Of the alternatives the one that fits best is told.
            let best = fault.causes.iter().max_by_key(|cause| cause.path.len());
            told_in_3(best.map(std::slice::from_ref).unwrap_or_default(), out);
        }
    }
}

fn words_of_3(fault: &ValidationFault, field: &str) -> Vec<String> {
    let json = |value: &Value| match &value.kind {
        Kind::Text(text) => format!("{:?}", &**text),
        _ => value.to_string(),
    };
    vec![match &fault.kind {
        Wrong::FalseSchema => "False always fails validation".to_owned(),
        Wrong::Type(wanted, value) => {
            let given = if is_integer(value) { "integer" } else { type_name(value) };
            let wanted = match &**wanted {
                [one] => one.clone(),
                all => format!("[{}]", all.join(",")),
            };
            format!("Invalid type. Expected: {wanted}, given: {given}")
        }
        Wrong::Required(missing) => {
            return missing.iter().map(|name| format!("{name} is required")).collect();
        }
        Wrong::AdditionalProperties(names) => {
            return names.iter().map(|name| format!("Additional property {name} is not allowed")).collect();
        }
        Wrong::Const(wanted) => format!("{field} does not match: {}", json(wanted)),
        Wrong::Enum(wanted) => {
            let all: Vec<String> = wanted.iter().map(json).collect();
            format!("{field} must be one of the following: {}", all.join(", "))
        }
        Wrong::Format(_, format, _) => format!("Does not match format '{format}'"),
        Wrong::Dependency(name, _) => format!("Has a dependency on {name}"),
        Wrong::PropertyName(name) => format!("Property name of \"{name}\" does not match"),
        Wrong::UniqueItems(one, two) => format!("array items[{one},{two}] must be unique"),
        Wrong::AdditionalItems(_) => "No additional items allowed on array".to_owned(),
        Wrong::Contains | Wrong::MinContains(..) | Wrong::MaxContains(..) => {
            "At least one of the items must match".to_owned()
        }
        Wrong::Pattern(_, pattern) => format!("Does not match pattern '{pattern}'"),
        Wrong::Not => "Must not validate the schema (not)".to_owned(),
        Wrong::AllOf => "Must validate all the schemas (allOf)".to_owned(),
        Wrong::AnyOf => "Must validate at least one schema (anyOf)".to_owned(),
        Wrong::OneOf(_) => "Must validate one and only one schema (oneOf)".to_owned(),
        Wrong::MinProperties(_, want) => format!("Must have at least {want} properties"),
        Wrong::MaxProperties(_, want) => format!("Must have at most {want} properties"),
        Wrong::MinItems(_, want) => format!("Array must have at least {want} items"),
        Wrong::MaxItems(_, want) => format!("Array must have at most {want} items"),
        Wrong::MinLength(_, want) => format!("String length must be greater than or equal to {want}"),
        Wrong::MaxLength(_, want) => format!("String length must be less than or equal to {want}"),
        Wrong::Minimum(_, want) => format!("Must be greater than or equal to {}", float(*want)),
        Wrong::Maximum(_, want) => format!("Must be less than or equal to {}", float(*want)),
        Wrong::ExclusiveMinimum(_, want) => format!("Must be greater than {}", float(*want)),
        Wrong::ExclusiveMaximum(_, want) => format!("Must be less than {}", float(*want)),
        Wrong::MultipleOf(_, want) => format!("Must be a multiple of {}", float(*want)),
        Wrong::Group | Wrong::Reference | Wrong::RefCycle => "validation failed".to_owned(),
    }]
}
