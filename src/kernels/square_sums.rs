//! The sum of squares of each chunk of a long vector: the first half of a norm. A second stage adds
//! the chunks, so that no reduction depends on the order in which threads finish.

use super::{Call, ROW_SUM, VALUE, VIEWS, dot, params, wgsl, wide};
use crate::compute::simd::{self, Vectorized};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

/// Elements of a chunk.
const CHUNK: usize = 4096;

params! {
    struct Params { len: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "square_sums",
    wgsl: &[VIEWS, VALUE, ROW_SUM, wgsl!("square_sums.wgsl")],
    params: Params::FIELDS,
    bindings: &[("x", Access::Read), ("out", Access::Write)],
    cpu,
};

/// Number of chunks of `len` elements.
#[must_use]
pub const fn chunks(len: usize) -> usize {
    len.div_ceil(CHUNK)
}

/// Records the sums of squares of the chunks of `x`.
pub fn record(program: &mut Program, x: View, out: View, len: usize) -> Result<()> {
    let params = Params { len: len as u32 };
    let wide = wide(len, &[x], program.members()) as u32;
    let constants = [("WIDE", wide), ("ROW_THREADS", program.profile().row_threads)];
    program.stage(&KERNEL, &constants, &params, &[(x, len), (out, chunks(len))], [chunks(len), 1])
}

fn cpu(call: &mut Call<'_>) {
    let x = call.read(0);
    simd::run(Squares { x, out: call.write(1) });
}

struct Squares<'a> {
    x: &'a [f32],
    out: &'a mut [f32],
}

impl Vectorized for Squares<'_> {
    #[inline(always)]
    fn run<const LANES: usize, const PAIR: usize, const FMA: bool>(self) {
        for (out, x) in self.out.iter_mut().zip(self.x.chunks(CHUNK)) {
            *out = dot(x, x);
        }
    }
}
