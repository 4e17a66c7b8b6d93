//! `images`.

use super::super::entries::Image;
use super::super::error::{BuildError, ErrorClass, Result};
use super::super::fieldspec::{self, FieldSpec, Leaf};
use super::super::nodes::{self, Kind};
use super::super::resource::Resource;
use crate::lang::go::regexp::{GoRegexp, RegexpError};
use crate::lang::yaml::{Location, Node, NodeRef, Via, ViaKind};
use std::collections::BTreeSet;

/// The texts that are images, by the position of their object, so that an entry of
/// `images` looks only at the objects that it changes.
pub(in super::super) struct Images<'s> {
    specs: &'s [FieldSpec],
    /// In no order; none before the first entry.
    texts: Option<Vec<(usize, Box<str>)>>,
}

impl<'s> Images<'s> {
    /// By the fields that hold images besides those of containers.
    pub(in super::super) fn new(specs: &'s [FieldSpec]) -> Self {
        Images { specs, texts: None }
    }

    /// Rewrite the images that an entry of `images` matches; whether there are any. The
    /// objects are the same in every call.
    pub(in super::super) fn set(&mut self, image: &Image, resources: &mut [Resource]) -> Result<bool> {
        let pattern = ImagePattern::new(&image.name).map_err(|reason| {
            let message = format!("the name of an image is read as a regular expression, and {reason}");
            BuildError::at(ErrorClass::Other, message, image.node.get_ref())
        })?;
        if self.texts.is_none() {
            let all: Vec<usize> = (0..resources.len()).filter(|at| !is_definition(&resources[*at])).collect();
            self.texts = Some(self.collect(&all, resources)?);
        }
        let texts = self.texts.iter().flatten();
        let found: BTreeSet<usize> =
            texts.filter(|(_, text)| pattern.matches(text)).map(|(at, _)| *at).collect();
        let found = Vec::from_iter(found);
        if found.is_empty() {
            return Ok(false);
        }
        let location = change_location(image);
        let mut matched = false;
        for at in &found {
            walk(&mut resources[*at].node, &pattern, &mut |node| {
                matched |= rewrite(node, image, location.as_ref());
                Ok(())
            })?;
        }
        for at in &found {
            let resource = &mut resources[*at];
            for spec in self.specs.iter().filter(|spec| spec.matches(&resource.id.gvk)) {
                fieldspec::apply(
                    &mut resource.node,
                    spec,
                    Leaf::Never,
                    &mut |node| is_collection(node) || pattern.matches(&nodes::text(node)),
                    &mut |node| {
                        if is_collection(node.get_ref()) {
                            return Err(no_scalar(node.get_ref()));
                        }
                        matched |= pattern.matches(&nodes::text(node.get_ref()))
                            && rewrite(node, image, location.as_ref());
                        Ok(())
                    },
                )?;
            }
        }
        let again = self.collect(&found, resources)?;
        if let Some(texts) = &mut self.texts {
            texts.retain(|(at, _)| found.binary_search(at).is_err());
            texts.extend(again);
        }
        Ok(matched)
    }

    /// The texts of some of the objects, or what is no image where one is looked for.
    fn collect(&self, positions: &[usize], resources: &mut [Resource]) -> Result<Vec<(usize, Box<str>)>> {
        let mut texts = Vec::new();
        for at in positions {
            images_of(resources[*at].node.get_ref(), &mut |image| {
                texts.push((*at, nodes::text(image).into()));
            })?;
        }
        for at in positions {
            let resource = &mut resources[*at];
            for spec in self.specs.iter().filter(|spec| spec.matches(&resource.id.gvk)) {
                fieldspec::apply(
                    &mut resource.node,
                    spec,
                    Leaf::Never,
                    &mut |node| {
                        let is_wrong = is_collection(node);
                        if !is_wrong {
                            texts.push((*at, nodes::text(node).into()));
                        }
                        is_wrong
                    },
                    &mut |node| Err(no_scalar(node.get_ref())),
                )?;
            }
        }
        Ok(texts)
    }
}

/// Definitions have fields that are called as those of containers.
fn is_definition(resource: &Resource) -> bool {
    &*resource.id.gvk.kind == "CustomResourceDefinition"
}

fn is_collection(node: NodeRef<'_>) -> bool {
    matches!(nodes::kind(Some(node)), Kind::Map | Kind::Seq)
}

