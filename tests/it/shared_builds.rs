//! A world that shares builds with an earlier one (`World::like`) is the world
//! that would be built alone: after random changes of files, for the projects of
//! the tests and the corpus, each object with each value and its place. So are the
//! findings of a run that takes over what an earlier one kept (`lint::Memo`).
//!
//! `FOREBAY_CHANGES` is how many changed trees each repository gets.

use crate::support::corpus::{Files, children};
use crate::support::random::Random;
use crate::support::skip::corpus_or_skip;
use forebay::internals::build::kustomize::FILE_NAMES;
use forebay::internals::config::Config;
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::lang::yaml::{Dialect, Node, NodeRef};
use forebay::internals::lint::LintMemo;
use forebay::internals::lint::engine::{self, LintOptions, LintOutcome as Found};
use forebay::internals::world::{Effective, Outcome, World};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

#[test]
fn the_projects_of_the_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects");
    let mut repositories = children(&root);
    repositories.extend(children(&root).iter().flat_map(|(name, files)| {
        let base = files.iter().filter_map(|(path, bytes)| Some((path.strip_prefix("base/")?, bytes)));
        let base: Files = base.map(|(path, bytes)| (path.to_owned(), bytes.clone())).collect();
        (!base.is_empty()).then(|| (format!("{name}, its base"), base))
    }));
    compare(&repositories, 2);
}

#[test]
fn the_corpus() {
    let corpus = corpus_or_skip!();
    compare(&children(corpus.root()), 2);
}

fn compare(repositories: &[(String, Files)], changes: usize) {
    let changes = std::env::var("FOREBAY_CHANGES").map_or(changes, |count| count.parse().expect("a number"));
    let config = Config::default();
    let (mut objects, mut shared, mut answers, mut reused) = (0, 0, 0, 0);
    for (name, files) in repositories {
        let store = Arc::new(Store::default());
        let before = Arc::new(snapshot(files, &store));
        let base = World::new(&before, &config, &[]);
        let base = Arc::new(base);
        let mut memo = LintMemo::default();
        engine::run_again(&base, &config, &LintOptions::default(), &mut memo);
        let same = base.like(&before, &config, &[]);
        assert!(whole(&same) == whole(&base), "{name}: an unchanged tree is built anew");
        drop(same);
        for seed in 0..changes as u64 {
            let mut random = Random(seed ^ (name.len() as u64) << 32);
            let mut changed = files.clone();
            let done: Vec<String> =
                (0..1 + random.below(3)).map(|_| change(&mut changed, &mut random)).collect();
            let after = Arc::new(snapshot(&changed, &store).sharing(&before));
            let (alone, like) = (World::new(&after, &config, &[]), base.like(&after, &config, &[]));
            let like = Arc::new(like);
            let wanted = text(&alone, &engine::run(&alone, &config, &LintOptions::default()));
            let got = text(&like, &engine::run_again(&like, &config, &LintOptions::default(), &mut memo));
            let (again, all) = memo.reused();
            (answers, reused) = (answers + all, reused + again);
            assert!(
                wanted == got,
                "{name}, {seed}: {}\n{}",
                done.join(", "),
                similar::TextDiff::from_lines(wanted.as_str(), got.as_str()).unified_diff()
            );
            let (old, new) = (built(&base), built(&like));
            objects += new.len();
            shared += new.intersection(&old).count();
        }
    }
    println!(
        "{} repositories, {objects} built objects, {shared} of them shared; {answers} answers of rules, \
         {reused} of them kept",
        repositories.len()
    );
    assert!(shared * 5 > objects, "only {shared} of {objects} objects are shared");
    assert!(reused * 4 > answers, "only {reused} of {answers} answers are kept");
}

/// The objects that builds made, by what tells them apart: neither the plain text
/// of a file nor what a controller makes of another object.
fn built(world: &World) -> BTreeSet<usize> {
    addresses(world, &|_| true)
}

/// Those of builds that lacked nothing: only these are shared.
fn whole(world: &World) -> BTreeSet<usize> {
    let lacks_nothing = |outcome: &Outcome| match outcome {
        Outcome::Built { partial, unusable, .. } => partial.is_empty() && unusable.is_empty(),
        _ => false,
    };
    addresses(world, &|object| {
        object.members.iter().all(|(cluster, member)| {
            let cluster = &world.clusters[*cluster as usize];
            let applied = cluster.members[*member as usize].maker.kustomization();
            applied.is_some_and(|applied| lacks_nothing(&cluster.applied[applied as usize].outcome))
        })
    })
}

fn addresses(world: &World, counts: &dyn Fn(&Effective) -> bool) -> BTreeSet<usize> {
    let address = |node: &Node| match node {
        Node::Built(built) => Some(Arc::as_ptr(built) as usize),
        Node::Source(..) => None,
    };
    let of_a_build = |object: &Effective| {
        object.members.iter().any(|(cluster, member)| {
            world.clusters[*cluster as usize].members[*member as usize].maker.kustomization().is_some()
        })
    };
    let objects = world.objects.iter().filter(|object| counts(object) && of_a_build(object));
    objects.filter_map(|object| address(&object.node)).collect()
}

fn snapshot(files: &Files, store: &Arc<Store>) -> Snapshot {
    Snapshot::memory(files.iter().map(|(path, bytes)| (path.as_str(), bytes.clone())), store.clone())
}

