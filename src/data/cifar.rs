//! CIFAR-10 binary batches: records of a label and three 32×32 planes, red, green, blue.

use super::cifar10::{CLASSES, PLANE, RECORD, SIDE};
use super::{Builder, Dataset, Labels, Options, Shape, bytes::wrong_magic};
use crate::error::{Error, Result};

/// Whether this could be a batch: the format has no magic number, but labels are 0 to 9.
pub(super) fn looks_like(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.chunks(RECORD).all(|record| record[0] <= 9)
}

pub(super) fn import(name: &str, bytes: &[u8], options: &Options) -> Result<Dataset> {
    if !looks_like(bytes) {
        return Err(wrong_magic("a CIFAR-10 batch"));
    }
    let (records, rest) = bytes.as_chunks::<RECORD>();
    if !rest.is_empty() {
        return Err(Error::bad_input(
            format!(
                "The CIFAR-10 file ends early: its last record has {} bytes of {RECORD}",
                rest.len()
            ),
            "Download or unpack it again",
        ));
    }
    let shape = Shape { height: SIDE, width: SIDE, channels: 3 };
    let mut builder = Builder::new(name, options);
    let chosen: Vec<usize> = builder.choose(records.len()).collect();
    for &i in &chosen {
        let (red, rest) = records[i][1..].split_at(PLANE);
        let (green, blue) = rest.split_at(PLANE);
        builder.push(shape, &mut |y, row| {
            let [red, green, blue] = [red, green, blue].map(|plane| &plane[y * SIDE..][..SIDE]);
            let pixels = red.iter().zip(green).zip(blue);
            for (out, ((&r, &g), &b)) in row.as_chunks_mut().0.iter_mut().zip(pixels) {
                *out = [r, g, b].map(|byte| f32::from(byte) / 127.5 - 1.0);
            }
        })?;
    }
    let names = CLASSES.map(String::from).to_vec();
    let classes = chosen.iter().map(|&i| records[i][0]).collect();
    builder.finish()?.with_labels(Labels::new(names, classes)?)
}
