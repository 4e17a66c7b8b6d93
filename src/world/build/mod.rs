//! What kustomize-controller builds from a Flux Kustomization.
//!
//! Mirrors kustomize-controller `build` (`kustomization_controller.go`) and
//! fluxcd/pkg `kustomize/kustomize_generator.go`: `spec.path` with or without a
//! kustomization file, the fields of `spec` that shape it, then decryption,
//! substitution and `commonMetadata` on every object.

mod decrypt;
mod generate;
mod memo;
mod unknown;

pub use memo::Memo;

pub(crate) use generate::{generated_resources, has_kustomization};

use crate::build::kustomize::{
    self, BuildError, BuildOptions, ErrorClass, FileRole, Links, LoadRestriction, Order, Rewrite, RootFile,
    Warning,
};
use crate::build::substitute;
use crate::build::substitute::{BadVariable, MissingSource, SubstitutionProblem, Variables};
use crate::files::{FileTree, join};
use crate::lang::yaml::{FilePath, Location, Node, NodeRef, Sizes, Value, Via, ViaKind};
use crate::model::{ObjectId, Unchecked};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The objects of a Flux Kustomization.
#[derive(Clone, Debug, Default)]
pub struct FluxBuild {
    /// In the order in which they are applied. Also there when the build fails
    /// in the cluster for one of the reasons below: then what they fail on is
    /// unknown in them.
    pub objects: Vec<Arc<BuiltObject>>,
    /// What was left out: why, the thing, and where.
    pub partial: Vec<(Unchecked, String, Option<Location>)>,
    /// Whether some of that may change objects that are there.
    pub may_change: bool,
    /// Variables with names or values that fail the build.
    pub bad_variables: Vec<BadVariable>,
    /// Sources of variables that are known to be missing, which fails it.
    pub missing_sources: Vec<MissingSource>,
    /// What fails it, while the rest could be built: files below a directory
    /// without a kustomization file, entries of one. The objects are then those
    /// that Flux would apply if these weren't there.
    pub unusable: Vec<BuildFailure>,
    /// What kustomize accepts though it does nothing.
    pub warnings: Vec<Warning>,
    /// Paths of the files that were read, sorted.
    pub files_read: Vec<FilePath>,
    /// Paths of all files that were looked into, sorted: also those of parts that are
    /// refused.
    pub looked_into: Arc<[FilePath]>,
    /// About how many bytes the objects take when they are written, at most
    /// [`kustomize::OUTPUT_LIMIT`].
    pub size: u64,
}

/// One built object.
#[derive(Clone, Debug)]
pub struct BuiltObject {
    pub node: Node,
    /// The files that made it: role and place.
    pub files: Vec<(FileRole, Location)>,
    /// What substitution stumbles over in it.
    pub problems: Vec<SubstitutionProblem>,
    /// The identity that the root states.
    pub id: Option<Arc<ObjectId>>,
}

impl BuiltObject {
    /// One that nothing was substituted in.
    pub fn new(node: Node, files: Vec<(FileRole, Location)>) -> BuiltObject {
        let id = ObjectId::of(node.get_ref()).map(Arc::new);
        BuiltObject { node, files, problems: Vec::new(), id }
    }
}

/// Why there is no build.
#[derive(Clone, Debug, PartialEq)]
pub struct BuildFailure {
    /// Which rule's matter it is.
    pub kind: FailureKind,
    /// What is wrong.
    pub message: String,
    /// Where.
    pub location: Option<Location>,
    /// Other places that matter, each with what is there.
    pub related: Box<[(String, Location)]>,
    /// Paths of the files that were looked into until then, sorted.
    pub looked_into: Arc<[FilePath]>,
}

impl From<BuildError> for BuildFailure {
    fn from(error: BuildError) -> BuildFailure {
        BuildFailure {
            kind: FailureKind::Unbuildable(error.class),
            message: error.message,
            location: error.location,
            related: error.related.into(),
            looked_into: Arc::default(),
        }
    }
}

