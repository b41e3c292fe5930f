//! The kernels: one file per stage, with the same name as its shader.
//!
//! Each file holds the stage's parameters, a `record` function that turns shapes into a dispatch,
//! and the CPU twin, which takes its bindings in the order of the WGSL.

pub mod adam;
pub mod axpby;
pub mod batch_draw;
pub mod batch_noise;
pub mod column_sums;
pub mod conv;
pub mod conv_weight_backward;
pub mod coordinate_softmax;
pub mod denoising_loss;
pub mod divide_rows;
pub mod film_backward;
pub mod finish_step;
pub mod group_film_silu;
pub mod group_film_silu_backward;
pub mod group_moments;
pub mod group_norm_backward;
pub mod local_tile;
pub mod locality;
pub mod matmul;
pub mod matmul_vec4;
pub mod matmul_workgroup;
pub mod mixture_posterior;
pub mod nearest_tile;
pub mod noise;
pub mod noise_features;
pub mod norm_film_silu;
pub mod norm_film_silu_backward;
pub mod ode_step;
pub mod pairwise_distances;
pub mod philox_words;
pub mod precondition_input;
pub mod precondition_output;
pub mod rank_candidates;
pub mod refine_mean;
pub mod row_compare;
pub mod sgd;
mod shared;
pub mod shrink;
pub mod silu;
pub mod silu_backward;
pub mod softmax_tile;
pub mod space_to_depth;
pub mod square_sums;
pub mod squared_differences;
pub mod transpose_divide;

pub use shared::{Choice, Edm, Film, Fold, Rates};
use shared::{optimizer, precondition};

use std::mem::take;
use std::ops::Range;

pub use crate::compute::{Call, Slot};
use crate::compute::{Kernel, Program, Tile, View};

/// All kernels, for tests that check the same rules on each.
pub static ALL: &[&Kernel] = &[
    &adam::KERNEL,
    &axpby::KERNEL,
    &batch_draw::KERNEL,
    &batch_noise::KERNEL,
    &column_sums::KERNEL,
    &conv::KERNEL,
    &conv_weight_backward::KERNEL,
    &coordinate_softmax::KERNEL,
    &denoising_loss::KERNEL,
    &film_backward::KERNEL,
    &group_film_silu::KERNEL,
    &group_film_silu_backward::KERNEL,
    &group_moments::KERNEL,
    &group_norm_backward::KERNEL,
    &local_tile::KERNEL,
    &locality::KERNEL,
    &matmul::KERNEL,
    &matmul_vec4::KERNEL,
    &matmul_workgroup::KERNEL,
    &mixture_posterior::KERNEL,
    &nearest_tile::KERNEL,
    &noise::KERNEL,
    &noise_features::KERNEL,
    &norm_film_silu::KERNEL,
    &norm_film_silu_backward::KERNEL,
    &ode_step::KERNEL,
    &divide_rows::KERNEL,
    &finish_step::KERNEL,
    &pairwise_distances::KERNEL,
    &philox_words::KERNEL,
    &precondition_input::KERNEL,
    &precondition_output::KERNEL,
    &rank_candidates::KERNEL,
    &refine_mean::KERNEL,
    &row_compare::KERNEL,
    &sgd::KERNEL,
    &shrink::KERNEL,
    &silu::KERNEL,
    &silu_backward::KERNEL,
    &softmax_tile::KERNEL,
    &space_to_depth::KERNEL,
    &squared_differences::KERNEL,
    &square_sums::KERNEL,
    &transpose_divide::KERNEL,
];

/// Tensors of a network begin at multiples of this, so that kernels can load vectors.
pub(crate) const PARAMETER_ALIGN: usize = 4;

/// Threads of a one-dimensional workgroup.
pub const THREADS: usize = 64;

/// Workgroups that cover `elements`, with one thread each.
#[must_use]
pub const fn cover(elements: usize) -> [usize; 2] {
    [elements.div_ceil(THREADS), 1]
}

/// Whether every member's part of the view begins at a multiple of four elements, so that four can be
/// loaded at a time.
fn aligned(view: View, members: usize) -> bool {
    view.offset.is_multiple_of(4) && (members == 1 || view.buffer.len().is_multiple_of(4))
}

/// Threads from which on most GPUs have others to run while some wait for what they load.
const ENOUGH: usize = 1 << 15;

/// How many threads share a sum of `steps` steps: the constant `SHARERS` of a shader. A GPU in hardware has several do
/// so where a member has only `threads` blocks of results, however many members there are: their number must not change
/// a member's bits. In software, threads would wait for each other.
fn sharers(program: &Program, tile: Tile, threads: usize, steps: usize) -> u32 {
    let sharers = program.profile().sharers;
    let few = threads < ENOUGH && steps >= sharers as usize;
    if few && tile.threads_y.is_multiple_of(sharers) { sharers } else { 1 }
}

