//! From noise to images along the probability-flow ODE (eqs. 1-2), with EDM's noise levels.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::compute::{Buffer, Engine, Program, View, elements};
use crate::denoiser::{Denoiser, Placed};
use crate::error::{Error, Result};
use crate::kernels::{Level, Sigma, noise, ode_step};
use crate::rng::Stream;

/// Noise levels from high to low; the last one is 0.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseSchedule {
    sigmas: Arc<[f32]>,
}

impl NoiseSchedule {
    /// EDM's schedule: `steps` levels from `high` to `low`, evenly spaced in `σ^(1/ρ)`, then 0.
    pub fn edm(steps: usize, low: f64, high: f64, rho: f64) -> Result<Self> {
        if !(1..=1000).contains(&steps) {
            return Err(Error::bad_input(
                format!("The sampler cannot take {steps} steps"),
                "Choose 1 to 1000 steps",
            ));
        }
        if !(low < high && rho > 0.0 && rho.is_finite()) {
            return Err(Error::bad_input(
                "The noise levels are not valid",
                "Choose 0 < σ_min < σ_max and ρ > 0",
            ));
        }
        check_sigma(low as f32)?;
        check_sigma(high as f32)?;
        Ok(Self::levels(steps, low, high, rho))
    }

    /// The paper's schedule: 10 levels, σ from 80 to 0.002, ρ = 7.
    #[must_use]
    pub fn paper() -> Self {
        Self::levels(10, 0.002, 80.0, 7.0)
    }

    fn levels(steps: usize, low: f64, high: f64, rho: f64) -> Self {
        let (first, last) = (high.powf(1.0 / rho), low.powf(1.0 / rho));
        let level = |i: usize| match i {
            // Both ends are exact, without rounding.
            0 => high as f32,
            i if i + 1 == steps => low as f32,
            i => (first + i as f64 / (steps - 1) as f64 * (last - first)).powf(rho) as f32,
        };
        Self { sigmas: (0..steps).map(level).chain([0.0]).collect() }
    }

    /// All noise levels, including the final 0.
    #[must_use]
    pub fn sigmas(&self) -> &[f32] {
        &self.sigmas
    }

    /// Number of steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.sigmas.len() - 1
    }
}

/// Checks that a noise level works in single precision, where its square must be neither 0 nor
/// infinite.
pub(crate) fn check_sigma(sigma: f32) -> Result<()> {
    if (1e-6..=1e6).contains(&sigma) {
        return Ok(());
    }
    // The number is left out: code that prints one takes 8 kB of the page's library.
    Err(Error::bad_input("A noise level is out of range", "Choose σ from 0.000001 to 1000000"))
}

/// The order of a sampler's step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// First order, with one evaluation per step, as in the paper.
    Euler,
    /// Second order, with two evaluations per step, as in EDM.
    Heun,
}

/// A sampler: noise levels and a method.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampler {
    /// The noise levels.
    pub schedule: NoiseSchedule,
    /// How each step is taken.
    pub method: Method,
}

impl Sampler {
    /// The paper's sampler: 10 Euler steps from σ = 80 to 0.002, then to 0.
    #[must_use]
    pub fn paper() -> Self {
        Self { schedule: NoiseSchedule::paper(), method: Method::Euler }
    }

    /// Records the starting noise `x_T = σ_max n` for `rows` images of `dim` numbers.
    ///
    /// `clock` holds the seed (see [`noise::clock`]): the same clock gives the same noise, whichever
    /// denoiser follows.
    pub fn record_noise(
        &self,
        program: &mut Program,
        clock: View,
        out: View,
        shape: [usize; 2],
    ) -> Result<()> {
        let levels = program.constant("schedule", &self.schedule.sigmas)?;
        noise::record(program, clock, Stream::SamplerNoise, Sigma::shared(levels), None, out, shape)
    }

