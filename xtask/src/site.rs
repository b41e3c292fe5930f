//! Builds the static site: Rust to wasm, wasm to a JavaScript package, everything into `dist/`.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

use crate::{
    pack,
    process::{cargo, command, human, npm, npm_script, root, run, target_dir, www},
    tools,
};

/// What the library is compiled to for the page.
pub(crate) const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// A build of the library for the page.
struct Library {
    /// The crate, as files are called.
    name: &'static str,
    /// The cargo profile, which gives it a folder of its own among the compiled files.
    profile: &'static str,
    /// The crate, and its features.
    options: &'static [&'static str],
    /// Where its JavaScript package goes, in `www/`.
    package: &'static str,
}

/// All of it.
const FULL: Library = Library {
    name: "hidden_gaussian",
    profile: "wasm",
    options: &["--package=hidden-gaussian"],
    package: "pkg",
};
/// Without training: what the page begins with.
const EXACT: Library = Library {
    profile: "exact",
    options: &["--package=hidden-gaussian", "--no-default-features"],
    package: "pkg/exact",
    ..FULL
};
/// What large images need besides.
const EIGEN: Library = Library {
    name: "hidden_gaussian_eigen",
    profile: "wasm",
    options: &["--package=hidden-gaussian-eigen"],
    package: "pkg/eigen",
};
/// What decodes the reader's own pictures.
const PICTURES: Library = Library {
    name: "hidden_gaussian_pictures",
    profile: "wasm",
    options: &["--package=hidden-gaussian-pictures"],
    package: "pkg/pictures",
};
/// All of it, for work on the page: compiled in seconds, and slower.
const DEV: Library = Library { profile: "wasm-dev", ..FULL };

impl Library {
    fn compiled(&self) -> Result<PathBuf> {
        let folder = target_dir()?.join(WASM_TARGET).join(self.profile);
        Ok(folder.join(self.name).with_extension("wasm"))
    }

    fn compile(&self) -> Result<()> {
        // Without the rlib, which would keep rustc from optimizing across crates.
        let library = ["--lib", "--crate-type", "cdylib"];
        let mut rustc = cargo(["rustc", "--profile", self.profile, "--target", WASM_TARGET]);
        if self.profile == DEV.profile {
            rustc.env("CARGO_INCREMENTAL", "1");
        }
        run(rustc.args(library).args(self.options))
    }

    fn packaged(&self) -> PathBuf {
        www().join(self.package).join(format!("{}_bg.wasm", self.name))
    }

    fn package(&self) -> Result<()> {
        make_package(&self.compiled()?, &self.packaged())
    }
}

/// Makes the JavaScript packages of a fast build, the same for both workers of the page.
pub(crate) fn build_for_development() -> Result<()> {
    // These hardly ever change, and without optimization a fit would take minutes.
    for library in [&EIGEN, &PICTURES] {
        library.compile()?;
        library.package()?;
    }
    DEV.compile()?;
    let [exact, full] = [&EXACT, &FULL].map(|library| www().join(library.package));
    bind(&DEV.compiled()?, &exact)?;
    // Last, because the page is reloaded when these change.
    fs::remove_file(full.join(MADE_FROM)).ok();
    for entry in fs::read_dir(exact)? {
        let entry = entry?;
        fs::copy(entry.path(), full.join(entry.file_name()))?;
    }
    Ok(())
}

/// What the page needs besides the library: the tools and packages, and the image sets.
pub(crate) fn prepare() -> Result<()> {
    add_target()?;
    tools::compile_wasm_bindgen_early();
    npm_install()?;
    pack::pack(&root())
}

/// One step of the build.
struct Step {
    what: &'static str,
    /// What the step leaves behind; if it is there, the step is quick.
    makes: PathBuf,
    /// About how long it takes on two cores if it is not.
    cold: Duration,
    run: fn() -> Result<()>,
}

