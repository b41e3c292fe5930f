//! The layers of the crate: a module uses only modules below it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

/// From bottom to top. Modules in one row may use each other.
const LAYERS: &[&[&str]] = &[
    &["error", "serial", "shape", "platform"],
    &["rng"],
    &["compute"],
    &["kernels"],
    &["model"],
    &["data"],
    &["denoiser"],
    &["sampler", "metrics"],
    &["train"],
    &["experiment", "self_check"],
    &["web"],
];

fn layer(module: &str) -> usize {
    let found = LAYERS.iter().position(|layer| layer.contains(&module));
    found.unwrap_or_else(|| panic!("{module} is in no layer"))
}

fn files(folder: &Path, list: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, list);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            list.push(path);
        }
    }
}

/// The modules of the crate that a file names, in `use` lines and in paths.
fn used(text: &str) -> Vec<String> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = code.collect::<Vec<_>>().join("\n");
    let mut modules = Vec::new();
    for rest in code.split("crate::").skip(1) {
        let list = match rest.strip_prefix('{') {
            // `use crate::{a::…, b::…}`: names before the first `::` at depth 1.
            Some(list) => {
                let (mut depth, mut names, mut name) = (1, Vec::new(), String::new());
                for c in list.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        ',' if depth == 1 => names.push(std::mem::take(&mut name)),
                        c if depth == 1 => name.push(c),
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                }
                names.push(name);
                names
            }
            None => vec![rest.to_owned()],
        };
        for path in list {
            let name: String =
                path.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if name.chars().next().is_some_and(char::is_lowercase) {
                modules.push(name);
            }
        }
    }
    modules
}

#[test]
fn modules_use_only_what_is_below_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut list = Vec::new();
    files(&root, &mut list);
    let mut problems = Vec::new();
    for path in list {
        let relative = path.strip_prefix(&root).unwrap();
        let first = relative.components().next().unwrap().as_os_str().to_str().unwrap();
        let module = first.trim_end_matches(".rs");
        // The command line is another crate.
        if ["lib", "main", "cli"].contains(&module) {
            continue;
        }
        for other in used(&fs::read_to_string(&path).unwrap()) {
            if other != module && layer(&other) > layer(module) {
                problems.push(format!("{} uses {other}", relative.display()));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Only these files depend on the target they are compiled for.
#[test]
fn the_target_is_asked_for_in_one_place() {
    let allowed = [
        "platform.rs",
        // Waiting for a GPU differs between a browser and a native driver.
        "compute/faults.rs",
        "compute/gpu.rs",
        "compute/readback.rs",
        // Natively, members and rows are divided among threads.
        "compute/cpu.rs",
        "compute/mod.rs",
        "kernels/mod.rs",
        // Decompositions use several threads natively, and less memory in a page.
        "denoiser/eigen.rs",
        "denoiser/gaussian.rs",
        "denoiser/linear.rs",
        // Files, folders and downloads are for native programs; a page passes bytes.
        "data/mod.rs",
        "data/builder.rs",
        "data/cifar10/mod.rs",
        // Some experiments take too long for a page.
        "experiment/any.rs",
        "lib.rs",
        "main.rs",
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut list = Vec::new();
    files(&root, &mut list);
    for path in list {
        let relative = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        let text = fs::read_to_string(&path).unwrap();
        let code = text.lines().filter(|line| !line.contains("cfg(all(test"));
        let asks = code.clone().any(|line| line.contains("target_arch = \"wasm32\""));
        assert!(!asks || allowed.contains(&relative.as_str()), "{relative} asks for the target");
    }
}
