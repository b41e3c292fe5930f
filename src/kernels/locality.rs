//! Which inputs each output coordinate depends on: the weights `Q` of PCA-locality (Lukoianov et al.,
//! 2025), computed from the Wiener filter `W` in place.
//!
//! - [`Locality::Threshold`]: `Q[j, m] = 1` where `|W[j, m] / W[j, j]|` is at least `τ` times the largest
//!   such ratio of the whole matrix, else 0.
//! - [`Locality::Soft`]: `Q[j, m] = |W[j, m] / W[m, m]|`.
//!
//! A coordinate that does not vary has no ratio, and no output depends on it.

use super::{Call, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { cols: u32, soft: u32, threshold: f32 }
}

/// How the filter becomes weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Locality {
    /// Zero or one, by this fraction of the largest ratio.
    Threshold(f32),
    /// The filter's own relative weights.
    Soft,
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "locality",
    wgsl: &[VIEWS, wgsl!("locality.wgsl")],
    params: Params::FIELDS,
    bindings: &[("wiener", Access::Read), ("weights", Access::Write)],
    cpu,
};

/// Records the weights of a filter of `cols × cols`.
pub fn record(
    program: &mut Program,
    locality: Locality,
    [filter, weights]: [View; 2],
    cols: usize,
) -> Result<()> {
    let (soft, threshold) = match locality {
        Locality::Threshold(share) => (0, share),
        Locality::Soft => (1, 0.0),
    };
    let params = Params { cols: cols as u32, soft, threshold };
    let len = cols * cols;
    program.stage(&KERNEL, &[], &params, &[(filter, len), (weights, len)], cover(cols))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let cols = p.cols as usize;
    let filter = call.read(0);
    let scale = |j: usize| inverse(filter[j * (cols + 1)]);
    let largest = filter.chunks_exact(cols).enumerate().fold(0.0_f32, |largest, (j, row)| {
        row.iter().fold(largest, |largest, v| largest.max(v.abs() * scale(j)))
    });
    let limit = p.threshold * largest;
    let rows = call.write(1).chunks_exact_mut(cols).zip(filter.chunks_exact(cols));
    for (j, (weights, row)) in rows.enumerate() {
        for (m, (weight, v)) in weights.iter_mut().zip(row).enumerate() {
            *weight = if p.soft == 1 {
                v.abs() * scale(m)
            } else {
                let ratio = v.abs() * scale(j);
                f32::from(u8::from(ratio > 0.0 && ratio >= limit))
            };
        }
    }
}

/// One over a variance, or 0 if the variance is 0.
fn inverse(variance: f32) -> f32 {
    if variance > 1e-12 { 1.0 / variance } else { 0.0 }
}
