//! Hosts of Services in texts, in the forms that a Pod can resolve.
//! Source: `kubernetes/dns` `docs/specification.md` 1.1 (`<service>.<ns>.svc.<zone>`);
//! `kubernetes` `pkg/kubelet/network/dns/dns.go` (`generateSearchesForDNSClusterFirst`: the
//! zone, `svc` and the Pod's own namespace are searched, so that shorter names resolve).

use super::is_open;
use std::ops::Range;

/// How a host is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostForm {
    /// `NAME.NAMESPACE.svc`, whatever follows.
    Service,
    /// `NAME.NAMESPACE` after `://` or before a port: it may be a name of the internet.
    Namespaced,
    /// `NAME` between `://` and a port: in the namespace of who reads it, if anywhere.
    Short,
}

/// A Service's host in a text.
#[derive(Debug)]
pub(super) struct ServiceHost<'t> {
    /// Its bytes in the text, the port included.
    pub(super) part: Range<usize>,
    pub(super) name: &'t str,
    /// Its namespace, unless the name is short.
    pub(super) namespace: Option<&'t str>,
    pub(super) port: Option<&'t str>,
    pub(super) form: HostForm,
}

/// No host is longer.
const LONGEST: usize = 253;

/// The hosts of a text, with their ports.
pub(super) fn hosts(text: &str) -> Vec<ServiceHost<'_>> {
    let mut found = of_services(text);
    others(text, &mut found);
    found.sort_by_key(|host| host.part.start);
    let mut line = TextLine::default();
    found.retain(|host| !line.is_comment(text, host.part.start));
    found
}

/// The line of a text that a place is in; places come in their order.
#[derive(Default)]
struct TextLine {
    read: usize,
    is_comment: Option<bool>,
}

impl TextLine {
    /// Whether the line of a place is a comment of a configuration: nobody connects to it.
    fn is_comment(&mut self, text: &str, at: usize) -> bool {
        let newline = text[self.read..at].rfind('\n');
        if newline.is_some() || self.is_comment.is_none() {
            let start = newline.map_or(0, |before| self.read + before + 1);
            self.is_comment = Some(text[start..].trim_start_matches([' ', '\t']).starts_with('#'));
        }
        self.read = at;
        self.is_comment == Some(true)
    }
}

fn is_of_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'$' | b'{' | b'}')
}

/// How many bytes of a host stand before a place.
fn before(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().rev().take(LONGEST + 1).take_while(|byte| is_of_host(**byte)).count()
}

/// How many bytes of a host stand from a place on.
fn after(text: &str, at: usize) -> usize {
    text.as_bytes()[at..].iter().take(LONGEST + 1).take_while(|byte| is_of_host(**byte)).count()
}

/// How many dashes a text begins with: `:-` stands before the default of a shell's variable.
fn dashes(text: &str) -> usize {
    text.bytes().take_while(|byte| *byte == b'-').take(LONGEST).count()
}

/// The number of a port that stands at a place, behind its colon.
fn port(text: &str, at: usize) -> Option<&str> {
    let rest = text.as_bytes().get(at..)?.strip_prefix(b":")?;
    let digits = rest.iter().take(5).take_while(|byte| byte.is_ascii_digit()).count();
    let goes_on = rest.get(digits).is_some_and(|next| next.is_ascii_digit() || *next == b'$');
    (digits > 0 && !goes_on).then(|| &text[at + 1..=at + digits])
}

fn of_services(text: &str) -> Vec<ServiceHost<'_>> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(".svc") {
        let next = text.as_bytes().get(at + 4).copied();
        if next.is_some_and(|byte| is_of_host(byte) && byte != b'.') {
            continue;
        }
        let length = before(text, at);
        let host = &text[at - length..at];
        let Some((names, namespace)) = host.rsplit_once('.') else { continue };
        // The Pods of a headless Service have names before the Service's.
        let name = names.rsplit('.').next().unwrap_or(names);
        let dashes = dashes(host);
        let name = name.trim_start_matches('-');
        if length > LONGEST || is_open(host) || name.is_empty() || namespace.is_empty() {
            continue;
        }
        let end = at + 4 + after(text, at + 4);
        let port = port(text, end);
        let part = at - length + dashes..port.map_or(end, |port| end + 1 + port.len());
        found.push(ServiceHost { part, name, namespace: Some(namespace), port, form: HostForm::Service });
    }
    found
}

