//! The command line; `hidden-gaussian --help` lists the commands.

#[cfg(not(target_arch = "wasm32"))]
mod cli;

#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::process::ExitCode {
    #[cfg(target_os = "linux")]
    silence_wayland();
    cli::main()
}

/// Keeps Mesa's Vulkan driver from printing an error wherever there is no desktop session.
///
/// The driver looks for a Wayland display in order to rank the GPUs, and its Wayland library complains on
/// standard error if `XDG_RUNTIME_DIR` is not set. In a folder without a display it fails silently.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the driver reads the variable from the process's own environment")]
fn silence_wayland() {
    const VARIABLE: &str = "XDG_RUNTIME_DIR";
    if std::env::var_os(VARIABLE).is_none_or(|folder| folder.is_empty()) {
        // SAFETY: This is the first statement of `main`. No other thread exists yet that could read or
        // write the environment at the same time.
        unsafe { std::env::set_var(VARIABLE, std::env::temp_dir()) };
    }
}

/// In a page there is no command line.
#[cfg(target_arch = "wasm32")]
fn main() {}