fn no_scalar(node: NodeRef<'_>) -> Box<BuildError> {
    BuildError::at(ErrorClass::FieldSpec, "`images` looks for an image here, which must be a string", node)
}

/// Where a new image would be changed: the tag, else the digest, else the name.
fn change_location(image: &Image) -> Option<Location> {
    let text = image.new_tag.as_ref().or(image.digest.as_ref()).or(image.tag_suffix.as_ref());
    let text = text.or(image.new_name.as_ref());
    let mut location = text.map_or(&image.node, |text| &text.node).get_ref().location()?;
    if let Some(entry) = image.node.get_ref().location() {
        location.passed(Via { kind: ViaKind::Transformer, location: entry });
    }
    Some(location)
}

const CONTAINER_LISTS: [&str; 2] = ["containers", "initContainers"];

/// The images of the containers at any depth.
fn images_of<'n>(node: NodeRef<'n>, found: &mut dyn FnMut(NodeRef<'n>)) -> Result<()> {
    if node.is_map() {
        for entry in node.entries() {
            images_of(entry.value, found)?;
            if CONTAINER_LISTS.contains(&&*entry.key) {
                for container in entry.value.items() {
                    match nodes::kind(Some(container)) {
                        Kind::Map => {}
                        Kind::Null => continue,
                        _ => {
                            let message = "`images` looks for a container here, which must be a map";
                            return Err(BuildError::at(ErrorClass::FieldSpec, message, container));
                        }
                    }
                    let Some(image) = container.get("image") else { continue };
                    if is_collection(image) {
                        return Err(no_scalar(image));
                    }
                    found(image);
                }
            }
        }
    } else if node.is_seq() {
        for item in node.items() {
            images_of(item, found)?;
        }
    }
    Ok(())
}

/// Whether an image in a container below matches.
fn holds(node: NodeRef<'_>, pattern: &ImagePattern) -> Result<bool> {
    let mut any = false;
    images_of(node, &mut |image| any |= pattern.matches(&nodes::text(image)))?;
    Ok(any)
}

fn walk(
    node: &mut Node,
    pattern: &ImagePattern,
    update: &mut dyn FnMut(&mut Node) -> Result<()>,
) -> Result<()> {
    if !holds(node.get_ref(), pattern)? {
        return Ok(());
    }
    if node.get_ref().is_map() {
        for entry in node.make_map().into_iter().flatten() {
            walk(&mut entry.value, pattern, update)?;
            if !CONTAINER_LISTS.contains(&&*entry.key_text()) || !entry.value.get_ref().is_seq() {
                continue;
            }
            let wanted = |container: NodeRef<'_>| {
                container.get("image").is_some_and(|image| pattern.matches(&nodes::text(image)))
            };
            if !entry.value.get_ref().items().any(wanted) {
                continue;
            }
            for container in entry.value.make_seq().into_iter().flatten() {
                if wanted(container.get_ref())
                    && let Some(image) = container.get_mut("image")
                {
                    update(image)?;
                }
            }
        }
    } else if node.get_ref().is_seq() {
        for item in node.make_seq().into_iter().flatten() {
            walk(item, pattern, update)?;
        }
    }
    Ok(())
}

/// Write the new image; false for a null.
fn rewrite(node: &mut Node, image: &Image, location: Option<&Location>) -> bool {
    let old = node.get_ref();
    if nodes::kind(Some(old)) != Kind::Scalar {
        return false;
    }
    let text = nodes::text(old).into_owned();
    let (mut name, mut tag, mut digest) = split(&text);
    if let Some(new_name) = &image.new_name {
        name = &new_name.value;
    }
    let suffixed;
    match (&image.new_tag, &image.digest, &image.tag_suffix) {
        (Some(new_tag), Some(new_digest), _) => {
            tag = &new_tag.value;
            digest = &new_digest.value;
        }
        (Some(new_tag), None, _) => {
            tag = &new_tag.value;
            digest = "";
        }
        (None, Some(new_digest), _) => {
            tag = "";
            digest = &new_digest.value;
        }
        (None, None, Some(suffix)) => {
            suffixed = format!("{tag}{}", suffix.value);
            tag = &suffixed;
            digest = "";
        }
        (None, None, None) => {}
    }
    let mut result = name.to_owned();
    for (separator, part) in [(':', tag), ('@', digest)] {
        if !part.is_empty() {
            result.push(separator);
            result.push_str(part);
        }
    }
    *node = nodes::untagged(Some(old), &result, location.cloned());
    true
}

