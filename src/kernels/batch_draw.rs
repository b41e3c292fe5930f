//! A batch: for each row, an image of the member's training set and a noise level,
//! `ln σ ~ N(mean, deviation²)`, drawn at the member's clock.

use super::noise::CLOCK;
use super::{Call, RNG, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;
use crate::rng::{Stream, below, normal_pair, philox};

params! {
    struct Params {
        rows: u32,
        index_stream: u32,
        sigma_stream: u32,
        log_mean: f32,
        log_deviation: f32,
    }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "batch_draw",
    wgsl: &[VIEWS, RNG, wgsl!("batch_draw.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("clock", Access::Read),
        ("range", Access::Read),
        ("index", Access::Write),
        ("sigma", Access::Write),
    ],
    cpu,
};

/// Records the draw of `rows` images and noise levels; `range` holds `[begin, end)` of the pool.
pub fn record(
    program: &mut Program,
    [clock, range, index, sigma]: [View; 4],
    [log_mean, log_deviation]: [f32; 2],
    rows: usize,
) -> Result<()> {
    let params = Params {
        rows: rows as u32,
        index_stream: Stream::BatchIndex as u32,
        sigma_stream: Stream::BatchSigma as u32,
        log_mean,
        log_deviation,
    };
    let bindings = [(clock, CLOCK), (range, 2), (index, rows), (sigma, rows)];
    program.stage(&KERNEL, &[], &params, &bindings, cover(rows))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (clock, range) = (call.read_u32(0), call.read_u32(1));
    let (index, sigma) = (call.write_u32(2), call.write(3));
    let draw = |row: usize, stream| philox([row as u32, clock[2], stream, 0], [clock[0], clock[1]]);
    for (row, (index, sigma)) in index.iter_mut().zip(sigma).enumerate() {
        let [pick, ..] = draw(row, p.index_stream);
        *index = range[0] + below(pick, range[1] - range[0]);
        let [a, b, ..] = draw(row, p.sigma_stream);
        *sigma = (p.log_mean + p.log_deviation * normal_pair(a, b)[0]).exp();
    }
}
