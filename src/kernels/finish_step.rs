//! The end of a training step: checks it, computes the scales of the update and advances the clock.
//!
//! A member whose loss or gradient is not finite, or whose loss blows up, is marked in its clock and
//! frozen: it keeps its last weights, its clock says when it diverged, and the other members continue.
//!
//! The learning rate at step `t` of `T` is `rate · min((t + 1) / warm_up, 1) ·
//! ((1 - floor) cos(π t / 2T) + floor)`; the weights' moving average decays by
//! `min(limit, (1 + t) / (10 + t))`.

use super::{Call, RNG, ROW_SUM, VIEWS, params, sum, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;
use crate::rng::cos_sin_turn;

params! {
    struct Params {
        chunks: u32,
        rows: u32,
        rate: f32,
        floor: f32,
        warm_up: f32,
        total: f32,
        clip: f32,
        blow_up: f32,
        ema_limit: f32,
        log_beta1: f32,
        log_beta2: f32,
    }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "finish_step",
    wgsl: &[VIEWS, RNG, ROW_SUM, wgsl!("finish_step.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("squares", Access::Read),
        ("losses", Access::Read),
        ("clock", Access::Write),
        ("out", Access::Write),
    ],
    cpu,
};

/// Words of a training clock: a [`noise::CLOCK`](super::noise::CLOCK) whose last word is the status
/// (0 while the member learns, 1 once it has diverged), then the sum of the losses and their number
/// since the sum was last cleared, the last loss and the last gradient norm.
pub const TRAINING_CLOCK: usize = 8;

/// Numbers that an update needs: whether to update, Adam's two scales, the gradient's scale, and the
/// fraction of the new weights in their moving average.
pub const STEP_STATE: usize = 5;

/// The learning rate over a run, and the limits of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateSchedule {
    /// Highest learning rate.
    pub rate: f32,
    /// Fraction of the rate that remains at the end.
    pub floor: f32,
    /// Steps of the linear rise at the beginning.
    pub warm_up: u32,
    /// Steps of the whole run.
    pub total: u32,
    /// Largest norm of a gradient; a longer gradient is scaled down to it.
    pub clip: f32,
    /// Largest loss before a member counts as diverged.
    pub blow_up: f32,
    /// Largest decay of the moving average per step.
    pub ema_limit: f32,
    /// Decay of Adam's two moments per step. They start at zero, which the scales correct; 0 leaves the
    /// learning rate unchanged.
    pub betas: [f32; 2],
}

/// Records the stage, from `chunks` sums of squared gradients and the losses of `rows` rows.
pub fn record(
    program: &mut Program,
    schedule: RateSchedule,
    [squares, losses, clock, out]: [View; 4],
    [chunks, rows]: [usize; 2],
) -> Result<()> {
    // The logarithm of 0 is not finite; a power of the smallest number is close enough to 0.
    let [log_beta1, log_beta2] = schedule.betas.map(|beta| beta.max(f32::MIN_POSITIVE).ln());
    let params = Params {
        chunks: chunks as u32,
        rows: rows as u32,
        rate: schedule.rate,
        floor: schedule.floor,
        warm_up: schedule.warm_up.max(1) as f32,
        total: schedule.total.max(1) as f32,
        clip: schedule.clip,
        blow_up: schedule.blow_up,
        ema_limit: schedule.ema_limit,
        log_beta1,
        log_beta2,
    };
    let bindings = [(squares, chunks), (losses, rows), (clock, TRAINING_CLOCK), (out, STEP_STATE)];
    let constants = [("ROW_THREADS", program.profile().row_threads)];
    program.stage(&KERNEL, &constants, &params, &bindings, [1, 1])
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (square, loss) = (sum(call.read(0)), sum(call.read(1)));
    let (clock, out) = (call.write_u32(2), call.write(3));
    out[0] = 0.0;
    if clock[3] != 0 {
        return;
    }
    let norm = square.sqrt();
    clock[6] = loss.to_bits();
    clock[7] = norm.to_bits();
    if !square.is_finite() || !loss.is_finite() || loss > p.blow_up {
        clock[3] = 1;
        return;
    }
    clock[4] = (f32::from_bits(clock[4]) + loss).to_bits();
    clock[5] += 1;
    let step = clock[2] as f32;
    clock[2] += 1;
    let fall = (1.0 - p.floor) * cos_sin_turn(0.25 * (step / p.total).min(1.0))[0] + p.floor;
    let rate = p.rate * ((step + 1.0) / p.warm_up).min(1.0) * fall;
    out[0] = 1.0;
    out[1] = rate / (1.0 - ((step + 1.0) * p.log_beta1).exp());
    out[2] = 1.0 / (1.0 - ((step + 1.0) * p.log_beta2).exp());
    out[3] = (p.clip / norm.max(1e-30)).min(1.0);
    out[4] = 1.0 - p.ema_limit.min((1.0 + step) / (10.0 + step));
}