/// Name, tag and digest of an image.
///
/// Mirrors `api/internal/image/image.go` (`Split`).
fn split(image: &str) -> (&str, &str, &str) {
    let skip = image.find('/').unwrap_or(0);
    let at = image[skip..].find('@').map(|at| at + skip);
    let colon = image[skip..].find(':').map(|colon| colon + skip);
    match (colon, at) {
        (None, None) => (image, "", ""),
        (None, Some(at)) => (&image[..at], "", &image[at + 1..]),
        (Some(colon), Some(at)) if at < colon => (&image[..at], "", &image[at + 1..]),
        (Some(colon), Some(at)) => (&image[..colon], &image[colon + 1..at], &image[at + 1..]),
        (Some(colon), None) => (&image[..colon], &image[colon + 1..], ""),
    }
}

/// What `name` of an entry of `images` matches: it is a regular expression,
/// followed by an optional tag and digest.
enum ImagePattern {
    /// Only letters, digits and `-_/:@.`; a dot stands for any character.
    Simple(Box<str>),
    /// Anything else.
    Regexp(GoRegexp),
}

impl ImagePattern {
    /// The error is what Go says about the expression.
    fn new(name: &str) -> std::result::Result<ImagePattern, String> {
        let simple = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/:@.".contains(&byte);
        if name.bytes().all(simple) {
            return Ok(ImagePattern::Simple(name.into()));
        }
        let chars = "[a-zA-Z0-9_.{}-]";
        match GoRegexp::new(&format!("^{name}(:{chars}*)?(@sha256:{chars}*)?$")) {
            Ok(regexp) => Ok(ImagePattern::Regexp(regexp)),
            Err(RegexpError::Rejected(reason) | RegexpError::Unknown(reason)) => Err(reason),
        }
    }

    /// Whether an image matches.
    fn matches(&self, image: &str) -> bool {
        match self {
            ImagePattern::Regexp(regexp) => regexp.is_match(image),
            ImagePattern::Simple(name) => {
                let mut chars = image.chars();
                for wanted in name.chars() {
                    match chars.next() {
                        Some('\n') | None => return false,
                        Some(found) if wanted == '.' || wanted == found => {}
                        Some(_) => return false,
                    }
                }
                is_tag_and_digest(chars.as_str())
            }
        }
    }
}

fn is_tag_and_digest(rest: &str) -> bool {
    let part = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.{}-".contains(&byte));
    let (tag, digest) = match rest.split_once("@sha256:") {
        Some((tag, digest)) => (tag, Some(digest)),
        None => (rest, None),
    };
    let tag_fits = tag.is_empty() || tag.strip_prefix(':').is_some_and(part);
    tag_fits && digest.is_none_or(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_as_expressions() {
        let table = [
            ("nginx", "nginx", true),
            ("nginx", "nginx:1.2@sha256:ab", true),
            ("nginx", "nginx:", true),
            ("nginx", "nginx@md5:ab", false),
            ("nginx", "docker.io/nginx", false),
            ("ghcr.io/a/b", "ghcr.io/a/b:v1", true),
            ("ghcr.io/a/b", "ghcrXio/a/b", true),
            ("nginx:1", "nginx:1", true),
            ("nginx:1", "nginx:1.2", false),
            (".*", "anything/at:all", true),
            ("(a|b)", "b:1", true),
        ];
        for (name, image, expected) in table {
            let pattern = ImagePattern::new(name).expect("a valid expression");
            assert_eq!(pattern.matches(image), expected, "{name} {image}");
        }
        assert!(ImagePattern::new("a(").is_err());
    }

    #[test]
    fn images_split_behind_the_registry() {
        let table = [
            ("nginx", ("nginx", "", "")),
            ("localhost:5000/a:1", ("localhost:5000/a", "1", "")),
            ("a:1@sha256:x", ("a", "1", "sha256:x")),
            ("a@sha256:x", ("a", "", "sha256:x")),
            ("localhost:5000/a", ("localhost:5000/a", "", "")),
        ];
        for (image, parts) in table {
            assert_eq!(split(image), parts, "{image}");
        }
    }
}
