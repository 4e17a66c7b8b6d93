//! What a lint holds at its peak: `a` times the bytes read, `b` for each distinct effective
//! object and `c` for each membership of one in a cluster, fitted over five shapes of
//! repositories. `FOREBAY_BEFORE` names another binary to fit beside.
//! docs/performance.md has the figures.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

mod generated;

use forebay::internals::config::Config;
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::world::World;
use generated::{write_fleet, write_huge, write_shared};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Runs of each, of which the smallest peak counts.
const RUNS: usize = 5;

/// What a repository holds.
struct Shape {
    name: &'static str,
    root: PathBuf,
    /// Bytes read, distinct effective objects, memberships.
    size: [f64; 3],
}

fn main() {
    let after = PathBuf::from(env!("CARGO_BIN_EXE_forebay"));
    let before = std::env::var_os("FOREBAY_BEFORE").map(PathBuf::from);
    let binaries: Vec<PathBuf> = before.into_iter().chain([after]).collect();
    let directory = tempfile::tempdir().unwrap();
    let shapes = shapes(directory.path());
    let empty = directory.path().join("empty");
    fs::create_dir_all(&empty).unwrap();
    for binary in &binaries {
        println!("{}\n", binary.display());
        println!("| shape | bytes read | distinct objects | memberships | peak, bytes | fitted |");
        println!("|---|---|---|---|---|---|");
        let own = peak(binary, &empty);
        let peaks: Vec<f64> = shapes.iter().map(|shape| peak(binary, &shape.root) - own).collect();
        let [a, b, c] = fit(&shapes, &peaks);
        for (shape, peak) in shapes.iter().zip(&peaks) {
            let [bytes, objects, members] = shape.size;
            let fitted = a * bytes + b * objects + c * members;
            println!("| {} | {bytes} | {objects} | {members} | {peak} | {fitted:.0} |", shape.name);
        }
        println!("\na = {a:.2}, b = {b:.0} bytes, c = {c:.0} bytes; an empty run holds {own} bytes\n");
    }
}

fn shapes(root: &Path) -> Vec<Shape> {
    type Write<'w> = &'w dyn Fn(&Path);
    let clusters: Vec<String> = (0..64).map(|number| format!("c{number}")).collect();
    let clusters: Vec<&str> = clusters.iter().map(String::as_str).collect();
    let all: [(&'static str, Write<'_>); 5] = [
        ("one cluster, deep", &|root| write_fleet(root, &["production"], 500)),
        ("64 clusters, wide", &|root| write_fleet(root, &clusters, 40)),
        ("64 clusters of the same objects", &|root| write_shared(root, &clusters, 2_000)),
        ("many small files", &|root| write_fleet(root, &["production"], 2_000)),
        ("few huge files", &|root| write_huge(root, 4, 4 << 20)),
    ];
    let shape = |(name, write): (&'static str, Write<'_>)| {
        let root = root.join(name);
        write(&root);
        let snapshot = Arc::new(Snapshot::work_tree(&root, Arc::new(Store::default())).unwrap());
        let bytes: usize = snapshot
            .files()
            .iter()
            .filter_map(|file| snapshot.blob(file).ok())
            .map(|blob| blob.bytes().len())
            .sum();
        let world = World::new(&snapshot, &Config::default(), &[]);
        let members: usize = world.clusters.iter().map(|cluster| cluster.members.len()).sum();
        Shape { name, root, size: [bytes as f64, world.objects.len() as f64, members as f64] }
    };
    all.map(shape).into()
}

/// Bytes at the peak of a process.
fn peak(binary: &Path, root: &Path) -> f64 {
    let run = || {
        let output = Command::new("/usr/bin/time")
            .args(["-f", "%M"])
            .arg(binary)
            .args(["lint", "-q", "--no-config", "--allow-empty", "--no-user-stores", "--threads", "1"])
            .current_dir(root)
            .stdout(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        text.lines().last().unwrap().parse::<f64>().unwrap() * 1024.0
    };
    (0..RUNS).map(|_| run()).fold(f64::MAX, f64::min)
}

/// The factors with the least squares of what each shape is off by, as parts of its peak.
fn fit(shapes: &[Shape], peaks: &[f64]) -> [f64; 3] {
    let mut rows = [[0.0; 4]; 3];
    for (shape, peak) in shapes.iter().zip(peaks) {
        let parts = shape.size.map(|size| size / peak);
        for (row, part) in rows.iter_mut().zip(parts) {
            for (cell, other) in row.iter_mut().zip(parts.into_iter().chain([1.0])) {
                *cell += part * other;
            }
        }
    }
    for at in 0..3 {
        let lead = rows[at];
        for (other, row) in rows.iter_mut().enumerate() {
            let factor = if other == at { 0.0 } else { row[at] / lead[at] };
            row.iter_mut().zip(lead).for_each(|(cell, lead)| *cell -= factor * lead);
        }
    }
    [0, 1, 2].map(|at| rows[at][3] / rows[at][at])
}
