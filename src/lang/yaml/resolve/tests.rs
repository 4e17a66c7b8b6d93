//! Tests of the module.

use super::*;
use Dialect::{GoYamlV2, GoYamlV3};

fn plain(text: &str, dialect: Dialect) -> String {
    let scalar = resolve_plain(Cow::Borrowed(text), dialect);
    let value = json_value(&scalar).unwrap_or_else(|e| e);
    format!("{} {value}", scalar.type_name())
}

#[test]
fn plain_scalars_alike_in_both_dialects() {
    let table = [
        ("", "null null"),
        ("~", "null null"),
        ("NULL", "null null"),
        ("nULL", "string \"nULL\""),
        ("True", "boolean true"),
        ("tRUE", "string \"tRUE\""),
        ("0", "integer 0"),
        ("-0", "integer 0"),
        ("+4", "integer 4"),
        ("1_000", "integer 1000"),
        ("_1", "string \"_1\""),
        ("017", "integer 15"),
        ("0o17", "integer 15"),
        ("0o-7x", "string \"0o-7x\""),
        ("0x1F", "integer 31"),
        ("0b-1", "integer -1"),
        ("0x", "string \"0x\""),
        ("08", "number 8"),
        ("-", "string \"-\""),
        ("9223372036854775808", "integer 9223372036854775808"),
        ("+9223372036854775808", "number 9223372036854776000"),
        ("-9223372036854775808", "integer -9223372036854775808"),
        ("0x10000000000000000", "string \"0x10000000000000000\""),
        ("1.10", "number 1.1"),
        ("5.", "number 5"),
        (".5", "number 0.5"),
        (".5_0", "number 0.5"),
        ("._5", "string \"._5\""),
        (".", "string \".\""),
        ("1e3", "number 1000"),
        ("12345e6", "number 12345000000"),
        ("1e21", "number 1e+21"),
        ("1.0e-7", "number 1e-7"),
        ("1e400", "string \"1e400\""),
        ("-.inf", "number json: unsupported value: -Inf"),
        (".nan", "number json: unsupported value: NaN"),
        ("1:30", "string \"1:30\""),
        ("1.2.3", "string \"1.2.3\""),
        ("<<", "string \"<<\""),
        ("v1", "string \"v1\""),
    ];
    for (text, expected) in table {
        assert_eq!(plain(text, GoYamlV2), expected, "v2 {text}");
        assert_eq!(plain(text, GoYamlV3), expected, "v3 {text}");
    }
}

#[test]
fn plain_scalars_that_the_dialects_read_differently() {
    let table = [
        ("yes", "boolean true", "string \"yes\""),
        ("off", "boolean false", "string \"off\""),
        ("y", "boolean true", "string \"y\""),
        ("2024-1-1", "string \"2024-1-1\"", "timestamp \"2024-01-01T00:00:00Z\""),
        ("0o-7", "string \"0o-7\"", "integer -7"),
    ];
    for (text, v2, v3) in table {
        assert_eq!(plain(text, GoYamlV2), v2, "v2 {text}");
        assert_eq!(plain(text, GoYamlV3), v3, "v3 {text}");
    }
}

#[test]
fn timestamps_are_printed_in_rfc3339() {
    let table = [
        ("2024-02-29", Some("2024-02-29T00:00:00Z")),
        ("2023-02-29", None),
        ("2024-01-01 1:02:03.50", Some("2024-01-01T01:02:03.5Z")),
        ("2024-01-01T10:00:00", None),
        ("2024-01-01t1:0:0,5+02:30", Some("2024-01-01T01:00:00.5+02:30")),
        ("2024-01-01T10:00:00-00:00", Some("2024-01-01T10:00:00Z")),
        ("2024-01-01T10:00:00+24:00", None),
        ("2024-01-01 10:00:00Z", None),
        ("2024-01-01T10:00:00.1234567899Z", Some("2024-01-01T10:00:00.123456789Z")),
        ("24-01-01", None),
    ];
    for (text, expected) in table {
        assert_eq!(timestamp_rfc3339(text).as_deref(), expected, "{text}");
    }
}

