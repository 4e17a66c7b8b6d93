//! `$imagepolicy` markers: comments that tell image-automation-controller which
//! scalars to write.

use std::collections::BTreeMap;

use crate::files::Snapshot;
use crate::lang::yaml::Location;

/// A marker on a scalar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ImagePolicyMarker {
    /// Namespace of the ImagePolicy.
    pub namespace: String,
    /// Name of the ImagePolicy.
    pub name: String,
    /// What of the image is written: `tag`, `name` or `digest`; the whole
    /// reference without it.
    pub part: Option<String>,
}

impl ImagePolicyMarker {
    /// Reads a comment, its `#` included. `None` for any other comment, and for
    /// what the controller silently skips as well.
    ///
    /// Mirrors image-automation-controller `internal/update/setters.go`.
    pub(crate) fn parse(comment: &str) -> Option<ImagePolicyMarker> {
        let json = comment.trim_start_matches('#').trim();
        let fields: BTreeMap<String, String> = serde_json::from_str(json).ok()?;
        let mut words = fields.get("$imagepolicy")?.split(':');
        let (namespace, name, part) = (words.next()?, words.next()?, words.next());
        let known_part = matches!(part, None | Some("tag" | "name" | "digest"));
        if namespace.is_empty() || name.is_empty() || !known_part || words.next().is_some() {
            return None;
        }
        Some(ImagePolicyMarker {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            part: part.map(str::to_owned),
        })
    }

    /// The marker on the line on which a scalar ends. The bytes are those of
    /// the scalar as written; a build drops comments, so ask for the place that
    /// the value came from.
    pub(crate) fn at(snapshot: &Snapshot, location: &Location) -> Option<ImagePolicyMarker> {
        let file = snapshot.find(&location.file)?;
        let sources = snapshot.sources(file);
        let document = sources
            .iter()
            .map(|source| source.document())
            .find(|document| document.start <= location.start && location.end <= document.end)?;
        let next = document.comments.partition_point(|comment| comment.start < location.end);
        let comment = document.comments.get(next)?;
        let text = &sources.first()?.stream.text;
        let between = text.get(location.end as usize..comment.start as usize)?;
        if between.contains(['\n', '\r']) {
            return None;
        }
        ImagePolicyMarker::parse(text.get(comment.start as usize..comment.end as usize)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Store;
    use std::sync::Arc;

    #[test]
    fn comments() {
        let marker = |part: Option<&str>| {
            Some(ImagePolicyMarker {
                namespace: "flux-system".into(),
                name: "podinfo".into(),
                part: part.map(str::to_owned),
            })
        };
        for (comment, expected) in [
            (r#"# {"$imagepolicy": "flux-system:podinfo"}"#, marker(None)),
            (r#"#{"$imagepolicy":"flux-system:podinfo:tag"}"#, marker(Some("tag"))),
            (r#"# {"$imagepolicy": "flux-system:podinfo:digest"} "#, marker(Some("digest"))),
            (r#"# {"$imagepolicy": "flux-system:podinfo:tags"}"#, None),
            (r#"# {"$imagepolicy": "podinfo"}"#, None),
            (r#"# {"$imagepolicy": "flux-system:podinfo"} keep"#, None),
            (r#"# {'$imagepolicy': 'flux-system:podinfo'}"#, None),
            ("# image", None),
        ] {
            assert_eq!(ImagePolicyMarker::parse(comment), expected, "{comment}");
        }
    }

    #[test]
    fn only_the_comment_of_the_same_line() {
        let text = "a: x # {\"$imagepolicy\": \"ns:p\"}\nb: y\n# {\"$imagepolicy\": \"ns:q\"}\n";
        let snapshot = Snapshot::memory([("f.yaml", text.as_bytes().to_vec())], Arc::new(Store::default()));
        let file = snapshot.file("f.yaml").expect("the file");
        let root = snapshot.sources(file)[0].root();
        let marker = |key: &str| {
            let node = root.get_ref().get(key).expect("the key");
            ImagePolicyMarker::at(&snapshot, &node.location()?).map(|marker| marker.name)
        };
        assert_eq!(marker("a"), Some("p".to_owned()));
        assert_eq!(marker("b"), None);
    }
}