fn steps() -> Result<[Step; 12]> {
    let step = |what, makes, cold, run| Step { what, makes, cold: Duration::from_secs(cold), run };
    Ok([
        step("Add the wasm32 target", wasm_libraries()?, 10, add_target),
        step("Compile the library to WebAssembly", FULL.compiled()?, 90, || FULL.compile()),
        step("Compile it without training", EXACT.compiled()?, 80, || EXACT.compile()),
        step("Compile what large images need", EIGEN.compiled()?, 40, || EIGEN.compile()),
        step("Compile what decodes pictures", PICTURES.compiled()?, 30, || PICTURES.compile()),
        step("Install the npm packages of the page", www().join(LOCK_STAMP), 20, npm_install),
        step("Pack the image sets", packed_sets(), 15, || pack::pack(&root())),
        step("Make and optimize the JavaScript package", FULL.packaged(), 15, || FULL.package()),
        step("Make the one without training", EXACT.packaged(), 10, || EXACT.package()),
        step("Make the one for large images", EIGEN.packaged(), 5, || EIGEN.package()),
        step("Make the one for pictures", PICTURES.packaged(), 5, || PICTURES.package()),
        step("Draw the article and bundle it into dist/", dist().join("index.html"), 15, bundle),
    ])
}

/// The finished site.
pub(crate) fn dist() -> PathBuf {
    root().join("dist")
}

/// What the page says of where it is, if that is known. Relative addresses serve for all else.
#[derive(Default)]
pub(crate) struct Addresses {
    /// Where its code is.
    pub(crate) repository: Option<String>,
    /// Where the page will be: previews of links need a whole address.
    pub(crate) page: Option<String>,
}

static ADDRESSES: OnceLock<Addresses> = OnceLock::new();

/// Brings `dist/` up to date, with these addresses in it.
pub(crate) fn build_for(addresses: Addresses) -> Result<Sizes> {
    for address in [&addresses.repository, &addresses.page].into_iter().flatten() {
        let whole = address.starts_with("https://") || address.starts_with("http://");
        ensure!(whole, "{address:?} is not a whole address; begin it with https://");
    }
    ADDRESSES.get_or_init(|| addresses);
    build()
}

/// Brings `dist/` up to date.
pub(crate) fn build() -> Result<Sizes> {
    let steps = steps()?;
    tools::compile_wasm_bindgen_early();
    for (index, step) in steps.iter().enumerate() {
        let cold = steps[index..].iter().filter(|step| !step.makes.exists());
        let left: Duration = cold.map(|step| step.cold).sum();
        let estimate = if left > Duration::from_secs(20) {
            format!(" (about {} left in all)", human(left))
        } else {
            String::new()
        };
        println!("[{}/{}] {}{estimate}", index + 1, steps.len(), step.what);
        let start = Instant::now();
        (step.run)().with_context(|| format!("could not {}", lower_first(step.what)))?;
        println!("      done in {}", human(start.elapsed()));
    }
    Sizes::measure()
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(chars).collect()
}

fn wasm_libraries() -> Result<PathBuf> {
    let mut rustc = command("rustc", ["--print", "target-libdir", "--target", WASM_TARGET]);
    let output = rustc.output().context("could not run rustc")?;
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
}

fn add_target() -> Result<()> {
    if wasm_libraries()?.exists() {
        return Ok(());
    }
    run(&mut command("rustup", ["target", "add", WASM_TARGET]))
        .context("this Rust has no wasm32 target; install Rust by rustup")
}

/// A copy of the lock file that `node_modules` was installed from.
const LOCK_STAMP: &str = "node_modules/.installed-lock.json";

pub(crate) fn npm_install() -> Result<()> {
    npm_install_in(&www())
        .context("the page needs npm, and the Node.js that www/package.json names")
}

/// Installs the npm packages of the lock file in `folder`, unless that was done before.
pub(crate) fn npm_install_in(folder: &Path) -> Result<()> {
    let lock = fs::read(folder.join("package-lock.json"))?;
    let stamp = folder.join(LOCK_STAMP);
    if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    run(npm(["ci", "--no-audit", "--no-fund"]).current_dir(folder))?;
    Ok(fs::write(stamp, lock)?)
}

fn packed_sets() -> PathBuf {
    www().join("public/data")
}

/// Says, in a package, which wasm file it was made from.
const MADE_FROM: &str = ".made-from";

/// Makes the JavaScript package of a `compiled` wasm file: `packaged` is its optimized wasm file.
pub(crate) fn make_package(compiled: &Path, packaged: &Path) -> Result<()> {
    let folder = packaged.parent().context("a package without a folder")?;
    // The package may be one of `cargo xtask dev`, so its age alone says nothing.
    let stamp = folder.join(MADE_FROM);
    let made_from = format!("{} {:?}", compiled.display(), fs::metadata(compiled)?.modified()?);
    if fs::read_to_string(&stamp).is_ok_and(|text| text == made_from) {
        return Ok(());
    }
    bind(compiled, folder)?;
    // Exactly what rustc emits for this target, plus SIMD from `.cargo/config.toml`.
    let features = ["simd", "bulk-memory", "mutable-globals", "sign-ext"];
    let more = ["nontrapping-float-to-int", "reference-types", "multivalue"];
    let mut optimize = npm_script("binaryen/bin/wasm-opt", &["-O3"]);
    optimize.args(features.iter().chain(&more).map(|feature| format!("--enable-{feature}")));
    // Functions of a kind side by side: gzip finds what they have in common. That saves 3 %.
    optimize.arg("--reorder-functions-by-name");
    run(optimize.arg(packaged).arg("-o").arg(packaged))?;
    Ok(fs::write(stamp, made_from)?)
}

