//! Objects as people name them on the command line.

use super::Failure;
use super::common::Common;
use crate::lang::text::{clean, counted, suggest};
use crate::model::ObjectId;
use crate::model::kinds::kind_of_word;
use crate::model::short_names::is_called;
use crate::report::objects;
use crate::world::World;
use crate::world::releases::Release;
use globset::{Glob, GlobMatcher};
use std::collections::{BTreeMap, BTreeSet};

/// `KIND/[NAMESPACE/]NAME`: the kind in any case, short, in the plural or with its group
/// (`Kustomization.kustomize.toolkit.fluxcd.io`), globs in names. `${…}` in a name is the
/// variable of a template, and no glob.
pub(crate) struct ObjectSelector {
    text: String,
    kind: String,
    group: Option<String>,
    namespace: Option<GlobMatcher>,
    name: GlobMatcher,
}

impl ObjectSelector {
    /// Reads a selector.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn parse(text: &str) -> Result<ObjectSelector, Failure> {
        let usage = || Failure::Usage(format!("`{text}` names no object; write KIND/NAMESPACE/NAME"));
        let glob =
            |part: &str| Glob::new(&literal(part)).map(|glob| glob.compile_matcher()).map_err(|_| usage());
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
        Ok(ObjectSelector {
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
    pub(crate) fn of(common: &Common, text: &str) -> Result<ObjectSelector, Failure> {
        ObjectSelector::in_namespace(text, common.namespace.as_deref())
    }

    /// As [`Selector::of`], of words that may be `KIND NAME`, as kubectl takes them.
    ///
    /// # Errors
    /// When they are none, or several.
    pub(crate) fn of_words(common: &Common, words: &[String]) -> Result<ObjectSelector, Failure> {
        match joined(words).as_slice() {
            [one] => ObjectSelector::of(common, one),
            _ => Err(Failure::Usage(format!(
                "name one object, as KIND/NAMESPACE/NAME, not {}",
                words.join(" ")
            ))),
        }
    }

    /// What a simulator is asked about: words, or the flag that says the same; `None`
    /// where it is asked about all.
    ///
    /// # Errors
    /// When it names no object.
    pub(crate) fn asked(
        common: &Common,
        words: &[String],
        flag: Option<&str>,
    ) -> Result<Option<ObjectSelector>, Failure> {
        match (words, flag) {
            (_, Some(text)) => ObjectSelector::of(common, text).map(Some),
            ([], None) => Ok(None),
            (words, None) => ObjectSelector::of_words(common, words).map(Some),
        }
    }

    /// As it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn in_namespace(text: &str, namespace: Option<&str>) -> Result<ObjectSelector, Failure> {
        let mut selector = ObjectSelector::parse(text)?;
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
        is_called(&id.kind, &self.kind)
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
        let mut made = world.clusters.iter().flat_map(|cluster| &cluster.generated);
        if let Some((id, of)) = made.find(|(id, _)| self.matches(id)) {
            let how = if of.starts_with("a hook") { "it is" } else { "a controller makes it of" };
            return Failure::Usage(clean(&format!("no file states {id}: {how} {of}")).into_owned());
        }
        let orphan = world.orphans().find(|object| self.matches(&object.id));
        match orphan.and_then(|object| Some((object, object.node.get_ref().location()?))) {
            Some((object, location)) => Failure::Usage(format!(
                "no cluster applies {}, which stands at {}; if one does, name it in .forebay.yaml \
                 (`clusters: [{{name: NAME, path: DIRECTORY}}]`)",
                clean(&object.id.to_string()),
                objects::place(&world.snapshot, &location)
            )),
            None => self.not_found_but(ids, self.unrendered(world)),
        }
    }

    /// Of the releases of which nothing is known here those that may make it, and why.
    fn unrendered(&self, world: &World) -> Option<String> {
        let fits = |release: &&Release| match &self.namespace {
            Some(glob) => {
                let target = release.node.get_ref().str_at("/spec/targetNamespace");
                glob.is_match(target.as_deref().or(release.id.namespace.as_deref()).unwrap_or_default())
            }
            None => self.name.is_match(&*release.id.name),
        };
        let releases = world.clusters.iter().flat_map(|cluster| &cluster.releases).filter(fits);
        let all: BTreeMap<&ObjectId, String> =
            releases.filter_map(|release| Some((&release.id, release.not_rendered()?))).collect();
        // One of its own name most likely.
        let (id, why) =
            all.iter().find(|(id, _)| self.name.is_match(&*id.name)).or_else(|| all.iter().next())?;
        Some(match all.len() {
            1 => format!("{id} may make it, which is not rendered: {why}"),
            count => format!(
                "{id} and {} may make it, which are not rendered: {why}",
                counted(count - 1, "other HelmRelease")
            ),
        })
    }

    /// The failure when nothing of `ids` matches, with a did-you-mean.
    pub(crate) fn not_found<'i>(&self, ids: impl IntoIterator<Item = &'i ObjectId>) -> Failure {
        self.not_found_but(ids, None)
    }

