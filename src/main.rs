//! The `forebay` command: parse the arguments, run, exit code. Nothing else.

// Trees are made of many small pieces: docs/performance.md says what each allocator takes.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    forebay::main()
}
