//! Pictures of recorded runs: image files beside the report, which the page fetches when it draws them.
//!
//! The report has `file#first,count` in place of the images. Pictures of photographs are JPEG, for viewing
//! only; no numbers come from them. Small grey images are PNG, which is lossless and smaller.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use hidden_gaussian::data::Shape;
use hidden_gaussian::experiment::images::Images;
use hidden_gaussian::{Error, Result, serial};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder, ImageResult};
use serde_json::{Map, Value, json};

use super::super::file_error;

/// Images per row of a sheet.
const COLUMNS: usize = 8;

/// Quality of JPEG, from 1 to 100.
const QUALITY: u8 = 90;

/// Image files by name, which begins with the name of the run.
pub(super) type Sheets = BTreeMap<String, Vec<u8>>;

/// Moves the images of a report into sheets. Images that are drawn together share a sheet: the samples of a
/// training set, its paths, its filters.
pub(super) fn take(report: &mut Value, name: &str) -> Result<Sheets> {
    let shape: Shape = serial::read(report["shape"].clone())?;
    let mut drawer = Drawer { name, shape, sheets: BTreeMap::new() };
    match &mut report["findings"] {
        Value::Array(points) => drawer.points("", points)?,
        Value::Object(lists) => {
            for (list, points) in lists {
                if let Value::Array(points) = points {
                    drawer.points(&format!("{list}-"), points)?;
                }
            }
        }
        _ => {}
    }
    let encoded = drawer.sheets.into_iter().map(|(file, images)| {
        let bytes = encode(shape, &images).map_err(|error| Error::internal(error.to_string()))?;
        Ok((file, bytes))
    });
    let sheets = encoded.collect::<Result<Sheets>>()?;
    report["sheets"] = json!(sheets.keys().collect::<Vec<_>>());
    Ok(sheets)
}

/// Removes the sheets of a run.
pub(super) fn remove(folder: &Path, name: &str) -> Result<()> {
    match fs::remove_dir_all(folder.join(name)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(file_error(folder, &error)),
        _ => Ok(()),
    }
}

/// Writes sheets of a run, and leaves the others of this run as they are.
pub(super) fn write(folder: &Path, name: &str, sheets: &Sheets) -> Result<()> {
    let own = folder.join(name);
    for (file, bytes) in sheets {
        let path = folder.join(file);
        fs::create_dir_all(&own).map_err(|error| file_error(&own, &error))?;
        fs::write(&path, bytes).map_err(|error| file_error(&path, &error))?;
    }
    Ok(())
}

/// Total size of the sheets of a recorded report.
pub(super) fn bytes(folder: &Path, report: &Value) -> u64 {
    let files = report["sheets"].as_array().into_iter().flatten().filter_map(Value::as_str);
    files.filter_map(|file| Some(fs::metadata(folder.join(file)).ok()?.len())).sum()
}

/// Takes images out of a report.
struct Drawer<'a> {
    name: &'a str,
    shape: Shape,
    /// The images of each sheet, one after the other.
    sheets: BTreeMap<String, Vec<u8>>,
}

impl Drawer<'_> {
    fn points(&mut self, list: &str, points: &mut [Value]) -> Result<()> {
        for point in points {
            // Networks of one width and training set are steps of one slider.
            let width = match &point["architecture"]["width"] {
                width if !list.is_empty() => format!("-width{width}"),
                _ => String::new(),
            };
            let stem = format!("{list}n{}{width}", point["n"]);
            for (field, value) in point.as_object_mut().into_iter().flatten() {
                let part = match field.as_str() {
                    "denoisers" | "networks" | "theories" | "nearest" => "samples",
                    "axes" | "filters" => "filters",
                    other => other,
                };
                self.take(value, field, &format!("{stem}-{part}"))?;
            }
        }
        Ok(())
    }

    /// Takes the images under `value`, whose name is `field`.
    fn take(&mut self, value: &mut Value, field: &str, sheet: &str) -> Result<()> {
        match value {
            Value::String(text) if !text.is_empty() && holds_images(field) => {
                let images: Images = serial::read(Value::String(text.clone()))?;
                *text = self.place(sheet, images.bytes());
                Ok(())
            }
            Value::Array(list) => list.iter_mut().try_for_each(|v| self.take(v, field, sheet)),
            Value::Object(map) => self.take_from(map, field, sheet),
            _ => Ok(()),
        }
    }

    fn take_from(&mut self, map: &mut Map<String, Value>, field: &str, sheet: &str) -> Result<()> {
        for (name, value) in map {
            // The rows of filters are keyed by denoiser.
            let field = if field == "rows" { field } else { name };
            self.take(value, field, sheet)?;
        }
        Ok(())
    }

    /// Adds images to a sheet, unless it has them already: the samples of an exact denoiser do not
    /// change while a network learns.
    fn place(&mut self, sheet: &str, images: &[u8]) -> String {
        let ending = if self.shape.channels == 1 { "png" } else { "jpg" };
        let file = format!("{}/{sheet}.{ending}", self.name);
        let dim = self.shape.dim();
        let there = self.sheets.entry(file.clone()).or_default();
        let known = (0..there.len() / dim).find(|i| there[i * dim..].starts_with(images));
        let first = known.unwrap_or_else(|| {
            there.extend_from_slice(images);
            (there.len() - images.len()) / dim
        });
        format!("{file}#{first},{}", images.len() / dim)
    }
}

/// Whether strings in `field` are images.
fn holds_images(field: &str) -> bool {
    ["samples", "nearest", "denoised", "axes", "rows"].contains(&field)
}

/// Encodes images, one after the other, row by row, as an image file.
fn encode(shape: Shape, images: &[u8]) -> ImageResult<Vec<u8>> {
    let Shape { height, width, channels } = shape;
    let count = images.len() / shape.dim();
    let columns = count.min(COLUMNS);
    let mut pixels = vec![0; columns * count.div_ceil(columns.max(1)) * shape.dim()];
    for (i, image) in images.chunks_exact(shape.dim()).enumerate() {
        for (y, row) in image.chunks_exact(width * channels).enumerate() {
            let line = (i / columns * height + y) * columns + i % columns;
            pixels[line * row.len()..][..row.len()].copy_from_slice(row);
        }
    }
    let rows = count.div_ceil(columns.max(1));
    let (wide, high) = ((columns * width) as u32, (rows * height) as u32);
    let mut bytes = Vec::new();
    if channels == 1 {
        let encoder =
            PngEncoder::new_with_quality(&mut bytes, CompressionType::Best, FilterType::Adaptive);
        encoder.write_image(&pixels, wide, high, ExtendedColorType::L8)?;
    } else {
        let encoder = JpegEncoder::new_with_quality(&mut bytes, QUALITY);
        encoder.write_image(&pixels, wide, high, ExtendedColorType::Rgb8)?;
    }
    Ok(bytes)
}
