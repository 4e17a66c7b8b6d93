//! What a release of a chart holds at its peak, on the heap: the chart read out of its archive, its
//! templates run, its output printed, in one thread. RELEASES is a file of releases (`releases`) of
//! archives. The bound is 16 MiB and ten times the bytes of the unpacked chart, the values and the
//! output; docs/performance.md has the figures.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

mod releases;

use flate2::read::GzDecoder;
use forebay::internals::build::helm::Keep;
use forebay::internals::files::Store;
use forebay::internals::lang::template::with_stack;
use releases::{Case, cases, load, printed, values};
use std::io::Read;
use std::sync::Arc;

/// Bytes that any release may hold, and the factor of what comes in and goes out.
const BOUND: (f64, f64) = (16.0 * 1024.0 * 1024.0, 10.0);

fn main() {
    with_stack(measure).unwrap();
}

fn measure() {
    let Ok(path) = std::env::var("RELEASES") else {
        println!("skipped: RELEASES names no file");
        return;
    };
    let cases = cases(&path);
    let mut shares: Vec<(f64, String)> = Vec::new();
    for case in &cases {
        let mut output = None;
        let peak = allocation_counter::measure(|| output = rendered(case)).bytes_max;
        let Some(output) = output else { continue };
        let size = unpacked(&case.chart) + case.values.len() + output;
        let share = peak as f64 / (BOUND.0 + BOUND.1 * size as f64);
        shares.push((share, format!("{}: {peak} bytes for {size}", case.chart)));
    }
    shares.sort_by(|one, other| other.0.total_cmp(&one.0));
    let above = shares.iter().filter(|(share, _)| *share > 1.0).count();
    println!("{} of {} releases rendered, {above} above the bound; the most:", shares.len(), cases.len());
    shares.iter().take(5).for_each(|(share, what)| println!("{share:.2} of the bound, {what}"));
}

/// The bytes of the output.
fn rendered(case: &Case) -> Option<usize> {
    let store = Arc::new(Store::default());
    let chart = load(&case.chart, &store)?;
    printed(case, &chart, &values(case, &store), (Keep::Text, 1)).map(|output| output.len())
}

/// Bytes of the files in an archive.
fn unpacked(archive: &str) -> usize {
    let mut bytes = Vec::new();
    GzDecoder::new(&*std::fs::read(archive).unwrap()).read_to_end(&mut bytes).unwrap();
    let (mut at, mut all) = (0, 0);
    while let Some(head) = bytes.get(at..at + 512).filter(|head| head[0] != 0) {
        let octal = std::str::from_utf8(&head[124..135]).unwrap();
        let size = usize::from_str_radix(octal.trim_matches(['\0', ' ']), 8).unwrap();
        all += size;
        at += 512 + size.next_multiple_of(512);
    }
    all
}
