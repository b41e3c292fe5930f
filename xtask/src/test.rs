//! Runs every check and test, part by part, and ends with one table.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Instant,
};

use anyhow::{Context, Result, ensure};

use crate::{
    process::{cargo, command, npm_script, root, run_lines, www},
    serve, site,
    tools::{self, Package},
};

/// A part of the test.
struct Part {
    name: &'static str,
    about: &'static str,
    run: fn(&mut Tally) -> Result<()>,
    /// System packages without which it cannot run.
    needs: &'static [Package],
    /// Whether it looks at the built site.
    needs_site: bool,
}

const PARTS: [Part; 9] = [
    Part::new("format", "rustfmt has nothing to change", format),
    Part::new("clippy", "no warning, native and wasm32, with and without training", clippy),
    Part::new("doc", "the documentation builds without a warning", doc),
    Part::new("unit", "native unit, integration and documentation tests", unit),
    Part::new("gpu", "native tests on a Vulkan adapter (tests/gpu_*.rs)", gpu)
        .needs(&[Package::Vulkan]),
    Part::new("build", "the site builds, within its size budget", build),
    Part::new("js", "type check and unit tests of the page (www/test/)", js).needs_site(),
    Part::new("web", "wasm tests in headless Chromium (tests/web_*.rs)", web)
        .needs(&[Package::Chromium, Package::ChromeDriver]),
    Part::new("e2e", "the built site in Chromium (tests/e2e/)", e2e)
        .needs(&[Package::Chromium, Package::Fonts])
        .needs_site(),
];

impl Part {
    const fn new(
        name: &'static str,
        about: &'static str,
        run: fn(&mut Tally) -> Result<()>,
    ) -> Self {
        Self { name, about, run, needs: &[], needs_site: false }
    }

    const fn needs(self, needs: &'static [Package]) -> Self {
        Self { needs, ..self }
    }

    const fn needs_site(self) -> Self {
        Self { needs_site: true, ..self }
    }
}

/// One line of help for each part.
pub(crate) fn describe() -> String {
    PARTS.iter().map(|part| format!("  {:<7}  {}\n", part.name, part.about)).collect()
}

