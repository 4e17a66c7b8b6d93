//! What the controllers' sources say of each case, as data.

use super::helm::WantedRelease;
use super::orders::{ObjectOutcome, OrdersOutcome, explore};
use super::{
    ApiRefusal, Build, Builds, ClusterState, DeletionPolicy, Dependency, Id, KustomizationSettings, Manifest,
    ObjectPlace, Role, Ssa,
};
use crate::lang::yaml::parse_nodes;
use crate::model::ObjectId;
use crate::world::ApplyTarget;
use std::collections::BTreeSet;

fn id(kind: &str, name: &str) -> Id {
    Id { group: "".into(), kind: kind.into(), namespace: Some("apps".into()), name: name.into() }
}

fn ks(name: &str) -> Id {
    Id {
        group: "kustomize.toolkit.fluxcd.io".into(),
        kind: "Kustomization".into(),
        namespace: Some("flux-system".into()),
        name: name.into(),
    }
}

fn map(name: &str) -> Manifest {
    Manifest::plain(id("ConfigMap", name), 0)
}

fn here(id: Id) -> ObjectPlace {
    (ApplyTarget::Local, id)
}

fn settings() -> KustomizationSettings {
    KustomizationSettings {
        suspend: false,
        prune: true,
        deletion_policy: DeletionPolicy::MirrorPrune,
        force: false,
        target: ApplyTarget::Local,
        depends_on: Vec::new(),
        source: Some(id("GitRepository", "fleet")),
        account: None,
        build: 0,
    }
}

