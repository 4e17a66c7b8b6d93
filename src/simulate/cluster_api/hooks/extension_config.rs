//! What the webhook of ExtensionConfigs accepts, and how handlers are named.
//!
//! Mirrors cluster-api `core/webhooks/admission/extensionconfig.go` and the
//! limits of the CRD.

use serde::Deserialize;

use crate::model::names;
use crate::model::names::LabelSelector;

/// The fields of an ExtensionConfig that its webhook reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtensionConfig {
    /// `metadata.name`.
    pub name: String,
    /// `spec.clientConfig`.
    pub client_config: ClientConfig,
    /// `spec.namespaceSelector`; absent means all namespaces.
    pub namespace_selector: Option<LabelSelector>,
}

/// `spec.clientConfig`: where the extension answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientConfig {
    /// An https URL.
    pub url: Option<String>,
    /// A Service of the management cluster.
    pub service: Option<Service>,
}

/// `spec.clientConfig.service`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Service {
    /// Required.
    pub name: String,
    /// Required.
    pub namespace: String,
    /// Path prefix of the requests.
    pub path: Option<String>,
    /// 443 when absent.
    pub port: Option<i64>,
}

/// Why the webhook rejects an ExtensionConfig.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// JSON Pointer of the field.
    pub pointer: &'static str,
    /// What is wrong and what is accepted instead.
    pub message: String,
}

impl ExtensionConfig {
    /// Fills in what the defaulting webhook sets.
    pub fn default_fields(&mut self) {
        self.namespace_selector.get_or_insert_default();
        if let Some(service) = &mut self.client_config.service
            && *service != Service::default()
        {
            service.port.get_or_insert(443);
        }
    }

    /// Everything that the webhook rejects on create and on update; empty when
    /// it accepts.
    pub fn problems(&self, runtime_sdk: bool) -> Vec<ConfigProblem> {
        if !runtime_sdk {
            return vec![ConfigProblem {
                pointer: "/spec",
                message: "the feature gate RuntimeSDK is off, so every ExtensionConfig is rejected"
                    .to_owned(),
            }];
        }
        let mut problems = Problems(Vec::new());
        if !names::is_dns1123_label(&self.name) {
            problems.add(
                "/metadata/name",
                format!("`{}` is no DNS-1123 label: lowercase letters, digits and `-`, no dots", self.name),
            );
        }
        let url = self.client_config.url.as_deref().filter(|url| !url.is_empty());
        let service = self.client_config.service.as_ref().filter(|service| **service != Service::default());
        match (url, service) {
            (None, None) => problems.add("/spec/clientConfig", "needs `url` or `service`"),
            (Some(_), Some(_)) => {
                problems.add("/spec/clientConfig", "takes `url` or `service`, not both");
            }
            _ => {}
        }
        if let Some(url) = url {
            problems.check_url(url);
        }
        if let Some(service) = service {
            problems.check_service(service);
        }
        if let Some(problem) = self.namespace_selector.as_ref().and_then(LabelSelector::problem) {
            problems.add("/spec/namespaceSelector", problem);
        }
        problems.0
    }
}

struct Problems(Vec<ConfigProblem>);

impl Problems {
    fn add(&mut self, pointer: &'static str, message: impl Into<String>) {
        self.0.push(ConfigProblem { pointer, message: message.into() });
    }

    fn check_url(&mut self, url: &str) {
        let pointer = "/spec/clientConfig/url";
        match request_uri_scheme(url) {
            None => self.add(pointer, format!("`{url}` is no URL such as https://example.com")),
            Some(scheme) if scheme != "https" => {
                self.add(pointer, format!("`{url}` is not https, the only scheme allowed"));
            }
            Some(_) if url.chars().count() > 512 => {
                self.add(pointer, "is longer than 512 characters");
            }
            Some(_) => {}
        }
    }

