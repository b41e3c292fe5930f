//! Raw Philox words, to check a reader's machine against the published vectors.

use super::{Call, RNG, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;
use crate::rng::philox;

params! {
    struct Params { count: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "philox_words",
    wgsl: &[VIEWS, RNG, wgsl!("philox_words.wgsl")],
    params: Params::FIELDS,
    bindings: &[("input", Access::Read), ("out", Access::Write)],
    cpu,
};

/// Records `count` evaluations: `input` holds counter and key (6 words each), `out` receives 4 words each.
pub fn record(program: &mut Program, input: View, out: View, count: usize) -> Result<()> {
    let params = Params { count: count as u32 };
    program.stage(&KERNEL, &[], &params, &[(input, 6 * count), (out, 4 * count)], cover(count))
}

fn cpu(call: &mut Call<'_>) {
    let input = call.read_u32(0);
    for (out, input) in call.write_u32(1).chunks_exact_mut(4).zip(input.chunks_exact(6)) {
        let &[a, b, c, d, k0, k1] = input else { continue };
        out.copy_from_slice(&philox([a, b, c, d], [k0, k1]));
    }
}
