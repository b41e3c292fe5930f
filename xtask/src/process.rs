//! Paths of the repository, and running other programs.

use std::{
    env,
    ffi::OsStr,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, ensure};

/// The repository for which cargo runs this program. It may have been compiled in another clone
/// that shares the target folder.
pub(crate) fn root() -> PathBuf {
    let xtask = env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    Path::new(&xtask).parent().unwrap_or(Path::new(".")).to_owned()
}

/// The page's sources.
pub(crate) fn www() -> PathBuf {
    root().join("www")
}

/// Cargo's target folder, wherever it is: this program runs from `target/<profile>/`.
pub(crate) fn target_dir() -> Result<PathBuf> {
    let program = env::current_exe()?;
    Ok(program.ancestors().nth(2).context("xtask does not run from a target folder")?.to_owned())
}

/// The first of `names` that is a program in `PATH`.
pub(crate) fn which(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let candidates = |name: &&str| {
        let file = format!("{name}{}", env::consts::EXE_SUFFIX);
        env::split_paths(&path).map(move |folder| folder.join(&file)).find(|file| file.is_file())
    };
    names.iter().find_map(candidates)
}

/// A program with its arguments, to be run in the repository.
pub(crate) fn command<A: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    args: impl IntoIterator<Item = A>,
) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(root());
    command
}

/// The cargo that runs this program, without incremental compilation: keeping files for the next change takes
/// two thirds more time.
pub(crate) fn cargo<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut cargo = command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), args);
    cargo.env("CARGO_INCREMENTAL", "0");
    cargo
}

/// npm, run in `www/`.
pub(crate) fn npm<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = command(if cfg!(windows) { "npm.cmd" } else { "npm" }, args);
    command.current_dir(www());
    command
}

/// A script of an npm package of the page, run by Node in `www/`.
pub(crate) fn npm_script(script: &str, args: &[&str]) -> Command {
    let mut command = command("node", [www().join("node_modules").join(script)]);
    command.args(args).current_dir(www());
    command
}

/// Runs a command to its end, and fails unless it succeeds.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| describe(command))?;
    ensure!(status.success(), "{} ended with {status}", describe(command));
    Ok(())
}

/// Runs a command to its end, passes every line of standard output to `line`, and returns whether it
/// succeeded.
pub(crate) fn run_lines(command: &mut Command, mut line: impl FnMut(&str)) -> Result<bool> {
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| describe(command))?;
    if let Some(output) = child.stdout.take() {
        for bytes in BufReader::new(output).split(b'\n') {
            let bytes = bytes?;
            line(&String::from_utf8_lossy(&bytes));
        }
    }
    Ok(child.wait()?.success())
}

fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = [program].into_iter().chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Formats a duration as `3.4 s`, `40 s` or `2 min 5 s`.
pub(crate) fn human(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1} s", time.as_secs_f32()),
        seconds @ 10..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}
