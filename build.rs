//! How the program is linked.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    // At a fixed address nothing of the tables is rewritten when it starts: a quarter of the
    // time of a short run (docs/performance.md). helm, kubectl and flux are linked so, too.
    // What is linked statically, as with musl, has a start of its own for that, which this flag
    // does not go with.
    let takes_flag = matches!(&*target("ARCH"), "x86_64" | "aarch64")
        && !target("FEATURE").split(',').any(|feature| feature == "crt-static");
    if target("OS") == "linux" && target("ENV") == "gnu" && takes_flag {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
