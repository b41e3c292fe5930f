//! Makes the JavaScript side of a compiled wasm file: `bindgen INPUT.wasm OUTPUT_FOLDER`.

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let mut args = std::env::args_os().skip(1);
    let input = args.next().context("the first argument is the wasm file to read")?;
    let output = args.next().context("the second argument is the folder to write")?;
    Bindgen::new().input_path(input).web(true)?.typescript(true).generate(output)
}