/// Change a tree in one way that people change theirs; what was done.
fn change(files: &mut Files, random: &mut Random) -> String {
    let paths: Vec<String> = files.keys().cloned().collect();
    let manifests: Vec<&String> =
        paths.iter().filter(|path| path.ends_with(".yaml") || path.ends_with(".yml")).collect();
    if manifests.is_empty() {
        return "nothing to change".to_owned();
    }
    let path = *random.pick(&manifests);
    let other = *random.pick(&manifests);
    let beside = |path: &str, name: &str| match path.rsplit_once('/') {
        Some((directory, _)) => format!("{directory}/{name}"),
        None => name.to_owned(),
    };
    let text = String::from_utf8_lossy(&files[path]).into_owned();
    let kustomizations = [
        "kind: Kustomization\nresources: []\n",
        "kind: Kustomization\nnamePrefix: new-\nresources: [.]\n",
        "kind: Component\n",
    ];
    match random.below(12) {
        0 => {
            files.remove(path);
            format!("{path} removed")
        }
        1 => {
            let to = beside(other, "zz-copy.yaml");
            files.insert(to.clone(), files[path].clone());
            format!("{path} copied to {to}")
        }
        2 => {
            files.insert(path.clone(), files[other].clone());
            format!("{other} written over {path}")
        }
        3 => {
            files.insert(path.clone(), format!("# a comment\n{text}").into_bytes());
            format!("a comment above {path}")
        }
        4 => {
            let bytes = files.remove(path).unwrap();
            let to = beside(path, "renamed.yaml");
            files.insert(to.clone(), bytes);
            format!("{path} renamed to {to}")
        }
        5 => {
            let to = beside(path, FILE_NAMES[random.below(FILE_NAMES.len())]);
            files.insert(to.clone(), random.pick(&kustomizations).as_bytes().to_vec());
            format!("{to} made")
        }
        6 => {
            let directory = path.split('/').next().unwrap_or_default();
            let holder =
                if random.one_in(2) { ".sourceignore".to_owned() } else { beside(path, ".sourceignore") };
            files.insert(holder.clone(), format!("/{directory}\n*.md\nkustomization.yml\n").into_bytes());
            format!("{holder} ignores {directory}")
        }
        7 => {
            // Text of the same length: all places stay.
            files.insert(path.clone(), text.replace(['0', '1', '2'], "3").into_bytes());
            format!("numbers in {path}")
        }
        8 => {
            let path = random.pick(&paths);
            files.insert(path.clone(), b"new: text\n".to_vec());
            format!("{path} is other text")
        }
        9 => {
            let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
            files.retain(|path, _| !path.starts_with(&format!("{directory}/")));
            format!("{directory}/ removed")
        }
        10 => {
            let keys =
                ["  prune: true\n", "  targetNamespace: elsewhere\n", "  ignoreMissingComponents: true\n"];
            let key = random.pick(&keys);
            files.insert(path.clone(), text.replacen("spec:\n", &format!("spec:\n{key}"), 1).into_bytes());
            format!("{} in {path}", key.trim())
        }
        _ => {
            let changed = text.replace("podinfo", "podinfo-two").replace("production", "staging");
            files.insert(path.clone(), changed.into_bytes());
            format!("names in {path}")
        }
    }
}

/// Everything that a world says, by cluster, and what lint finds in it.
fn text(world: &World, outcome: &Found) -> String {
    let mut out = String::new();
    for cluster in &world.clusters {
        let _ = writeln!(out, "cluster {:?} {} {:?}", cluster.name, cluster.root, cluster.settings);
        for applied in &cluster.applied {
            let _ = writeln!(
                out,
                "applied {} {} {:?} {} {} {:?} {:?}\n{:?}",
                applied.id,
                applied.path,
                applied.target,
                applied.assumed,
                applied.later,
                applied.parent,
                applied.files_read,
                applied.outcome
            );
        }
        for (member, object) in world.members(cluster) {
            let _ = writeln!(
                out,
                "{} {:?} {:?} {:?} {:?}",
                object.id, member.target, member.maker, object.files, object.problems
            );
            values(object.node.get_ref(), &mut out);
        }
        let _ = writeln!(
            out,
            "{:?} {:?} {:?}",
            cluster.openers,
            cluster.sets.iter().map(|set| (&set.id, set.maker)).collect::<Vec<_>>(),
            cluster.generated
        );
    }
    let _ = writeln!(out, "orphans {:?}", world.orphans);
    for finding in &outcome.findings {
        let _ = writeln!(
            out,
            "{} {:?} {:?} {} {} {} {:?} {:?} {:?} {:?} {}",
            finding.rule.id,
            finding.level,
            finding.location,
            finding.title,
            finding.why,
            finding.help,
            finding.objects,
            finding.clusters,
            finding.related,
            finding.fixes,
            finding.fingerprint
        );
    }
    for (reason, places) in outcome.not_checked.iter() {
        let places: BTreeSet<&String> = places.iter().collect();
        let _ = writeln!(out, "{reason} {places:?}");
    }
    out
}

fn values(node: NodeRef<'_>, out: &mut String) {
    let _ = write!(out, "  {:?}", node.location());
    if node.is_map() {
        out.push('\n');
        for entry in node.entries() {
            let _ = write!(out, "  {}", entry.key);
            values(entry.value, out);
        }
    } else if node.is_seq() {
        out.push('\n');
        node.items().for_each(|item| values(item, out));
    } else {
        let _ = writeln!(out, " {:?} {:?}", node.holes(), node.scalar(Dialect::GoYamlV3));
    }
}
