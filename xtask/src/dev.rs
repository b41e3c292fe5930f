//! Serves the page during development: a change of the page reloads it, and a change of the library compiles
//! and reloads it.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result, ensure};

use crate::{
    process::{human, npm_script, root},
    site,
};

/// The sources of the library.
const SOURCES: [&str; 3] = ["Cargo.toml", "src", "shaders"];

/// Serves the page on `port` until the program is stopped.
pub(crate) fn dev(port: u16, open: bool) -> Result<()> {
    site::prepare()?;
    let mut seen = changed()?;
    compile();
    let mut vite = npm_script("vite/bin/vite.js", &["--port", &port.to_string()]);
    if open {
        vite.arg("--open");
    }
    let mut vite = vite.spawn().context("could not start Vite")?;
    loop {
        if let Some(status) = vite.try_wait()? {
            ensure!(status.success(), "Vite ended with {status}");
            return Ok(());
        }
        thread::sleep(Duration::from_millis(300));
        let now = changed()?;
        if now != seen {
            seen = now;
            compile();
        }
    }
}

/// Compiles the library for the page. Errors are printed, and the next change is tried.
fn compile() {
    let start = Instant::now();
    match site::build_for_development() {
        Ok(()) => println!("Compiled the library in {}", human(start.elapsed())),
        Err(error) => println!("{error:#}; waiting for a change"),
    }
}

/// The time of the last change of a source file, and the number of files, so that a removal counts, too.
fn changed() -> Result<(Option<SystemTime>, usize)> {
    let mut last = (None, 0);
    for source in SOURCES {
        visit(&root().join(source), &mut last)?;
    }
    Ok(last)
}

fn visit(path: &Path, last: &mut (Option<SystemTime>, usize)) -> Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            visit(&entry?.path(), last)?;
        }
    } else if let Ok(file) = fs::metadata(path) {
        // An editor may have moved the file away for a moment.
        *last = (last.0.max(file.modified().ok()), last.1 + 1);
    }
    Ok(())
}