    fn check_service(&mut self, service: &Service) {
        let at = "/spec/clientConfig/service";
        if service.name.is_empty() {
            self.add(at, "needs a `name`");
        } else if !names::is_dns1035_label(&service.name) {
            self.add(
                "/spec/clientConfig/service/name",
                format!(
                    "`{}` is no DNS-1035 label: lowercase letters, digits and `-`, a letter first",
                    service.name
                ),
            );
        }
        if service.namespace.is_empty() {
            self.add(at, "needs a `namespace`");
        } else if !names::is_dns1123_label(&service.namespace) {
            self.add(
                "/spec/clientConfig/service/namespace",
                format!("`{}` is no DNS-1123 label: lowercase letters, digits and `-`", service.namespace),
            );
        }
        if let Some(path) = service.path.as_deref().filter(|path| !path.is_empty()) {
            let pointer = "/spec/clientConfig/service/path";
            if !path.starts_with('/') || request_uri_scheme(path).is_none() {
                self.add(pointer, format!("`{path}` is no URL path that starts with `/`"));
            } else if path.chars().count() > 512 {
                self.add(pointer, "is longer than 512 characters");
            }
        }
        if let Some(port) = service.port
            && !(1..=65535).contains(&port)
        {
            self.add("/spec/clientConfig/service/port", format!("{port} is no port; ports are 1 to 65535"));
        }
    }
}

/// The scheme of what Go's `url.ParseRequestURI` accepts (`""` for a path), or
/// `None` for what it refuses.
fn request_uri_scheme(text: &str) -> Option<&str> {
    if text.is_empty() || text.bytes().any(|b| b < 0x20 || b == 0x7f) || !escapes_are_valid(text) {
        return None;
    }
    if text.starts_with('/') || text == "*" {
        return Some("");
    }
    let (scheme, rest) = text.split_once(':')?;
    let starts_well = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    let continues_well = scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    if !starts_well || !continues_well {
        return None;
    }
    if let Some(after) = rest.strip_prefix("//") {
        let authority = after.split(['/', '?']).next().unwrap_or(after);
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (name, port) = match (host.rfind(':'), host.rfind(']')) {
            (Some(colon), bracket) if bracket.is_none_or(|b| b < colon) => {
                (&host[..colon], &host[colon + 1..])
            }
            _ => (host, ""),
        };
        let host_is_valid = !name.contains([' ', '<', '>', '"', '\\', '^', '`', '{', '}', '|']);
        if !host_is_valid || !port.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
    }
    Some(scheme)
}

fn escapes_are_valid(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        let mut digits = after.bytes();
        digits.next().is_some_and(|b| b.is_ascii_hexdigit())
            && digits.next().is_some_and(|b| b.is_ascii_hexdigit())
    })
}

/// Splits the name by which a ClusterClass calls a handler,
/// `handler.extension-config`, as `ExtensionNameFromHandlerName` does: exactly
/// one dot.
pub(crate) fn split_handler_name(name: &str) -> Option<(&str, &str)> {
    let (handler, config) = name.split_once('.')?;
    (!config.contains('.')).then_some((handler, config))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_url(url: &str) -> ExtensionConfig {
        ExtensionConfig {
            name: "addons".to_owned(),
            client_config: ClientConfig { url: Some(url.to_owned()), service: None },
            namespace_selector: None,
        }
    }

    #[test]
    fn urls_are_read_as_go_reads_request_uris() {
        for (url, accepted) in [
            ("https://extension-address.com", true),
            ("https://user@host:8443/path?query", true),
            ("https://[::1]:8443/", true),
            ("https:opaque", true),
            ("https//extension-address.com", false),
            ("http://extension-address.com", false),
            ("extension-address.com", false),
            ("/path", false),
            ("https://a b/", false),
            ("https://host:port/", false),
            ("https://host/%2f", true),
            ("https://host/%zz", false),
            ("https://host/%2z", false),
            ("https://host/%2", false),
        ] {
            assert_eq!(with_url(url).problems(true).is_empty(), accepted, "{url}");
        }
    }

    #[test]
    fn a_service_needs_name_and_namespace() {
        let mut config = with_url("");
        config.client_config.service = Some(Service {
            name: "1st".to_owned(),
            path: Some("path".to_owned()),
            port: Some(65536),
            ..Service::default()
        });
        let pointers: Vec<&str> = config.problems(true).iter().map(|p| p.pointer).collect();
        assert_eq!(
            pointers,
            [
                "/spec/clientConfig/service/name",
                "/spec/clientConfig/service",
                "/spec/clientConfig/service/path",
                "/spec/clientConfig/service/port",
            ]
        );
    }

    #[test]
    fn handler_names_hold_exactly_one_dot() {
        assert_eq!(split_handler_name("a.b"), Some(("a", "b")));
        assert_eq!(split_handler_name("a"), None);
        assert_eq!(split_handler_name("a.b.c"), None);
    }
}
