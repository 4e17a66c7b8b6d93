//! Parsing in bytes per second, against reading the bytes and against
//! yaml-rust2's loader, over the corpus where it is present, else over the
//! fixtures. docs/performance.md has the ratios.

#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../tests/it/support/corpus.rs"]
mod corpus;

use corpus::{Corpus, manifests};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use forebay::internals::lang::yaml::Stream;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The files that both parsers read, and their texts.
fn texts() -> Vec<(PathBuf, String)> {
    let corpus = Corpus::find();
    let fixtures = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures"));
    let root = corpus.map_or(fixtures, Corpus::root);
    let mut texts = Vec::new();
    for path in manifests(root) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if Stream::parse(&text).errors.is_empty() && yaml_rust2::YamlLoader::load_from_str(&text).is_ok() {
            texts.push((path, text));
        }
    }
    // The files must outlive the measurement of reading them.
    texts
}

fn parsing(criterion: &mut Criterion) {
    let texts = texts();
    let bytes: usize = texts.iter().map(|(_, text)| text.len()).sum();
    let mut group = criterion.benchmark_group("yaml");
    group
        .throughput(Throughput::Bytes(bytes as u64))
        .sample_size(20)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(8));
    group.bench_function("read the bytes", |bencher| {
        bencher.iter(|| {
            for (path, _) in &texts {
                black_box(std::fs::read(path).unwrap());
            }
        });
    });
    group.bench_function("forebay", |bencher| {
        bencher.iter(|| {
            for (_, text) in &texts {
                black_box(Stream::parse(text));
            }
        });
    });
    group.bench_function("yaml-rust2 loader", |bencher| {
        bencher.iter(|| {
            for (_, text) in &texts {
                black_box(yaml_rust2::YamlLoader::load_from_str(text).unwrap());
            }
        });
    });
    group.finish();
}

criterion_group!(benches, parsing);
criterion_main!(benches);
