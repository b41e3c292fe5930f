//! Which tile and which engine are fastest here: measured, not guessed.

use std::time::Duration;

use serde::Serialize;

use crate::compute::{Engine, Gpu, Loaded, Routine, Tile};
use crate::error::{ErrorKind, Result};
use crate::kernels::matmul::{Layout, Matmul};
use crate::platform::Instant;

/// Members of the program that is measured: a small ensemble.
const MEMBERS: usize = 4;

/// A layer of the networks that the page trains.
const SHAPE: [usize; 3] = [128, 256, 256];

/// No further tile is tried after this long.
const TUNING: Duration = Duration::from_millis(300);

/// Work that lasts this long is timed well enough.
const SAMPLE: Duration = Duration::from_millis(20);

/// Every GPU takes longer than [`SAMPLE`] for as many.
const MOST_RUNS: u32 = 1 << 14;

/// Matrix multiply rates of the engines, in GFLOP/s, where they were measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Rates {
    /// The CPU engine's: all cores natively, one in WebAssembly.
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
    /// The GPU engine, or why there is none.
    pub async fn gpu() -> Result<Self> {
        Ok(Self::on(Gpu::open_tuned().await?))
    }

    /// The engine that multiplies matrices faster here.
    pub async fn auto() -> (Self, Choice) {
        let cpu = rate(&Self::cpu()).await.ok();
        let measured = async {
            let gpu = Gpu::open_tuned().await?;
            let engine = Self::on(gpu.clone());
            let rate = rate(&engine).await?;
            Ok::<_, crate::Error>((gpu, rate))
        };
        let (gpu, rate) = match measured.await {
            Ok(measured) => measured,
            Err(error) => {
                let rates = Rates { cpu, gpu: None };
                return (Self::cpu(), Choice { reason: error.message.clone(), rates });
            }
        };
        let rates = Rates { cpu, gpu: Some(rate) };
        let ratio = rate / cpu.unwrap_or(f64::MIN_POSITIVE);
        if ratio >= 1.0 {
            let reason = format!("The GPU is {} as fast as the CPU engine here", times(ratio));
            return (Self::on(gpu), Choice { reason, rates });
        }
        let faster = times(1.0 / ratio);
        let reason = if gpu.is_software() {
            format!("The GPU is only emulated here; the CPU engine is {faster} as fast")
        } else {
            format!("The CPU engine is {faster} as fast as the GPU here")
        };
        (Self::cpu(), Choice { reason, rates })
    }
}

/// A ratio with two digits, as tenths: the page's library is smaller without the formatting of floats.
fn times(ratio: f64) -> String {
    let tenths = (10.0 * ratio).round() as u32;
    if tenths < 95 {
        format!("{}.{}×", tenths / 10, tenths % 10)
    } else {
        format!("{}×", (tenths + 5) / 10)
    }
}

impl Gpu {
    /// Opens the fastest adapter that there is and finds the tile that suits it.
    pub async fn open_tuned() -> Result<Self> {
        let gpu = Self::open().await?;
        // A software adapter takes longer to compile the candidates than they could ever save.
        if gpu.is_software() {
            return Ok(gpu.with_tile(Tile::SOFTWARE));
        }
        let start = Instant::now();
        let mut best = (0.0, Tile::default());
        for tile in Tile::CANDIDATES {
            if start.elapsed() > TUNING {
                break;
            }
            match rate(&Engine::on(gpu.clone().with_tile(tile))).await {
                Ok(rate) if rate > best.0 => best = (rate, tile),
                Err(error) if error.kind == ErrorKind::DeviceLost => return Err(error),
                // Slower, or more than this driver can compile.
                _ => {}
            }
        }
        Ok(gpu.with_tile(best.1))
    }
}

/// GFLOP/s of the engine on a layer of a small ensemble.
async fn rate(engine: &Engine) -> Result<f64> {
    let [m, n, k] = SHAPE;
    let mut program = engine.program(MEMBERS)?;
    let [a, b, c] =
        [program.buffer("a", m * k)?, program.buffer("b", k * n)?, program.buffer("c", m * n)?];
    let routine =
        program.routine("matmul", |p| Matmul::new(Layout::Nn, a, b, c, SHAPE).record(p))?;
    let mut loaded = engine.load(program).await?;
    // The first run compiles. To wait for nothing takes time too: up to 100 ms in some browsers.
    time(&mut loaded, routine, 1).await?;
    let mut latency: f64 = 0.0;
    for _ in 0..3 {
        latency = latency.max(time(&mut loaded, routine, 0).await?);
    }
    // Long enough that it hardly matters how much of the wait was for nothing.
    let enough = (4.0 * latency).max(SAMPLE.as_secs_f64());
    let mut runs = 2;
    loop {
        // Browsers blunt their clocks, so no interval counts as nothing.
        let spent = (time(&mut loaded, routine, runs).await? - latency).max(1e-4);
        if spent >= enough || runs >= MOST_RUNS {
            let flops = (2 * MEMBERS * m * n * k) as f64 * f64::from(runs);
            return Ok(1e-9 * flops / spent);
        }
        let factor = 1.2 * enough / spent;
        runs = (f64::from(runs) * factor.clamp(2.0, 64.0)) as u32;
    }
}

async fn time(loaded: &mut Loaded, routine: Routine, runs: u32) -> Result<f64> {
    let start = Instant::now();
    loaded.run(routine, runs)?;
    loaded.finish().await?;
    Ok(start.elapsed().as_secs_f64())
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    #[test]
    fn auto_chooses_what_it_measured_to_be_faster() {
        let (engine, Choice { reason, rates }) = pollster::block_on(Engine::auto());
        assert!(!reason.is_empty());
        let gpu_is_faster = rates.gpu > rates.cpu;
        assert_eq!(engine.name(), if gpu_is_faster { "gpu" } else { "cpu" }, "{rates:?}");
    }
}
