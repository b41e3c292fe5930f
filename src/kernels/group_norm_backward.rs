//! The part of a group normalization's gradient that goes through the moments:
//!
//! `d_x -= (mean(d_n) + n · mean(d_n ⊙ n)) / deviation`, with `n` the normalized `x`.
//!
//! Both means follow from the gradients of scales and shifts, which
//! [`group_film_silu_backward`](super::group_film_silu_backward) has summed over the pixels:
//! `Σ d_n = Σ (1 + g) d_b` and `Σ d_n n = Σ (1 + g) d_g` over the channels of the group.

use super::Film;
use super::group_film_silu::{Affine, Params};
use super::group_moments::Groups;
use super::{Call, GROUPS, VIEWS, cover, wgsl};
use crate::compute::simd::{self, Vectorized, load, store};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "group_norm_backward",
    wgsl: &[VIEWS, GROUPS, wgsl!("group_norm_backward.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("x", Access::Read),
        ("moments", Access::Read),
        ("film", Access::Read),
        ("d_film", Access::Read),
        ("d_x", Access::Write),
    ],
    cpu,
};

/// Records the stage, which changes `d_x` in place.
pub fn record(
    program: &mut Program,
    x: View,
    affine: Affine,
    d_film: Film,
    d_x: View,
    groups: Groups,
) -> Result<()> {
    let params = Params { d_film_stride: d_film.stride as u32, ..affine.params(groups) };
    let [moments, film] = affine.bind(groups, x);
    let bindings = [
        (x, groups.len()),
        moments,
        film,
        d_film.bind(groups.images, 2 * groups.channels),
        (d_x, groups.len()),
    ];
    program.stage(&KERNEL, &[], &params, &bindings, cover(groups.images * groups.groups))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (x, moments, film, d_film) = (call.read(0), call.read(1), call.read(2), call.read(3));
    let film = (p.has_film == 1).then_some(film);
    simd::run(Work { p, x, moments, film, d_film, d_x: call.write(4) });
}

struct Work<'a> {
    p: Params,
    x: &'a [f32],
    moments: &'a [f32],
    film: Option<&'a [f32]>,
    d_film: &'a [f32],
    d_x: &'a mut [f32],
}

impl Work<'_> {
    /// `Σ d_n` and `Σ d_n n` over a group of an image.
    #[inline(always)]
    fn sums(&self, image: usize, group: usize) -> [f32; 2] {
        let (channels, size) = (self.p.channels, self.p.channels / self.p.groups);
        let film = self.film.map(|film| &film[image * self.p.film_stride as usize..]);
        let d_film = &self.d_film[image * self.p.d_film_stride as usize..];
        let (mut d_n, mut d_n_n) = (0.0, 0.0);
        for channel in group * size as usize..(group + 1) * size as usize {
            let gain = film.map_or(1.0, |film| 1.0 + film[channel]);
            d_n_n += gain * d_film[channel];
            d_n += gain * d_film[channels as usize + channel];
        }
        [d_n, d_n_n]
    }
}

impl Vectorized for Work<'_> {
    #[inline(always)]
    fn run<const LANES: usize, const PAIR: usize, const FMA: bool>(self) {
        let (channels, groups) = (self.p.channels as usize, self.p.groups as usize);
        let len = self.p.pixels as usize * channels;
        let size = channels / groups;
        let inverse_count = 1.0 / (self.p.pixels as usize * size) as f32;
        for image in 0..self.p.images as usize {
            for first in (0..channels).step_by(LANES) {
                let cols = LANES.min(channels - first);
                let [mut mean, mut inverse, mut d_n, mut d_n_n] = [[0.0; LANES]; 4];
                for j in 0..cols {
                    let group = (first + j) / size;
                    let at = 2 * (image * groups + group);
                    let sums = self.sums(image, group);
                    mean[j] = self.moments[at];
                    inverse[j] = self.moments[at + 1];
                    d_n[j] = sums[0] * inverse_count;
                    d_n_n[j] = sums[1] * inverse_count;
                }
                for at in (image * len + first..(image + 1) * len).step_by(channels) {
                    let x: [f32; LANES] = load(&self.x[at..][..cols]);
                    let d_x = &mut self.d_x[at..][..cols];
                    let mut values: [f32; LANES] = load(d_x);
                    for j in 0..LANES {
                        let n = (x[j] - mean[j]) * inverse[j];
                        values[j] -= (d_n[j] + n * d_n_n[j]) * inverse[j];
                    }
                    store(d_x, &values);
                }
            }
        }
    }
}
