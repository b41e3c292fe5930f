//! Runs every check and test, part by part, and ends with a table.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    sync::{Mutex, OnceLock, PoisonError},
    thread,
    time::Instant,
};

use anyhow::{Context, Result, ensure};

use crate::{
    package,
    process::{cargo, command, npm, root, run, run_lines, www},
    serve::Server,
    site, slurm,
    tools::{self, Package},
};

/// A part of the tests.
struct Part {
    name: &'static str,
    about: &'static str,
    lane: Lane,
    run: Run,
    /// System packages that it needs.
    needs: &'static [Package],
    /// Whether it tests the built site.
    needs_site: bool,
}

/// Parts of one lane run one after the other.
#[derive(Clone, Copy, PartialEq)]
enum Lane {
    Native,
    Page,
    Chromium,
    Firefox,
    WebKit,
    Last,
}

/// Lanes run side by side where much of their work uses one core, and otherwise one after the other: pages that have
/// to wait for the machine would fail their tests.
const STAGES: [&[Lane]; 4] =
    [&[Lane::Native, Lane::Page], &[Lane::Chromium], &[Lane::Firefox, Lane::WebKit], &[Lane::Last]];

const PARTS: [Part; 17] = [
    Part::native("clippy", "no warning, native and wasm32, with and without training", clippy),
    Part::native("doc", "the documentation builds without a warning", doc),
    Part::native("unit", "native unit, integration and documentation tests", unit),
    Part::native("gpu", "native tests on a Vulkan adapter (tests/native/gpu/)", gpu)
        .needs(&[Package::Vulkan]),
    Part::native("isa", "no kernel spills registers on AMD's GPUs (benches/isa/)", isa)
        .needs(&[Package::Vulkan]),
    Part::page("build", "the site builds, within its size budget", build),
    Part::page("format", "rustfmt, Biome and Prettier have nothing to change", format),
    Part::page("lint", "Biome, the spelling, and the licences of all dependencies", lint),
    Part::page("js", "type check and unit tests of the page (www/test/)", js).needs_site(),
    Part::page("pack", "the npm package installs, and the README's example type-checks", pack)
        .needs_site(),
    Part::page("web", "wasm-pack tests in headless Chromium and Firefox (tests/web_*.rs)", web)
        .needs(&[Package::Chromium, Package::ChromeDriver, Package::Firefox, Package::Vulkan]),
    Part::of(Lane::Chromium, "e2e", "the built site in Chromium (tests/e2e/)", e2e)
        .needs(&[Package::Chromium, Package::Fonts])
        .needs_site(),
    Part::of(
        Lane::Firefox,
        "firefox",
        "its core in Firefox, without and with WebGPU (tests/e2e/core/)",
        firefox,
    )
    .needs(&[Package::Firefox, Package::Vulkan, Package::Fonts])
    .needs_site(),
    Part::of(Lane::WebKit, "webkit", "its core in WebKitGTK (tests/e2e/core/)", webkit)
        .needs(&[Package::WebKit, Package::Screen, Package::Fonts])
        .needs_site(),
    Part::last("cancel", "cancelled work stops soon (tests/native/cancelling.rs)", cancel)
        .needs(&[Package::Vulkan]),
    Part::last("slurm", "sweeps, interrupted, and on an emulated cluster", slurm::test),
    Part::last("times", "what readers wait for in the built site (tests/e2e/)", times)
        .needs(&[Package::Chromium, Package::Fonts])
        .needs_site(),
];

type Run = fn(&mut Row) -> Result<()>;

impl Part {
    const fn of(lane: Lane, name: &'static str, about: &'static str, run: Run) -> Self {
        Self { name, about, lane, run, needs: &[], needs_site: false }
    }

    const fn native(name: &'static str, about: &'static str, run: Run) -> Self {
        Self::of(Lane::Native, name, about, run)
    }

    const fn page(name: &'static str, about: &'static str, run: Run) -> Self {
        Self::of(Lane::Page, name, about, run)
    }

    const fn last(name: &'static str, about: &'static str, run: Run) -> Self {
        Self::of(Lane::Last, name, about, run)
    }

    const fn needs(self, needs: &'static [Package]) -> Self {
        Self { needs, ..self }
    }

    const fn needs_site(self) -> Self {
        Self { needs_site: true, ..self }
    }
}

