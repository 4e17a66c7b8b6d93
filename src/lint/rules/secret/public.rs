//! Values that stand in Secrets and are none: what everybody may know, kept there because a
//! chart or a program reads a Secret.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Bytes of a value that are looked at.
const LOOKED_AT: usize = 16 << 10;

/// Whether a value of a Secret is public, whatever the file's creation rule says: public
/// keys, certificates, switches, times, numbers of ports, and the identifiers by which clouds
/// call tenants and applications. `is_encoded` says that it stands in base64.
pub(super) fn is_public(key: &str, text: &str, is_encoded: bool) -> bool {
    if text.len() > LOOKED_AT {
        return false;
    }
    if !is_encoded {
        return says_nothing(key, text.trim());
    }
    let bytes = STANDARD.decode(text.replace(char::is_whitespace, ""));
    let decoded = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.is_some_and(|text| says_nothing(key, text.trim()))
}

fn says_nothing(key: &str, text: &str) -> bool {
    let is_switch = matches!(&*text.to_ascii_lowercase(), "true" | "false" | "yes" | "no" | "on" | "off");
    is_switch
        || is_public_key(text)
        || is_certificate(text)
        || (is_uuid(text) && is_identifier(key))
        || (is_amount(text) && !names_a_secret(key))
}

/// OpenSSH's `authorized_keys`, `known_hosts` and `.pub`: each line holds the name of an
/// algorithm and the key, perhaps behind options or hosts.
fn is_public_key(text: &str) -> bool {
    let mut lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
    let is_key = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        words.any(|word| {
            ["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"].iter().any(|start| word.starts_with(start))
        }) && words.next().is_some_and(|key| key.starts_with("AAAA"))
    };
    lines.peek().is_some() && lines.all(is_key)
}

/// PEM of certificates and public keys alone.
fn is_certificate(text: &str) -> bool {
    let mut begins =
        text.match_indices("-----BEGIN ").map(|(at, begin)| &text[at + begin.len()..]).peekable();
    let is_shown = |rest: &str| {
        ["CERTIFICATE-----", "PUBLIC KEY-----", "CERTIFICATE REQUEST-----", "X509 CRL-----"]
            .iter()
            .any(|kind| rest.starts_with(kind))
    };
    text.starts_with("-----BEGIN ") && begins.peek().is_some() && begins.all(is_shown)
}

fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_hexadecimal = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12]) && parts.iter().all(is_hexadecimal)
}

/// `AZURE_CLIENT_ID`, `tenantId`.
fn is_identifier(key: &str) -> bool {
    let key = key.to_ascii_lowercase().replace(['_', '-', '.'], "");
    ["clientid", "tenantid", "subscriptionid", "applicationid", "objectid", "projectid", "accountid"]
        .iter()
        .any(|word| key.ends_with(word))
}

/// A number as of a port, or a time as `12h`: fewer digits than a password has.
fn is_amount(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (1..=5).contains(&digits) && matches!(&text[digits..], "" | "ms" | "s" | "m" | "h" | "d")
}

fn names_a_secret(key: &str) -> bool {
    const WORDS: [&str; 9] = ["pass", "pin", "pwd", "secret", "token", "key", "code", "credential", "salt"];
    let key = key.to_ascii_lowercase();
    WORDS.iter().any(|word| key.contains(word))
}

#[cfg(test)]
mod tests {
    use super::is_public;

    #[test]
    fn what_everybody_may_know() {
        for (key, text, public) in [
            ("authorized_keys", "# mine\nssh-ed25519 AAAAC3Nza me@example.com\n", true),
            ("known_hosts", "github.com ssh-ed25519 AAAAC3Nza", true),
            ("id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3B=\n-----END OPENSSH PRIVATE KEY-----", false),
            ("tls.crt", "-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----", true),
            (
                "tls.pem",
                "-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\nMII=\n",
                false,
            ),
            ("AZURE_CLIENT_ID", "00000000-1111-2222-3333-444444444444", true),
            ("AZURE_CLIENT_SECRET", "00000000-1111-2222-3333-444444444444", false),
            ("USE_IDENTITY", "true", true),
            ("SYNC_PERIOD", "12h", true),
            ("port", "5432", true),
            ("pin", "1234", false),
            ("POSTGRES_PASSWORD", "12345", false),
            ("number", "123456", false),
            ("user", "admin", false),
        ] {
            assert_eq!(is_public(key, text, false), public, "{key}: {text}");
        }
        assert!(is_public("port", "NTQzMg==", true));
        assert!(!is_public("port", "5432", true), "no base64 of a number");
    }
}
