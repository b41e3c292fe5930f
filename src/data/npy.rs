//! NumPy's .npy: a Python dictionary as header, then the array.

use super::{
    Builder, Dataset, Options, Shape,
    bytes::{Bytes, wrong_magic},
};
use crate::error::{Error, Result};

pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

pub(super) fn import(name: &str, bytes: &[u8], options: &Options) -> Result<Dataset> {
    let mut file = Bytes(bytes);
    if file.take(MAGIC.len())? != MAGIC {
        return Err(wrong_magic("a .npy file"));
    }
    let version = file.take(2)?[0];
    let length = if version == 1 { file.u16_le()?.into() } else { file.u32_le()? as usize };
    let header = str::from_utf8(file.take(length)?).map_err(|_| bad_header())?;
    let kind = Kind::parse(value_of(header, "'descr':")?)?;
    let fortran = value_of(header, "'fortran_order':")?.starts_with("True");
    let axes = axes(value_of(header, "'shape':")?)?;
    let data = file.rest(&[axes.as_slice(), &[kind.size()]].concat())?;
    let layout = Layout::new(&axes, fortran)?;

    let mut builder = Builder::new(name, options);
    let (low, high) = match kind {
        Kind::Bool => (0.0, 1.0),
        Kind::U8 => (0.0, 255.0),
        _ => {
            let (low, high, note) = range(kind, data, &layout)?;
            builder.note(note);
            (low, high)
        }
    };
    let scale = 2.0 / (f64::from(high) - f64::from(low));
    for i in builder.choose(layout.count) {
        builder.push(layout.shape, &mut |y, row| {
            for (x, pixel) in row.chunks_exact_mut(layout.shape.channels).enumerate() {
                for (channel, out) in pixel.iter_mut().enumerate() {
                    let value = kind.value(data, layout.position([i, y, x, channel]));
                    *out = ((f64::from(value) - f64::from(low)) * scale - 1.0) as f32;
                }
            }
        })?;
    }
    builder.finish()
}

/// Type of the values, and whether those of several bytes are big-endian.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Bool,
    U8,
    I8,
    U16 { big_endian: bool },
    I16 { big_endian: bool },
    F16 { big_endian: bool },
    F32 { big_endian: bool },
    F64 { big_endian: bool },
}

impl Kind {
    fn parse(value: &str) -> Result<Self> {
        let name = value.strip_prefix('\'').and_then(|value| value.split('\'').next());
        let name = name.unwrap_or("a structure");
        let big_endian = name.starts_with('>');
        match name.trim_start_matches(['|', '<', '>', '=']) {
            "b1" => Ok(Self::Bool),
            "u1" => Ok(Self::U8),
            "i1" => Ok(Self::I8),
            "u2" => Ok(Self::U16 { big_endian }),
            "i2" => Ok(Self::I16 { big_endian }),
            "f2" => Ok(Self::F16 { big_endian }),
            "f4" => Ok(Self::F32 { big_endian }),
            "f8" => Ok(Self::F64 { big_endian }),
            _ => Err(Error::bad_input(
                format!(
                    "The array's values are {name}; bool, integers of 8 or 16 bits and floats are read"
                ),
                "Save it with .astype('uint8') or .astype('float32')",
            )),
        }
    }

    const fn size(self) -> usize {
        match self {
            Self::Bool | Self::U8 | Self::I8 => 1,
            Self::U16 { .. } | Self::I16 { .. } | Self::F16 { .. } => 2,
            Self::F32 { .. } => 4,
            Self::F64 { .. } => 8,
        }
    }

    /// Reads value number `position`, which lies inside the array, whose size was checked.
    fn value(self, data: &[u8], position: usize) -> f32 {
        /// Reads the next bytes in little-endian order.
        fn word<const N: usize>(bytes: &[u8], big_endian: bool) -> [u8; N] {
            let mut word = bytes.first_chunk().copied().unwrap_or([0; N]);
            if big_endian {
                word.reverse();
            }
            word
        }
        let bytes = &data[position * self.size()..];
        match self {
            // NumPy treats any byte but 0 as true.
            Self::Bool => f32::from(u8::from(bytes[0] != 0)),
            Self::U8 => bytes[0].into(),
            Self::I8 => (bytes[0] as i8).into(),
            Self::U16 { big_endian } => u16::from_le_bytes(word(bytes, big_endian)).into(),
            Self::I16 { big_endian } => i16::from_le_bytes(word(bytes, big_endian)).into(),
            Self::F16 { big_endian } => half(u16::from_le_bytes(word(bytes, big_endian))),
            Self::F32 { big_endian } => f32::from_le_bytes(word(bytes, big_endian)),
            Self::F64 { big_endian } => f64::from_le_bytes(word(bytes, big_endian)) as f32,
        }
    }
}

