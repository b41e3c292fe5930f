//! Makes the JavaScript side of a compiled wasm file: `bindgen INPUT.wasm OUTPUT_FOLDER`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let input = args.next().context("the first argument is the wasm file to read")?;
    let output = args.next().context("the second argument is the folder to write")?;
    let mut made =
        Bindgen::new().input_path(&input).web(true)?.typescript(true).generate_output()?;
    // The names of imports are long and end in hashes, which do not compress: they are 2 % of the
    // wasm file, and stand in the script once more.
    let mut short = Vec::new();
    for (index, import) in made.wasm_mut().imports.iter_mut().enumerate() {
        let name = format!("i{index}");
        short.push((std::mem::replace(&mut import.name, name.clone()), name));
    }
    made.emit(&output)?;
    let script = output.join(input.file_stem().context("a file without a name")?);
    let script = script.with_extension("js");
    let mut text = fs::read_to_string(&script)?;
    for (name, short) in short {
        let (key, short) = (format!(" {name}: "), format!(" {short}: "));
        ensure!(text.matches(&key).count() == 1, "{name} does not stand in the script once");
        text = text.replace(&key, &short);
    }
    Ok(fs::write(script, text)?)
}
