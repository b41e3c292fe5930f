//! The gradients of the scales and shifts `x ⊙ (1 + g) + b` of each image, from the gradient of their result:
//! sums over the pixels. The gradient of `x` comes with the convolution that follows
//! ([`Conv::record_backward_through_silu`](super::conv::Conv::record_backward_through_silu)).

use super::group_moments::Groups;
use super::{Call, Film, VALUE, VIEWS, aligned, cover, params, wgsl, wide};
use crate::compute::simd::{self, Vectorized, load, store};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { images: u32, pixels: u32, channels: u32, stride: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "film_backward",
    wgsl: &[VIEWS, VALUE, wgsl!("film_backward.wgsl")],
    params: Params::FIELDS,
    bindings: &[("x", Access::Read), ("d", Access::Read), ("out", Access::Write)],
    cpu,
};

/// Records the stage: `d` is the gradient of the result.
pub fn record(program: &mut Program, x: View, d: View, d_film: Film, groups: Groups) -> Result<()> {
    let Groups { images, pixels, channels, .. } = groups;
    let params = Params {
        images: images as u32,
        pixels: pixels as u32,
        channels: channels as u32,
        stride: d_film.stride as u32,
    };
    let fours = [channels, d_film.stride].iter().all(|count| count.is_multiple_of(4))
        && aligned(d_film.view, program.members());
    let wide = if fours { wide(groups.len(), &[x, d], program.members()) } else { 1 };
    let bindings = [(x, groups.len()), (d, groups.len()), d_film.bind(images, 2 * channels)];
    let workgroups = cover(images * channels / wide);
    program.stage(&KERNEL, &[("WIDE", wide as u32)], &params, &bindings, workgroups)
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (x, d) = (call.read(0), call.read(1));
    simd::run(Work { p, x, d, out: call.write(2) });
}

struct Work<'a> {
    p: Params,
    x: &'a [f32],
    d: &'a [f32],
    out: &'a mut [f32],
}

impl Vectorized for Work<'_> {
    #[inline(always)]
    fn run<const LANES: usize, const PAIR: usize, const FMA: bool>(self) {
        let Self { p, x, d, out } = self;
        let (channels, len) = (p.channels as usize, (p.pixels * p.channels) as usize);
        for ((x, d), out) in x.chunks(len).zip(d.chunks(len)).zip(out.chunks_mut(p.stride as usize))
        {
            for first in (0..channels).step_by(LANES) {
                let cols = LANES.min(channels - first);
                let (mut d_scale, mut d_shift) = ([0.0; LANES], [0.0; LANES]);
                for at in (first..len).step_by(channels) {
                    let x: [f32; LANES] = load(&x[at..][..cols]);
                    let d: [f32; LANES] = load(&d[at..][..cols]);
                    for j in 0..LANES {
                        d_scale[j] += d[j] * x[j];
                        d_shift[j] += d[j];
                    }
                }
                store(&mut out[first..][..cols], &d_scale);
                store(&mut out[channels + first..][..cols], &d_shift);
            }
        }
    }
}