/// Converts a 16-bit float: sign, 5 bits of exponent, 10 bits of fraction.
fn half(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let rest = u32::from(bits & 0x7fff);
    let magnitude = if rest >= 0x7c00 {
        // Infinity or NaN.
        f32::from_bits(0x7f80_0000 | (rest & 0x3ff) << 13)
    } else {
        // Read as the bits of an `f32`, its exponent is 112 too small, even if the number is subnormal.
        f32::from_bits(rest << 13) * f32::from_bits((127 + 112) << 23)
    };
    f32::from_bits(magnitude.to_bits() | sign)
}

/// The position of a value by image, row, column and channel.
struct Layout {
    count: usize,
    shape: Shape,
    strides: [usize; 4],
}

impl Layout {
    /// Creates the layout of an N×H×W, N×H×W×C or N×C×H×W array.
    fn new(axes: &[usize], fortran: bool) -> Result<Self> {
        let mut strides = vec![1; axes.len()];
        for i in 1..axes.len() {
            // The fastest axis is the first one in Fortran order, and otherwise the last.
            let (inner, outer) =
                if fortran { (i - 1, i) } else { (axes.len() - i, axes.len() - 1 - i) };
            strides[outer] = strides[inner] * axes[inner];
        }
        let [n, y, x, c] = match *axes {
            [_, _, _] => [0, 1, 2, 3],
            [_, _, _, 1 | 3 | 4] => [0, 1, 2, 3],
            [_, 1 | 3 | 4, _, _] => [0, 2, 3, 1],
            _ => {
                return Err(Error::bad_input(
                    "The array's shape is not that of a set of images",
                    "Save it as number × height × width, with 1, 3 or 4 channels last if any",
                ));
            }
        };
        let channels = axes.get(c).copied().unwrap_or(1);
        Ok(Self {
            count: axes[n],
            shape: Shape { height: axes[y], width: axes[x], channels },
            strides: [strides[n], strides[y], strides[x], strides.get(c).copied().unwrap_or(0)],
        })
    }

    fn position(&self, index: [usize; 4]) -> usize {
        index.iter().zip(self.strides).map(|(i, stride)| i * stride).sum()
    }
}

/// The assumed range of the values, and a sentence that states it.
fn range(kind: Kind, data: &[u8], layout: &Layout) -> Result<(f32, f32, &'static str)> {
    let (mut least, mut most) = (f32::INFINITY, f32::NEG_INFINITY);
    for position in 0..data.len() / kind.size() {
        let value = kind.value(data, position);
        if !value.is_finite() {
            let image = position / layout.strides[0] % layout.count.max(1);
            return Err(Error::bad_input(
                format!("Image {image} holds a value that is not a finite number"),
                "Replace such values, for example with numpy.nan_to_num",
            ));
        }
        (least, most) = (least.min(value), most.max(value));
    }
    Ok(if least >= 0.0 && most <= 1.0 {
        (0.0, 1.0, "Values were taken to run from 0 to 1.")
    } else if least >= -1.0 && most <= 1.0 {
        (-1.0, 1.0, "Values were taken to run from -1 to 1.")
    } else if least >= 0.0 && most <= 255.0 {
        (0.0, 255.0, "Values were taken to run from 0 to 255.")
    } else if matches!(kind, Kind::U16 { .. }) {
        (0.0, 65535.0, "Values were taken to run from 0 to 65535.")
    } else if least < most {
        (least, most, "The least value was taken for black and the largest for white.")
    } else {
        return Err(Error::bad_input("All values are the same", "Choose another file"));
    })
}

/// The text after `key` in the dictionary.
fn value_of<'a>(header: &'a str, key: &str) -> Result<&'a str> {
    let at = header.as_bytes().windows(key.len()).position(|part| part == key.as_bytes());
    let value = at.and_then(|at| header.get(at + key.len()..)).ok_or_else(bad_header)?;
    Ok(value.trim_start())
}

/// Reads a tuple such as `(100, 28, 28)`.
fn axes(value: &str) -> Result<Vec<usize>> {
    let inside = value.strip_prefix('(').and_then(|value| value.split(')').next());
    inside
        .ok_or_else(bad_header)?
        .split(',')
        .map(str::trim)
        .filter(|number| !number.is_empty())
        .map(|number| number.parse().map_err(|_| bad_header()))
        .collect()
}

fn bad_header() -> Error {
    Error::bad_input("The .npy header cannot be read", "Save the array again with numpy.save")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves() {
        let cases = [
            (0x0000, 0.0),
            (0x8000, -0.0),
            (0x0001, 5.960_464_5e-8),
            (0x03ff, 6.097_555e-5),
            (0x0400, 6.103_515_6e-5),
            (0x3555, 0.333_251_95),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x7c00, f32::INFINITY),
            (0xfc00, f32::NEG_INFINITY),
        ];
        for (bits, value) in cases {
            assert_eq!(half(bits).to_bits(), f32::to_bits(value), "{bits:04x}");
        }
        assert!(half(0x7e00).is_nan());
    }
}
