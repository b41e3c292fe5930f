//! The gradients of [`group_film_silu`](super::group_film_silu): of `g`, of `b`, and of `x` as if the
//! moments were constants, which is the whole gradient without a normalization;
//! [`group_norm_backward`](super::group_norm_backward) adds the rest.

use std::cell::Cell;

use super::Film;
use super::group_film_silu::{Affine, Affines, Params};
use super::group_moments::Groups;
use super::silu::slope;
use super::{ACTIVATION, Call, GROUPS, LOGISTIC, VIEWS, cover, side_by_side, wgsl};
use crate::compute::simd::{self, Vectorized, load, store};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "group_film_silu_backward",
    wgsl: &[VIEWS, ACTIVATION, GROUPS, wgsl!("group_film_silu_backward.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("x", Access::Read),
        ("moments", Access::Read),
        ("film", Access::Read),
        ("d_out", Access::Read),
        ("d_film", Access::Write),
        ("d_x", Access::Write),
    ],
    cpu,
};

/// Records the stage. Without scales and shifts in the forward pass, `d_film` still receives what their
/// gradients would be. `keep` adds to the old content of `d_x`.
pub fn record(
    program: &mut Program,
    x: View,
    affine: Affine,
    d_out: View,
    d_film: Film,
    d_x: View,
    keep: bool,
    groups: Groups,
) -> Result<()> {
    let params = Params {
        d_film_stride: d_film.stride as u32,
        keep: u32::from(keep),
        ..affine.params(groups)
    };
    let [moments, film] = affine.bind(groups, x);
    let bindings = [
        (x, groups.len()),
        moments,
        film,
        (d_out, groups.len()),
        d_film.bind(groups.images, 2 * groups.channels),
        (d_x, groups.len()),
    ];
    program.stage(&KERNEL, &[], &params, &bindings, cover(groups.images * groups.channels))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (x, moments, film, d_out) = (call.read(0), call.read(1), call.read(2), call.read(3));
    let affines = Affines::new(p, moments, film);
    let (d_film, d_x) = (call.write(4), call.write(5));
    let image = (p.pixels * p.channels) as usize;
    let batch = p.images as usize;
    let images = batch.div_ceil(call.threads(LOGISTIC * batch * image));
    let work = |piece: usize, [d_film, d_x]: [&mut [f32]; 2]| {
        let mut scratch = SCRATCH.take();
        scratch.resize(image, 0.0);
        let first = piece * images;
        let p = Params { images: images.min(batch - first) as u32, ..p };
        simd::run(Work { p, first, x, affines, d_out, d_film, d_x, scratch: &mut scratch });
        SCRATCH.set(scratch);
    };
    let slices = [(d_film, images * p.d_film_stride as usize), (d_x, images * image)];
    side_by_side(batch.div_ceil(images), slices, &work);
}

thread_local! {
    /// The gradient of one image before the activation, kept so that running allocates nothing.
    static SCRATCH: Cell<Vec<f32>> = Cell::default();
}

struct Work<'a> {
    p: Params,
    /// Index of the first image of `d_film` and `d_x`.
    first: usize,
    x: &'a [f32],
    affines: Affines<'a>,
    d_out: &'a [f32],
    d_film: &'a mut [f32],
    d_x: &'a mut [f32],
    scratch: &'a mut [f32],
}

impl Vectorized for Work<'_> {
    #[inline(always)]
    fn run<const LANES: usize, const PAIR: usize, const FMA: bool>(self) {
        let Self { p, first: first_image, x, affines, d_out, d_film, d_x, scratch } = self;
        let channels = affines.channels;
        let len = scratch.len();
        for i in 0..p.images as usize {
            let image = first_image + i;
            let x = &x[image * len..][..len];
            let d_out = &d_out[image * len..][..len];
            let d_x = &mut d_x[i * len..][..len];
            let d_film = &mut d_film[i * p.d_film_stride as usize..][..2 * channels];
            affines.apply::<LANES>(image, x, scratch);
            // A plain loop over the image, which is still in the cache, because the compiler vectorizes it.
            for (d, d_out) in scratch.iter_mut().zip(d_out) {
                *d = d_out * slope(*d);
            }
            for first in (0..channels).step_by(LANES) {
                let cols = LANES.min(channels - first);
                let block = affines.block::<LANES>(image, first, cols);
                let (mut d_gain, mut d_shift) = ([0.0; LANES], [0.0; LANES]);
                for at in (first..len).step_by(channels) {
                    let x: [f32; LANES] = load(&x[at..][..cols]);
                    let d: [f32; LANES] = load(&scratch[at..][..cols]);
                    let d_x = &mut d_x[at..][..cols];
                    let mut sum = if p.keep == 1 { load(d_x) } else { [0.0; LANES] };
                    for j in 0..LANES {
                        let n = (x[j] - block.mean[j]) * block.inverse[j];
                        d_gain[j] += d[j] * n;
                        d_shift[j] += d[j];
                        sum[j] += d[j] * (block.gain[j] * block.inverse[j]);
                    }
                    store(d_x, &sum);
                }
                store(&mut d_film[first..][..cols], &d_gain);
                store(&mut d_film[channels + first..][..cols], &d_shift);
            }
        }
    }
}