    /// As [`ObjectSelector::not_found`], with what may make it all the same.
    fn not_found_but<'i>(
        &self,
        ids: impl IntoIterator<Item = &'i ObjectId>,
        maker: Option<String>,
    ) -> Failure {
        let ids: Vec<&ObjectId> = ids.into_iter().collect();
        let of_kind: Vec<&&ObjectId> = ids.iter().filter(|id| is_called(&id.kind, &self.kind)).collect();
        let shown = |id: &ObjectId| match (&id.namespace, &self.namespace) {
            (Some(namespace), Some(_)) => format!("{}/{namespace}/{}", id.kind, id.name),
            _ => format!("{}/{}", id.kind, id.name),
        };
        let names: Vec<String> = of_kind.iter().map(|id| shown(id)).collect();
        let rest = self.text.split_once('/').map_or("", |(_, rest)| rest);
        let kind = of_kind.first().map_or(&*self.kind, |id| &*id.kind);
        let near = suggest(&format!("{kind}/{rest}"), names.iter().map(String::as_str)).map(str::to_owned);
        // The name in another namespace, or of another kind, unless something may make it.
        let same = |id: &&&ObjectId| self.name.is_match(&*id.name);
        let elsewhere = || of_kind.iter().copied().find(same).map(|id| selector_of(id));
        let otherwise = || ids.iter().find(same).filter(|_| maker.is_none()).map(|id| selector_of(id));
        let hint = match near.or_else(elsewhere).or_else(otherwise) {
            Some(near) => format!("; did you mean {near}?"),
            None if maker.is_some() => format!("; {}", maker.unwrap_or_default()),
            None if of_kind.is_empty() => format!("; there is no {} here", self.kind),
            None => {
                let all: BTreeSet<String> = of_kind.iter().map(|id| selector_of(id)).collect();
                let more = if all.len() > SOME { " …" } else { "" };
                let some = all.into_iter().take(SOME).collect::<Vec<String>>().join(", ");
                format!("; there are {some}{more}")
            }
        };
        Failure::Usage(clean(&format!("no object is called {}{hint}", self.text)).into_owned())
    }
}

/// Objects of a kind that are named where none is meant for sure.
const SOME: usize = 5;

/// The objects that a simulator is asked about.
#[derive(clap::Args)]
pub(crate) struct Asked {
    /// Only these objects: KIND/[NAMESPACE/]NAME, or KIND NAME, with globs
    #[arg(value_name = "OBJECT", num_args = 0..=2)]
    objects: Vec<String>,
    /// The same
    #[arg(long, value_name = "OBJECT", conflicts_with = "objects")]
    object: Option<String>,
}

impl Asked {
    /// What was asked about; `None` for all.
    ///
    /// # Errors
    /// When it names no object.
    pub(crate) fn selector(&self, common: &Common) -> Result<Option<ObjectSelector>, Failure> {
        ObjectSelector::asked(common, &self.objects, self.object.as_deref())
    }

    /// Whether it is about some objects only.
    pub(crate) fn is_given(&self) -> bool {
        self.object.is_some() || !self.objects.is_empty()
    }
}

/// An object as a selector that names it alone among those of its kind's name.
pub(crate) fn selector_of(id: &ObjectId) -> String {
    match &id.namespace {
        Some(namespace) => format!("{}/{namespace}/{}", id.kind, id.name),
        None => format!("{}/{}", id.kind, id.name),
    }
}

/// Words of the command line as selectors: of `KIND NAME…` each name with the kind.
pub(crate) fn joined(words: &[String]) -> Vec<String> {
    match words {
        [kind, names @ ..] if !names.is_empty() && !kind.contains('/') => {
            names.iter().map(|name| format!("{kind}/{name}")).collect()
        }
        words => words.to_vec(),
    }
}

/// A glob in which the braces of `${…}` are letters.
fn literal(part: &str) -> String {
    let mut out = String::new();
    let mut rest = part;
    while let Some((before, after)) = rest.split_once("${") {
        let (inner, behind) =
            after.split_once('}').map_or((after, None), |(inner, rest)| (inner, Some(rest)));
        out.push_str(before);
        out.push_str(&globset::escape(&format!("${{{inner}")));
        if behind.is_some() {
            out.push_str("[}]");
        }
        rest = behind.unwrap_or_default();
    }
    out + rest
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
        let of = |text: &str| ObjectSelector::in_namespace(text, Some("flux-system"));
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
            let selector = ObjectSelector::parse(text).unwrap_or_else(|_| panic!("{text}"));
            assert_eq!(selector.matches(&apps), expected, "{text}");
        }
        let parsed = |text: &str| ObjectSelector::parse(text).unwrap_or_else(|_| panic!("{text}"));
        let templated = id("MachineDeployment", None, "${NAME}-md-0");
        assert!(parsed("md/${NAME}-md-0").matches(&templated));
        assert!(parsed("machinedeployments/${NAME}-*").matches(&templated));
        assert!(!parsed("md/NAME-md-0").matches(&templated));
        for text in ["", "apps", "ks/", "a/b/c/d", "ks/[", "/x"] {
            assert!(ObjectSelector::parse(text).is_err(), "{text}");
        }
    }
}
