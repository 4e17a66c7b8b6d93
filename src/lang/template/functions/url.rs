//! Addresses, as Go's `net/url` takes them apart and writes them.

use crate::lang::template::quote::go_quote;

/// An address in its parts.
#[derive(Debug, Default)]
pub(super) struct Url {
    pub(super) scheme: String,
    pub(super) host: String,
    pub(super) path: String,
    pub(super) raw_path: String,
    pub(super) query: String,
    pub(super) opaque: String,
    pub(super) fragment: String,
    pub(super) user: Option<String>,
}

/// Where a character may stand unescaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Path,
    Host,
    User,
    Fragment,
}

fn should_escape(byte: u8, mode: Mode) -> bool {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
        return false;
    }
    if mode == Mode::Host
        && matches!(
            byte,
            b'!' | b'$'
                | b'&'
                | b'\''
                | b'('
                | b')'
                | b'*'
                | b'+'
                | b','
                | b';'
                | b'='
                | b':'
                | b'['
                | b']'
                | b'<'
                | b'>'
                | b'"'
        )
    {
        return false;
    }
    match byte {
        b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'?' | b'@' => match mode {
            Mode::Path => byte == b'?',
            Mode::User => matches!(byte, b'@' | b'/' | b'?' | b':'),
            Mode::Fragment => false,
            Mode::Host => true,
        },
        b'!' | b'(' | b')' | b'*' if mode == Mode::Fragment => false,
        _ => true,
    }
}

fn escape(text: &str, mode: Mode) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if should_escape(byte, mode) {
            out.push_str(&format!("%{byte:02X}"));
        } else {
            out.push(byte as char);
        }
    }
    out
}

fn unescape(text: &str, mode: Mode) -> Result<String, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'%' {
            if mode == Mode::Host && bytes[at] < 0x80 && should_escape(bytes[at], mode) {
                let quoted = go_quote(&bytes[at..=at]);
                return Err(format!("invalid character {quoted} in host name"));
            }
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        let value = hex
            .filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let Some(value) = value else {
            let end = (at + 3).min(bytes.len());
            let quoted = go_quote(&bytes[at..end]);
            return Err(format!("invalid URL escape {quoted}"));
        };
        out.push(value);
        at += 3;
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// The scheme of an address as Go's `url.Parse` reads it; why it does not.
pub(crate) fn url_scheme(text: &str) -> Result<String, String> {
    Url::parse(text).map(|url| url.scheme)
}

impl Url {
    /// `url.Parse`. Its error tells what stands before the fragment, unless that is what is
    /// wrong.
    pub(super) fn parse(text: &str) -> Result<Url, String> {
        let failed = |told: &str, why: String| format!("parse {}: {why}", go_quote(told.as_bytes()));
        let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = Url::without_fragment(rest).map_err(|why| failed(rest, why))?;
        url.fragment = unescape(fragment, Mode::Fragment).map_err(|why| failed(text, why))?;
        Ok(url)
    }

    fn without_fragment(rest: &str) -> Result<Url, String> {
        if rest.bytes().any(|b| b < 0x20 || b == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let mut url = Url::default();
        if rest == "*" {
            url.path = "*".to_owned();
            return Ok(url);
        }
        let mut rest = url.take_scheme(rest)?;
        if let Some((before, query)) = rest.split_once('?') {
            url.query = query.to_owned();
            rest = before;
        }
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                url.opaque = rest.to_owned();
                return Ok(url);
            }
            let first = rest.split('/').next().unwrap_or_default();
            if first.contains(':') {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        if (!url.scheme.is_empty() || !rest.starts_with("///")) && rest.starts_with("//") {
            let authority = &rest[2..];
            let end = authority.find('/').unwrap_or(authority.len());
            rest = &authority[end..];
            url.take_authority(&authority[..end])?;
        }
        url.path = unescape(rest, Mode::Path)?;
        if escape(&url.path, Mode::Path) != rest {
            url.raw_path = rest.to_owned();
        }
        Ok(url)
    }

    fn take_scheme<'t>(&mut self, text: &'t str) -> Result<&'t str, String> {
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' => {}
                b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
                b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
                b':' => {
                    self.scheme = text[..at].to_ascii_lowercase();
                    return Ok(&text[at + 1..]);
                }
                _ => break,
            }
        }
        Ok(text)
    }

    fn take_authority(&mut self, authority: &str) -> Result<(), String> {
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        if let Some(user) = user {
            let is_valid = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
            if !user.chars().all(is_valid) {
                return Err("net/url: invalid userinfo".to_owned());
            }
            let (name, password) = user.split_once(':').map_or((user, None), |(n, p)| (n, Some(p)));
            let mut shown = escape(&unescape(name, Mode::User)?, Mode::User);
            if let Some(password) = password {
                shown.push(':');
                shown.push_str(&escape(&unescape(password, Mode::User)?, Mode::User));
            }
            self.user = Some(shown);
        }
        let port = match host.strip_prefix('[') {
            Some(inner) => match inner.find(']') {
                None => return Err("missing ']' in host".to_owned()),
                Some(end) => &inner[end + 1..],
            },
            None => host.rfind(':').map_or("", |at| &host[at..]),
        };
        let is_port =
            port.is_empty() || (port.starts_with(':') && port[1..].bytes().all(|b| b.is_ascii_digit()));
        if !is_port {
            let quoted = go_quote(port.as_bytes());
            return Err(format!("invalid port {quoted} after host"));
        }
        self.host = unescape(host, Mode::Host)?;
        Ok(())
    }

    fn hostname(&self) -> String {
        if let Some(inner) = self.host.strip_prefix('[') {
            return inner.split(']').next().unwrap_or_default().to_owned();
        }
        match self.host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host.to_owned(),
            _ => self.host.clone(),
        }
    }

    /// As Sprig names them.
    pub(super) fn parts(&self) -> [(&'static str, String); 8] {
        [
            ("scheme", self.scheme.clone()),
            ("host", self.host.clone()),
            ("hostname", self.hostname()),
            ("path", self.path.clone()),
            ("query", self.query.clone()),
            ("opaque", self.opaque.clone()),
            ("fragment", self.fragment.clone()),
            ("userinfo", self.user.clone().unwrap_or_default()),
        ]
    }

    /// `URL.String`.
    pub(super) fn joined(&self) -> String {
        let mut out = String::new();
        if !self.scheme.is_empty() {
            out.push_str(&self.scheme);
            out.push(':');
        }
        if self.opaque.is_empty() {
            if !self.scheme.is_empty() || !self.host.is_empty() || self.user.is_some() {
                if !self.host.is_empty() || !self.path.is_empty() || self.user.is_some() {
                    out.push_str("//");
                }
                if let Some(user) = &self.user {
                    out.push_str(user);
                    out.push('@');
                }
                out.push_str(&escape(&self.host, Mode::Host));
            }
            let path =
                if self.raw_path.is_empty() { escape(&self.path, Mode::Path) } else { self.raw_path.clone() };
            if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
                out.push('/');
            }
            if out.is_empty() && path.split('/').next().is_some_and(|first| first.contains(':')) {
                out.push_str("./");
            }
            out.push_str(&path);
        } else {
            out.push_str(&self.opaque);
        }
        if !self.query.is_empty() {
            out.push('?');
            out.push_str(&self.query);
        }
        if !self.fragment.is_empty() {
            out.push('#');
            out.push_str(&escape(&self.fragment, Mode::Fragment));
        }
        out
    }
}
