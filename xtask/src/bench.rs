//! Prints the rates of the engines: natively, and in Chromium.

use anyhow::Result;

use crate::{
    process::{cargo, run},
    site::WASM_TARGET,
    tools::{self, Package},
};

pub(crate) fn bench() -> Result<()> {
    run(&mut cargo(["bench", "--bench", "rates", "--bench", "matmul"]))?;
    tools::install(&[Package::Chromium, Package::ChromeDriver])?;
    // As a test, because wasm-bindgen's runner takes `--bench` to mean its own kind of benchmark.
    run(cargo(["test", "--release", "--bench", "rates", "--target", WASM_TARGET])
        .args(["--", "--nocapture"])
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", "wasm-bindgen-test-runner")
        .env("CHROMEDRIVER", tools::chrome_driver()?)
        .env("PATH", tools::path_with_wasm_tools()?))
}
