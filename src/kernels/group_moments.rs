//! Mean and inverse standard deviation of each group of channels of each image: what group
//! normalization (Wu & He 2018) shifts and scales by.

use super::{Call, VIEWS, cover, params, wgsl};
use crate::compute::simd::{self, Vectorized, load};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

/// Added to the variance, so that a flat image stays flat.
const EPSILON: f32 = 1e-5;

params! {
    struct Params { images: u32, pixels: u32, channels: u32, groups: u32, epsilon: f32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "group_moments",
    wgsl: &[VIEWS, wgsl!("group_moments.wgsl")],
    params: Params::FIELDS,
    bindings: &[("x", Access::Read), ("out", Access::Write)],
    cpu,
};

/// The shape of images whose channels are normalized in groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Groups {
    /// Number of images.
    pub images: usize,
    /// Pixels per image.
    pub pixels: usize,
    /// Channels per pixel.
    pub channels: usize,
    /// Groups of channels per pixel.
    pub groups: usize,
}

impl Groups {
    /// Number of elements of all images.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.images * self.pixels * self.channels
    }

    /// Whether there are no elements.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of elements of the moments: mean and inverse deviation per group and image.
    #[must_use]
    pub const fn moments(&self) -> usize {
        2 * self.images * self.groups
    }
}

/// Records the moments of `x`.
pub fn record(program: &mut Program, x: View, out: View, groups: Groups) -> Result<()> {
    let params = Params {
        images: groups.images as u32,
        pixels: groups.pixels as u32,
        channels: groups.channels as u32,
        groups: groups.groups as u32,
        epsilon: EPSILON,
    };
    let bindings = [(x, groups.len()), (out, groups.moments())];
    program.stage(&KERNEL, &[], &params, &bindings, cover(groups.images * groups.groups))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let x = call.read(0);
    simd::run(Work { p, x, out: call.write(1) });
}

struct Work<'a> {
    p: Params,
    x: &'a [f32],
    out: &'a mut [f32],
}

impl Vectorized for Work<'_> {
    #[inline(always)]
    fn run<const LANES: usize, const PAIR: usize, const FMA: bool>(self) {
        let Self { p, x, out } = self;
        let (channels, groups) = (p.channels as usize, p.groups as usize);
        let len = p.pixels as usize * channels;
        let size = channels / groups;
        let inverse_count = 1.0 / (p.pixels as usize * size) as f32;
        for (image, out) in out.chunks_exact_mut(2 * groups).enumerate() {
            let x = &x[image * len..][..len];
            out.fill(0.0);
            // Sum each channel by itself, a vector of channels at a time, and then its group.
            for pass in 0..2 {
                for first in (0..channels).step_by(LANES) {
                    let cols = LANES.min(channels - first);
                    let mut sums = [0.0; LANES];
                    let mut means = [0.0; LANES];
                    for j in 0..cols * pass {
                        means[j] = out[2 * ((first + j) / size)];
                    }
                    for at in (first..len).step_by(channels) {
                        let values: [f32; LANES] = load(&x[at..][..cols]);
                        for j in 0..LANES {
                            let d = values[j] - means[j];
                            sums[j] += if pass == 0 { d } else { d * d };
                        }
                    }
                    for j in 0..cols {
                        out[2 * ((first + j) / size) + pass] += sums[j] * inverse_count;
                    }
                }
            }
            for group in 0..groups {
                out[2 * group + 1] = 1.0 / (out[2 * group + 1] + p.epsilon).sqrt();
            }
        }
    }
}
