//! Pictures of the page: those of the README, and every section in both themes and two widths.

use std::fs;

use anyhow::Result;

use crate::{
    process::{command, root, run, target_dir},
    serve::Server,
    site,
    tools::{self, Package},
};

/// Builds the site and takes its pictures.
pub(crate) fn screenshots() -> Result<()> {
    tools::require(&[Package::Chromium, Package::Fonts])?;
    site::build()?;
    let (docs, sections) = (root().join("docs"), target_dir()?.join("screenshots"));
    for folder in [&docs, &sections] {
        fs::create_dir_all(folder)?;
    }
    let server = Server::start("/")?;
    let mut node = command("node", ["tests/e2e/screenshots.mjs"]);
    run(node
        .env("SITE_URL", &server.url)
        .env("CHROMIUM", tools::chromium()?)
        .env("DOCS", &docs)
        .env("SECTIONS", &sections))?;
    println!(
        "Wrote the README's pictures to {} and all sections to {}",
        docs.display(),
        sections.display()
    );
    Ok(())
}