/// Writes the JavaScript side of a `compiled` wasm file, and the file that it loads, into `folder`.
fn bind(compiled: &Path, folder: &Path) -> Result<()> {
    fs::remove_file(folder.join(MADE_FROM)).ok();
    let bindgen = tools::wasm_bindgen()?.join("wasm-bindgen");
    run(command(bindgen, ["--target", "web", "--out-dir"]).arg(folder).arg(compiled))
}

fn bundle() -> Result<()> {
    let mut vite = npm_script("vite/bin/vite.js", &["build", "--logLevel", "warn"]);
    let addresses = ADDRESSES.get_or_init(Addresses::default);
    // Read by www/build/facts.js.
    for (name, address) in
        [("REPOSITORY_URL", &addresses.repository), ("PAGE_URL", &addresses.page)]
    {
        match address {
            Some(address) => vite.env(name, address),
            None => vite.env_remove(name),
        };
    }
    run(&mut vite)
}

/// What a reader downloads, in bytes after gzip.
pub(crate) struct Sizes {
    javascript: usize,
    /// The library without training.
    exact: usize,
    /// All of the library.
    full: usize,
    /// What large images need besides.
    eigen: usize,
    /// What decodes the reader's own pictures.
    pictures: usize,
}

impl Sizes {
    /// The most that the page's scripts may weigh.
    const JAVASCRIPT: usize = 180_000;
    /// The most that the library may weigh that the page begins with. The first screen does without.
    const EXACT: usize = 250_000;
    /// The most that all of it may weigh, which is downloaded when something is to be trained.
    const FULL: usize = 580_000;
    /// The most that may be added for large images.
    const EIGEN: usize = 70_000;
    /// The most that may be added for the reader's own pictures.
    const PICTURES: usize = 180_000;

    fn measure() -> Result<Self> {
        let gzipped = |start: &str, end: &str| {
            let size = gzipped(&dist(), &|name| name.starts_with(start) && name.ends_with(end))?;
            ensure!(size > 0, "the site has no {start}*{end}");
            Ok(size)
        };
        // Named so in vite.config.js.
        Ok(Self {
            javascript: gzipped("", ".js")?,
            exact: gzipped("exact-", ".wasm")?,
            full: gzipped("full-", ".wasm")?,
            eigen: gzipped("eigen-", ".wasm")?,
            pictures: gzipped("pictures-", ".wasm")?,
        })
    }

    /// What there is, what it weighs and what it may.
    fn each(&self) -> [(&'static str, usize, usize); 5] {
        [
            ("JavaScript", self.javascript, Self::JAVASCRIPT),
            ("WebAssembly without training", self.exact, Self::EXACT),
            ("WebAssembly with training", self.full, Self::FULL),
            ("WebAssembly for large images", self.eigen, Self::EIGEN),
            ("WebAssembly for pictures", self.pictures, Self::PICTURES),
        ]
    }

    pub(crate) fn print(&self) {
        for (what, size, budget) in self.each() {
            let (kilobytes, budget) = (size as f64 / 1e3, budget / 1000);
            println!("{what:<28} {kilobytes:>6.1} kB gzip of {budget} kB");
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        for (what, size, budget) in self.each() {
            ensure!(size <= budget, "{what} is over its size budget");
        }
        Ok(())
    }
}

/// Size of all files under `folder` whose names are `wanted`, each one gzipped.
fn gzipped(folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<usize> {
    const HEADER_AND_TRAILER: usize = 18;
    let mut total = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            total += gzipped(&path, wanted)?;
        } else if path.file_name().and_then(OsStr::to_str).is_some_and(wanted) {
            let deflated = miniz_oxide::deflate::compress_to_vec(&fs::read(path)?, 9);
            total += deflated.len() + HEADER_AND_TRAILER;
        }
    }
    Ok(total)
}
