//! IDX, the format of MNIST and its relatives: big-endian header, then bytes.

use super::{
    Builder, Dataset, Options, Shape,
    builder::from_bytes,
    bytes::{Bytes, wrong_magic},
};
use crate::error::{Error, Result};

pub(super) fn import(name: &str, bytes: &[u8], options: &Options) -> Result<Dataset> {
    const UNSIGNED_BYTE: u8 = 8;
    let mut file = Bytes(bytes);
    let &[0, 0, kind, dimensions] = file.take(4)? else { return Err(wrong_magic("an IDX file")) };
    if kind != UNSIGNED_BYTE {
        return Err(Error::bad_input(
            format!("The IDX file holds values of type {kind}; only bytes (type 8) are read"),
            "Convert it to bytes, or to .npy",
        ));
    }
    let mut dimension = || file.u32_be().map(|n| n as usize);
    let (count, shape) = match dimensions {
        1 => {
            return Err(Error::bad_input(
                "The IDX file holds labels, not images",
                "Choose the file with \"images\" in its name",
            ));
        }
        3 => {
            let (count, height, width) = (dimension()?, dimension()?, dimension()?);
            (count, Shape { height, width, channels: 1 })
        }
        _ => {
            return Err(Error::bad_input(
                format!("The IDX file has {dimensions} dimensions; images have 3"),
                "Choose a file of number × height × width",
            ));
        }
    };
    let pixels = file.rest(&[count, shape.height, shape.width])?;
    let mut builder = Builder::new(name, options);
    for i in builder.choose(count) {
        builder.push(shape, &mut |y, row| {
            from_bytes(&pixels[(i * shape.height + y) * shape.width..], row);
        })?;
    }
    builder.finish()
}
