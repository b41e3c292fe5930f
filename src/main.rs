//! The command line; `hidden-gaussian --help` tells what there is.

#[cfg(not(target_arch = "wasm32"))]
mod cli;

#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::process::ExitCode {
    cli::main()
}

/// A page has no command line.
#[cfg(target_arch = "wasm32")]
fn main() {}