/// A Kustomization; its content follows from its settings.
fn kustomization(name: &str, settings: KustomizationSettings) -> Manifest {
    let content =
        format!("{settings:?}").bytes().fold(7u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
    Manifest { role: Role::Kustomization(settings), content, ..Manifest::plain(ks(name), 0) }
}

/// Kustomizations before and after with what they apply, below a parent `p` with
/// `prune: true`. What `p` no longer has is deleted by it.
struct Case {
    before: Vec<(Manifest, Vec<Manifest>)>,
    after: Vec<(Manifest, Vec<Manifest>)>,
    /// Kustomizations whose new build fails.
    failing: Vec<&'static str>,
    parent_prunes: bool,
}

impl Case {
    fn new(before: Vec<(Manifest, Vec<Manifest>)>, after: Vec<(Manifest, Vec<Manifest>)>) -> Case {
        Case { before, after, failing: Vec::new(), parent_prunes: true }
    }

    fn run(&self) -> OrdersOutcome {
        let mut state = ClusterState::default();
        let root = kustomization("p", KustomizationSettings { prune: self.parent_prunes, ..settings() });
        state.place(ApplyTarget::Local, root, None);
        for (owner, objects) in &self.before {
            state.place(ApplyTarget::Local, owner.clone(), Some(&ks("p")));
            let Role::Kustomization(settings) = &owner.role else { continue };
            for object in objects {
                state.place(settings.target.clone(), object.clone(), Some(&owner.id));
            }
        }
        state.revision();
        let mut builds = Builds::new();
        let children = self.after.iter().map(|(owner, _)| owner.clone()).collect();
        builds.insert((ks("p"), 0), Build::Objects(children));
        for (owner, objects) in &self.after {
            let Role::Kustomization(settings) = &owner.role else { continue };
            let build = if self.failing.contains(&&*owner.id.name) {
                Build::Fails
            } else {
                Build::Objects(objects.clone())
            };
            builds.insert((owner.id.clone(), settings.build), build);
        }
        let answer = explore(&state, &builds);
        assert!(answer.complete && answer.ends > 0);
        answer
    }

    fn outcomes(&self, id: Id) -> BTreeSet<ObjectOutcome> {
        self.run().of(&here(id)).into_iter().cloned().collect()
    }
}

fn set<const N: usize>(outcomes: [ObjectOutcome; N]) -> BTreeSet<ObjectOutcome> {
    BTreeSet::from(outcomes)
}

/// `x` moves from `a` to `b`.
fn moved(
    a: (KustomizationSettings, KustomizationSettings),
    b: (KustomizationSettings, KustomizationSettings),
    x: (Manifest, Manifest),
) -> Case {
    Case::new(
        vec![
            (kustomization("a", a.0), vec![map("rest"), x.0]),
            (kustomization("b", b.0), vec![map("other")]),
        ],
        vec![
            (kustomization("a", a.1), vec![map("rest")]),
            (kustomization("b", b.1), vec![map("other"), x.1]),
        ],
    )
}

fn same(settings: KustomizationSettings) -> (KustomizationSettings, KustomizationSettings) {
    (settings.clone(), settings)
}

fn x() -> Id {
    id("ConfigMap", "x")
}

fn marked(change: impl Fn(&mut Manifest)) -> Manifest {
    let mut manifest = map("x");
    change(&mut manifest);
    manifest
}

#[test]
fn moves_between_two_kustomizations() {
    use ObjectOutcome::{Adopted, Deleted, Kept, Recreated, RecreatedLater};
    let plain = settings();
    let on = |name: &str, expression| KustomizationSettings {
        depends_on: vec![Dependency { on: ks(name), expression }],
        ..settings()
    };
    let other_source = |base: KustomizationSettings| KustomizationSettings {
        source: Some(id("GitRepository", "other")),
        ..base
    };
    let suspended = KustomizationSettings { suspend: true, ..settings() };
    let kept = KustomizationSettings { prune: false, ..settings() };
    let b = || Adopted(ks("b"));
    let protected = marked(|x| x.marks.prune_disabled = true);
    let ignored = marked(|x| x.marks.ssa = Ssa::Ignore);
    let absent = marked(|x| x.marks.ssa = Ssa::IfNotPresent);
    let just = |a: KustomizationSettings, b: KustomizationSettings| {
        moved(same(a), same(b), (map("x"), map("x"))).outcomes(x())
    };
    let cases = [
        ("plain", just(plain.clone(), plain.clone()), set([b(), Recreated])),
        ("a depends on b", just(on("b", false), plain.clone()), set([b()])),
        (
            "a depends on b, whose source is another",
            just(on("b", false), other_source(plain.clone())),
            set([b(), Recreated]),
        ),
        ("a depends on b by an expression", just(on("b", true), plain.clone()), set([b(), Recreated])),
        ("b depends on a", just(plain.clone(), on("a", false)), set([Recreated])),
        ("a is suspended", just(suspended.clone(), plain.clone()), set([b()])),
        ("b is suspended", just(plain.clone(), suspended.clone()), set([Deleted])),
        ("a has prune: false", just(kept.clone(), plain.clone()), set([b()])),
        (
            "a gets prune: false in the same commit",
            moved((plain.clone(), kept), same(plain.clone()), (map("x"), map("x"))).outcomes(x()),
            set([b(), Recreated]),
        ),
        (
            "a is suspended in the same commit",
            moved((plain.clone(), suspended), same(plain.clone()), (map("x"), map("x"))).outcomes(x()),
            set([b(), Recreated]),
        ),
        (
            "protected before",
            moved(same(plain.clone()), same(plain.clone()), (protected.clone(), map("x"))).outcomes(x()),
            set([b()]),
        ),
        (
            "protected in the copy of b alone",
            moved(same(plain.clone()), same(plain.clone()), (map("x"), protected)).outcomes(x()),
            set([b(), Recreated]),
        ),
        (
            "ssa: Ignore before: nobody adopts it",
            moved(same(plain.clone()), same(plain.clone()), (ignored.clone(), ignored)).outcomes(x()),
            set([Kept]),
        ),
        (
            "ssa: IfNotPresent in b: the labels stay those of a",
            moved(same(plain.clone()), same(plain.clone()), (map("x"), absent)).outcomes(x()),
            set([Recreated, RecreatedLater]),
        ),
    ];
    for (what, got, expected) in cases {
        assert_eq!(got, expected, "{what}");
    }
}

#[test]
fn a_taker_that_fails_and_a_leaver_that_fails() {
    let case = |failing: &'static str| {
        let mut case = moved(same(settings()), same(settings()), (map("x"), map("x")));
        case.failing = vec![failing];
        case.outcomes(x())
    };
    assert_eq!(case("b"), set([ObjectOutcome::Deleted]));
    assert_eq!(case("a"), set([ObjectOutcome::Adopted(ks("b"))]));
    // b applies nothing where one of its objects is refused.
    let mut case = moved(same(settings()), same(settings()), (map("x"), map("x")));
    let refused = Manifest { refusal: Some(ApiRefusal::Invalid), ..map("other") };
    case.after[1].1 = vec![refused, map("x")];
    assert_eq!(case.outcomes(x()), set([ObjectOutcome::Deleted]));
}

