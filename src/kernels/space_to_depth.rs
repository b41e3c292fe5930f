//! Turns each 2×2 pixels into one pixel of four times the channels, and back: half the resolution
//! without any loss.

use super::{Call, FOLD, Fold, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::{Error, Result};
use crate::shape::Shape;

params! {
    struct Params { images: u32, height: u32, width: u32, channels: u32, inverse: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "space_to_depth",
    wgsl: &[VIEWS, FOLD, wgsl!("space_to_depth.wgsl")],
    params: Params::FIELDS,
    bindings: &[("x", Access::Read), ("out", Access::Write)],
    cpu,
};

/// Records the rearrangement of `images`, whose shape was `shape` before it.
pub fn record(
    program: &mut Program,
    x: View,
    out: View,
    images: usize,
    shape: Shape,
) -> Result<()> {
    record_direction(program, x, out, images, shape, false)
}

/// Records the inverse rearrangement, to `images` of `shape`.
pub fn record_inverse(
    program: &mut Program,
    x: View,
    out: View,
    images: usize,
    shape: Shape,
) -> Result<()> {
    record_direction(program, x, out, images, shape, true)
}

fn record_direction(
    program: &mut Program,
    x: View,
    out: View,
    images: usize,
    shape: Shape,
    inverse: bool,
) -> Result<()> {
    let Shape { height, width, channels } = shape;
    if !height.is_multiple_of(2) || !width.is_multiple_of(2) {
        return Err(Error::bad_input(
            format!("Images of {height}×{width} pixels do not divide into blocks of 2×2"),
            "Choose an even image size",
        ));
    }
    let params = Params {
        images: images as u32,
        height: height as u32,
        width: width as u32,
        channels: channels as u32,
        inverse: u32::from(inverse),
    };
    let len = images * shape.dim();
    program.stage(&KERNEL, &[], &params, &[(x, len), (out, len)], cover(len))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let x = call.read(0);
    let out = call.write(1);
    // Images have an even number of rows, so all of them together are as one.
    let fold = Fold { blocks: p.width as usize / 2, piece: 2 * p.channels as usize };
    for i in 0..(p.images * p.height) as usize * fold.blocks {
        let (space, depth) = (i * fold.piece, fold.begin(i));
        let [from, to] = if p.inverse == 1 { [depth, space] } else { [space, depth] };
        out[to..to + fold.piece].copy_from_slice(&x[from..from + fold.piece]);
    }
}
