//! The library as an npm package.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::{
    process::{npm, npm_script, root, run, target_dir, www},
    site,
};

const NAME: &str = "hidden-gaussian";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Files beside the JavaScript in the package.
const TEXTS: [&str; 3] = ["README.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Builds the package.
pub(crate) fn pack() -> Result<()> {
    site::build()?;
    println!("{}", tarball()?.display());
    Ok(())
}

/// Makes the tarball of the libraries that were built for the page: `hidden-gaussian` is all of it,
/// `hidden-gaussian/exact` the one without training, `hidden-gaussian/eigen` is for large images, and
/// `hidden-gaussian/pictures` decodes files.
pub(crate) fn tarball() -> Result<PathBuf> {
    let folder = target_dir()?.join("npm");
    let package = folder.join("package");
    fs::remove_dir_all(&folder).ok();
    for part in ["", "exact", "eigen", "pictures"] {
        copy_files(&www().join("pkg").join(part), &package.join(part))?;
    }
    for text in TEXTS {
        fs::copy(root().join(text), package.join(text))?;
    }
    fs::write(package.join("package.json"), manifest())?;
    let flags = ["pack", "--silent", "--pack-destination"];
    run(npm(flags).arg(&folder).current_dir(&package))?;
    let tarball = folder.join(format!("{NAME}-{VERSION}.tgz"));
    ensure!(tarball.exists(), "npm made no {}", tarball.display());
    Ok(tarball)
}

fn manifest() -> String {
    format!(
        r#"{{
  "name": "{NAME}",
  "version": "{VERSION}",
  "description": "Train tiny diffusion denoisers on WebGPU, beside the exact ones",
  "license": "MIT OR Apache-2.0",
  "type": "module",
  "sideEffects": false,
  "types": "./hidden_gaussian.d.ts",
  "exports": {{
    ".": {{ "types": "./hidden_gaussian.d.ts", "default": "./hidden_gaussian.js" }},
    "./exact": {{ "types": "./exact/hidden_gaussian.d.ts", "default": "./exact/hidden_gaussian.js" }},
    "./eigen": {{ "types": "./eigen/hidden_gaussian_eigen.d.ts", "default": "./eigen/hidden_gaussian_eigen.js" }},
    "./pictures": {{ "types": "./pictures/hidden_gaussian_pictures.d.ts", "default": "./pictures/hidden_gaussian_pictures.js" }},
    "./*.wasm": "./*.wasm"
  }}
}}
"#
    )
}

/// Copies the files in `from` that are not hidden, without folders.
fn copy_files(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    let entries = fs::read_dir(from)
        .with_context(|| format!("the folder {} cannot be read", from.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_file() && !name.to_string_lossy().starts_with('.') {
            fs::copy(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}

/// Commands that install `tarball` in a project of its own and type-check the README's example there.
pub(crate) fn check(tarball: &Path) -> Result<[Command; 2]> {
    const TSCONFIG: &str = r#"{
  "compilerOptions": {
    "allowJs": true, "checkJs": true, "noEmit": true, "strict": true,
    "target": "es2022", "module": "nodenext", "lib": ["es2023", "esnext.disposable", "dom"], "types": []
  },
  "files": ["example.js"]
}"#;
    let project = tarball.with_file_name("project");
    fs::create_dir_all(&project)?;
    let example = fs::read_to_string(root().join("tests/api/example.js"))?;
    let example = example.replace("./pkg/hidden_gaussian.js", NAME);
    fs::write(project.join("example.js"), example)?;
    fs::write(project.join("package.json"), r#"{ "private": true, "type": "module" }"#)?;
    fs::write(project.join("tsconfig.json"), TSCONFIG)?;

    let mut install = npm(["install", "--silent", "--offline", "--no-audit", "--no-fund"]);
    install.arg(tarball).current_dir(&project);
    let mut types = npm_script("typescript/bin/tsc", &["--project", "."]);
    types.current_dir(&project);
    Ok([install, types])
}