#[test]
fn renames_of_kustomizations() {
    let rename = |old: KustomizationSettings, parent_prunes| {
        let objects = || vec![map("x")];
        let mut case = Case::new(
            vec![(kustomization("a", old), objects())],
            vec![(kustomization("new", settings()), objects())],
        );
        case.parent_prunes = parent_prunes;
        case.outcomes(x())
    };
    let adopted = || ObjectOutcome::Adopted(ks("new"));
    let orphan = KustomizationSettings { deletion_policy: DeletionPolicy::Orphan, ..settings() };
    let suspended = KustomizationSettings { suspend: true, ..settings() };
    let unpruned = KustomizationSettings { prune: false, ..settings() };
    let delete =
        KustomizationSettings { prune: false, deletion_policy: DeletionPolicy::Delete, ..settings() };
    let unknown = KustomizationSettings { deletion_policy: DeletionPolicy::of(Some("Keep")), ..settings() };
    let no_account = KustomizationSettings { account: Some(id("ServiceAccount", "gone")), ..settings() };
    let naive = set([adopted(), ObjectOutcome::Recreated, ObjectOutcome::RecreatedLater]);
    let got = rename(settings(), true);
    assert!(
        got.is_subset(&naive) && got.contains(&ObjectOutcome::Recreated) && got.contains(&adopted()),
        "{got:?}"
    );
    for (what, old) in [
        ("deletionPolicy: Orphan", orphan),
        ("suspended", suspended),
        ("prune: false", unpruned),
        ("an unknown policy", unknown),
        ("its ServiceAccount is gone", no_account),
    ] {
        assert_eq!(rename(old, true), set([adopted()]), "{what}");
    }
    assert!(rename(delete, true).contains(&ObjectOutcome::Recreated), "Delete goes without prune, too");
    // The old one stays, and both apply.
    assert_eq!(rename(settings(), false), set([adopted()]));
}

#[test]
fn removals() {
    let remove = |before: KustomizationSettings, after: KustomizationSettings, x: Manifest| {
        let case = Case::new(
            vec![(kustomization("a", before), vec![map("rest"), x])],
            vec![(kustomization("a", after), vec![map("rest")])],
        );
        case.outcomes(self::x())
    };
    let unpruned = KustomizationSettings { prune: false, ..settings() };
    assert_eq!(remove(settings(), settings(), map("x")), set([ObjectOutcome::Deleted]));
    assert_eq!(remove(unpruned.clone(), unpruned.clone(), map("x")), set([ObjectOutcome::Orphaned]));
    // Set back to true later, nothing of the past is deleted: it left the inventory.
    let spared = marked(|x| x.marks.prune_disabled = true);
    assert_eq!(remove(settings(), settings(), spared), set([ObjectOutcome::Orphaned]));
    let present = marked(|x| x.marks.ssa = Ssa::IfNotPresent);
    assert_eq!(remove(settings(), settings(), present), set([ObjectOutcome::Deleted]));
    // A build without objects prunes everything; one that fails nothing.
    let empty = Case::new(
        vec![(kustomization("a", settings()), vec![map("x")])],
        vec![(kustomization("a", settings()), vec![])],
    );
    assert_eq!(empty.outcomes(x()), set([ObjectOutcome::Deleted]));
    let fails = Case { failing: vec!["a"], ..empty };
    assert_eq!(fails.outcomes(x()), set([ObjectOutcome::Kept]));
}

#[test]
fn prune_false_forgets() {
    let unpruned = KustomizationSettings { prune: false, ..settings() };
    let mut state = ClusterState::default();
    state.place(ApplyTarget::Local, kustomization("a", unpruned.clone()), None);
    state.place(ApplyTarget::Local, map("x"), Some(&ks("a")));
    state.revision();
    let builds = Builds::from([((ks("a"), 0), Build::Objects(Vec::new()))]);
    let mut next = state.after(&super::Event::Reconcile(ks("a")), &builds);
    next.objects.insert(
        here(ks("a")),
        super::Live { manifest: kustomization("a", settings()), owner: None, fresh: false },
    );
    next.revision();
    let end = next.after(&super::Event::Reconcile(ks("a")), &builds);
    assert!(end.objects.contains_key(&here(x())));
}

