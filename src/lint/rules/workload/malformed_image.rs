//! `malformed-image`: the name of an image that no registry knows.
//! Source: `distribution/reference` `regexp.go` and `reference.go` (`Parse`), which the kubelet
//! asks (`kubernetes` `pkg/util/parsers`, `InvalidImageName`).

use super::{dotted, is_open, text};
use crate::lang::yaml::{NodeRef, pointer_join};
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::workloads::pod_spec;
use memchr::memmem::Finder;
use std::sync::LazyLock;

pub(crate) static RULE: Rule = Rule {
    id: "malformed-image",
    group: Group::Workload,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "the name of an image that no registry knows",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/workload/malformed-image.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if let Some((prefix, spec)) = pod_spec(view.id, view.node) {
        for list in ["initContainers", "containers"] {
            for (index, container) in spec.get(list).into_iter().flat_map(NodeRef::items).enumerate() {
                let Some(node) = container.get("image") else { continue };
                let is_wrong = |image: &str| {
                    !is_open(image)
                        && !is_reference(image)
                        && (!is_stand_in(image) || has_loose_digest(image))
                };
                let Some(image) = text(node).filter(|image| is_wrong(image)) else { continue };
                let pointer = format!("{prefix}/{list}/{index}/image");
                tell(view, node, &pointer, &image, Level::Error, report);
            }
        }
        return;
    }
    let is_data = view.id.is("", "ConfigMap") || view.id.is("", "Secret");
    if !is_data && holds_loose_digest(view.node, 0) {
        fields(view, report);
    }
}

/// Whether somebody fills it in before it is applied: `IMAGE`, `REPLACE_ME:latest`,
/// `example.org/__NAME__:1.0.0`, `__PREFIX__git.__DOMAIN__/app`.
fn is_stand_in(image: &str) -> bool {
    let name = image.split([':', '/']).next().unwrap_or_default();
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    // What stands between two marks.
    let is_marked = image.match_indices("__").any(|(at, mark)| {
        let rest = &image[at + mark.len()..];
        rest.split_once("__").is_some_and(|(inner, _)| is_word(inner))
    });
    is_marked
        || !name.contains('.')
            && name.bytes().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'-'))
}

/// Levels of an object that are looked at.
const DEEPEST: usize = 64;

/// Whether a field somewhere below holds such a text; most objects have none.
fn holds_loose_digest(node: NodeRef<'_>, depth: usize) -> bool {
    static LEAD: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("sha256:"));
    if depth > DEEPEST || !node.may_hold_word(&LEAD) {
        return false;
    }
    if node.is_map() {
        return node.entries().any(|entry| holds_loose_digest(entry.value, depth + 1));
    }
    match node.is_seq() {
        true => node.items().any(|item| holds_loose_digest(item, depth + 1)),
        false => node.text().is_some_and(|text| has_loose_digest(&text)),
    }
}

/// The fields of any object that are called like those of images: in an operator's object and
/// in values of a chart other texts may stand there, so that only a digest in a wrong place is
/// told.
fn fields(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let mut stack = vec![(String::new(), view.node)];
    while let Some((pointer, node)) = stack.pop() {
        let before = stack.len();
        if node.is_map() {
            for entry in node.entries() {
                let inner = pointer_join(&pointer, &entry.key);
                if entry.value.is_map() || entry.value.is_seq() {
                    stack.push((inner, entry.value));
                } else if matches!(&*entry.key, "image" | "imageName" | "tag")
                    && let Some(image) = text(entry.value).filter(|image| has_loose_digest(image))
                {
                    tell(view, entry.value, &inner, &image, Level::Warning, report);
                }
            }
        } else if node.is_seq() {
            let items = node.items().enumerate().filter(|(_, item)| item.is_map() || item.is_seq());
            stack.extend(items.map(|(index, item)| (format!("{pointer}/{index}"), item)));
        }
        stack[before..].reverse();
    }
}

