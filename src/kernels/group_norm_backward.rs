//! The part of a group normalization's gradient that goes through the moments:
//!
//! `d_x -= (mean(d_n) + n · mean(d_n ⊙ n)) / deviation`, with `n` the normalized `x`.
//!
//! Both means follow from the gradients of scales and shifts, which
//! [`group_film_silu_backward`](super::group_film_silu_backward) has summed over the pixels:
//! `Σ d_n = Σ (1 + g) d_b` and `Σ d_n n = Σ (1 + g) d_g` over the channels of the group.

use super::group_moments::Groups;
use super::{Call, VIEWS, cover, params};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;
use crate::model::Film;

params! {
    struct Params {
        images: u32,
        pixels: u32,
        channels: u32,
        groups: u32,
        film_stride: u32,
        has_film: u32,
        d_film_stride: u32,
    }
}

/// See the module.
pub static KERNEL: Kernel = Kernel {
    name: "group_norm_backward",
    wgsl: &[VIEWS, include_str!("../../shaders/group_norm_backward.wgsl")],
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

/// Records the stage.
pub fn record(
    program: &mut Program,
    x: View,
    moments: View,
    film: Option<Film>,
    d_film: Film,
    d_x: View,
    groups: Groups,
) -> Result<()> {
    let params = Params {
        images: groups.images as u32,
        pixels: groups.pixels as u32,
        channels: groups.channels as u32,
        groups: groups.groups as u32,
        film_stride: film.map_or(0, |film| film.stride as u32),
        has_film: u32::from(film.is_some()),
        d_film_stride: d_film.stride as u32,
    };
    let columns = 2 * groups.channels;
    let bindings = [
        (x, groups.len()),
        (moments, groups.moments()),
        film.map_or((x, 1), |film| film.bind(groups.images, columns)),
        d_film.bind(groups.images, columns),
        (d_x, groups.len()),
    ];
    program.stage(&KERNEL, &[], &params, &bindings, cover(groups.images * groups.groups))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (x, moments, film, d_film) = (call.read(0), call.read(1), call.read(2), call.read(3));
    let (channels, groups) = (p.channels as usize, p.groups as usize);
    let len = p.pixels as usize * channels;
    let size = channels / groups;
    let inverse_count = 1.0 / (p.pixels as usize * size) as f32;
    let images = x.chunks_exact(len).zip(call.write(4).chunks_exact_mut(len));
    for (image, (x, d_x)) in images.enumerate() {
        let d_film = &d_film[image * p.d_film_stride as usize..];
        for group in 0..groups {
            let (mut d_n, mut d_n_n) = (0.0, 0.0);
            for channel in group * size..(group + 1) * size {
                let at = image * p.film_stride as usize + channel;
                let gain = if p.has_film == 1 { 1.0 + film[at] } else { 1.0 };
                d_n_n += gain * d_film[channel];
                d_n += gain * d_film[channels + channel];
            }
            let at = 2 * (image * groups + group);
            let (mean, inverse) = (moments[at], moments[at + 1]);
            let (d_n, d_n_n) = (d_n * inverse_count, d_n_n * inverse_count);
            for (x, d_x) in x.chunks_exact(channels).zip(d_x.chunks_exact_mut(channels)) {
                let x = &x[group * size..][..size];
                for (x, d_x) in x.iter().zip(&mut d_x[group * size..][..size]) {
                    *d_x -= (d_n + (x - mean) * inverse * d_n_n) * inverse;
                }
            }
        }
    }
}
