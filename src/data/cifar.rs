//! CIFAR-10 binary batches: records of a label and three 32×32 planes, red, green, blue.

use super::{Builder, Dataset, Options, Shape, bytes::wrong_magic};
use crate::error::{Error, Result};

const SIDE: usize = 32;
const PLANE: usize = SIDE * SIDE;
pub(super) const RECORD: usize = 1 + 3 * PLANE;

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
    for i in builder.choose(records.len()) {
        let planes = &records[i][1..];
        builder.push(shape, &mut |y, row| {
            for (x, pixel) in row.chunks_exact_mut(3).enumerate() {
                for (channel, value) in pixel.iter_mut().enumerate() {
                    *value = f32::from(planes[channel * PLANE + y * SIDE + x]) / 127.5 - 1.0;
                }
            }
        })?;
    }
    builder.finish()
}
