//! `out = silu(n ⊙ (1 + g) + b)`: what a convolution block does before a convolution, in one pass.
//!
//! `n` is `x`, or `x` normalized in groups of channels; the scales `g` and shifts `b` of each image
//! may be absent. Either way a channel of an image is scaled and shifted by two numbers, so `x` is
//! all that the backward pass needs.

use super::Film;
use super::group_moments::Groups;
use super::matmul::silu;
use super::{Call, GROUPS, LOGISTIC, VALUE, VIEWS, cover, params, side_by_side, wgsl, wide};
use crate::compute::simd::{self, Vectorized, load, store};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    pub(super) struct Params {
        images: u32,
        pixels: u32,
        channels: u32,
        groups: u32,
        film_stride: u32,
        has_film: u32,
        d_film_stride: u32,
        keep: u32,
    }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "group_film_silu",
    wgsl: &[VIEWS, VALUE, GROUPS, wgsl!("group_film_silu.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("x", Access::Read),
        ("moments", Access::Read),
        ("film", Access::Read),
        ("out", Access::Write),
    ],
    cpu,
};

/// How each channel of an image is scaled and shifted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Affine {
    /// The moments of a normalization in groups.
    pub moments: Option<View>,
    /// Scales of all channels, then shifts.
    pub film: Option<Film>,
}

impl Affine {
    /// The bindings of moments and film; `absent` is a placeholder for an absent one, which is never read.
    pub(super) fn bind(self, groups: Groups, absent: View) -> [(View, usize); 2] {
        [
            self.moments.map_or((absent, 1), |moments| (moments, groups.moments())),
            self.film.map_or((absent, 1), |film| film.bind(groups.images, 2 * groups.channels)),
        ]
    }

    /// The parameters of a stage; those of the gradients are 0.
    pub(super) fn params(self, groups: Groups) -> Params {
        Params {
            images: groups.images as u32,
            pixels: groups.pixels as u32,
            channels: groups.channels as u32,
            groups: if self.moments.is_some() { groups.groups as u32 } else { 0 },
            film_stride: self.film.map_or(0, |film| film.stride as u32),
            has_film: u32::from(self.film.is_some()),
            d_film_stride: 0,
            keep: 0,
        }
    }
}

/// Records the stage for dense `x` and `out`.
pub fn record(
    program: &mut Program,
    x: View,
    affine: Affine,
    out: View,
    groups: Groups,
) -> Result<()> {
    let params = affine.params(groups);
    let [moments, film] = affine.bind(groups, x);
    let bindings = [(x, groups.len()), moments, film, (out, groups.len())];
    let Groups { channels, .. } = groups;
    let group = if affine.moments.is_some() { channels / groups.groups } else { channels };
    let stride = affine.film.map_or(0, |film| film.stride);
    let fours = [channels, group, stride].iter().all(|count| count.is_multiple_of(4));
    let views = [x, out, affine.film.map_or(x, |film| film.view)];
    let wide = if fours { wide(groups.len(), &views, program.members()) } else { 1 };
    let workgroups = cover(groups.len() / wide);
    program.stage(&KERNEL, &[("WIDE", wide as u32)], &params, &bindings, workgroups)
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (x, moments, film) = (call.read(0), call.read(1), call.read(2));
    let affines = Affines::new(p, moments, film);
    let out = call.write(3);
    let pixels = p.pixels as usize;
    let image = pixels * affines.channels;
    let batch = out.len() / image;
    let images = batch.div_ceil(call.threads(LOGISTIC * out.len()));
    let work = |piece: usize, [out]: [&mut [f32]; 1]| {
        simd::run(Work { x, out, first: piece * images, pixels, affines });
    };
    side_by_side(batch.div_ceil(images), [(out, images * image)], &work);
}

/// The scales and shifts of all channels and images, as a CPU twin finds them.
#[derive(Clone, Copy)]
pub(super) struct Affines<'a> {
    pub(super) channels: usize,
    /// Moments, and number of groups per image.
    pub(super) moments: Option<(&'a [f32], usize)>,
    /// Scales and shifts, and elements from image to image.
    pub(super) film: Option<(&'a [f32], usize)>,
}

/// `N` channels of an image, with `n = (x - mean) · inverse` and the activation's argument
/// `n · gain + shift`.
pub(super) struct Block<const N: usize> {
    pub(super) mean: [f32; N],
    pub(super) inverse: [f32; N],
    pub(super) gain: [f32; N],
    pub(super) shift: [f32; N],
}

impl<'a> Affines<'a> {
    pub(super) fn new(p: Params, moments: &'a [f32], film: &'a [f32]) -> Self {
        Self {
            channels: p.channels as usize,
            moments: (p.groups > 0).then_some((moments, p.groups as usize)),
            film: (p.has_film == 1).then_some((film, p.film_stride as usize)),
        }
    }

    /// Channels `first .. first + N` of an image, of which `cols` exist.
    #[inline(always)]
    pub(super) fn block<const N: usize>(
        &self,
        image: usize,
        first: usize,
        cols: usize,
    ) -> Block<N> {
        let mut block =
            Block { mean: [0.0; N], inverse: [1.0; N], gain: [1.0; N], shift: [0.0; N] };
        if let Some((moments, groups)) = self.moments {
            let size = self.channels / groups;
            for j in 0..cols {
                let at = 2 * (image * groups + (first + j) / size);
                block.mean[j] = moments[at];
                block.inverse[j] = moments[at + 1];
            }
        }
        if let Some((film, stride)) = self.film {
            let film = &film[image * stride + first..];
            block.gain = load::<N>(&film[..cols]).map(|g| 1.0 + g);
            block.shift = load(&film[self.channels..][..cols]);
        }
        block
    }

    /// The activation's arguments for one image.
    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "indices name lanes, as in the shader")]
    pub(super) fn apply<const LANES: usize>(&self, image: usize, x: &[f32], out: &mut [f32]) {
        if self.moments.is_none() && self.film.is_none() {
            out.copy_from_slice(x);
            return;
        }
        for first in (0..self.channels).step_by(LANES) {
            let cols = LANES.min(self.channels - first);
            let block = self.block::<LANES>(image, first, cols);
            for at in (first..x.len()).step_by(self.channels) {
                let mut values: [f32; LANES] = load(&x[at..][..cols]);
                for j in 0..LANES {
                    let n = (values[j] - block.mean[j]) * block.inverse[j];
                    values[j] = n * block.gain[j] + block.shift[j];
                }
                store(&mut out[at..][..cols], &values);
            }
        }
    }
}

struct Work<'a> {
    x: &'a [f32],
    out: &'a mut [f32],
    /// Index of the first image of `out`.
    first: usize,
    pixels: usize,
    affines: Affines<'a>,
}

impl Vectorized for Work<'_> {
    #[inline(always)]
    fn run<const LANES: usize, const PAIR: usize, const FMA: bool>(self) {
        let Self { x, out, first, pixels, affines } = self;
        let len = pixels * affines.channels;
        for (image, out) in (first..).zip(out.chunks_exact_mut(len)) {
            affines.apply::<LANES>(image, &x[image * len..][..len], out);
            // A plain loop over the image, which is still in the cache, because the compiler vectorizes it.
            for value in out {
                *value = silu(*value);
            }
        }
    }
}
