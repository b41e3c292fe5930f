//! What the tests need besides Rust and Node: system packages, and tools in the user's cache.

use std::{env, ffi::OsString, fs, path::PathBuf, sync::Mutex, thread};

use anyhow::{Context, Result, bail, ensure};

use crate::process::{cargo, command, root, run, target_dir, which};

const WASM_PACK: &str = "0.15.1";
const CARGO_DENY: &str = "0.20.2";
const GECKO_DRIVER: &str = "0.37.0";
const TYPOS: &str = "1.51.1";

/// A system package, by its Debian name.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Package {
    Chromium,
    ChromeDriver,
    /// Lavapipe: a Vulkan adapter in software.
    Vulkan,
    /// A font, without which a page shows no text.
    Fonts,
    Firefox,
    /// WebKitGTK with its driver.
    WebKit,
    /// A virtual screen, which WebKit needs.
    Screen,
}

impl Package {
    const ALL: [Self; 7] = [
        Self::Chromium,
        Self::ChromeDriver,
        Self::Vulkan,
        Self::Fonts,
        Self::Firefox,
        Self::WebKit,
        Self::Screen,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Chromium => "chromium",
            Self::ChromeDriver => "chromium-driver",
            Self::Vulkan => "mesa-vulkan-drivers",
            Self::Fonts => "fonts-dejavu-core",
            Self::Firefox => "firefox-esr",
            Self::WebKit => "webkit2gtk-driver",
            Self::Screen => "xvfb",
        }
    }

    fn is_installed(self) -> bool {
        let any_file =
            |folder: &str| fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some());
        match self {
            Self::Chromium => chromium().is_ok(),
            Self::ChromeDriver => chrome_driver().is_ok(),
            Self::Firefox => firefox().is_ok(),
            Self::WebKit => webkit().is_ok(),
            Self::Screen => screen().is_ok(),
            // Other systems include Metal or Direct3D, and fonts.
            Self::Vulkan | Self::Fonts if !cfg!(target_os = "linux") => true,
            Self::Vulkan => {
                ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"].into_iter().any(any_file)
            }
            // Each font has its own folder; the folders above remain when fonts are removed.
            Self::Fonts => {
                ["/usr/share/fonts/truetype", "/usr/share/fonts/opentype"].into_iter().any(any_file)
            }
        }
    }
}

/// The names of the missing ones among `packages`.
pub(crate) fn missing(packages: &[Package]) -> Vec<&'static str> {
    let missing = packages.iter().filter(|package| !package.is_installed());
    missing.map(|package| package.name()).collect()
}

/// Fails with a hint if one of `packages` is missing.
pub(crate) fn require(packages: &[Package]) -> Result<()> {
    let missing = missing(packages).join(", ");
    ensure!(missing.is_empty(), "not installed: {missing}; run `cargo xtask setup`");
    Ok(())
}

/// Installs missing system packages and the tools of the tests, and says so.
pub(crate) fn setup() -> Result<()> {
    install(&Package::ALL)?;
    path_with_wasm_pack()?;
    cargo_deny()?;
    gecko_driver()?;
    typos()?;
    println!("Everything that `cargo xtask test` needs is installed.");
    println!("The tools are in {}", cache_folder()?.display());
    Ok(())
}

/// Installs the missing ones among `packages`.
pub(crate) fn install(packages: &[Package]) -> Result<()> {
    let missing = missing(packages);
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" ");
    if which(&["apt-get"]).is_none() {
        bail!("this system has no apt; install its equivalents of {list}");
    }
    let id = command("id", ["-u"]).output()?;
    let root = id.stdout.trim_ascii() == b"0";
    let env = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet"];
    let words = [if root { &[] } else { ["sudo"].as_slice() }, &env].concat();
    println!("Installing {list} with {} install", words.join(" "));
    let apt_get = || command(words[0], &words[1..]);
    run(apt_get().arg("update"))?;
    run(apt_get().args(["install", "--yes", "--no-install-recommends"]).args(missing))
}

/// Whether Mesa's driver for AMD's GPUs is installed, which compiles for them even without such a GPU.
pub(crate) fn has_radv() -> bool {
    fs::read_dir("/usr/share/vulkan/icd.d").is_ok_and(|mut manifests| {
        manifests.any(|manifest| {
            manifest.is_ok_and(|file| file.file_name().to_string_lossy().starts_with("radeon_icd"))
        })
    })
}

/// The browser of the tests.
pub(crate) fn chromium() -> Result<PathBuf> {
    const MAC: &str = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome";
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
    let mac = || Some(PathBuf::from(MAC)).filter(|file| file.is_file());
    which(&names).or_else(mac).context("there is no Chromium or Chrome; run `cargo xtask setup`")
}

