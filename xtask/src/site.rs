//! Builds the static site: Rust to wasm, wasm to a JavaScript package, everything into `dist/`.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result, ensure};

use crate::{
    pack,
    process::{cargo, command, human, npm_script, root, run, target_dir, www},
};

/// What the library is compiled to for the page.
pub(crate) const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// One step of the build.
struct Step {
    what: &'static str,
    /// What the step leaves behind; if it is there, the step is quick.
    makes: PathBuf,
    /// About how long it takes on two cores if it is not.
    cold: Duration,
    run: fn() -> Result<()>,
}

fn steps() -> Result<[Step; 7]> {
    let step = |what, makes, cold, run| Step { what, makes, cold: Duration::from_secs(cold), run };
    Ok([
        step("Add the wasm32 target", wasm_libraries()?, 10, add_target),
        step("Compile the library to WebAssembly", compiled_wasm()?, 90, compile),
        step("Compile the binding generator", bindgen()?, 60, compile_bindgen),
        step("Install the npm packages of the page", www().join(LOCK_STAMP), 20, npm_install),
        step("Pack the image sets", packed_sets(), 15, || pack::pack(&root())),
        step("Make and optimize the JavaScript package", packaged_wasm(), 15, package),
        step("Bundle the page into dist/", dist().join("index.html"), 5, bundle),
    ])
}

/// The finished site.
pub(crate) fn dist() -> PathBuf {
    root().join("dist")
}

/// Brings `dist/` up to date.
pub(crate) fn build() -> Result<Sizes> {
    let steps = steps()?;
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

fn compiled_wasm() -> Result<PathBuf> {
    Ok(target_dir()?.join(WASM_TARGET).join("wasm/hidden_gaussian.wasm"))
}

fn compile() -> Result<()> {
    // Without the rlib, which would keep rustc from optimizing across crates.
    let library = ["--package", "hidden-gaussian", "--lib", "--crate-type", "cdylib"];
    run(cargo(["rustc", "--profile", "wasm", "--target", WASM_TARGET]).args(library))
}

fn bindgen() -> Result<PathBuf> {
    Ok(target_dir()?.join("debug/bindgen").with_extension(std::env::consts::EXE_EXTENSION))
}

fn compile_bindgen() -> Result<()> {
    let package = ["--package", "xtask", "--features", "bindgen", "--bin", "bindgen"];
    run(cargo(["build"]).args(package))
}

/// A copy of the lock file that `node_modules` was installed from.
const LOCK_STAMP: &str = "node_modules/.installed-lock.json";

fn npm_install() -> Result<()> {
    npm_install_in(&www()).context("the page needs Node.js 20 or later with npm")
}

/// Installs the npm packages of the lock file in `folder`, unless that was done before.
pub(crate) fn npm_install_in(folder: &Path) -> Result<()> {
    let lock = fs::read(folder.join("package-lock.json"))?;
    let stamp = folder.join(LOCK_STAMP);
    if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    run(command(npm, ["ci", "--no-audit", "--no-fund"]).current_dir(folder))?;
    Ok(fs::write(stamp, lock)?)
}

fn packed_sets() -> PathBuf {
    www().join("public/data")
}

fn packaged_wasm() -> PathBuf {
    www().join("pkg/hidden_gaussian_bg.wasm")
}

fn package() -> Result<()> {
    make_package(&compiled_wasm()?, &packaged_wasm())
}

/// Makes the JavaScript package of a `compiled` wasm file: `packaged` is its optimized wasm file.
pub(crate) fn make_package(compiled: &Path, packaged: &Path) -> Result<()> {
    let bindgen = bindgen()?;
    let made = modified(packaged).unwrap_or(SystemTime::UNIX_EPOCH);
    if modified(compiled)? < made && modified(&bindgen)? < made {
        return Ok(());
    }
    let folder = packaged.parent().context("a package without a folder")?;
    run(&mut command(bindgen, [compiled, folder]))?;
    // Moved away, so that an interrupted run leaves no unoptimized file that looks finished.
    let plain = compiled.with_extension("bg.wasm");
    fs::rename(packaged, &plain)?;
    // Exactly what rustc emits for this target, plus SIMD from `.cargo/config.toml`.
    let features = ["simd", "bulk-memory", "mutable-globals", "sign-ext"];
    let more = ["nontrapping-float-to-int", "reference-types", "multivalue"];
    let mut optimize = npm_script("binaryen/bin/wasm-opt", &["-O3"]);
    optimize.args(features.iter().chain(&more).map(|feature| format!("--enable-{feature}")));
    run(optimize.arg(plain).arg("-o").arg(packaged))
}

fn modified(file: &Path) -> Result<SystemTime> {
    Ok(fs::metadata(file)?.modified()?)
}

fn bundle() -> Result<()> {
    run(&mut npm_script("vite/bin/vite.js", &["build", "--logLevel", "warn"]))
}

/// What a reader downloads, in bytes after gzip.
pub(crate) struct Sizes {
    javascript: usize,
    wasm: usize,
}

impl Sizes {
    /// The most that the page's scripts may weigh.
    const JAVASCRIPT: usize = 200_000;
    /// The most that the library may weigh. The first screen does without it.
    const WASM: usize = 390_000;

    fn measure() -> Result<Self> {
        Ok(Self { javascript: gzipped(&dist(), "js")?, wasm: gzipped(&dist(), "wasm")? })
    }

    /// What there is, what it weighs and what it may.
    fn each(&self) -> [(&'static str, usize, usize); 2] {
        [("JavaScript", self.javascript, Self::JAVASCRIPT), ("WebAssembly", self.wasm, Self::WASM)]
    }

    pub(crate) fn print(&self) {
        for (what, size, budget) in self.each() {
            let (kilobytes, budget) = (size as f64 / 1e3, budget / 1000);
            println!("{what:<12} {kilobytes:>6.1} kB gzip of {budget} kB");
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        for (what, size, budget) in self.each() {
            ensure!(size <= budget, "{what} is over its size budget");
        }
        Ok(())
    }
}

/// Size of all files of this kind under `folder`, each one gzipped.
fn gzipped(folder: &Path, extension: &str) -> Result<usize> {
    const HEADER_AND_TRAILER: usize = 18;
    let mut total = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            total += gzipped(&path, extension)?;
        } else if path.extension().is_some_and(|found| found == extension) {
            let deflated = miniz_oxide::deflate::compress_to_vec(&fs::read(path)?, 9);
            total += deflated.len() + HEADER_AND_TRAILER;
        }
    }
    Ok(total)
}