/// What makes a build impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// `spec.path` is not in the tree.
    MissingPath,
    /// Kustomizations that apply themselves under ever new names.
    Endless,
    /// The objects of its cluster outgrow a limit of this program.
    TooLarge,
    /// kustomize refuses what is there.
    Unbuildable(ErrorClass),
}

/// Builds a Flux Kustomization (its effective object) inside a tree. `strict`:
/// whether undefined variables fail the build.
///
/// # Errors
/// What kustomize-controller reports as `ArtifactFailed` or `BuildFailed`.
pub fn build(
    tree: &FileTree,
    kustomization: NodeRef<'_>,
    variables: &Variables,
    strict: bool,
    memo: &Memo,
) -> Result<FluxBuild, BuildFailure> {
    let directory = directory(tree, kustomization)?;
    let mut build = memo.root(tree, &directory, kustomization)?;
    build.bad_variables.clone_from(&variables.bad);
    build.missing_sources.clone_from(&variables.missing);
    let decrypts = kustomization.at("/spec/decryption").is_some_and(|node| !node.is_null());
    let metadata = kustomization.at("/spec/commonMetadata").filter(|node| !node.is_null());
    let metadata_place = kustomization.location_at("/spec/commonMetadata");
    let substitutes = variables.runs() != Some(false);
    let mut renamed: Vec<usize> = Vec::new();
    // What stays as it is is shared with all who build it.
    for (at, object) in build.objects.iter_mut().enumerate() {
        let built = object.node.clone();
        if decrypts && let Some(decrypted) = decrypt::decrypt(object.node.get_ref()) {
            Arc::make_mut(object).node = decrypted;
        }
        if substitutes
            && !substitute::opts_out(object.node.get_ref())
            && let Err((class, message)) = substituted(object, variables, strict, &mut build.size)
        {
            return Err(BuildFailure {
                kind: FailureKind::Unbuildable(class),
                message,
                location: object.node.get_ref().location(),
                related: Box::default(),
                looked_into: build.looked_into,
            });
        }
        if let Some(metadata) = metadata {
            let object = Arc::make_mut(object);
            for field in ["labels", "annotations"] {
                set_common_metadata(&mut object.node, field, metadata, metadata_place.as_ref());
            }
        }
        if !object.node.is(&built) {
            let id = ObjectId::of(object.node.get_ref()).map(Arc::new);
            if id != object.id {
                renamed.push(at);
            }
            Arc::make_mut(object).id = id;
        }
        if object.id.is_none() {
            build.partial.push((
                Unchecked::UnknownKind,
                "an object of unknown kind".to_owned(),
                object.node.get_ref().location(),
            ));
        }
    }
    drop_equal(&mut build, &renamed);
    Ok(build)
}

/// Takes out what has the id of another object since its variables were replaced, and
/// notes it: kustomize-controller `build` puts each object back by its id (`Replace` of
/// kustomize `api/resmap/reswrangler.go`), which fails where two have it. `renamed`: places
/// of those that have another id now, in order.
fn drop_equal(build: &mut FluxBuild, renamed: &[usize]) {
    if renamed.is_empty() {
        return;
    }
    let mut first: FxHashMap<_, usize> = FxHashMap::default();
    let mut equal: Vec<(usize, usize)> = Vec::new();
    for (at, object) in build.objects.iter().enumerate() {
        let Some(id) = object.id.as_deref().filter(|id| !id.is_unknown()) else { continue };
        let namespace = match kustomize::is_cluster_scoped(&id.api_version, &id.kind) {
            true => None,
            false => Some(id.namespace.as_deref().unwrap_or("default")),
        };
        let other = *first.entry((&*id.api_version, &*id.kind, namespace, &*id.name)).or_insert(at);
        if other != at {
            equal.push((at, other));
        }
    }
    for (at, other) in &equal {
        let (at, other) = (*at, *other);
        // The name to change is the one that a variable gave.
        let (object, kept) = match renamed.binary_search(&at).is_ok() {
            true => (&build.objects[at], &build.objects[other]),
            false => (&build.objects[other], &build.objects[at]),
        };
        let place = |object: &BuiltObject| {
            let node = object.node.get_ref();
            node.location_at("/metadata/name").or_else(|| node.location())
        };
        let name = object.id.as_deref().map(ToString::to_string).unwrap_or_default();
        build.unusable.push(BuildFailure {
            kind: FailureKind::Unbuildable(ErrorClass::Id),
            message: format!("{name} is in this build twice once its variables are replaced"),
            location: place(object),
            related: place(kept).map(|place| ("the other one".to_owned(), place)).into_iter().collect(),
            looked_into: Arc::default(),
        });
    }
    let mut at = 0..;
    let is_left = |at: usize| equal.binary_search_by_key(&at, |(at, _)| *at).is_err();
    build.objects.retain(|_| at.next().is_some_and(is_left));
}

