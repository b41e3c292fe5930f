//! Which engine is faster here: measured, not guessed.

use serde::Serialize;
use web_time::Instant;

use super::{Engine, Loaded, Routine};
use crate::error::Result;
use crate::kernels::matmul::{Layout, Matmul};

/// A layer of the networks that the page trains.
const SHAPE: [usize; 3] = [128, 256, 256];

/// Matrix multiply rates of the engines, in GFLOP/s, where they were measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Rates {
    /// The CPU engine's, on one thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    /// The GPU engine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<f64>,
}

/// Why an engine was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// A sentence for the reader.
    pub reason: String,
    /// What was measured.
    pub rates: Rates,
}

impl Choice {
    /// The reader's own choice.
    #[must_use]
    pub fn by_hand() -> Self {
        Self { reason: "Chosen by hand".to_owned(), rates: Rates::default() }
    }
}

impl Engine {
    /// The engine that multiplies matrices faster here.
    pub async fn auto() -> (Self, Choice) {
        let cpu = rate(&Self::Cpu).await.ok();
        let gpu = match Self::gpu().await {
            Ok(engine) => engine,
            Err(error) => {
                let rates = Rates { cpu, gpu: None };
                return (Self::Cpu, Choice { reason: error.message, rates });
            }
        };
        let gpu_rate = match rate(&gpu).await {
            Ok(rate) => rate,
            Err(error) => {
                let rates = Rates { cpu, gpu: None };
                return (Self::Cpu, Choice { reason: error.message, rates });
            }
        };
        let rates = Rates { cpu, gpu: Some(gpu_rate) };
        let ratio = gpu_rate / cpu.unwrap_or(f64::MIN_POSITIVE);
        let software = if matches!(&gpu, Self::Gpu(gpu) if gpu.is_software()) {
            " (WebGPU is emulated in software here)"
        } else {
            ""
        };
        if ratio >= 1.0 {
            (
                gpu,
                Choice {
                    reason: format!("Measured {ratio:.1}× as fast as the CPU engine"), rates
                },
            )
        } else {
            let reason =
                format!("Measured {:.1}× as fast as the GPU engine{software}", 1.0 / ratio);
            (Self::Cpu, Choice { reason, rates })
        }
    }
}

/// GFLOP/s of the engine on one matrix multiply.
async fn rate(engine: &Engine) -> Result<f64> {
    let [m, n, k] = SHAPE;
    let mut program = engine.program(1)?;
    let [a, b, c] =
        [program.buffer("a", m * k)?, program.buffer("b", k * n)?, program.buffer("c", m * n)?];
    let routine =
        program.routine("matmul", |p| Matmul::new(Layout::Nn, a, b, c, SHAPE).record(p))?;
    let mut loaded = engine.load(program).await?;
    // The first run compiles; the second tells how many fit the time.
    time(&mut loaded, routine, 1).await?;
    let once = time(&mut loaded, routine, 1).await?;
    let times = ((0.05 / once) as u32).clamp(1, 200);
    let seconds = time(&mut loaded, routine, times).await?;
    Ok(2e-9 * (m * n * k) as f64 * f64::from(times) / seconds)
}

async fn time(loaded: &mut Loaded, routine: Routine, times: u32) -> Result<f64> {
    let start = Instant::now();
    loaded.run(routine, times)?;
    loaded.finish().await?;
    // Browsers blunt their clocks; no interval counts as nothing.
    Ok(start.elapsed().as_secs_f64().max(1e-5))
}
