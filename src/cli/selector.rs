//! Objects as people name them on the command line.

use super::Failure;
use super::common::Common;
use crate::lang::text::{clean, suggest};
use crate::model::ObjectId;
use crate::model::kinds::kind_of_word;
use crate::report::objects;
use crate::world::World;
use globset::{Glob, GlobMatcher};

/// `KIND/[NAMESPACE/]NAME`: the kind in any case, short or with its group
/// (`Kustomization.kustomize.toolkit.fluxcd.io`), globs in names.
pub(crate) struct Selector {
    text: String,
    kind: String,
    group: Option<String>,
    namespace: Option<GlobMatcher>,
    name: GlobMatcher,
}

impl Selector {
    /// Reads a selector.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn parse(text: &str) -> Result<Selector, Failure> {
        let usage = || Failure::Usage(format!("`{text}` names no object; write KIND/NAMESPACE/NAME"));
        let glob = |part: &str| Glob::new(part).map(|glob| glob.compile_matcher()).map_err(|_| usage());
        let parts: Vec<&str> = text.split('/').collect();
        let (kind, namespace, name) = match *parts {
            [kind, name] => (kind, None, name),
            [kind, namespace, name] => (kind, Some(namespace), name),
            _ => return Err(usage()),
        };
        if parts.iter().any(|part| part.is_empty()) {
            return Err(usage());
        }
        let (kind, group) = match kind.split_once('.') {
            Some((kind, group)) => (kind, Some(group.to_owned())),
            None => (kind, None),
        };
        Ok(Selector {
            text: text.to_owned(),
            kind: kind_of_word(kind).to_owned(),
            group,
            namespace: namespace.map(glob).transpose()?,
            name: glob(name)?,
        })
    }

    /// As [`Selector::parse`], in the namespace that `-n` gives.
    ///
    /// # Errors
    /// When it is none, or names another namespace.
    pub(crate) fn of(common: &Common, text: &str) -> Result<Selector, Failure> {
        Selector::in_namespace(text, common.namespace.as_deref())
    }

    fn in_namespace(text: &str, namespace: Option<&str>) -> Result<Selector, Failure> {
        let mut selector = Selector::parse(text)?;
        let Some(wanted) = namespace else { return Ok(selector) };
        match text.split('/').collect::<Vec<_>>()[..] {
            [_, own, _] if own != wanted => {
                return Err(Failure::Usage(format!("`{text}` names namespace {own}, and -n {wanted}")));
            }
            _ => {}
        }
        let glob = Glob::new(&globset::escape(wanted));
        let glob = glob.map_err(|_| Failure::Usage(format!("-n: `{wanted}` is no namespace")))?;
        selector.namespace = Some(glob.compile_matcher());
        Ok(selector)
    }

    /// Whether it names this object.
    pub(crate) fn matches(&self, id: &ObjectId) -> bool {
        self.kind.eq_ignore_ascii_case(&id.kind)
            && self.group.as_deref().is_none_or(|group| group == id.group())
            && self.name.is_match(&*id.name)
            && self
                .namespace
                .as_ref()
                .is_none_or(|glob| glob.is_match(id.namespace.as_deref().unwrap_or_default()))
    }

    /// The failure when no cluster holds it: where it stands all the same, else as
    /// [`Selector::not_found`].
    pub(crate) fn missing<'i>(&self, world: &World, ids: impl IntoIterator<Item = &'i ObjectId>) -> Failure {
        let orphan = world.orphans().find(|object| self.matches(&object.id));
        match orphan.and_then(|object| Some((object, object.node.get_ref().location()?))) {
            Some((object, location)) => Failure::Usage(format!(
                "no cluster applies {}, which stands at {}; if one does, name it in .forebay.yaml \
                 (`clusters: [{{name: NAME, path: DIRECTORY}}]`)",
                clean(&object.id.to_string()),
                objects::place(&world.snapshot, &location)
            )),
            None => self.not_found(ids),
        }
    }

    /// The failure when nothing of `ids` matches, with a did-you-mean.
    pub(crate) fn not_found<'i>(&self, ids: impl IntoIterator<Item = &'i ObjectId>) -> Failure {
        let names: Vec<String> = ids
            .into_iter()
            .filter(|id| self.kind.eq_ignore_ascii_case(&id.kind))
            .map(|id| match (&id.namespace, &self.namespace) {
                (Some(namespace), Some(_)) => format!("{}/{namespace}/{}", id.kind, id.name),
                _ => format!("{}/{}", id.kind, id.name),
            })
            .collect();
        let rest = self.text.split_once('/').map_or("", |(_, rest)| rest);
        let near = suggest(&format!("{}/{rest}", self.kind), names.iter().map(String::as_str));
        let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
        Failure::Usage(format!("no object is called {}{hint}", self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(kind: &str, namespace: Option<&str>, name: &str) -> ObjectId {
        ObjectId {
            api_version: "kustomize.toolkit.fluxcd.io/v1".into(),
            kind: kind.into(),
            namespace: namespace.map(Into::into),
            name: name.into(),
        }
    }

    #[test]
    fn a_namespace_is_given_once() {
        let of = |text: &str| Selector::in_namespace(text, Some("flux-system"));
        let apps = id("Kustomization", Some("flux-system"), "apps");
        let other = id("Kustomization", Some("other"), "apps");
        let names = |text: &str, id: &ObjectId| of(text).is_ok_and(|s| s.matches(id));
        assert!(names("ks/apps", &apps) && names("ks/flux-system/apps", &apps));
        assert!(!names("ks/apps", &other));
        assert!(of("ks/other/apps").is_err());
    }

    #[test]
    fn what_a_selector_names() {
        let apps = id("Kustomization", Some("flux-system"), "apps");
        for (text, expected) in [
            ("Kustomization/apps", true),
            ("ks/flux-system/apps", true),
            ("kustomization/a*", true),
            ("ks/*/apps", true),
            ("Kustomization.kustomize.toolkit.fluxcd.io/apps", true),
            ("Kustomization.kustomize.config.k8s.io/apps", false),
            ("ks/other/apps", false),
            ("hr/apps", false),
            ("ks/app", false),
        ] {
            let selector = Selector::parse(text).unwrap_or_else(|_| panic!("{text}"));
            assert_eq!(selector.matches(&apps), expected, "{text}");
        }
        for text in ["", "apps", "ks/", "a/b/c/d", "ks/[", "/x"] {
            assert!(Selector::parse(text).is_err(), "{text}");
        }
    }
}
