//! The `forebay` command: parse the arguments, run, exit code. Nothing else.

fn main() -> std::process::ExitCode {
    forebay::main()
}
