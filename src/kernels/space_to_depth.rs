//! Turns each 2×2 pixels into one pixel of four times the channels, and back: half the resolution
//! without any loss.

use super::{Call, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::{Error, Result};
use crate::shape::Shape;

params! {
    struct Params { images: u32, height: u32, width: u32, channels: u32, inverse: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "space_to_depth",
    wgsl: &[VIEWS, wgsl!("space_to_depth.wgsl")],
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
    // The two neighbouring pixels of a block stay neighbours, so they move as one piece.
    let piece = 2 * p.channels as usize;
    let blocks = p.width as usize / 2;
    let rows = (p.images * p.height) as usize;
    for row in 0..rows {
        for block in 0..blocks {
            let space = (row * blocks + block) * piece;
            let depth = ((row / 2 * blocks + block) * 2 + row % 2) * piece;
            let [from, to] = if p.inverse == 1 { [depth, space] } else { [space, depth] };
            out[to..to + piece].copy_from_slice(&x[from..from + piece]);
        }
    }
}
