//! The `forebay` command: parse the arguments, run, exit code. Nothing else.

// musl's own takes a lock for each piece, and trees are made of many small ones.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    forebay::main()
}
