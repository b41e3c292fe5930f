//! Serves the built site with the bundler's preview server.

use std::{
    io::{BufRead, BufReader},
    process::{Child, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::{
    process::{npm_script, run},
    site,
};

/// Options of `cargo xtask serve`.
pub(crate) struct Options {
    pub(crate) port: u16,
    pub(crate) open: bool,
    pub(crate) build: bool,
    pub(crate) prefix: String,
}

impl Default for Options {
    fn default() -> Self {
        Self { port: 8080, open: false, build: true, prefix: "/".into() }
    }
}

/// Builds the site and serves it until the program is stopped. If the port is taken, Vite says so and uses
/// the next one.
pub(crate) fn serve(options: &Options) -> Result<()> {
    if options.build {
        site::build()?.print();
    }
    let mut vite = preview(&options.prefix, options.port)?;
    if options.open {
        vite.arg("--open");
    }
    run(&mut vite)
}

fn preview(prefix: &str, port: u16) -> Result<Command> {
    let built = site::dist().join("index.html").exists();
    ensure!(built, "there is no dist/; run cargo xtask build first");
    let base = format!("/{}/", prefix.trim_matches('/')).replace("//", "/");
    Ok(npm_script("vite/bin/vite.js", &["preview", "--base", &base, "--port", &port.to_string()]))
}

/// A server in the background, which ends when this value is dropped.
pub(crate) struct Server {
    process: Child,
    /// The server's output, kept open because a process that cannot print may end.
    _output: BufReader<ChildStdout>,
    /// The page's address.
    pub(crate) url: String,
}

impl Server {
    /// Serves `dist/` under `prefix` on a free port.
    pub(crate) fn start(prefix: &str) -> Result<Self> {
        let mut vite = preview(prefix, 0)?;
        vite.args(["--host", "127.0.0.1"]).env("NO_COLOR", "1").stdout(Stdio::piped());
        let mut process = vite.spawn().context("could not start the preview server")?;
        let mut output = BufReader::new(process.stdout.take().context("no output")?);
        let (mut line, mut printed) = (String::new(), String::new());
        while output.read_line(&mut line)? > 0 {
            // `  ➜  Local:   http://127.0.0.1:40001/sub-path/`
            if let Some(start) = line.find("http://") {
                let url = line[start..].trim().to_owned();
                return Ok(Self { process, _output: output, url });
            }
            printed.push_str(&std::mem::take(&mut line));
        }
        anyhow::bail!("the preview server ended: {printed}")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
