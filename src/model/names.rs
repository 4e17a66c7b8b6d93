//! Names, labels and selectors as the Kubernetes API machinery validates them
//! (kubernetes `apimachinery/pkg/util/validation`,
//! `apimachinery/pkg/apis/meta/v1/helpers.go` `LabelSelectorAsSelector`).

use std::collections::BTreeMap;

use serde::Deserialize;

/// Lowercase letters, digits and `-`, alphanumeric at both ends, at most 63.
pub(crate) fn is_dns1123_label(text: &str) -> bool {
    let alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.len() <= 63
        && text.bytes().all(|b| alphanumeric(b) || b == b'-')
        && text.bytes().next().is_some_and(alphanumeric)
        && text.bytes().last().is_some_and(alphanumeric)
}

/// As [`is_dns1123_label`], but starting with a letter.
pub(crate) fn is_dns1035_label(text: &str) -> bool {
    is_dns1123_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())
}

/// DNS-1123 labels joined by dots, at most 253 in all.
pub(crate) fn is_dns1123_subdomain(text: &str) -> bool {
    let part = |p: &str| {
        let alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        p.bytes().all(|b| alphanumeric(b) || b == b'-')
            && p.bytes().next().is_some_and(alphanumeric)
            && p.bytes().last().is_some_and(alphanumeric)
    };
    text.len() <= 253 && text.split('.').all(part)
}

/// Empty, or at most 63 of `[A-Za-z0-9_.-]`, alphanumeric at both ends.
pub(crate) fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_qualified_part(text)
}

/// The key of a label or an annotation: an optional DNS-1123 subdomain and `/`,
/// then a name.
pub(crate) fn is_qualified_name(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_dns1123_subdomain(prefix) && is_qualified_part(name),
        None => is_qualified_part(key),
    }
}

fn is_qualified_part(text: &str) -> bool {
    text.len() <= 63
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        && text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
        && text.bytes().last().is_some_and(|b| b.is_ascii_alphanumeric())
}

/// A LabelSelector of `meta/v1`. The empty selector matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Pairs that must all be present.
    pub match_labels: BTreeMap<String, String>,
    /// Requirements that must all hold.
    pub match_expressions: Vec<Requirement>,
}

/// One entry of `matchExpressions`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Requirement {
    /// Label key.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// Values of `In` and `NotIn`.
    pub values: Vec<String>,
}

impl LabelSelector {
    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    /// Why the API machinery refuses it.
    pub fn problem(&self) -> Option<String> {
        for (key, value) in &self.match_labels {
            if !is_qualified_name(key) {
                return Some(format!("`{key}` is no label key"));
            }
            if !is_label_value(value) {
                return Some(format!("`{value}` is no label value"));
            }
        }
        self.match_expressions.iter().find_map(Requirement::problem)
    }

    /// Whether it selects an object with these labels. Requirements with an
    /// unknown operator select nothing.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|r| r.matches(labels))
    }
}

impl Requirement {
    fn problem(&self) -> Option<String> {
        match self.operator.as_str() {
            "In" | "NotIn" if self.values.is_empty() => {
                return Some(format!("operator {} needs values", self.operator));
            }
            "Exists" | "DoesNotExist" if !self.values.is_empty() => {
                return Some(format!("operator {} takes no values", self.operator));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                return Some(format!(
                    "`{other}` is no operator; there are In, NotIn, Exists and DoesNotExist"
                ));
            }
        }
        if !is_qualified_name(&self.key) {
            return Some(format!("`{}` is no label key", self.key));
        }
        self.values
            .iter()
            .find(|value| !is_label_value(value))
            .map(|value| format!("`{value}` is no label value"))
    }

    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        match self.operator.as_str() {
            "In" => value.is_some_and(|v| self.values.contains(v)),
            "NotIn" => value.is_none_or(|v| !self.values.contains(v)),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_api_machinery() {
        for (text, label, letter_first, subdomain) in [
            ("foo", true, true, true),
            ("1foo", true, false, true),
            ("foo-", false, false, false),
            ("NOT_ALLOWED", false, false, false),
            ("a.b", false, false, true),
            ("a..b", false, false, false),
            ("", false, false, false),
        ] {
            assert_eq!(is_dns1123_label(text), label, "{text}");
            assert_eq!(is_dns1035_label(text), letter_first, "{text}");
            assert_eq!(is_dns1123_subdomain(text), subdomain, "{text}");
        }
        assert!(is_qualified_name("node.cluster.x-k8s.io/a_b.C"));
        assert!(!is_qualified_name("Node.cluster/a"));
        assert!(!is_qualified_name("a/b/c"));
        assert!(is_label_value(""));
        assert!(!is_label_value("-a"));
    }

    #[test]
    fn selectors_match_all_their_parts() {
        let labels = BTreeMap::from([("tier".to_owned(), "gold".to_owned())]);
        for (operator, values, matches) in [
            ("In", vec!["gold", "silver"], true),
            ("NotIn", vec!["gold"], false),
            ("Exists", vec![], true),
            ("DoesNotExist", vec![], false),
            ("Near", vec![], false),
        ] {
            let selector = LabelSelector {
                match_expressions: vec![Requirement {
                    key: "tier".to_owned(),
                    operator: operator.to_owned(),
                    values: values.into_iter().map(str::to_owned).collect(),
                }],
                ..LabelSelector::default()
            };
            assert_eq!(selector.matches(&labels), matches, "{operator}");
            assert_eq!(selector.problem().is_some(), operator == "Near");
        }
        assert!(LabelSelector::default().matches(&labels));
    }
}
