//! Allocations per document, against yaml-rust2's loader. A count, not a time:
//! the counting allocator is the crate allocation-counter, so that nothing here
//! needs unsafe code.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/it/support/corpus.rs"]
mod corpus;

use corpus::{Corpus, manifests};
use forebay::internals::lang::yaml::Stream;
use std::hint::black_box;
use std::path::Path;

fn main() {
    let corpus = Corpus::find();
    let fixtures = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures"));
    let root = corpus.map_or(fixtures, Corpus::root);
    let texts: Vec<String> = manifests(root)
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .filter(|text| Stream::parse(text).errors.is_empty())
        .filter(|text| yaml_rust2::YamlLoader::load_from_str(text).is_ok())
        .collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    let documents: usize = texts.iter().map(|text| Stream::parse(text).documents.len()).sum();
    println!("{} files, {documents} documents, {bytes} bytes", texts.len());
    report("forebay", &texts, documents, |text| {
        black_box(Stream::parse(text));
    });
    report("yaml-rust2 loader", &texts, documents, |text| {
        black_box(yaml_rust2::YamlLoader::load_from_str(text).unwrap());
    });
}

fn report(name: &str, texts: &[String], documents: usize, parse: impl Fn(&str)) {
    let (mut count, mut total, mut held, mut bytes) = (0, 0, 0, 0);
    for text in texts {
        let info = allocation_counter::measure(|| parse(text));
        count += info.count_total;
        total += info.bytes_total;
        held += info.bytes_max;
        bytes += text.len() as u64;
    }
    println!(
        "{name}: {:.1} allocations per document; allocated {:.1}, held {:.1} times the bytes read",
        count as f64 / documents as f64,
        total as f64 / bytes as f64,
        held as f64 / bytes as f64,
    );
}