#[test]
fn tags_force_or_keep() {
    let tagged = |text: &'static str, style, tag, dialect| match resolve_tagged(
        Cow::Borrowed(text),
        style,
        tag,
        dialect,
    ) {
        Ok(scalar) => format!("{} {}", scalar.type_name(), json_value(&scalar).unwrap()),
        Err(error) => error,
    };
    use ScalarStyle::{DoubleQuoted, Plain};
    let long = |name: &str| format!("tag:yaml.org,2002:{name}");
    let table = [
        ("1", Plain, long("str"), "string \"1\"", "string \"1\""),
        ("1", DoubleQuoted, long("int"), "integer 1", "integer 1"),
        ("1", Plain, long("float"), "number 1", "number 1"),
        ("1", Plain, "!".to_owned(), "string \"1\"", "integer 1"),
        ("1", DoubleQuoted, "!".to_owned(), "string \"1\"", "string \"1\""),
        ("1", Plain, "!foo".to_owned(), "string \"1\"", "string \"1\""),
        ("aGk=", Plain, long("binary"), "string \"hi\"", "string \"hi\""),
        ("", Plain, long("null"), "null null", "null null"),
        ("yes", Plain, long("bool"), "boolean true", "cannot decode !!str `yes` as a !!bool"),
        (
            "2024-01-01",
            DoubleQuoted,
            long("timestamp"),
            "string \"2024-01-01\"",
            "timestamp \"2024-01-01T00:00:00Z\"",
        ),
        (
            "08",
            Plain,
            long("int"),
            "cannot decode !!float `08` as a !!int",
            "cannot decode !!float `08` as a !!int",
        ),
    ];
    for (text, style, tag, v2, v3) in &table {
        assert_eq!(tagged(text, *style, Some(tag), GoYamlV2), *v2, "v2 {tag} {text}");
        assert_eq!(tagged(text, *style, Some(tag), GoYamlV3), *v3, "v3 {tag} {text}");
    }
    assert_eq!(tagged("yes", Plain, None, GoYamlV2), "boolean true");
    assert_eq!(tagged("yes", DoubleQuoted, None, GoYamlV2), "string \"yes\"");
    assert!(resolve_tagged("???".into(), Plain, Some(&long("binary")), GoYamlV2).is_err(), "not base64");
}

#[test]
fn keys_become_strings_in_v2_only() {
    let key = |text: &str, dialect| {
        let scalar = resolve_plain(Cow::Borrowed(text), dialect);
        json_key(&scalar, dialect).map(Cow::into_owned).ok()
    };
    let table = [
        ("on", Some("true")),
        ("010", Some("8")),
        ("1.0", Some("1")),
        ("0123456789", Some("1.2345679e+08")),
        ("12E5", Some("1.2e+06")),
        ("5e5", Some("500000")),
        ("1.0e-7", Some("1e-07")),
        ("123e45", Some(".inf")),
        ("-.inf", Some("-.inf")),
        ("~", None),
        ("9223372036854775808", None),
        ("2024-01-01", Some("2024-01-01")),
    ];
    for (text, expected) in table {
        assert_eq!(key(text, GoYamlV2).as_deref(), expected, "{text}");
    }
    assert_eq!(key("on", GoYamlV3).as_deref(), Some("on"));
    assert_eq!(key("true", GoYamlV3), None);
    assert_eq!(key("2024-01-01", GoYamlV3), None);
}

#[test]
fn floats_in_yaml_and_json() {
    assert_eq!(format_float(-0.0), "-0");
    assert_eq!(format_float(0.00001), "0.00001");
    assert_eq!(format_float(1.5e300), "1.5e+300");
    assert_eq!(format_float_yaml(1e6), "1e+06");
    assert_eq!(format_float_yaml(100000.0), "100000");
    assert_eq!(format_float_yaml(0.0001), "0.0001");
    assert_eq!(format_float_yaml(0.00001), "1e-05");
    assert_eq!(format_float_yaml(f64::NAN), ".nan");
}

#[test]
fn strings_stay_borrowed() {
    for text in ["nginx", "yesterday", "1.2.3", "-x", ".x"] {
        let scalar = resolve_plain(Cow::Borrowed(text), GoYamlV3);
        assert!(matches!(scalar, Scalar::Str(Cow::Borrowed(_))), "{text}");
    }
}