/// Hosts without `.svc`: behind `://`, or before a port.
fn others<'t>(text: &'t str, found: &mut Vec<ServiceHost<'t>>) {
    let mut end_of_last = 0;
    for (colon, _) in text.match_indices(':') {
        let is_scheme = text[colon..].starts_with("://");
        let start = match is_scheme {
            true => behind_user(text, colon + 3),
            false => colon - before(text, colon),
        };
        let start = start + dashes(&text[start..]);
        if start < end_of_last {
            continue;
        }
        let end = start + after(text, start);
        let port = port(text, end);
        // A path goes on, a scheme or a pair of quotes ends.
        let next = text.as_bytes().get(port.map_or(end, |port| end + 1 + port.len())).copied();
        let ends = next.is_none_or(|byte| {
            byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b":%@$.-_".contains(&byte)
        });
        let host = &text[start..end];
        if end - start > LONGEST || !ends || !is_plain(host) || !is_scheme && port.is_none() {
            continue;
        }
        let behind_scheme = is_scheme || text[..start].ends_with("://");
        let (name, namespace, form) = match host.split_once('.') {
            Some((name, namespace)) if !namespace.contains('.') => {
                (name, Some(namespace), HostForm::Namespaced)
            }
            None if behind_scheme && port.is_some() => (host, None, HostForm::Short),
            _ => continue,
        };
        end_of_last = end;
        found.push(ServiceHost {
            part: start..port.map_or(end, |port| end + 1 + port.len()),
            name,
            namespace,
            port,
            form,
        });
    }
}

/// Where the host begins behind `USER:PASSWORD@`.
fn behind_user(text: &str, at: usize) -> usize {
    let rest = &text.as_bytes()[at..];
    let is_end =
        |byte: &&u8| matches!(**byte, b'/' | b'"' | b'\'' | b'?' | b'#') || byte.is_ascii_whitespace();
    let authority = rest.iter().take(2 * LONGEST).take_while(|byte| !is_end(byte)).count();
    match rest[..authority].iter().rposition(|byte| *byte == b'@') {
        Some(user) => at + user + 1,
        None => at,
    }
}

/// Whether a host is made of names that a Service and a namespace can have.
fn is_plain(host: &str) -> bool {
    host.split('.').all(|name| {
        let is_of_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        name.as_bytes().first().is_some_and(u8::is_ascii_lowercase)
            && !name.ends_with('-')
            && name.bytes().all(is_of_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(&str, Option<&str>, Option<&str>)> {
        hosts(text).iter().map(|host| (host.name, host.namespace, host.port)).collect()
    }

    #[test]
    fn hosts_are_found_in_the_forms_that_resolve() {
        assert_eq!(read("http://api.shop.svc.cluster.local:80/v1"), [("api", Some("shop"), Some("80"))]);
        assert_eq!(read("x-0.x.shop.svc"), [("x", Some("shop"), None)]);
        assert_eq!(read("H=\"${H:-api.shop.svc.cluster.local}\""), [("api", Some("shop"), None)]);
        assert_eq!(read("H=${H:-api.shop:80}"), [("api", Some("shop"), Some("80"))]);
        assert_eq!(read("http://api.shop:80/v1"), [("api", Some("shop"), Some("80"))]);
        assert_eq!(read("https://api.shop/v1"), [("api", Some("shop"), None)]);
        assert_eq!(read("db-rw.shop:5432"), [("db-rw", Some("shop"), Some("5432"))]);
        assert_eq!(read("postgres://u:p@db-rw.shop:5432/x"), [("db-rw", Some("shop"), Some("5432"))]);
        assert_eq!(read("http://api:8080"), [("api", None, Some("8080"))]);
    }

    #[test]
    fn other_texts_hold_no_hosts() {
        for text in [
            "https://example.org.uk/a",
            "10.0.0.1:80",
            "a: b",
            "http://${HOST}:80",
            "http://a.${NAMESPACE}:80",
            "image.tar:1.2.3",
            "12:30",
            "key:value",
            "https://api/",
            "ghcr.io/a/b:1",
            "http://Api.Shop:80",
            "a@b.c",
            "::1:80",
            "http://api.shop:80$",
            "http://api.shop$:80",
        ] {
            assert_eq!(read(text), [], "{text}");
        }
    }

    #[test]
    fn comments_hold_no_hosts() {
        let text =
            "# db.shop.svc.cluster.local\nurl: http://api.shop:80 # was old.shop\n  ## http://a.b:80\n";
        assert_eq!(read(text), [("api", Some("shop"), Some("80"))]);
    }

    /// Texts double, and so may the time: each place is looked at a bounded number of times.
    #[test]
    fn long_texts_of_colons_are_read() {
        assert!(hosts(&":".repeat(60_000)).is_empty());
        assert!(hosts(&"://".repeat(20_000)).is_empty());
        assert!(hosts(&"a".repeat(60_000)).is_empty());
    }
}
