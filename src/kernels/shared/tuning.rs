//! Measures which tile and which engine are fastest on this machine, and verifies the result.

use std::time::Duration;

use serde::Serialize;

use super::verification;
use crate::compute::{Engine, Gpu, Loaded, Routine, Tile};
use crate::error::{Error, ErrorKind, Result};
use crate::kernels::matmul::{Layout, Matmul};
use crate::platform::Instant;

/// Members of the measured program: a small ensemble.
const MEMBERS: usize = 4;

/// A layer of the networks that the page trains.
const SHAPE: [usize; 3] = [128, 256, 256];

/// No further tile is tried after this long, compilation included.
const TUNING: Duration = Duration::from_millis(300);

/// Work that takes this long is timed accurately enough.
const SAMPLE: Duration = Duration::from_millis(20);

/// Every GPU takes longer than [`SAMPLE`] for this many runs.
const MOST_RUNS: u32 = 1 << 14;

/// Matrix multiply rates of the engines in GFLOP/s, as far as measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Rates {
    /// Rate of the CPU engine: all cores natively, one in WebAssembly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    /// Rate of the GPU engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<f64>,
}

/// Why an engine was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// A sentence for the reader.
    pub reason: String,
    /// The measured rates.
    pub rates: Rates,
}

impl Choice {
    /// The choice of the reader.
    #[must_use]
    pub fn by_hand() -> Self {
        Self { reason: "Chosen by hand".to_owned(), rates: Rates::default() }
    }
}

impl Engine {
    /// Opens the GPU engine, or says why there is none.
    pub async fn gpu() -> Result<Self> {
        Ok(Self::on(Gpu::open_tuned().await?))
    }

    /// Measures the rate of a matrix multiply in GFLOP/s, on a layer of a small ensemble.
    #[doc(hidden)]
    pub async fn rate(&self) -> Result<f64> {
        rate(self).await
    }

    /// Chooses the engine that multiplies matrices faster on this machine.
    pub async fn auto() -> (Self, Choice) {
        Self::auto_of(Gpu::open().await).await
    }

    /// Chooses between the CPU engine and this GPU.
    #[doc(hidden)]
    pub async fn auto_of(gpu: Result<Gpu>) -> (Self, Choice) {
        let cpu = rate(&Self::cpu()).await.ok();
        let measured = async {
            let mut tiles = tiles(gpu?).await?;
            let fastest = rate(&Self::on(tiles.first())).await?;
            // A GPU that will not be used need not be verified, which takes a software adapter seconds.
            if Some(fastest) < cpu {
                return Ok((tiles.first(), fastest));
            }
            let gpu = tiles.right().await?;
            let rate = if tiles.others() { rate(&Self::on(gpu.clone())).await? } else { fastest };
            Ok::<_, Error>((gpu, rate))
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

/// Formats a ratio with two digits from tenths: without floats, the page's library is smaller.
fn times(ratio: f64) -> String {
    let tenths = (10.0 * ratio).round() as u32;
    if tenths < 95 {
        format!("{}.{}×", tenths / 10, tenths % 10)
    } else {
        format!("{}×", (tenths + 5) / 10)
    }
}

impl Gpu {
    /// Opens the fastest adapter and finds the tile that suits it.
    pub async fn open_tuned() -> Result<Self> {
        Self::open().await?.tuned().await
    }

    /// Returns the same GPU with the fastest tile that computes correctly.
    pub async fn tuned(self) -> Result<Self> {
        tiles(self).await?.right().await
    }
}

/// The tiles that fit a GPU, the fastest last.
struct Tiles {
    gpu: Gpu,
    left: Vec<Tile>,
    /// The first computation that a tile got wrong.
    wrong: Option<&'static str>,
}

/// Measures which tiles are fast. On a software adapter the best tile is known, and compiling the others
/// would take longer than they could ever save.
async fn tiles(gpu: Gpu) -> Result<Tiles> {
    let known = if gpu.is_software() { &[Tile::SOFTWARE][..] } else { &Tile::CANDIDATES[..] };
    let threads = gpu.profile().max_threads;
    let fitting = known.iter().copied().filter(|tile| tile.threads() <= threads);
    let mut measured: Vec<(f64, Tile)> = Vec::new();
    let start = Instant::now();
    for tile in fitting {
        let mut speed = 0.0;
        if !gpu.is_software() && start.elapsed() <= TUNING {
            speed = match rate(&Engine::on(gpu.clone().with_tile(tile))).await {
                Ok(speed) => speed,
                Err(error) if error.kind == ErrorKind::DeviceLost => return Err(error),
                // The driver cannot compile this tile.
                Err(_) => continue,
            };
        }
        // Tiles that were not measured in time follow the others in their order.
        let slower = measured.iter().position(|(other, _)| *other < speed);
        measured.insert(slower.unwrap_or(measured.len()), (speed, tile));
    }
    let left: Vec<_> = measured.into_iter().rev().map(|(_, tile)| tile).collect();
    Ok(Tiles { gpu, left, wrong: None })
}

impl Tiles {
    /// The GPU with the fastest tile.
    fn first(&self) -> Gpu {
        self.gpu.clone().with_tile(self.left.last().copied().unwrap_or_default())
    }

    /// Whether a tile was dropped.
    const fn others(&self) -> bool {
        self.wrong.is_some()
    }

    /// Returns the GPU with the fastest tile that computes correctly, or an error that says what is wrong.
    async fn right(&mut self) -> Result<Gpu> {
        while let Some(tile) = self.left.pop() {
            let gpu = self.gpu.clone().with_tile(tile);
            match verification::fault(&Engine::on(gpu.clone())).await {
                Ok(None) => return Ok(gpu),
                Ok(Some(wrong)) => self.wrong = self.wrong.or(Some(wrong)),
                Err(error) if error.kind == ErrorKind::DeviceLost || self.left.is_empty() => {
                    return Err(error);
                }
                Err(_) => {}
            }
        }
        let wrong = self.wrong.unwrap_or("everything");
        Err(Error::new(
            ErrorKind::Gpu,
            format!("The GPU computes wrong numbers: it fails at {wrong}"),
            "Use the CPU engine, or try a newer driver or browser",
        ))
    }
}

/// Measures the engine's GFLOP/s on a layer of a small ensemble.
async fn rate(engine: &Engine) -> Result<f64> {
    let [m, n, k] = SHAPE;
    let mut program = engine.program(MEMBERS)?;
    let [a, b, c] =
        [program.buffer("a", m * k)?, program.buffer("b", k * n)?, program.buffer("c", m * n)?];
    let routine =
        program.routine("matmul", |p| Matmul::new(Layout::Nn, a, b, c, SHAPE).record(p))?;
    let mut loaded = engine.load(program).await?;
    // The first run compiles. Waiting for an empty submit takes time too: up to 100 ms in some browsers.
    time(&mut loaded, routine, 1).await?;
    let mut latency: f64 = 0.0;
    for _ in 0..3 {
        latency = latency.max(time(&mut loaded, routine, 0).await?);
    }
    // Long enough for the latency to hardly matter.
    let enough = (4.0 * latency).max(SAMPLE.as_secs_f64());
    let mut runs = 2;
    loop {
        // Browsers coarsen their clocks, so no interval counts as zero.
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