/// Replace the variables of an object. `size` is that of the whole build.
///
/// # Errors
/// Why it is not replaced.
fn substituted(
    object: &mut Arc<BuiltObject>,
    variables: &Variables,
    strict: bool,
    size: &mut u64,
) -> Result<(), (ErrorClass, String)> {
    let substituted = substitute::substitute(object.node.get_ref(), variables, strict)
        .map_err(|error| (ErrorClass::Output, error.to_string()))?;
    if !substituted.node.is(&object.node) {
        *size = size.saturating_add(Sizes::default().of(substituted.node.get_ref()));
    }
    if *size > kustomize::OUTPUT_LIMIT {
        let limit = kustomize::OUTPUT_LIMIT >> 20;
        return Err((ErrorClass::Limit, format!("its substituted objects come to more than {limit} MiB")));
    }
    if !substituted.node.is(&object.node) {
        Arc::make_mut(object).node = substituted.node;
    }
    if variables.runs() == Some(true) && object.problems != substituted.problems {
        Arc::make_mut(object).problems = substituted.problems;
    }
    Ok(())
}

/// The directory that `spec.path` names, clean, inside the tree: `..` and a
/// leading `/` never leave it (`securejoin.SecureJoin`).
///
/// # Errors
/// There is no such directory.
pub(crate) fn directory(tree: &FileTree, kustomization: NodeRef<'_>) -> Result<String, BuildFailure> {
    let path = kustomization.str_at("/spec/path").unwrap_or_default();
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    let directory = segments.join("/");
    if directory.is_empty() || tree.is_directory(&directory) {
        return Ok(directory);
    }
    Err(BuildFailure {
        kind: FailureKind::MissingPath,
        message: format!("path {path} does not exist"),
        location: kustomization.location_at("/spec/path"),
        related: Box::default(),
        looked_into: Arc::default(),
    })
}

/// Runs kustomize over the directory, with what Flux writes into the
/// kustomization file.
fn accumulate(
    tree: &FileTree,
    directory: &str,
    rewrite: Rewrite,
    bases: &kustomize::BaseMemo,
) -> Result<FluxBuild, BuildFailure> {
    let read = RefCell::default();
    noted(accumulate_noting(tree, directory, rewrite, bases, &read), read)
}

/// A result with what was read for it.
fn noted(
    result: Result<FluxBuild, BuildFailure>,
    read: RefCell<BTreeSet<FilePath>>,
) -> Result<FluxBuild, BuildFailure> {
    let looked_into = read.into_inner().into_iter().collect();
    match result {
        Ok(build) => Ok(FluxBuild { looked_into, ..build }),
        Err(failure) => Err(BuildFailure { looked_into, ..failure }),
    }
}

