//! Writes images as files.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use hidden_gaussian::Result;
use hidden_gaussian::data::Shape;

use super::file_error;

/// Writes images of pixels in [-1, 1] side by side as PNG, with `columns` per row; each group begins on
/// a new row.
pub(super) fn write_sheet(
    path: &Path,
    shape: Shape,
    groups: &[&[f32]],
    columns: usize,
) -> Result<()> {
    let dim = shape.dim();
    let line = shape.width * shape.channels;
    let width = columns * line;
    let mut pixels: Vec<u8> = Vec::new();
    for group in groups {
        for row in group.chunks(columns * dim) {
            let top = pixels.len();
            pixels.resize(top + shape.height * width, 128);
            for (i, image) in row.chunks_exact(dim).enumerate() {
                for (y, values) in image.chunks_exact(line).enumerate() {
                    let at = top + y * width + i * line;
                    // The cast truncates towards zero and saturates.
                    let bytes = values.iter().map(|value| (value * 127.5 + 128.0) as u8);
                    pixels[at..at + line].iter_mut().zip(bytes).for_each(|(p, byte)| *p = byte);
                }
            }
        }
    }
    let file = File::create(path).map_err(|error| file_error(path, &error))?;
    let size = [columns * shape.width, pixels.len() / width].map(|side| side as u32);
    let mut encoder = png::Encoder::new(BufWriter::new(file), size[0], size[1]);
    let colour = if shape.channels == 3 { png::ColorType::Rgb } else { png::ColorType::Grayscale };
    encoder.set_color(colour);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(&pixels)?;
        writer.finish()
    });
    written.map_err(|error| file_error(path, &error))
}

/// Writes images as NumPy's .npy, `float32`: image, row, column, channel.
pub(super) fn write_npy(path: &Path, shape: Shape, images: &[f32]) -> Result<()> {
    let Shape { height, width, channels } = shape;
    let count = images.len() / shape.dim();
    let header = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({count}, {height}, {width}, {channels})}}"
    );
    // Everything before the numbers, 10 bytes and the header with its newline, fills blocks of 64.
    let length = (header.len() + 11).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(format!("{header:<0$}\n", length - 1).bytes());
    bytes.extend(images.iter().flat_map(|value| value.to_le_bytes()));
    fs::write(path, bytes).map_err(|error| file_error(path, &error))
}
