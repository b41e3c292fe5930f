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

/// Type of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    U8,
    F32 { big_endian: bool },
    F64 { big_endian: bool },
}

impl Kind {
    fn parse(value: &str) -> Result<Self> {
        let name = value.strip_prefix('\'').and_then(|value| value.split('\'').next());
        match name.unwrap_or("a structure") {
            "|u1" | "<u1" | ">u1" => Ok(Self::U8),
            "<f4" => Ok(Self::F32 { big_endian: false }),
            ">f4" => Ok(Self::F32 { big_endian: true }),
            "<f8" => Ok(Self::F64 { big_endian: false }),
            ">f8" => Ok(Self::F64 { big_endian: true }),
            other => Err(Error::bad_input(
                format!("The array's values are {other}; u1, f4 and f8 are read"),
                "Save it with .astype('uint8') or .astype('float32')",
            )),
        }
    }

    const fn size(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::F32 { .. } => 4,
            Self::F64 { .. } => 8,
        }
    }

    /// Value number `position`; positions are inside the array, whose size was checked.
    fn value(self, data: &[u8], position: usize) -> f32 {
        let bytes = &data[position * self.size()..];
        match (self, bytes) {
            (Self::F32 { big_endian }, &[a, b, c, d, ..]) => {
                let bytes = [a, b, c, d];
                if big_endian { f32::from_be_bytes(bytes) } else { f32::from_le_bytes(bytes) }
            }
            (Self::F64 { big_endian }, &[a, b, c, d, e, f, g, h, ..]) => {
                let bytes = [a, b, c, d, e, f, g, h];
                let wide =
                    if big_endian { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) };
                wide as f32
            }
            _ => f32::from(bytes[0]),
        }
    }
}

/// Where the value of an image, row, column and channel lies.
struct Layout {
    count: usize,
    shape: Shape,
    strides: [usize; 4],
}

impl Layout {
    /// N×H×W, N×H×W×C or N×C×H×W.
    fn new(axes: &[usize], fortran: bool) -> Result<Self> {
        let mut strides = vec![1; axes.len()];
        for i in 1..axes.len() {
            // The axis that varies fastest is the first one in Fortran's order, else the last.
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

/// The range that values are taken to have, and a sentence that says so.
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
    } else if least < most {
        (least, most, "The least value was taken for black and the largest for white.")
    } else {
        return Err(Error::bad_input("All values are the same", "Choose another file"));
    })
}

/// What follows `key` in the dictionary.
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
    Error::bad_input("The .npy header can't be understood", "Save the array again with numpy.save")
}