    /// Records the path from the noise in `start` to an image, and keeps every point of it.
    pub fn record(
        &self,
        program: &mut Program,
        denoiser: &dyn Placed,
        start: Buffer,
    ) -> Result<Trajectory> {
        let len = start.len();
        let levels = program.constant("schedule", &self.schedule.sigmas)?;
        let sigma = |i: usize| {
            let level = Level { index: i, sigma: self.schedule.sigmas[i] };
            Sigma { level: Some(level), ..Sigma::shared(levels.at(i)) }
        };
        let mut trajectory = Trajectory { x: vec![start], denoised: Vec::new() };
        let heun = self.method == Method::Heun;
        let halfway = if heun {
            Some((program.buffer("Euler point", len)?, program.buffer("D(Euler point)", len)?))
        } else {
            None
        };
        for i in 0..self.schedule.steps() {
            let x = trajectory.x[i];
            let d = program.buffer(format!("D(x_{i})"), len)?;
            let next = program.buffer(format!("x_{}", i + 1), len)?;
            denoiser.record(program, x.into(), sigma(i), d.into())?;
            let interval = levels.at(i);
            match halfway {
                Some((euler, denoised)) if i + 1 < self.schedule.steps() => {
                    let [x, d, next] = [x, d, next].map(View::from);
                    let [euler, denoised] = [euler, denoised].map(View::from);
                    ode_step::record_euler(program, interval, [x, d, euler], len)?;
                    denoiser.record(program, euler, sigma(i + 1), denoised)?;
                    ode_step::record_heun(program, interval, [x, d, euler, denoised, next], len)?;
                }
                _ => ode_step::record_euler(program, interval, [x, d, next].map(View::from), len)?,
            }
            trajectory.x.push(next);
            trajectory.denoised.push(d);
        }
        Ok(trajectory)
    }
}

/// Starting noise: how many images to start, and the seed. From the same noise, different denoisers
/// reach images that can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noise {
    /// Images to generate per member.
    pub count: usize,
    /// Seed of the starting noise.
    pub seed: u64,
}

/// Draws samples from `denoiser`: rows of [`Denoiser::dim`] numbers, member by member. All members start
/// from the same noise.
pub async fn sample(
    engine: &Engine,
    denoiser: &dyn Denoiser,
    sampler: &Sampler,
    noise: Noise,
) -> Result<Vec<f32>> {
    let shape = [noise.count, denoiser.dim()];
    let mut program = engine.program(denoiser.members())?;
    let clock = noise::clock(noise.seed, 0).map(f32::from_bits);
    let clock = program.constant("clock", &clock.into())?;
    let start = program.buffer("starting noise", elements(shape))?;
    let placed = denoiser.place(&mut program, noise.count)?;
    let mut end = start;
    let routine = program.routine("sample", |p| {
        sampler.record_noise(p, clock.into(), start.into(), shape)?;
        end = sampler.record(p, &*placed, start)?.end();
        Ok(())
    })?;
    let mut loaded = engine.load(program).await?;
    loaded.run_cooperative(routine, 1).await?;
    loaded.read(end).await
}

/// The path of a sampler.
#[derive(Debug, Clone)]
pub struct Trajectory {
    /// `x_t` at each noise level, from the starting noise to the image.
    pub x: Vec<Buffer>,
    /// `D(x_t)` at each noise level except the final 0.
    pub denoised: Vec<Buffer>,
}

impl Trajectory {
    /// The final image.
    #[must_use]
    pub fn end(&self) -> Buffer {
        self.x[self.x.len() - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_levels() {
        let printed =
            [80.0, 42.415, 21.109, 9.723, 4.066, 1.502, 0.470, 0.1166, 0.0204, 0.002, 0.0];
        for (ours, printed) in NoiseSchedule::paper().sigmas().iter().zip(printed) {
            assert!((ours - printed).abs() <= 2e-3 * printed, "{ours} {printed}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for (steps, low, high, rho) in [
            (0, 0.1, 1.0, 7.0),
            (5, 0.0, 1.0, 7.0),
            (5, 2.0, 1.0, 7.0),
            (5, 0.1, f64::NAN, 7.0),
            (5, 0.1, 1.0, 0.0),
            (9999, 0.1, 1.0, 7.0),
        ] {
            assert!(NoiseSchedule::edm(steps, low, high, rho).is_err());
        }
        assert_eq!(NoiseSchedule::edm(1, 0.1, 1.0, 7.0).unwrap().sigmas(), [1.0, 0.0]);
    }
}