#[test]
fn another_cluster() {
    let remote = ApplyTarget::Remote("flux-system/east".into());
    let there = KustomizationSettings { target: remote.clone(), ..settings() };
    let case = Case::new(
        vec![(kustomization("a", settings()), vec![map("x"), map("gone")])],
        vec![(kustomization("a", there), vec![map("x")])],
    );
    let answer = case.run();
    // What leaves Git in the same commit stays in the old cluster, too, where the new
    // spec is applied first: it is looked for in the new one.
    let gone = answer.of(&here(id("ConfigMap", "gone")));
    assert_eq!(gone, [&ObjectOutcome::Orphaned, &ObjectOutcome::Deleted]);
    assert!(!answer.of(&here(x())).iter().any(|outcome| outcome.loses()));
    assert!(answer.of(&(remote, x())).contains(&&ObjectOutcome::Created));
}

#[test]
fn force_deletes_what_the_api_server_refuses() {
    let force = KustomizationSettings { force: true, ..settings() };
    let case = |refusal, others: Vec<Manifest>| {
        let mut after = vec![Manifest { refusal: Some(refusal), content: 1, ..map("x") }];
        after.extend(others);
        Case::new(
            vec![(kustomization("a", force.clone()), vec![map("x"), map("other")])],
            vec![(kustomization("a", force.clone()), after)],
        )
        .outcomes(x())
    };
    assert_eq!(case(ApiRefusal::Immutable, vec![map("other")]), set([ObjectOutcome::Recreated]));
    // A typing error is taken for an immutable field.
    assert_eq!(case(ApiRefusal::Invalid, vec![map("other")]), set([ObjectOutcome::Deleted]));
    let bad = Manifest { refusal: Some(ApiRefusal::Invalid), ..Manifest::plain(id("ConfigMap", "new"), 0) };
    assert_eq!(case(ApiRefusal::Immutable, vec![bad]), set([ObjectOutcome::Deleted]));
    // Without it nothing is applied; the mark of the live object is as good.
    let case = |before: Manifest| {
        let refused = Manifest { refusal: Some(ApiRefusal::Immutable), content: 1, ..map("x") };
        Case::new(
            vec![(kustomization("a", settings()), vec![before])],
            vec![(kustomization("a", settings()), vec![refused])],
        )
        .outcomes(x())
    };
    assert_eq!(case(map("x")), set([ObjectOutcome::Kept]));
    assert_eq!(case(marked(|x| x.marks.force = true)), set([ObjectOutcome::Recreated]));
}

fn release(text: &str) -> (ObjectId, WantedRelease) {
    let node = parse_nodes("r.yaml", text).remove(0);
    let id = ObjectId::of(node.get_ref()).expect("a release");
    let release = WantedRelease::of(&id, node.get_ref()).expect("known");
    (id, release)
}

const RELEASE: &str = "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: apps}
spec: ";

/// Source: helm-controller `internal/action/verify_test.go` and `api/v2` names.
#[test]
fn names_of_releases() {
    for (spec, name, namespace, storage) in [
        ("{}", "web", "apps", "apps"),
        ("{releaseName: site}", "site", "apps", "apps"),
        ("{targetNamespace: apps}", "apps-web", "apps", "apps"),
        ("{targetNamespace: prod}", "prod-web", "prod", "apps"),
        ("{targetNamespace: prod, releaseName: site, storageNamespace: helm}", "site", "prod", "helm"),
        (
            "{releaseName: n123456789012345678901234567890123456789012345678901234567890}",
            "n123456789012345678901234567890123456789-",
            "apps",
            "apps",
        ),
    ] {
        let (_, release) = release(&format!("{RELEASE}{spec}"));
        assert!(release.name.starts_with(name) && release.name.len() <= 53, "{spec}: {}", release.name);
        assert_eq!((&*release.namespace, &*release.storage), (namespace, storage), "{spec}");
    }
}

#[test]
fn changes_of_a_release_that_reinstall_it() {
    use super::helm::TargetChange;
    let chart = "chart: {spec: {chart: web, sourceRef: {kind: HelmRepository, name: c}}}";
    let other = "chart: {spec: {chart: site, sourceRef: {kind: HelmRepository, name: c}}}";
    let in_git = "chart: {spec: {chart: ./site, sourceRef: {kind: GitRepository, name: c}}}";
    let in_place = "upgrade: {chartNameChangeStrategy: InPlaceUpdate}";
    for (before, after, expected) in [
        ("{}".to_owned(), "{values: {a: 1}}".to_owned(), None),
        ("{}".to_owned(), "{releaseName: web}".to_owned(), None),
        ("{}".to_owned(), "{releaseName: site}".to_owned(), Some(TargetChange::Name)),
        ("{}".to_owned(), "{targetNamespace: apps}".to_owned(), Some(TargetChange::Name)),
        ("{}".to_owned(), "{targetNamespace: prod}".to_owned(), Some(TargetChange::Namespace)),
        ("{}".to_owned(), "{storageNamespace: helm}".to_owned(), Some(TargetChange::Storage)),
        (format!("{{{chart}}}"), format!("{{{other}}}"), Some(TargetChange::Chart)),
        (format!("{{{chart}}}"), format!("{{{other}, {in_place}}}"), None),
        (format!("{{{chart}}}"), format!("{{{in_git}}}"), None),
        ("{}".to_owned(), "{kubeConfig: {secretRef: {name: east}}}".to_owned(), None),
    ] {
        let (_, old) = release(&format!("{RELEASE}{before}"));
        let (_, new) = release(&format!("{RELEASE}{after}"));
        assert_eq!(new.changes(&old), expected, "{before} -> {after}");
    }
}