/// See [`accumulate`]; `read` takes the paths of all files that are read.
fn accumulate_noting(
    tree: &FileTree,
    directory: &str,
    mut rewrite: Rewrite,
    bases: &kustomize::BaseMemo,
    read: &RefCell<BTreeSet<FilePath>>,
) -> Result<FluxBuild, BuildFailure> {
    let mut out = FluxBuild::default();
    if !has_kustomization(tree, directory) {
        generate(&mut rewrite, readable_resources(tree, directory, bases, read, &mut out), &out);
    }
    let attempt = |rewrite: Rewrite, best_effort: bool| {
        let options = BuildOptions {
            load_restriction: LoadRestriction::None,
            links: Links::Absent,
            order: Order::Fifo,
            root: RootFile::Rewritten(Box::new(rewrite)),
            best_effort,
        };
        let build = kustomize::build_noting(tree, directory, &options, bases, &mut read.borrow_mut());
        build.map_err(BuildFailure::from)
    };
    let run = |rewrite: Rewrite| with_best_effort(|best_effort| attempt(rewrite.clone(), best_effort));
    unknown::settle(&mut rewrite, &mut out.partial);
    out.may_change = !out.partial.is_empty();
    if !unknown::is_in(&rewrite) {
        out.take(run(rewrite)?);
        return Ok(out);
    }
    let pair = |rewrite: &Rewrite, run: &dyn Fn(Rewrite) -> Result<kustomize::Build, BuildFailure>| {
        let [one, other] = unknown::STAND_INS;
        Ok::<_, BuildFailure>((
            run(unknown::filled_rewrite(rewrite, one))?,
            run(unknown::filled_rewrite(rewrite, other))?,
        ))
    };
    let built = pair(&rewrite, &|rewrite| attempt(rewrite, false)).or_else(|_| {
        // Nobody knows whether these would fit.
        unknown::drop_lists(&mut rewrite, &mut out.partial);
        out.may_change = true;
        pair(&rewrite, &run)
    });
    let (mut one, other) = built?;
    let same = one.resources.len() == other.resources.len();
    if !same {
        out.partial.push((Unchecked::UnknownField, "which objects there are".to_owned(), None));
        one.resources.clear();
    }
    for (resource, twin) in one.resources.iter_mut().zip(&other.resources) {
        if let Some(node) = unknown::agreed(resource.node.get_ref(), twin.node.get_ref()) {
            resource.node = node;
        }
    }
    out.take(one);
    Ok(out)
}

/// Fills in the file that Flux writes where a directory has none. One without resources has
/// a namespace, so that it isn't empty, which objects of components then get.
/// Source: fluxcd/pkg `kustomize/kustomize_generator.go` (`findOrGenerateKustomization`).
fn generate(rewrite: &mut Rewrite, resources: Vec<String>, out: &FluxBuild) {
    if resources.is_empty() && out.unusable.is_empty() {
        rewrite.namespace.get_or_insert_with(|| Node::string("_placeholder", None));
    }
    rewrite.generated = Some(resources);
}

/// The resources of a directory without a kustomization file that kustomize takes; those
/// that it refuses are noted.
fn readable_resources(
    tree: &FileTree,
    directory: &str,
    bases: &kustomize::BaseMemo,
    read: &RefCell<BTreeSet<FilePath>>,
    out: &mut FluxBuild,
) -> Vec<String> {
    let mut resources = Vec::new();
    for path in generated_resources(tree, directory) {
        match kustomize::check_resource(tree, directory, &path, bases, &mut read.borrow_mut()) {
            Ok(()) => resources.push(path),
            // What is left of a directory is taken in below.
            Err(_) if !path.ends_with(".yaml") && !path.ends_with(".yml") => resources.push(path),
            Err(error) => out.unusable.push(BuildFailure::from(error)),
        }
    }
    resources
}

/// A build, and where that is refused what remains of it without what is broken.
///
/// # Errors
/// Nothing remains, or it can't be told what would.
fn with_best_effort(
    attempt: impl Fn(bool) -> Result<kustomize::Build, BuildFailure>,
) -> Result<kustomize::Build, BuildFailure> {
    let refused = match attempt(false) {
        Ok(build) => return Ok(build),
        Err(refused) => refused,
    };
    match attempt(true) {
        Ok(build) if !build.resources.is_empty() && !build.left_out.is_empty() => Ok(build),
        _ => Err(refused),
    }
}

