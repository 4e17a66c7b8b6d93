//! The `forebay` command: parse the arguments, run, exit code. Nothing else.

// Trees are made of many small pieces, and musl's own allocator takes a lock for each
// (figures in docs/performance.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    forebay::main()
}