fn tell(
    view: &ObjectView<'_>,
    node: NodeRef<'_>,
    pointer: &str,
    image: &str,
    level: Level,
    report: &mut Reporter<'_>,
) {
    let Some(location) = node.location() else { return };
    let finding = report
        .report(location, format!("{}: `{}` is no name of an image", view.id, dotted(pointer)))
        .level(level)
        .why("the kubelet refuses it (InvalidImageName): the container is never started")
        .object(view.id)
        .field(pointer, image);
    finding.help(match has_loose_digest(image) {
        true => "write `@` before `sha256:`",
        false => "write it as [HOST/]NAME[:TAG][@sha256:DIGEST], the name in lower case",
    });
}

/// Hexadecimal digits of a SHA-256.
const DIGEST: usize = 64;

/// Bytes of the longest name of an image that is looked at.
const LONGEST: usize = 1024;

/// Whether a digest stands where only `@` may lead to it.
fn has_loose_digest(image: &str) -> bool {
    if image.len() < DIGEST || image.len() > LONGEST {
        return false;
    }
    let Some((before, digest)) = image.rsplit_once("sha256:") else { return false };
    digest.len() == DIGEST
        && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
        && before.ends_with([':', '/', '-'])
}

/// Whether a text is the name of an image, with or without a host, a tag and a digest.
fn is_reference(image: &str) -> bool {
    let (named, digest) = match image.split_once('@') {
        Some((named, digest)) => (named, Some(digest)),
        None => (image, None),
    };
    let is_digest = |digest: &str| {
        digest.split_once(':').is_some_and(|(algorithm, hex)| {
            !algorithm.is_empty() && hex.len() >= 32 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    if digest.is_some_and(|digest| !is_digest(digest)) {
        return false;
    }
    let last = named.rfind('/').map_or(0, |slash| slash + 1);
    let (path, tag) = match named[last..].split_once(':') {
        Some((name, tag)) => (&named[..last + name.len()], Some(tag)),
        None => (named, None),
    };
    if tag.is_some_and(|tag| !is_tag(tag)) {
        return false;
    }
    let is_host =
        |part: &str| part.contains(['.', ':']) || part == "localhost" || part != part.to_lowercase();
    let (host, path) = match path.split_once('/') {
        Some((host, path)) if is_host(host) => (Some(host), path),
        _ => (None, path),
    };
    host.is_none_or(is_host_name) && path.split('/').all(is_component)
}

fn is_tag(tag: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=128).contains(&tag.len())
        && tag.bytes().next().is_some_and(is_word)
        && tag.bytes().all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'))
}

fn is_host_name(host: &str) -> bool {
    let (host, port) = host.rsplit_once(':').unwrap_or((host, "0"));
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'[' | b']' | b':');
    !host.is_empty() && host.bytes().all(is_part) && port.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_component(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = |byte: Option<u8>| byte.is_some_and(is_letter);
    let is_separator =
        |part: &str| matches!(part, "" | "." | "_" | "__") || part.bytes().all(|byte| byte == b'-');
    ends(name.bytes().next())
        && ends(name.bytes().next_back())
        && name.split(|c: char| c.is_ascii() && is_letter(c as u8)).all(is_separator)
}

#[cfg(test)]
mod tests {
    use super::is_reference;

    #[test]
    fn names_of_images_are_told_from_other_texts() {
        let digest = "a".repeat(64);
        for image in [
            "nginx",
            "nginx:1.25",
            "library/nginx",
            "ghcr.io/a/b:v1.2.3-alpine_1",
            "localhost:5000/a",
            "registry.example.org:443/a/b__c/d--e.f_g:latest",
            &format!("nginx@sha256:{digest}"),
            &format!("ghcr.io/a/b:1@sha256:{digest}"),
            "[::1]:5000/a",
        ] {
            assert!(is_reference(image), "{image}");
        }
        for image in [
            "",
            "Nginx",
            "nginx:",
            "ghcr.io/a/B:1",
            "ghcr.io/a//b",
            "ghcr.io/a/b..c",
            "ghcr.io/a/b___c",
            "ghcr.io/a/b-_c",
            "a b",
            "nginx:1:2",
            &format!("nginx:1:sha256:{digest}"),
            "nginx@sha256:abc",
            "https://ghcr.io/a",
            "nginx:-1",
        ] {
            assert!(!is_reference(image), "{image}");
        }
    }
}