/// Builds a directory as kustomize does, for a repository that says nothing of
/// who applies it.
///
/// # Errors
/// What kustomize refuses to build.
pub(crate) fn build_overlay(
    tree: &FileTree,
    directory: &str,
    memo: &Memo,
) -> Result<FluxBuild, BuildFailure> {
    let read = RefCell::default();
    let attempt = |best_effort: bool| {
        let options = BuildOptions {
            load_restriction: LoadRestriction::None,
            links: Links::Absent,
            order: Order::Fifo,
            root: RootFile::Strict,
            best_effort,
        };
        let build = kustomize::build_noting(tree, directory, &options, &memo.bases, &mut read.borrow_mut());
        build.map_err(BuildFailure::from)
    };
    let built = with_best_effort(attempt).map(|build| {
        let mut out = FluxBuild::default();
        out.take(build);
        out
    });
    noted(built, read)
}

impl FluxBuild {
    /// Takes what kustomize built.
    fn take(&mut self, build: kustomize::Build) {
        for resource in build.resources {
            let node = resource.node.get_ref();
            let is_there = |field: &&str| {
                node.get(field).is_some_and(|value| value.is_unknown() || value.as_str().is_some())
            };
            if let Some(field) = ["apiVersion", "kind"].iter().find(|field| !is_there(field)) {
                self.unusable.push(BuildFailure {
                    kind: FailureKind::Unbuildable(ErrorClass::NotAnObject),
                    message: format!("an object has no {field}"),
                    location: node.location(),
                    related: Box::default(),
                    looked_into: Arc::default(),
                });
                continue;
            }
            let files = resource.files.iter().map(|file| (file.role, (*file.location).clone()));
            let files = files.collect();
            self.objects.push(Arc::new(BuiltObject::new(resource.node, files)));
        }
        self.may_change |= build.partial.iter().any(|partial| partial.what.may_change());
        let partial = build
            .partial
            .into_iter()
            .map(|partial| (partial.what.unchecked(), partial.name, partial.location));
        self.partial.extend(partial);
        for failure in build.left_out.into_iter().map(BuildFailure::from) {
            if !self.unusable.contains(&failure) {
                self.unusable.push(failure);
            }
        }
        self.warnings = build.warnings;
        self.size = build.size;
        self.files_read = build.files_read;
    }
}

/// The fields of `spec` that Flux writes into the kustomization file.
fn rewrite(tree: &FileTree, directory: &str, kustomization: NodeRef<'_>) -> Rewrite {
    let field = |name: &str| {
        let node = kustomization.at(name).filter(|node| !node.is_null())?;
        Some(node.to_node())
    };
    let ignores_missing =
        kustomization.at("/spec/ignoreMissingComponents").and_then(NodeRef::as_bool).unwrap_or(false);
    let is_there = |component: &NodeRef<'_>| {
        let path = component.as_str().unwrap_or_default();
        component.is_unknown() || join(directory, &path).is_some_and(|path| tree.is_directory(&path))
    };
    let components = kustomization.at("/spec/components");
    Rewrite {
        generated: None,
        namespace: field("/spec/targetNamespace"),
        name_prefix: field("/spec/namePrefix"),
        name_suffix: field("/spec/nameSuffix"),
        patches: field("/spec/patches"),
        components: components
            .filter(|components| components.is_unknown())
            .into_iter()
            .chain(kustomization.items_at("/spec/components"))
            .filter(|component| !ignores_missing || is_there(component))
            .map(NodeRef::to_node)
            .collect(),
        images: field("/spec/images"),
        listed_images: None,
        build_metadata: field("/spec/buildMetadata"),
    }
}

