//! Where the images come from, and what they look like.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use clap::Args;
use hidden_gaussian::data::faces::faces;
use hidden_gaussian::data::{Dataset, Options, Split, import};
use hidden_gaussian::experiment::Preset;
use hidden_gaussian::{Error, Result};
use serde_json::json;

use super::{Data, file_error, json};

/// Images that are kept apart from training.
const HELD_OUT: usize = 500;

/// Where the shipped sets lie, in the repository.
const SHIPPED: &str = "www/public/data";

/// A set of images and how it is shuffled.
#[derive(Debug, Args)]
pub(super) struct Source {
    /// faces, patches, fashion, mnist, or a file: IDX, CIFAR-10, .npy, or one of them in a zip or gzip
    #[arg(long, value_name = "SET", default_value = "faces")]
    data: String,
    /// Where all random numbers come from
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
}

impl Source {
    /// The set, with at least `train` training images beside the held-out ones if it can be drawn.
    pub(super) fn dataset(&self, preset: Preset, train: usize) -> Result<Dataset> {
        let side = preset.side();
        let (path, side) = match self.data.as_str() {
            "faces" => return faces(self.seed, (train + HELD_OUT) as u32, side),
            "patches" => (self.shipped()?, side),
            // Half of their 28 pixels, where the network allows it.
            "fashion" | "mnist" => {
                (self.shipped()?, if preset == Preset::Faithful { side } else { 14 })
            }
            file => (PathBuf::from(file), side),
        };
        let bytes = fs::read(&path).map_err(|error| file_error(&path, &error))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        import(&name, &bytes, &Options { size: Some(side), ..Options::default() })
    }

    /// The set, shuffled and split.
    pub(super) fn split(&self, set: &Dataset) -> Result<Split> {
        set.split(self.seed, HELD_OUT.min(set.len() / 4))
    }

    fn shipped(&self) -> Result<PathBuf> {
        let path = Path::new(SHIPPED).join(format!("{}.bin", self.data));
        if path.exists() {
            return Ok(path);
        }
        Err(Error::bad_input(
            format!("{} is not there", path.display()),
            "In the repository, run `cargo xtask build` first: it packs the sets",
        ))
    }
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
        write_sheet(&set, path)?;
    }
    Ok(true)
}

/// The first images side by side.
fn write_sheet(set: &Dataset, path: &Path) -> Result<()> {
    let (shape, [columns, rows]) = (set.shape(), SHEET);
    let width = columns * shape.width * shape.channels;
    let mut pixels = vec![128_u8; width * rows * shape.height];
    for i in 0..set.len().min(columns * rows) {
        let line = shape.width * shape.channels;
        for (y, values) in set.image(i).chunks_exact(line).enumerate() {
            let at = (i / columns * shape.height + y) * width + i % columns * line;
            for (pixel, value) in pixels[at..at + line].iter_mut().zip(values) {
                *pixel = (value * 127.5 + 128.0) as u8;
            }
        }
    }
    let file = File::create(path).map_err(|error| file_error(path, &error))?;
    let size = [columns * shape.width, rows * shape.height].map(|side| side as u32);
    let mut encoder = png::Encoder::new(BufWriter::new(file), size[0], size[1]);
    let colour = if shape.channels == 3 { png::ColorType::Rgb } else { png::ColorType::Grayscale };
    encoder.set_color(colour);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(&pixels)?;
        writer.finish()
    });
    written.map_err(|error| file_error(path, &error))
}