/// Words of workgroup memory that `sharers` of `threads` need: four rows of four numbers.
const fn shared_words(sharers: u32, threads: u32) -> u32 {
    if sharers > 1 { 16 * threads } else { 0 }
}

/// How many of `len` elements of each view a thread takes at once: the constant `WIDE` of a shader.
fn wide(len: usize, views: &[View], members: usize) -> usize {
    let fours = len.is_multiple_of(4) && views.iter().all(|&view| aligned(view, members));
    if fours { 4 } else { 1 }
}

/// The text of a shader as the page downloads it: without comments, indentation and empty lines.
macro_rules! wgsl {
    ($file:literal) => {{
        const TEXT: &[u8] = include_bytes!(concat!("../../shaders/", $file));
        const LEN: usize = $crate::kernels::compact::<0>(TEXT).1;
        const COMPACT: &str = match str::from_utf8(&$crate::kernels::compact::<LEN>(TEXT).0) {
            Ok(text) => text,
            Err(_) => unreachable!(),
        };
        COMPACT
    }};
}
use wgsl;

/// The first `N` bytes of the compact text, and its length.
const fn compact<const N: usize>(text: &[u8]) -> ([u8; N], usize) {
    let (mut out, mut len, mut at) = ([0; N], 0, 0);
    let (mut last, mut in_comment) = (b'\n', false);
    while at < text.len() {
        let byte = text[at];
        at += 1;
        in_comment &= byte != b'\n';
        in_comment |= byte == b'/' && at < text.len() && text[at] == b'/';
        if in_comment || (last == b'\n' && byte.is_ascii_whitespace()) {
            continue;
        }
        if len < N {
            out[len] = byte;
        }
        len += 1;
        last = byte;
    }
    (out, len)
}

/// WGSL for kernels that take one number or four at a time, by the constant `WIDE`.
pub const VALUE: &str = wgsl!("shared/value.wgsl");

/// WGSL of a matrix times a vector, added to a sum, in the form that the constant `HARDWARE` asks for.
pub const PRODUCT: &str = wgsl!("shared/product.wgsl");
/// WGSL of sums that several threads share, as many as the constant `SHARERS` says.
pub const SHARED_SUM: &str = wgsl!("shared/shared_sum.wgsl");
/// WGSL that every kernel begins with.
pub const VIEWS: &str = wgsl!("shared/views.wgsl");
/// WGSL of the random numbers.
pub const RNG: &str = wgsl!("shared/rng.wgsl");
/// WGSL of the order of folded images.
pub const FOLD: &str = wgsl!("shared/fold.wgsl");
/// WGSL of the loop over elements with a random number each.
pub const DRAWS: &str = wgsl!("shared/draws.wgsl");
/// WGSL of the activation and its derivative.
pub const ACTIVATION: &str = wgsl!("shared/activation.wgsl");
/// WGSL of a sum over the `ROW_THREADS` threads of a workgroup.
pub const ROW_SUM: &str = wgsl!("shared/row_sum.wgsl");
/// WGSL of the loop over weights that optimizers share.
pub const OPTIMIZER: &str = wgsl!("shared/optimizer.wgsl");
/// WGSL that both halves of the preconditioning share.
pub const PRECONDITION: &str = wgsl!("shared/precondition.wgsl");
/// WGSL of the parameters of stages on groups of channels.
pub const GROUPS: &str = wgsl!("shared/groups.wgsl");
/// WGSL of the parameters and bindings of stages on pairs of rows.
pub const PAIRS: &str = wgsl!("shared/pairs.wgsl");

/// Declares a `#[repr(C)]` parameter struct of 32-bit fields and the list that the tests compare
/// with the WGSL struct.
macro_rules! params {
    ($(#[$meta:meta])* $vis:vis struct Params { $($field:ident: $type:ident),* $(,)? }) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
        $vis struct Params { $($vis $field: $type),* }

        impl Params {
            $vis const FIELDS: &'static [(&'static str, &'static str)] =
                &[$((stringify!($field), stringify!($type))),*];
        }
    };
}
use params;

/// The noise levels of a batch: one per row, or one for all.
#[derive(Debug, Clone, Copy)]
pub struct Sigma {
    /// Where the values are.
    pub view: View,
    /// Whether each row has its own value; otherwise all rows share the first.
    pub per_row: bool,
    /// Which level of a sampler's schedule it is, if any.
    pub level: Option<Level>,
}

/// A noise level of a sampler's schedule. Denoisers that are fitted only at some levels find theirs by
/// index; the value guards against another schedule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Position in the schedule, from the highest level.
    pub index: usize,
    /// The noise level itself.
    pub sigma: f32,
}

impl Sigma {
    /// One value for all rows.
    #[must_use]
    pub fn shared(view: impl Into<View>) -> Self {
        Self { view: view.into(), per_row: false, level: None }
    }

    /// One value per row.
    #[must_use]
    pub fn per_row(view: impl Into<View>) -> Self {
        Self { view: view.into(), per_row: true, level: None }
    }