/// Merges `spec.commonMetadata` into an object's labels or annotations
/// (`SetCommonMetadata`): it overrides, and reaches no pod template.
pub(super) fn set_common_metadata(
    node: &mut Node,
    field: &str,
    metadata: NodeRef<'_>,
    place: Option<&Location>,
) {
    let additions: Vec<_> = metadata.get(field).into_iter().flat_map(NodeRef::entries).collect();
    if additions.is_empty() {
        return;
    }
    if !node.get_ref().get("metadata").is_some_and(NodeRef::is_map) {
        node.set("metadata", Node::empty_map(None), None);
    }
    let Some(own) = node.get_mut("metadata") else { return };
    if !own.get_ref().get(field).is_some_and(NodeRef::is_map) {
        own.set(field, Node::empty_map(None), None);
    }
    let Some(own) = own.get_mut(field) else { return };
    for entry in additions {
        let through = |location: Option<Location>| {
            location.map(|mut location| {
                location.via.extend(
                    place.map(|place| Via { kind: ViaKind::CommonMetadata, location: place.clone() }),
                );
                location
            })
        };
        let value = match entry.value.as_str() {
            Some(text) if !entry.value.is_unknown() => Value::Str(text.as_ref().into()),
            _ => Value::Unknown("unknown".into()),
        };
        let value = Node::scalar(value, through(entry.value.location()));
        own.set(&entry.key, value, through(entry.key_location()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Snapshot, Store};
    use crate::lang::yaml::parse_nodes;

    fn tree(files: &[(&str, &str)]) -> FileTree {
        let files = files.iter().map(|(path, text)| (*path, text.as_bytes().to_vec()));
        FileTree::root(Arc::new(Snapshot::memory(files, Arc::new(Store::default()))))
    }

    #[test]
    fn paths_stay_inside_the_tree() {
        let tree = tree(&[("apps/x.yaml", "")]);
        for (path, expected) in [
            ("./apps", Some("apps")),
            ("apps/", Some("apps")),
            ("/apps", Some("apps")),
            ("../apps", Some("apps")),
            ("./", Some("")),
            ("./other", None),
            ("Apps", None),
        ] {
            let kustomization = parse_nodes("ks.yaml", &format!("spec: {{path: {path}}}")).remove(0);
            let found = directory(&tree, kustomization.get_ref());
            assert_eq!(found.ok().as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn common_metadata_comes_after_substitution_and_keeps_its_place() {
        let tree = tree(&[(
            "app/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {app: old, own: x}}\ndata: {k: '${A}'}\n",
        )]);
        let text = "spec:\n  path: app\n  commonMetadata:\n    labels: {app: \"${A}\"}\n    annotations: {note: n}\n";
        let kustomization = parse_nodes("ks.yaml", text).remove(0);
        let variables = parse_nodes("v.yaml", "spec: {postBuild: {substitute: {A: x}}}").remove(0);
        let variables =
            Variables::of(variables.get_ref(), &mut |_, _| substitute::Provided::Missing).expect("variables");
        let built = build(&tree, kustomization.get_ref(), &variables, true, &Memo::default()).expect("built");
        let object = built.objects[0].node.get_ref();
        let expected = r#"{"apiVersion":"v1","data":{"k":"x"},"kind":"ConfigMap","metadata":{"annotations":{"note":"n"},"labels":{"app":"${A}","own":"x"},"name":"a"}}"#;
        assert_eq!(crate::lang::yaml::emit::to_json(object).as_deref(), Ok(expected));
        let label = object.at("/metadata/labels/app").and_then(NodeRef::location).expect("a place");
        assert_eq!(
            (&**label.file.shown(), &text[label.start as usize..label.end as usize]),
            ("ks.yaml", "\"${A}\"")
        );
        assert_eq!(label.via[0].kind, ViaKind::CommonMetadata);
    }

    #[test]
    fn encrypted_values_are_unknown_and_their_keys_known() {
        let tree = tree(&[(
            "app/s.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  k: ENC[AES256_GCM,data:x]\n  open: y\nsops: {mac: x, version: 3.8.1}\n",
        )]);
        let build_with = |spec: &str| {
            let kustomization = parse_nodes("ks.yaml", spec).remove(0);
            build(&tree, kustomization.get_ref(), &Variables::default(), false, &Memo::default())
                .expect("built")
        };
        let built = build_with("spec: {path: app, decryption: {provider: sops}}");
        let object = built.objects[0].node.get_ref();
        assert!(object.at("/sops").is_none());
        assert!(object.at("/stringData/k").is_some_and(NodeRef::is_unknown));
        assert_eq!(object.str_at("/stringData/open").as_deref(), Some("y"));
        let built = build_with("spec: {path: app}");
        assert!(built.objects[0].node.get_ref().at("/sops/mac").is_some());
    }
}
