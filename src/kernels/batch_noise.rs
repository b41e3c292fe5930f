//! The network's inputs and targets: noisy images `c_in (y + σ n)` and
//! `(σ y - σ_data² n) / (σ_data √(σ² + σ_data²))` (see [`super::Edm`]).

use super::Edm;
use super::noise::CLOCK;
use super::{Call, DRAWS, FOLD, Fold, RNG, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;
use crate::rng::{Stream, fill_normals_keyed};

params! {
    struct Params { rows: u32, cols: u32, stream: u32, images: u32, sigma_data: f32, blocks: u32, piece: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "batch_noise",
    wgsl: &[VIEWS, RNG, DRAWS, FOLD, wgsl!("batch_noise.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("clock", Access::Read),
        ("pool", Access::Read),
        ("index", Access::Read),
        ("sigma", Access::Read),
        ("x", Access::Write),
        ("out", Access::Write),
    ],
    cpu,
};

/// Records inputs `x`, in the order of `fold`, and targets for the images of a `pool` of `images` at the indices `index`.
pub fn record(
    program: &mut Program,
    edm: Edm,
    [clock, pool, index, sigma, x, target]: [View; 6],
    [rows, cols, images]: [usize; 3],
    fold: Fold,
) -> Result<()> {
    let params = Params {
        rows: rows as u32,
        cols: cols as u32,
        stream: Stream::BatchNoise as u32,
        images: images as u32,
        sigma_data: edm.sigma_data,
        blocks: fold.blocks as u32,
        piece: fold.piece as u32,
    };
    let len = rows * cols;
    let bindings = [
        (clock, CLOCK),
        (pool, images * cols),
        (index, rows),
        (sigma, rows),
        (x, len),
        (target, len),
    ];
    program.stage(&KERNEL, &[], &params, &bindings, cover(len.div_ceil(4)))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (clock, pool, index, sigma) =
        (call.read_u32(0), call.read(1), call.read_u32(2), call.read(3));
    let (x, target) = (call.write(4), call.write(5));
    let cols = p.cols as usize;
    let edm = Edm { sigma_data: p.sigma_data };
    let fold = Fold { blocks: p.blocks as usize, piece: p.piece as usize };
    fill_normals_keyed([clock[0], clock[1]], p.stream, clock[2], target);
    let rows = x.chunks_exact_mut(cols).zip(target.chunks_exact_mut(cols));
    for ((x, target), (&image, &sigma)) in rows.zip(index.iter().zip(sigma)) {
        let y = &pool[image.min(p.images - 1) as usize * cols..][..cols];
        let c_in = edm.c_in(sigma);
        let (of_y, of_n) = (c_in * sigma / p.sigma_data, c_in * p.sigma_data);
        let pieces = target.chunks_mut(fold.piece).zip(y.chunks(fold.piece));
        for (i, (target, y)) in pieces.enumerate() {
            let x = &mut x[fold.begin(i)..][..fold.piece];
            for ((x, target), y) in x.iter_mut().zip(target).zip(y) {
                let n = *target;
                *x = c_in * (y + sigma * n);
                *target = of_y * y - of_n * n;
            }
        }
    }
}
