//! Kubernetes' grammar of label keys, annotation keys and label values.
//! Source: apimachinery `pkg/util/validation` (`IsQualifiedName`,
//! `IsValidLabelValue`), `pkg/apis/meta/v1/validation` (`ValidateLabels`) and
//! `pkg/api/validation` (`ValidateAnnotations`, which lower-cases the key).

/// What is wrong with a key or a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetadataFault {
    /// The key is empty.
    EmptyKey,
    /// There is nothing before the slash.
    EmptyPrefix,
    /// The prefix is longer than 253 bytes.
    LongPrefix,
    /// The prefix is no DNS subdomain: lower-case letters, digits, `-` and `.`.
    Prefix,
    /// There is nothing after the slash.
    EmptyName,
    /// The name is longer than 63 bytes.
    LongName,
    /// The name holds something else than letters, digits, `-`, `_` and `.`, or
    /// does not begin and end with a letter or digit.
    Name,
    /// More than one slash.
    Slashes,
    /// A label value longer than 63 bytes.
    LongValue,
    /// A label value that holds something else than letters, digits, `-`, `_`
    /// and `.`, or does not begin and end with a letter or digit.
    Value,
}

impl MetadataFault {
    /// What would be right, as a clause for a message.
    pub(crate) fn wanted(self) -> &'static str {
        match self {
            MetadataFault::EmptyKey => "a key must not be empty",
            MetadataFault::EmptyPrefix => "the part before the slash must not be empty",
            MetadataFault::LongPrefix => "the part before the slash has at most 253 characters",
            MetadataFault::Prefix => {
                "the part before the slash is a DNS name of lower-case letters, digits, `-` and `.`"
            }
            MetadataFault::EmptyName => "the part after the slash must not be empty",
            MetadataFault::LongName => "the name has at most 63 characters",
            MetadataFault::Name => {
                "the name is made of letters, digits, `-`, `_` and `.`, and begins and ends with a letter or digit"
            }
            MetadataFault::Slashes => "a key has at most one slash",
            MetadataFault::LongValue => "a label value has at most 63 characters",
            MetadataFault::Value => {
                "a label value is made of letters, digits, `-`, `_` and `.`, and begins and ends with a letter or digit"
            }
        }
    }
}

/// The first fault of a label key, if any.
pub(crate) fn label_key_fault(key: &str) -> Option<MetadataFault> {
    if key.is_empty() {
        return Some(MetadataFault::EmptyKey);
    }
    let name = match key.split_once('/') {
        None => key,
        Some((_, name)) if name.contains('/') => return Some(MetadataFault::Slashes),
        Some(("", _)) => return Some(MetadataFault::EmptyPrefix),
        Some((prefix, _)) if prefix.len() > 253 => return Some(MetadataFault::LongPrefix),
        Some((prefix, _)) if !is_dns_subdomain(prefix) => return Some(MetadataFault::Prefix),
        Some((_, name)) => name,
    };
    if name.is_empty() {
        Some(MetadataFault::EmptyName)
    } else if name.len() > 63 {
        Some(MetadataFault::LongName)
    } else if !is_bounded_word(name) {
        Some(MetadataFault::Name)
    } else {
        None
    }
}

/// The first fault of an annotation key, if any. Unlike a label's, its prefix
/// may hold capitals.
pub(crate) fn annotation_key_fault(key: &str) -> Option<MetadataFault> {
    label_key_fault(&key.to_lowercase())
}

/// The first fault of a label value, if any. The empty value is fine.
pub(crate) fn label_value_fault(value: &str) -> Option<MetadataFault> {
    if value.len() > 63 {
        Some(MetadataFault::LongValue)
    } else if value.is_empty() || is_bounded_word(value) {
        None
    } else {
        Some(MetadataFault::Value)
    }
}

/// `[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*`
fn is_dns_subdomain(text: &str) -> bool {
    let alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.split('.').all(|label| {
        let bytes = label.as_bytes();
        bytes.first().is_some_and(|&b| alphanumeric(b))
            && bytes.last().is_some_and(|&b| alphanumeric(b))
            && bytes.iter().all(|&b| alphanumeric(b) || b == b'-')
    })
}

/// `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`
fn is_bounded_word(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|&b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_keys_are_qualified_names() {
        let long_name = "a".repeat(63);
        let longer_name = "a".repeat(64);
        let long_prefix = format!("{}/a", ["a".repeat(62).as_str(); 4].join("."));
        let longer_prefix = format!("{}/a", ["a".repeat(63).as_str(); 4].join("."));
        let cases = [
            ("app", None),
            ("App_1.x-y", None),
            ("app.kubernetes.io/name", None),
            ("1.2/3", None),
            (long_name.as_str(), None),
            (long_prefix.as_str(), None),
            ("", Some(MetadataFault::EmptyKey)),
            ("/name", Some(MetadataFault::EmptyPrefix)),
            ("example.com/", Some(MetadataFault::EmptyName)),
            ("a/b/c", Some(MetadataFault::Slashes)),
            ("Example.com/name", Some(MetadataFault::Prefix)),
            ("example..com/name", Some(MetadataFault::Prefix)),
            ("-example.com/name", Some(MetadataFault::Prefix)),
            ("exam_ple.com/name", Some(MetadataFault::Prefix)),
            ("-app", Some(MetadataFault::Name)),
            ("app.", Some(MetadataFault::Name)),
            ("my app", Some(MetadataFault::Name)),
            ("größe", Some(MetadataFault::Name)),
            (longer_name.as_str(), Some(MetadataFault::LongName)),
            (longer_prefix.as_str(), Some(MetadataFault::LongPrefix)),
        ];
        for (key, expected) in cases {
            assert_eq!(label_key_fault(key), expected, "{key}");
        }
    }

    #[test]
    fn annotation_keys_are_lower_cased_first() {
        let cases = [
            ("Example.com/name", None),
            ("example.com/my key", Some(MetadataFault::Name)),
            ("a/b/c", Some(MetadataFault::Slashes)),
        ];
        for (key, expected) in cases {
            assert_eq!(annotation_key_fault(key), expected, "{key}");
        }
    }

    #[test]
    fn label_values_are_short_words() {
        let long = "a".repeat(63);
        let longer = "a".repeat(64);
        let cases = [
            ("", None),
            ("a", None),
            ("v1.2.3_x-y", None),
            ("True", None),
            (long.as_str(), None),
            (longer.as_str(), Some(MetadataFault::LongValue)),
            ("-a", Some(MetadataFault::Value)),
            ("a-", Some(MetadataFault::Value)),
            ("a b", Some(MetadataFault::Value)),
            ("a/b", Some(MetadataFault::Value)),
            ("a:b", Some(MetadataFault::Value)),
            ("é", Some(MetadataFault::Value)),
        ];
        for (value, expected) in cases {
            assert_eq!(label_value_fault(value), expected, "{value}");
        }
    }
}