    pub(crate) fn bind(self, rows: usize) -> (View, usize) {
        (self.view, if self.per_row { rows } else { 1 })
    }

    pub(crate) const fn stride(self) -> u32 {
        self.per_row as u32
    }
}

/// A logistic function takes as long as this many multiply-adds.
const LOGISTIC: usize = 16;

/// Cuts each slice into `pieces` of the given length, the last perhaps shorter, and calls
/// `work(index, pieces)` on them, natively in parallel. No element may depend on where the cuts are, so
/// that the bits do not depend on the number of threads.
fn side_by_side<const N: usize>(
    pieces: usize,
    slices: [(&mut [f32], usize); N],
    work: &(impl Fn(usize, [&mut [f32]; N]) + Sync),
) {
    let lens = slices.each_ref().map(|(_, len)| *len);
    let begin = |piece: usize| lens.map(|len| piece * len);
    cut_and_work(0..pieces, slices.map(|(slice, _)| slice), &begin, work);
}

/// Cuts each slice into pieces of any length, piece `i` from `begin(i)` on, and calls `work` on them,
/// natively in parallel.
fn cut_and_work<const N: usize>(
    pieces: Range<usize>,
    slices: [&mut [f32]; N],
    begin: &(impl Fn(usize) -> [usize; N] + Sync),
    work: &(impl Fn(usize, [&mut [f32]; N]) + Sync),
) {
    if pieces.len() <= 1 {
        return work(pieces.start, slices);
    }
    let middle = pieces.start + pieces.len() / 2;
    let [mut cuts, before] = [begin(middle), begin(pieces.start)];
    cuts.iter_mut().zip(before).for_each(|(cut, before)| *cut -= before);
    let mut right = slices;
    let mut cuts = cuts.into_iter();
    let left = right.each_mut().map(|slice| {
        let cut = cuts.next().map_or(0, |cut| cut.min(slice.len()));
        let (left, rest) = take(slice).split_at_mut(cut);
        *slice = rest;
        left
    });
    let left = || cut_and_work(pieces.start..middle, left, begin, work);
    let right = || cut_and_work(middle..pieces.end, right, begin, work);
    #[cfg(not(target_arch = "wasm32"))]
    rayon::join(left, right);
    #[cfg(target_arch = "wasm32")]
    {
        left();
        right();
    }
}

/// Partial sums that run side by side, so that a sum vectorizes. Their number fixes the order of summation.
const LANES: usize = 16;

/// `Σ f(a, b)` over pairs, always in the same order.
#[inline(always)]
fn lane_sum(a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        lanes.iter_mut().zip(a).zip(b).for_each(|((lane, a), b)| *lane += f(*a, *b));
    }
    lanes.iter_mut().zip(a_rest).zip(b_rest).for_each(|((lane, a), b)| *lane += f(*a, *b));
    lanes.iter().sum()
}

/// `a · b`.
#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    lane_sum(a, b, |a, b| a * b)
}

/// `Σ a`.
#[inline(always)]
fn sum(a: &[f32]) -> f32 {
    lane_sum(a, a, |a, _| a)
}

/// `eˣ` for `x ≤ 0`, to 2 units in the last place, and zero below -87, written so that it vectorizes.
#[inline]
#[must_use]
pub fn exp_negative(x: f32) -> f32 {
    // `max` would turn NaN into a number, and takes twice the time in wasm.
    let clamped = if x < -87.0 { -87.0 } else { x };
    // Adding 1.5·2²³ rounds to the nearest integer and leaves it in the low bits.
    let shifted = clamped * std::f32::consts::LOG2_E + 12_582_912.0;
    let n = shifted - 12_582_912.0;
    let r = clamped - n * 0.693_359_4 + n * 2.121_944_4e-4;
    let mut y = 1.987_569_2e-4;
    for c in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        y = y * r + c;
    }
    let y = y * r * r + r + 1.0;
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000));
    if x < -87.0 { 0.0 } else { y * power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shaders_are_compact() {
        const TEXT: &[u8] = "// é\n\nfn f() {\n    a / b // c\n}\n".as_bytes();
        let (text, len) = compact::<18>(TEXT);
        assert_eq!((text.as_slice(), len), (b"fn f() {\na / b \n}\n".as_slice(), 18));
    }

    #[test]
    fn exp_matches_the_platform() {
        for i in 0..=8700 {
            let x = -f64::from(i) / 100.0;
            let (ours, exact) = (f64::from(exp_negative(x as f32)), f64::from(x as f32).exp());
            assert!((ours / exact - 1.0).abs() < 3e-7, "exp({x}): {ours} {exact}");
        }
        assert_eq!(exp_negative(0.0), 1.0);
        assert_eq!(exp_negative(-1e30), 0.0);
        assert_eq!(exp_negative(f32::NEG_INFINITY), 0.0);
    }
}