/// Firefox, which the tests of the built site drive without a driver program.
pub(crate) fn firefox() -> Result<PathBuf> {
    which(&["firefox-esr", "firefox"]).context("there is no Firefox; run `cargo xtask setup`")
}

/// WebKit's driver, and the small browser that it drives, which is not in `PATH`.
pub(crate) fn webkit() -> Result<(PathBuf, PathBuf)> {
    let driver = which(&["WebKitWebDriver"]);
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let mut browsers = folders.map(|folder| folder.path().join("webkit2gtk-4.1/MiniBrowser"));
    let browser = browsers.find(|file| file.is_file());
    driver.zip(browser).context("there is no WebKitGTK; run `cargo xtask setup`")
}

/// A virtual screen in memory.
pub(crate) fn screen() -> Result<PathBuf> {
    which(&["Xvfb"]).context("there is no Xvfb; run `cargo xtask setup`")
}

/// The program that drives the browser in wasm tests.
pub(crate) fn chrome_driver() -> Result<PathBuf> {
    which(&["chromedriver"]).context("there is no chromedriver; run `cargo xtask setup`")
}

/// The program that drives Firefox in wasm tests. Debian has no package of it.
pub(crate) fn gecko_driver() -> Result<PathBuf> {
    Ok(cargo_install("geckodriver", GECKO_DRIVER, "--locked")?.join("geckodriver"))
}

/// The folder with `wasm-bindgen` and `wasm-bindgen-test-runner`, of the version that the crate is
/// locked to.
pub(crate) fn wasm_bindgen() -> Result<PathBuf> {
    let lock = fs::read_to_string(root().join("Cargo.lock"))?;
    let (_, after) = lock
        .split_once("name = \"wasm-bindgen\"\nversion = \"")
        .context("Cargo.lock names no wasm-bindgen")?;
    let version = after.split('"').next().unwrap_or_default();
    // Without the default features the runner has no TLS, which a local driver does not need. Without
    // `--locked`, because its lock file names versions that not every registry offers.
    cargo_install("wasm-bindgen-cli", version, "--no-default-features")
}

/// `PATH` with wasm-pack and the test runner of wasm-bindgen in front.
pub(crate) fn path_with_wasm_pack() -> Result<OsString> {
    let tools = [cargo_install("wasm-pack", WASM_PACK, "--locked")?, wasm_bindgen()?];
    let path = env::var_os("PATH").unwrap_or_default();
    Ok(env::join_paths(tools.into_iter().chain(env::split_paths(&path)))?)
}

/// Starts to compile what [`wasm_bindgen`] will wait for, while a core is idle.
pub(crate) fn compile_wasm_bindgen_early() {
    // An error is reported again when the tool is needed.
    thread::spawn(wasm_bindgen);
}

/// Checks licences and sources of the dependencies.
pub(crate) fn cargo_deny() -> Result<PathBuf> {
    Ok(cargo_install("cargo-deny", CARGO_DENY, "--locked")?.join("cargo-deny"))
}

/// Checks the spelling. The program is in a Python package.
pub(crate) fn typos() -> Result<PathBuf> {
    let home = cache_folder()?.join(format!("typos-{TYPOS}"));
    let program = home.join("bin/typos");
    if !program.exists() {
        let python =
            which(&["python3", "python"]).context("typos is installed with Python's pip")?;
        println!("Installing typos {TYPOS} into {}", home.display());
        let pip = ["-m", "pip", "install", "--quiet", "--upgrade", "--no-deps", "--target"];
        run(command(python, pip).arg(&home).arg(format!("typos=={TYPOS}")))?;
    }
    Ok(program)
}

/// The `bin` folder of a crate in the user's cache, compiled if needed in the way that takes the least time,
/// since the tools run only for seconds.
fn cargo_install(name: &str, version: &str, flag: &str) -> Result<PathBuf> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    let home = cache_folder()?.join(format!("{name}-{version}"));
    // Cargo creates this file first, and fills it last.
    let is_installed = fs::metadata(home.join(".crates.toml")).is_ok_and(|file| file.len() > 0);
    if !is_installed {
        println!("Compiling {name} {version} into {} (a minute, once)", home.display());
        run(cargo(["install", name, "--version", version, flag, "--quiet", "--root"])
            .arg(&home)
            .arg("--target-dir")
            .arg(target_dir()?.join("tools"))
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
            .env("CARGO_PROFILE_RELEASE_LTO", "off")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"))?;
    }
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
