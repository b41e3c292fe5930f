//! What the tests need besides Rust and Node: found, or installed where that is allowed.

use std::{env, fs, path::PathBuf, process::Command, sync::Mutex, thread, time::Instant};

use anyhow::{Context, Result, bail};

use crate::process::{cargo, command, human, root, run, target_dir, which};

const WASM_PACK: &str = "0.15.1";

/// A package of the system, by its Debian name.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Package {
    Chromium,
    ChromeDriver,
    /// Lavapipe: a Vulkan adapter in software.
    Vulkan,
    /// Without any font a page has no text to look at.
    Fonts,
}

impl Package {
    const fn name(self) -> &'static str {
        match self {
            Self::Chromium => "chromium",
            Self::ChromeDriver => "chromium-driver",
            Self::Vulkan => "mesa-vulkan-drivers",
            Self::Fonts => "fonts-dejavu-core",
        }
    }

    fn is_here(self) -> bool {
        let any_file =
            |folder: &str| fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some());
        match self {
            Self::Chromium => chromium().is_ok(),
            Self::ChromeDriver => chrome_driver().is_ok(),
            // Other systems bring Metal or Direct3D, and fonts.
            Self::Vulkan | Self::Fonts if !cfg!(target_os = "linux") => true,
            Self::Vulkan => {
                ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"].into_iter().any(any_file)
            }
            // A folder of its own to each font; those above stay when the fonts go.
            Self::Fonts => {
                ["/usr/share/fonts/truetype", "/usr/share/fonts/opentype"].into_iter().any(any_file)
            }
        }
    }
}

/// The browser of the tests.
pub(crate) fn chromium() -> Result<PathBuf> {
    const MAC: &str = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome";
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
    let mac = || Some(PathBuf::from(MAC)).filter(|file| file.is_file());
    which(&names).or_else(mac).context("there is no Chromium or Chrome; install one")
}

/// What drives the browser for wasm-pack.
pub(crate) fn chrome_driver() -> Result<PathBuf> {
    which(&["chromedriver"]).context("there is no chromedriver; install the one of your Chromium")
}

/// Installs those of `packages` that are missing by apt, if this user may.
pub(crate) fn install(packages: &[Package]) -> Result<()> {
    let missing = packages.iter().filter(|package| !package.is_here());
    let missing: Vec<_> = missing.map(|package| package.name()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" ");
    let Some(apt) = apt_get() else {
        bail!(
            "the tests need {list}; run `sudo apt-get install {list}` or your system's like of it"
        );
    };
    println!("Installing {list} by apt");
    run(apt().args(["update", "--quiet"]))?;
    run(apt().args(["install", "--quiet", "--yes", "--no-install-recommends"]).args(missing))
}

/// How this user may call apt-get without being asked for anything.
fn apt_get() -> Option<impl Fn() -> Command> {
    let apt = which(&["apt-get"])?;
    let prints_zero = |output: std::process::Output| output.stdout.trim_ascii() == b"0";
    let is_root = |mut id: Command| id.output().is_ok_and(prints_zero);
    let sudo: &[&str] = if is_root(command("id", ["-u"])) {
        &[]
    } else if is_root(command("sudo", ["-n", "id", "-u"])) {
        &["sudo", "-n"]
    } else {
        return None;
    };
    Some(move || {
        let env = ["env", "DEBIAN_FRONTEND=noninteractive"];
        let words = [sudo, &env].concat();
        let mut command = command(words[0], &words[1..]);
        command.arg(&apt);
        command
    })
}

/// `PATH` with wasm-pack and wasm-bindgen's test runner in front.
pub(crate) fn path_with_wasm_tools() -> Result<std::ffi::OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    Ok(env::join_paths(wasm_tools()?.into_iter().chain(env::split_paths(&path)))?)
}

/// Begins to compile what [`path_with_wasm_tools`] will wait for: other work leaves a core idle now
/// and then.
pub(crate) fn compile_wasm_tools_early() {
    // What goes wrong here goes wrong again, and is told, when the tools are asked for.
    thread::spawn(wasm_tools);
}

/// The `bin` folders of the tools, which are compiled once for a user, in the fastest way: they run
/// for seconds only.
fn wasm_tools() -> Result<[PathBuf; 2]> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    let bindgen = wasm_bindgen_version()?;
    // The lock file of wasm-bindgen-cli names versions that are not to be had everywhere; that of
    // wasm-pack does not.
    // The runner talks to a local driver only, so it can do without TLS.
    Ok([
        cargo_install("wasm-pack", WASM_PACK, &["--locked"])?,
        cargo_install("wasm-bindgen-cli", &bindgen, &["--no-default-features"])?,
    ])
}

/// The `bin` folder of a crate in the user's cache, compiled if it is not there yet.
fn cargo_install(name: &str, version: &str, flags: &[&str]) -> Result<PathBuf> {
    let home = cache_folder()?.join(format!("{name}-{version}"));
    // Cargo writes this file last.
    if home.join(".crates.toml").exists() {
        return Ok(home.join("bin"));
    }
    println!("Compiling {name} {version} into {} (about 2 minutes, once)", home.display());
    let start = Instant::now();
    run(cargo(["install", name, "--version", version, "--quiet", "--root"])
        .arg(&home)
        .arg("--target-dir")
        .arg(target_dir()?.join("tools"))
        .args(flags)
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"))?;
    println!("      done in {}", human(start.elapsed()));
    Ok(home.join("bin"))
}

pub(crate) fn cache_folder() -> Result<PathBuf> {
    let folder = |variable: &str| env::var_os(variable).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME")
        .or_else(|| folder("LOCALAPPDATA"))
        .or_else(|| Some(folder("HOME")?.join(".cache")))
        .context("neither XDG_CACHE_HOME nor HOME is set")?;
    Ok(cache.join("hidden-gaussian"))
}

/// The runner must be of the very version that the crate is locked to.
fn wasm_bindgen_version() -> Result<String> {
    let lock = fs::read_to_string(root().join("Cargo.lock"))?;
    let (_, after) = lock
        .split_once("name = \"wasm-bindgen\"\nversion = \"")
        .context("Cargo.lock names no wasm-bindgen")?;
    Ok(after.split('"').next().unwrap_or_default().to_owned())
}