#[test]
fn releases_of_moved_and_removed_objects() {
    let manifest = |text: &str, content| {
        let (id, release) = release(&format!("{RELEASE}{text}"));
        Manifest { role: Role::HelmRelease(release), content, ..Manifest::plain(Id::from(&id), 0) }
    };
    let installed = |text: &str| release(&format!("{RELEASE}{text}")).1.id();
    let plain = "{}";
    // A move may uninstall and install anew.
    let case = moved(same(settings()), same(settings()), (manifest(plain, 0), manifest(plain, 0)));
    assert!(case.outcomes(installed(plain)).contains(&ObjectOutcome::Recreated));
    let removed = |text: &str| {
        Case::new(
            vec![(kustomization("a", settings()), vec![manifest(text, 0), map("rest")])],
            vec![(kustomization("a", settings()), vec![map("rest")])],
        )
        .outcomes(installed(text))
    };
    assert_eq!(removed(plain), set([ObjectOutcome::Deleted]));
    assert_eq!(removed("{suspend: true}"), set([ObjectOutcome::Kept]));
    let renamed = Case::new(
        vec![(kustomization("a", settings()), vec![manifest(plain, 0)])],
        vec![(kustomization("a", settings()), vec![manifest("{targetNamespace: apps}", 1)])],
    );
    assert_eq!(renamed.outcomes(installed(plain)), set([ObjectOutcome::Deleted]));
    // Of two that share a release, the one that is left installs it anew at once.
    let twin = |name: &str| {
        let shared = "{releaseName: web}";
        let text = format!("{RELEASE}{shared}").replace("name: web,", &format!("name: {name},"));
        let (id, release) = release(&text);
        Manifest { role: Role::HelmRelease(release), ..Manifest::plain(Id::from(&id), 0) }
    };
    let shared = Case::new(
        vec![(kustomization("a", settings()), vec![twin("one"), twin("two")])],
        vec![(kustomization("a", settings()), vec![twin("one")])],
    );
    assert_eq!(shared.outcomes(installed("{releaseName: web}")), set([ObjectOutcome::Recreated]));
}

#[test]
fn the_root_that_flux_operator_makes() {
    let instance = |generated: Vec<Manifest>, content| Manifest {
        role: Role::FluxInstance(generated),
        content,
        ..Manifest::plain(id("FluxInstance", "flux"), 0)
    };
    let run = |before: Vec<Manifest>, after: Option<Vec<Manifest>>| {
        let mut state = ClusterState::default();
        state.place(ApplyTarget::Local, instance(before.clone(), 0), None);
        for object in before {
            state.place(ApplyTarget::Local, object.clone(), None);
            state.inventories.entry(id("FluxInstance", "flux")).or_default().insert(object.id);
        }
        state.place(ApplyTarget::Local, map("x"), Some(&ks("root")));
        state.revision();
        match after {
            Some(generated) => drop(state.objects.insert(
                here(id("FluxInstance", "flux")),
                super::Live { manifest: instance(generated, 1), owner: None, fresh: false },
            )),
            None => state.delete(&here(id("FluxInstance", "flux"))),
        }
        let builds = Builds::from([((ks("root"), 0), Build::Objects(vec![map("x")]))]);
        explore(&state, &builds).of(&here(x())).into_iter().cloned().collect::<BTreeSet<_>>()
    };
    let root = || kustomization("root", settings());
    // Removing `sync`: the root goes, and what it applied.
    assert!(run(vec![root()], Some(vec![])).contains(&ObjectOutcome::Deleted));
    // Deleting the instance: finalizers are stripped first, workloads stay.
    assert_eq!(run(vec![root()], None), set([ObjectOutcome::Orphaned]));
}
