//! Mean and inverse standard deviation of each group of channels of each image: what group
//! normalization (Wu & He 2018) shifts and scales by.

use super::{Call, VIEWS, cover, params};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

/// Added to the variance, so that a flat image stays flat.
const EPSILON: f32 = 1e-5;

params! {
    struct Params { images: u32, pixels: u32, channels: u32, groups: u32, epsilon: f32 }
}

/// See the module.
pub static KERNEL: Kernel = Kernel {
    name: "group_moments",
    wgsl: &[VIEWS, include_str!("../../shaders/group_moments.wgsl")],
    params: Params::FIELDS,
    bindings: &[("x", Access::Read), ("out", Access::Write)],
    cpu,
};

/// Images of pixels of channels, in groups of as many channels each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Groups {
    /// Images.
    pub images: usize,
    /// Pixels of an image.
    pub pixels: usize,
    /// Channels of a pixel.
    pub channels: usize,
    /// Groups of channels.
    pub groups: usize,
}

impl Groups {
    /// Elements of all images.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.images * self.pixels * self.channels
    }

    /// Whether there is no element.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Elements of their moments: mean and inverse deviation of each group of each image.
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
    let (channels, groups) = (p.channels as usize, p.groups as usize);
    let size = channels / groups;
    let inverse_count = 1.0 / (p.pixels as usize * size) as f32;
    let images = x.chunks_exact(p.pixels as usize * channels);
    for (image, out) in images.zip(call.write(1).chunks_exact_mut(2 * groups)) {
        for (group, out) in out.chunks_exact_mut(2).enumerate() {
            let values =
                || image.chunks_exact(channels).flat_map(|row| &row[group * size..][..size]);
            let mean = values().sum::<f32>() * inverse_count;
            let variance = values().map(|x| (x - mean) * (x - mean)).sum::<f32>() * inverse_count;
            out.copy_from_slice(&[mean, 1.0 / (variance + p.epsilon).sqrt()]);
        }
    }
}
