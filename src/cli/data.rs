//! Where the images come from, and what they look like.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use hidden_gaussian::data::faces::faces;
use hidden_gaussian::data::{Dataset, Options, Recipe, Split, import};
use hidden_gaussian::experiment::Preset;
use hidden_gaussian::{Error, Result};
use serde_json::json;

use super::pictures::write_sheet;
use super::{Data, json};

/// Images that are kept apart from training.
const HELD_OUT: usize = 500;

/// The set that is drawn, not read.
const FACES: &str = "faces";

/// Where the shipped sets lie, in the repository.
const SHIPPED: &str = "www/public/data";

/// A set of images and how it is shuffled.
#[derive(Debug, Args)]
pub(super) struct Source {
    /// faces, patches, fashion, mnist, or a file: IDX, CIFAR-10, .npy, or one of them in a zip or gzip
    /// [default: faces]
    #[arg(long, value_name = "SET", verbatim_doc_comment)]
    data: Option<String>,
    /// Where all random numbers come from
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
}

impl Source {
    /// The set `data`, drawn and shuffled by `seed`.
    pub(super) fn new(data: &str, seed: u64) -> Self {
        Self { data: Some(data.into()), seed }
    }

    /// The name of the set, if the reader gave one.
    pub(super) fn named(&self) -> Option<&str> {
        self.data.as_deref()
    }

    /// The set, with at least `train` training images beside the held-out ones if it can be drawn.
    pub(super) fn dataset(&self, preset: Preset, train: usize) -> Result<Dataset> {
        let name = self.named().unwrap_or(FACES);
        let side = match name {
            // Half of their 28 pixels, where the network allows it.
            "fashion" | "mnist" if preset != Preset::Faithful => 14,
            _ => preset.side(),
        };
        load(name, side, self.seed, train.saturating_add(HELD_OUT))
    }

    /// The set, shuffled and split.
    pub(super) fn split(&self, set: &Dataset) -> Result<Split> {
        set.split(self.seed, set.hold_out(4, HELD_OUT))
    }
}

/// The same images again, from `path` if they came from a file that has moved.
pub(super) fn again(recipe: &Recipe, path: Option<&str>) -> Result<Split> {
    let Recipe { set, size, seed, count, held_out } = recipe;
    load(path.unwrap_or(set), *size, *seed, *count)?.split(*seed, *held_out)
}

/// The set `name`: as many as `count` images if it can be drawn, all that there are if it is read.
fn load(name: &str, side: usize, seed: u64, count: usize) -> Result<Dataset> {
    if name == FACES {
        // A number beyond this is refused like all that are too large.
        return faces(seed, u32::try_from(count).unwrap_or(u32::MAX), side);
    }
    let path = match name {
        "patches" | "fashion" | "mnist" => Path::new(SHIPPED).join(format!("{name}.bin")),
        file => PathBuf::from(file),
    };
    let bytes = fs::read(&path).map_err(|error| {
        let hint = if path.starts_with(SHIPPED) {
            "In the repository, run `cargo xtask build` first: it packs the sets"
        } else {
            "Name a set (faces, patches, fashion, mnist) or a file"
        };
        Error::bad_input(format!("{}: {error}", path.display()), hint)
    })?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    import(&name, &bytes, &Options { size: Some(side), ..Options::default() })
}

/// Images in a row of a sheet, and rows.
const SHEET: [usize; 2] = [24, 12];

pub(super) fn command(args: &Data) -> Result<bool> {
    let set = args.source.dataset(args.preset.into(), 1000)?;
    let shape = set.shape();
    if args.json {
        println!("{}", json(&json!({"about": set.about, "images": set.len(), "shape": shape}))?);
    } else {
        let about = &set.about;
        println!("{}: {} images of {} × {}", about.name, set.len(), shape.width, shape.height);
        for line in [&about.source, &about.licence, &about.note] {
            if !line.is_empty() {
                println!("{line}");
            }
        }
    }
    if let Some(path) = &args.sheet {
        let [columns, rows] = SHEET;
        let count = set.len().min(columns * rows);
        write_sheet(path, shape, &[&set.images()[..count * shape.dim()]], columns)?;
    }
    Ok(true)
}