/// Runs all parts, or `only` those named and the build that they stand on.
pub(crate) fn test(only: &[String]) -> Result<ExitCode> {
    for name in only {
        let known = PARTS.iter().any(|part| part.name == name);
        ensure!(known, "there is no part {name:?}; the parts are\n{}", describe());
    }
    let named = |part: &Part| only.is_empty() || only.iter().any(|name| name == part.name);
    let site = PARTS.iter().any(|part| named(part) && part.needs_site);
    let parts: Vec<_> =
        PARTS.iter().filter(|part| named(part) || site && part.name == "build").collect();

    if parts.iter().any(|part| part.name == "web") {
        tools::compile_wasm_tools_early();
    }
    let needs: Vec<_> = parts.iter().flat_map(|part| part.needs).copied().collect();
    if let Err(error) = tools::install(&needs) {
        println!("{error:#}");
    }

    let mut rows: Vec<Row> = Vec::new();
    for part in parts {
        println!("\n== {}: {}", part.name, part.about);
        let (start, mut tally) = (Instant::now(), Tally::default());
        // A site that is only too large can still be tested.
        let site_failed = rows.iter().any(|row| row.name == "build" && row.tally.passed == 0);
        let result = if part.needs_site && site_failed {
            Err(anyhow::anyhow!("the site did not build"))
        } else {
            (part.run)(&mut tally)
        };
        let problem = result.and_then(|()| {
            let ran = tally.passed + tally.failed;
            ensure!(ran > 0, "no test ran, which proves nothing");
            Ok(())
        });
        if let Err(error) = problem {
            println!("FAILED: {error:#}");
            tally.failed += 1;
        }
        rows.push(Row { name: part.name, tally, seconds: start.elapsed().as_secs_f32() });
    }
    print!("\n{}", table(&rows));
    let total = Tally::sum(&rows);
    println!("{} passed, {} failed, {} skipped", total.passed, total.failed, total.skipped);
    Ok(if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How the tests of a part ended.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

struct Row {
    name: &'static str,
    tally: Tally,
    seconds: f32,
}

fn table(rows: &[Row]) -> String {
    let line = |name, Tally { passed, failed, skipped }, seconds: f32| {
        let run = passed + failed;
        format!("{name:<8}{run:>8}{passed:>8}{failed:>8}{skipped:>8}{seconds:>9.1}\n")
    };
    let head = ["tests", "passed", "failed", "skipped"].map(|title| format!("{title:>8}")).concat();
    let body: String = rows.iter().map(|row| line(row.name, row.tally, row.seconds)).collect();
    let total = line("all", Tally::sum(rows), rows.iter().map(|row| row.seconds).sum());
    format!("{:<8}{head}{:>9}\n{body}{total}", "part", "seconds")
}

impl Tally {
    fn sum(rows: &[Row]) -> Self {
        rows.iter().fold(Self::default(), |sum, Row { tally, .. }| Self {
            passed: sum.passed + tally.passed,
            failed: sum.failed + tally.failed,
            skipped: sum.skipped + tally.skipped,
        })
    }

    /// Counts a command that passes or fails as a whole.
    fn check(&mut self, command: &mut Command) -> Result<()> {
        let passed = run_lines(command, |_| ())?;
        *(if passed { &mut self.passed } else { &mut self.failed }) += 1;
        Ok(())
    }

    /// Counts the tests that a command reports. One that fails without naming a test, because it
    /// did not compile or crashed, counts as one.
    fn tests(&mut self, command: &mut Command) -> Result<()> {
        let before = self.failed;
        let passed = run_lines(command, |line| self.read(line))?;
        if !passed && self.failed == before {
            self.failed += 1;
        }
        Ok(())
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

fn format(tally: &mut Tally) -> Result<()> {
    tally.check(&mut cargo(["fmt", "--all", "--check"]))
}

fn clippy(tally: &mut Tally) -> Result<()> {
    let deny = ["--all-targets", "--", "--deny", "warnings"];
    tally.check(cargo(["clippy", "--workspace", "--all-features"]).args(deny))?;
    tally.check(cargo(["clippy", "--target", site::WASM_TARGET]).args(deny))?;
    // The tests need training.
    let exact = ["clippy", "--target", site::WASM_TARGET, "--no-default-features", "--lib"];
    tally.check(cargo(exact).args(&deny[1..]))
}

fn doc(tally: &mut Tally) -> Result<()> {
    let mut rustdoc = cargo(["doc", "--workspace", "--no-deps"]);
    tally.check(rustdoc.env("RUSTDOCFLAGS", "--deny warnings"))
}

fn unit(tally: &mut Tally) -> Result<()> {
    let native = |name: &str| !name.starts_with("gpu_") && !name.starts_with("web_");
    let mut tests = cargo(["test", "--workspace", "--no-fail-fast", "--lib", "--bins"]);
    test_targets(native)?.iter().for_each(|target| _ = tests.args(["--test", target]));
    tally.tests(&mut tests)?;
    tally.tests(&mut cargo(["test", "--doc"]))
}

fn gpu(tally: &mut Tally) -> Result<()> {
    let mut tests = cargo(["test", "--no-fail-fast"]);
    let targets = test_targets(|name| name.starts_with("gpu_"))?;
    ensure!(!targets.is_empty(), "there is no tests/gpu_*.rs");
    targets.iter().for_each(|target| _ = tests.args(["--test", target]));
    if env::var_os("XDG_RUNTIME_DIR").is_none() {
        // Else Mesa prints an error for every device.
        tests.env("XDG_RUNTIME_DIR", env::temp_dir());
    }
    // A test that finds no adapter fails here; elsewhere it may skip itself.
    tally.tests(tests.env("HG_REQUIRE_GPU", "1"))
}

fn build(tally: &mut Tally) -> Result<()> {
    let sizes = site::build()?;
    tally.passed += 1;
    sizes.print();
    sizes.check()?;
    tally.passed += 1;
    Ok(())
}

fn js(tally: &mut Tally) -> Result<()> {
    tally.check(&mut npm_script("typescript/bin/tsc", &["--project", "."]))?;
    tally.tests(&mut node_tests(files(&www().join("test"), ".test.js")?, 1))
}

fn web(tally: &mut Tally) -> Result<()> {
    let driver = tools::chrome_driver()?;
    let path = tools::path_with_wasm_tools()?;
    // One at a time: wasm-pack takes no `--no-fail-fast`.
    for target in test_targets(|name| name.starts_with("web_"))? {
        let mut wasm_pack = command("wasm-pack", ["test", "--headless", "--chrome"]);
        wasm_pack.arg("--chromedriver").arg(&driver).arg(".").args(["--test", &target]);
        tally.tests(wasm_pack.env("PATH", &path))?;
    }
    Ok(())
}

/// Specs that measure how long something takes. They have the machine to themselves.
const TIMED: [&str; 3] = ["optimum.spec.mjs", "runs.spec.mjs", "transition.spec.mjs"];

fn e2e(tally: &mut Tally) -> Result<()> {
    // A sub-path with nothing at the root: an absolute link on the page would fail.
    let url = serve::serve_in_background("/any/sub-path/")?;
    let is_timed = |spec: &PathBuf| TIMED.iter().any(|timed| spec.ends_with(timed));
    let (timed, others) =
        files(&root().join("tests/e2e"), ".spec.mjs")?.into_iter().partition(is_timed);
    // The others mostly wait for the page, so two of them fit on two cores.
    for mut tests in [node_tests(timed, 1), node_tests(others, 2)] {
        tally.tests(tests.env("SITE_URL", &url).env("CHROMIUM", tools::chromium()?))?;
    }
    Ok(())
}

/// The names of the integration tests that are `wanted`.
fn test_targets(wanted: impl Fn(&str) -> bool) -> Result<Vec<String>> {
    let files = files(&root().join("tests"), ".rs")?;
    let names = files.iter().filter_map(|file| file.file_stem()).filter_map(OsStr::to_str);
    Ok(names.filter(|name| wanted(name)).map(str::to_owned).collect())
}

/// Node's test runner over `files`, so many `at_once`.
fn node_tests(files: Vec<PathBuf>, at_once: usize) -> Command {
    let mut node = command("node", ["--test", "--test-reporter=spec"]);
    node.arg(format!("--test-concurrency={at_once}")).args(files);
    node
}

/// The files in `folder` whose names end with `suffix`, in order.
fn files(folder: &Path, suffix: &str) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("no folder {}", folder.display()))?;
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
    fn the_table_lines_up() {
        let rows = [
            Row {
                name: "unit",
                tally: Tally { passed: 120, failed: 0, skipped: 1 },
                seconds: 61.25,
            },
            Row { name: "e2e", tally: Tally { passed: 3, failed: 2, skipped: 0 }, seconds: 9.0 },
        ];
        let expected = "\
part       tests  passed  failed skipped  seconds
unit         120     120       0       1     61.2
e2e            5       3       2       0      9.0
all          125     123       2       1     70.2
";
        assert_eq!(table(&rows), expected);
    }
}