/// One line of help per part.
pub(crate) fn describe() -> String {
    PARTS.iter().map(|part| format!("  {:<7}  {}\n", part.name, part.about)).collect()
}

/// Runs all parts, or the parts `only` and the build that they need.
pub(crate) fn test(only: &[String]) -> Result<ExitCode> {
    for name in only {
        let known = PARTS.iter().any(|part| part.name == name);
        ensure!(known, "unknown part {name:?}; the parts are\n{}", describe());
    }
    let named = |part: &Part| only.is_empty() || only.iter().any(|name| name == part.name);
    let site = PARTS.iter().any(|part| named(part) && part.needs_site);
    let parts: Vec<_> =
        PARTS.iter().filter(|part| named(part) || site && part.name == "build").collect();

    let needs: Vec<_> = parts.iter().flat_map(|part| part.needs).copied().collect();
    // Nothing is installed on a developer's machine without asking.
    let in_ci = env::var_os("CI").is_some();
    if let Err(error) = if in_ci { tools::install(&needs) } else { tools::require(&needs) } {
        println!("Some parts cannot run: {error:#}");
    }

    let start = Instant::now();
    let rows = Mutex::new(Vec::new());
    let rows_now = || rows.lock().unwrap_or_else(PoisonError::into_inner);
    let site: OnceLock<bool> = OnceLock::new();
    let run_lane = |lane| {
        for part in parts.iter().filter(|part| part.lane == lane) {
            let row = part.run(part.needs_site && !site.wait());
            if part.name == "build" {
                // A site that is merely too large can still be tested.
                site.get_or_init(|| row.tally.passed > 0);
            }
            rows_now().push(row);
        }
    };
    for lanes in STAGES {
        thread::scope(|scope| {
            for &lane in lanes {
                scope.spawn(move || run_lane(lane));
            }
        });
    }

    let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.sort_by_key(|row| PARTS.iter().position(|part| part.name == row.name));
    print!("\n{}", table(&rows, start.elapsed().as_secs_f32()));
    let total = Tally::sum(&rows);
    println!("{} passed, {} failed, {} skipped", total.passed, total.failed, total.skipped);
    for (row, name) in rows.iter().flat_map(|row| row.failures.iter().map(move |name| (row, name)))
    {
        println!("FAILED  {}: {name}", row.name);
    }
    Ok(if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Part {
    fn run(&self, no_site: bool) -> Row {
        println!("\n== {}: {}", self.name, self.about);
        let start = Instant::now();
        let mut row = Row { name: self.name, ..Row::default() };
        if let Err(error) = self.try_run(no_site, &mut row) {
            println!("{} FAILED: {error:#}", self.name);
            row.tally.failed += 1;
            row.failures.push(format!("{error:#}"));
        }
        row.seconds = start.elapsed().as_secs_f32();
        row
    }

    fn try_run(&self, no_site: bool, row: &mut Row) -> Result<()> {
        ensure!(!no_site, "the site did not build");
        tools::require(self.needs)?;
        (self.run)(row)?;
        ensure!(row.tally.passed + row.tally.failed > 0, "no test ran, which proves nothing");
        Ok(())
    }
}

/// The number of tests of a part by outcome.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

/// A row of the final table: a part, its outcome and its time.
#[derive(Default)]
pub(crate) struct Row {
    name: &'static str,
    tally: Tally,
    /// What failed, to be named once more at the end.
    failures: Vec<String>,
    seconds: f32,
}

fn table(rows: &[Row], seconds: f32) -> String {
    let line = |name, Tally { passed, failed, skipped }, seconds: f32| {
        let run = passed + failed;
        format!("{name:<8}{run:>8}{passed:>8}{failed:>8}{skipped:>8}{seconds:>9.1}\n")
    };
    let head = ["tests", "passed", "failed", "skipped"].map(|title| format!("{title:>8}")).concat();
    let body: String = rows.iter().map(|row| line(row.name, row.tally, row.seconds)).collect();
    let total = line("all", Tally::sum(rows), seconds);
    format!("{:<8}{head}{:>9}\n{body}{total}", "part", "seconds")
}

impl Row {
    /// Counts a check that holds.
    pub(crate) fn pass(&mut self, what: &str) {
        println!("{:<6} | ok: {what}", self.name);
        self.tally.passed += 1;
    }

    /// Counts a check that cannot run here.
    pub(crate) fn skip(&mut self, what: &str) {
        println!("{:<6} | skipped: {what}", self.name);
        self.tally.skipped += 1;
    }

    /// Counts a command that passes or fails as a whole.
    pub(crate) fn check(&mut self, command: &mut Command) -> Result<()> {
        let passed = run_lines(command, |line| println!("{:<6} | {line}", self.name))?;
        if passed {
            self.tally.passed += 1;
        } else {
            self.tally.failed += 1;
            self.failures.push(format!("{command:?}"));
        }
        Ok(())
    }

    /// Counts the tests that a command reports. A command that fails without naming a test, because it did not
    /// compile or crashed, counts as one.
    pub(crate) fn tests(&mut self, command: &mut Command) -> Result<()> {
        let before = self.tally.failed;
        let passed = run_lines(command, |line| {
            println!("{:<6} | {line}", self.name);
            self.tally.read(line);
            // Node names them twice.
            if let Some(name) = failed_test(line)
                && !self.failures.iter().any(|known| known == name)
            {
                self.failures.push(name.to_owned());
            }
        })?;
        if !passed && self.tally.failed == before {
            self.tally.failed += 1;
            self.failures.push(format!("{command:?}"));
        }
        Ok(())
    }
}

/// The test that a line of Rust's or Node's test runner says has failed, without Node's time.
fn failed_test(line: &str) -> Option<&str> {
    if let Some(name) = line.strip_prefix("test ") {
        return name.strip_suffix(" ... FAILED");
    }
    line.strip_prefix("✖ ")?.rsplit_once(" (").map(|(name, _)| name)
}

impl Tally {
    fn sum(rows: &[Row]) -> Self {
        rows.iter().fold(Self::default(), |sum, Row { tally, .. }| Self {
            passed: sum.passed + tally.passed,
            failed: sum.failed + tally.failed,
            skipped: sum.skipped + tally.skipped,
        })
    }

    /// Adds up the summary lines of Rust's and Node's test runners.
    fn read(&mut self, line: &str) {
        let mut add = |count: &str, what: &str| {
            let count: usize = count.parse().unwrap_or(0);
            match what {
                "passed" | "pass" => self.passed += count,
                "failed" | "fail" | "cancelled" => self.failed += count,
                "ignored" | "skipped" | "todo" => self.skipped += count,
                _ => {}
            }
        };
        if let Some((_, counts)) =
            line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        {
            // `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; …`
            counts
                .split("; ")
                .filter_map(|item| item.split_once(' '))
                .for_each(|(n, what)| add(n, what));
        } else if let Some((what, count)) =
            line.strip_prefix("ℹ ").and_then(|rest| rest.split_once(' '))
        {
            // `ℹ pass 3`
            add(count, what);
        }
    }
}

fn format(row: &mut Row) -> Result<()> {
    row.check(&mut cargo(["fmt", "--all", "--check"]))?;
    site::npm_install()?;
    row.check(&mut npm(["run", "--silent", "format:check"]))
}

/// Applies the formatting that [`format()`] checks.
pub(crate) fn format_everything() -> Result<()> {
    run(&mut cargo(["fmt", "--all"]))?;
    site::npm_install()?;
    run(&mut npm(["run", "--silent", "format"]))
}

fn lint(row: &mut Row) -> Result<()> {
    site::npm_install()?;
    row.check(&mut npm(["run", "--silent", "lint"]))?;
    row.check(&mut command(tools::typos()?, ["--color=never"]))?;
    let deny = ["--color=never", "check", "--hide-inclusion-graph", "licenses", "bans", "sources"];
    row.check(&mut command(tools::cargo_deny()?, deny))
}

fn clippy(row: &mut Row) -> Result<()> {
    let deny = ["--all-targets", "--", "--deny", "warnings"];
    row.check(cargo(["clippy", "--workspace"]).args(deny))?;
    row.check(cargo(["clippy", "--target", site::WASM_TARGET]).args(deny))?;
    // The tests need training.
    let exact = ["clippy", "--target", site::WASM_TARGET, "--no-default-features", "--lib"];
    row.check(cargo(exact).args(&deny[1..]))
}

fn doc(row: &mut Row) -> Result<()> {
    let mut rustdoc = cargo(["doc", "--workspace", "--no-deps"]);
    row.check(rustdoc.env("RUSTDOCFLAGS", "--deny warnings"))
}

/// Tests of the whole workspace, whichever are run: cargo compiles dependencies anew where another choice of
/// packages asks for other features of them.
pub(crate) fn cargo_test<const N: usize>(args: [&str; N]) -> Command {
    let mut tests = cargo(["test", "--workspace"]);
    tests.args(args);
    tests
}

fn unit(row: &mut Row) -> Result<()> {
    let bins = ["--lib", "--bin", "xtask", "--test", "native", "--no-fail-fast"];
    row.tests(&mut cargo_test(bins))?;
    // What another part runs is not skipped.
    let list = cargo_test(bins).args(["--", "--list", "--ignored"]).output()?;
    row.tally.skipped = run_by_no_part(&list.stdout).len();
    row.tests(&mut cargo_test(["--doc"]))
}

/// The native tests that `unit` ignores and other parts run, by their modules.
const GPU: &str = "gpu::";
const CANCELLING: &str = "cancelling::";
pub(crate) const INTERRUPTED: &str = "sweep::interrupted::";

/// The tests in a list of Rust's test runner that are in none of these modules.
fn run_by_no_part(list: &[u8]) -> Vec<String> {
    let list = String::from_utf8_lossy(list);
    let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
    let run = |name: &str| [GPU, CANCELLING, INTERRUPTED].iter().any(|part| name.starts_with(part));
    names.filter(|name| !run(name)).map(str::to_owned).collect()
}

fn gpu(row: &mut Row) -> Result<()> {
    row.tests(&mut ignored(&[GPU]))
}

/// Without the driver, the tests that need it are skipped.
fn isa(row: &mut Row) -> Result<()> {
    let mut tests = cargo_test(["--bin", "isa", "--"]);
    if tools::has_radv() {
        tests.arg("--include-ignored");
    }
    row.tests(&mut tests)
}

fn cancel(row: &mut Row) -> Result<()> {
    row.tests(&mut ignored(&[CANCELLING]))
}

/// Native tests that a plain `cargo test` ignores, because they need a GPU or an idle machine. One at a time: a
/// software adapter uses all cores for one device, and its driver has crashed with several.
pub(crate) fn ignored(options: &[&str]) -> Command {
    let mut tests = cargo_test(["--test", "native", "--", "--ignored", "--test-threads=1"]);
    tests.args(options);
    // Mesa's software adapter takes most of its time to compile shaders, and less without optimizing them.
    tests.env("GALLIVM_PERF", "nopt").env("LP_NATIVE_VECTOR_WIDTH", "128");
    if env::var_os("XDG_RUNTIME_DIR").is_none() {
        // Otherwise Mesa prints an error for every device.
        tests.env("XDG_RUNTIME_DIR", env::temp_dir());
    }
    tests
}

fn build(row: &mut Row) -> Result<()> {
    let sizes = site::build()?;
    row.tally.passed += 1;
    sizes.print();
    sizes.check()?;
    row.tally.passed += 1;
    Ok(())
}

fn js(row: &mut Row) -> Result<()> {
    row.check(&mut npm(["run", "--silent", "types"]))?;
    row.tests(&mut node_tests(files(&www().join("test"), ".test.js")?, 1))
}

fn pack(row: &mut Row) -> Result<()> {
    package::check(&package::tarball()?)?.iter_mut().try_for_each(|command| row.check(command))
}

fn web(row: &mut Row) -> Result<()> {
    let path = tools::path_with_wasm_pack()?;
    let (chrome, gecko) = (tools::chrome_driver()?, tools::gecko_driver()?);
    let chromium = ["--chrome", "--chromedriver"];
    // One at a time: wasm-pack does not accept `--no-fail-fast`. In Firefox, whose adapter is as slow as that of
    // the native tests, those of the window suffice: they go through every part of both engines.
    for (options, driver, target) in [
        (chromium, &chrome, "web_window"),
        (chromium, &chrome, "web_worker"),
        (["--firefox", "--geckodriver"], &gecko, "web_window"),
    ] {
        let mut tests = command("wasm-pack", ["test", "--headless"]);
        row.tests(
            tests
                .args(options)
                .arg(driver)
                .arg(".")
                .args(["--test", target])
                .env("PATH", &path)
                .env("CARGO_INCREMENTAL", "0"),
        )?;
    }
    Ok(())
}

/// The tests that may run beside others: they mostly wait for the page.
fn e2e(row: &mut Row) -> Result<()> {
    in_chromium(row, "none", 3)
}

/// The tests that measure time.
fn times(row: &mut Row) -> Result<()> {
    in_chromium(row, "only", 1)
}

/// Runs the tests of the built site, `at_once` in parallel: either those that must run `alone`, or the others.
fn in_chromium(row: &mut Row, alone: &str, at_once: usize) -> Result<()> {
    let mut specs = files(&root().join("tests/e2e"), ".spec.mjs")?;
    specs.push(root().join(CORE));
    if alone == "only" {
        // Node counts a file without tests as a test.
        specs
            .retain(|spec| fs::read_to_string(spec).is_ok_and(|text| text.contains("alone: true")));
    }
    let mut tests = node_tests(specs, at_once);
    tests.env("CHROMIUM", tools::chromium()?).env("ALONE", alone);
    on_site(row, tests.env("BROWSER", "chromium"))
}

/// The tests of the built site that every browser must pass.
const CORE: &str = "tests/e2e/core/core.spec.mjs";

fn firefox(row: &mut Row) -> Result<()> {
    let mut tests = node_tests(vec![root().join(CORE)], 1);
    tests.env("BROWSER", "firefox").env("FIREFOX", tools::firefox()?);
    on_site(row, &mut tests)
}

fn webkit(row: &mut Row) -> Result<()> {
    let (driver, browser) = tools::webkit()?;
    let mut tests = node_tests(vec![root().join(CORE)], 1);
    tests.env("BROWSER", "webkit").env("WEBKIT_DRIVER", driver).env("MINI_BROWSER", browser);
    on_site(row, tests.env("XVFB", tools::screen()?))
}

/// Runs tests of the built site.
fn on_site(row: &mut Row, tests: &mut Command) -> Result<()> {
    // A sub-path with nothing at the root, so that an absolute link on the page would fail.
    let server = Server::start("/any/sub-path/")?;
    row.tests(tests.env("SITE_URL", &server.url))
}

/// Node's test runner over `files`, with `at_once` in parallel.
fn node_tests(files: Vec<PathBuf>, at_once: usize) -> Command {
    // A failed test may have left something running, which must not block the others.
    let mut node = command("node", ["--test", "--test-force-exit", "--test-reporter=spec"]);
    node.arg(format!("--test-concurrency={at_once}")).args(files);
    node
}

/// The files in `folder` whose names end with `suffix`, in order.
fn files(folder: &Path, suffix: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)
        .with_context(|| format!("the folder {} cannot be read", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.retain(|path| path.to_string_lossy().ends_with(suffix));
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_summaries_of_both_runners() {
        let mut tally = Tally::default();
        for line in [
            "running 4 tests",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s",
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "✔ pass 9 (0.5ms)",
            "ℹ tests 10",
            "ℹ suites 0",
            "ℹ pass 6",
            "ℹ fail 1",
            "ℹ cancelled 1",
            "ℹ skipped 1",
            "ℹ todo 1",
            "ℹ duration_ms 30.5",
        ] {
            tally.read(line);
        }
        assert_eq!(tally, Tally { passed: 10, failed: 4, skipped: 3 });
    }

    #[test]
    fn failed_tests_are_named() {
        assert_eq!(failed_test("test a::b ... FAILED"), Some("a::b"));
        assert_eq!(failed_test("test a::b ... ok"), None);
        assert_eq!(failed_test("✖ a chart (with WebGPU) (12.3ms)"), Some("a chart (with WebGPU)"));
        assert_eq!(failed_test("✖ failing tests:"), None);
    }

    #[test]
    fn tests_that_no_part_runs_are_found() {
        let list = "cli::slow: test\ngpu::conv::odd_shapes: test\nsweep::interrupted::blows: test\n\n3 tests, 0 benchmarks\n";
        assert_eq!(run_by_no_part(list.as_bytes()), ["cli::slow"]);
    }

    #[test]
    fn the_table_lines_up() {
        let rows = [
            Row {
                name: "unit",
                tally: Tally { passed: 120, failed: 0, skipped: 1 },
                seconds: 61.25,
                failures: Vec::new(),
            },
            Row {
                name: "e2e",
                tally: Tally { passed: 3, failed: 2, skipped: 0 },
                seconds: 9.0,
                failures: Vec::new(),
            },
        ];
        let expected = "\
part       tests  passed  failed skipped  seconds
unit         120     120       0       1     61.2
e2e            5       3       2       0      9.0
all          125     123       2       1     65.0
";
        assert_eq!(table(&rows, 65.0), expected);
    }
}
