//! `cargo xtask`: builds, serves and tests the project; see `cargo xtask --help`.

mod bench;
mod dev;
mod pack;
mod package;
mod process;
mod screenshots;
mod serve;
mod site;
mod slurm;
mod test;
mod tools;

use std::process::ExitCode;

use anyhow::{Result, anyhow};
use lexopt::prelude::*;

const HELP: &str = "\
Usage: cargo xtask <COMMAND>

Commands:
  dev      Serve the page, compile the library and reload on every change
      --port <N>       Port to listen on; the next free one if it is taken [default: 5173]
      --open           Open the page in the browser
  serve    Build the site and serve it on this machine
      --port <N>       Port to listen on; the next free one if it is taken [default: 8080]
      --open           Open the page in the browser
      --no-build       Serve dist/ as it is
      --prefix <PATH>  Serve under this sub-path [default: /]
  build    Build the site into dist/, ready for any sub-path of any static host
      --repository <URL>  Where the code is; the page then links to it
      --page <URL>        Where the page will be, for the preview picture of links to it
  pack     Build the library and make an npm package of it, in target/npm/
  setup    Install what the tests need: system packages by apt, tools into the user's cache folder
  test     Run every check and test, and print a table
      --only <PART>    Run this part only; may be repeated or comma-separated
  format   Format Rust, JavaScript, CSS and HTML
  bench    Print the rates of the engines, natively beside JAX, PyTorch, NumPy and Burn, and in
           Chromium beside jax-js and TensorFlow.js
      --only <SECTION> Run this section only; may be repeated or comma-separated
      --isa            Short for --only isa: what the compiler of AMD's GPUs makes of the shaders, and
                       how long a training step should take there
  screenshots
           Take the README's pictures (docs/), and one of every section (target/screenshots/)

Options:
  -h, --help  Print this help
";

enum Task {
    Help,
    Dev { port: u16, open: bool },
    Serve(serve::Options),
    Build(site::Addresses),
    Pack,
    Setup,
    Test { only: Vec<String> },
    Format,
    Bench { only: Vec<String> },
    Screenshots,
}

fn parse() -> Result<Task, lexopt::Error> {
    let mut args = lexopt::Parser::from_env();
    let mut task = match args.next()? {
        None | Some(Short('h') | Long("help")) => return Ok(Task::Help),
        Some(Value(name)) if name == "serve" => Task::Serve(serve::Options::default()),
        Some(Value(name)) if name == "dev" => Task::Dev { port: 5173, open: false },
        Some(Value(name)) if name == "build" => Task::Build(site::Addresses::default()),
        Some(Value(name)) if name == "pack" => Task::Pack,
        Some(Value(name)) if name == "setup" => Task::Setup,
        Some(Value(name)) if name == "format" => Task::Format,
        Some(Value(name)) if name == "test" => Task::Test { only: Vec::new() },
        Some(Value(name)) if name == "bench" => Task::Bench { only: Vec::new() },
        Some(Value(name)) if name == "screenshots" => Task::Screenshots,
        Some(Value(name)) => return Err(format!("unknown command {name:?}").into()),
        Some(other) => return Err(other.unexpected()),
    };
    while let Some(arg) = args.next()? {
        match (&mut task, arg) {
            (_, Short('h') | Long("help")) => return Ok(Task::Help),
            (Task::Dev { port, .. }, Long("port")) => *port = args.value()?.parse()?,
            (Task::Dev { open, .. }, Long("open")) => *open = true,
            (Task::Serve(options), Long("port")) => options.port = args.value()?.parse()?,
            (Task::Serve(options), Long("open")) => options.open = true,
            (Task::Serve(options), Long("no-build")) => options.build = false,
            (Task::Serve(options), Long("prefix")) => options.prefix = args.value()?.string()?,
            (Task::Build(addresses), Long("repository")) => {
                addresses.repository = Some(args.value()?.string()?);
            }
            (Task::Build(addresses), Long("page")) => {
                addresses.page = Some(args.value()?.string()?);
            }
            (Task::Bench { only }, Long("isa")) => only.push("isa".to_owned()),
            (Task::Test { only } | Task::Bench { only }, Long("only")) => {
                only.extend(args.value()?.string()?.split(',').map(str::to_owned));
            }
            (_, other) => return Err(other.unexpected()),
        }
    }
    Ok(task)
}

fn run() -> Result<ExitCode> {
    match parse().map_err(|error| anyhow!("{error}; see cargo xtask --help"))? {
        Task::Help => print!(
            "{HELP}\nParts of the test:\n{}\nSections of the benchmark:\n{}",
            test::describe(),
            bench::describe()
        ),
        Task::Serve(options) => serve::serve(&options)?,
        Task::Dev { port, open } => dev::dev(port, open)?,
        Task::Build(addresses) => site::build_for(addresses)?.print(),
        Task::Pack => package::pack()?,
        Task::Setup => tools::setup()?,
        Task::Format => test::format_everything()?,
        Task::Test { only } => return test::test(&only),
        Task::Bench { only } => bench::bench(&only)?,
        Task::Screenshots => screenshots::screenshots()?,
    }
    Ok(ExitCode::SUCCESS)
}

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
