//! Rates of the CPU engine's convolutions, forward, of the input's gradient and of the weights', for the
//! layers of the U-Net in colour, and as shares of the matrix multiply's rate, measured in turn with
//! them. Taps that fall on the border count although they are skipped, as in other libraries.
//!
//! `cargo bench --bench conv [-- width]`. `RAYON_NUM_THREADS` sets the threads.
#![cfg_attr(target_arch = "wasm32", no_main)]
#![cfg(not(target_arch = "wasm32"))]

#[expect(dead_code, reason = "other benches use the rest")]
mod cases;

use std::time::Instant;

use hidden_gaussian::Result;
use hidden_gaussian::compute::{Engine, Loaded, Routine};
use hidden_gaussian::kernels::conv::{Channels, Conv, Scale};
use hidden_gaussian::kernels::conv_weight_backward;
use hidden_gaussian::kernels::matmul::{Layout, Matmul};
use pollster::block_on;

/// Images in a batch.
const BATCH: usize = 64;

/// Turns of all measurements; the best of each counts.
const TURNS: usize = 12;

/// A routine that is measured.
struct Case {
    name: String,
    loaded: Loaded,
    routine: Routine,
    flop: f64,
    /// How often a step of training does it.
    times: usize,
    seconds: f64,
}

impl Case {
    fn measure(&mut self) -> Result<()> {
        // A few times, as the first brings the operands to the cache.
        for _ in 0..3 {
            let now = Instant::now();
            self.loaded.run(self.routine, 1)?;
            self.seconds = self.seconds.min(now.elapsed().as_secs_f64());
        }
        Ok(())
    }

    fn rate(&self) -> f64 {
        1e-9 * self.flop / self.seconds
    }
}

/// Multiply-adds of a convolution, the border's too.
fn multiply_adds(conv: &Conv) -> usize {
    let [height, width] = conv.output_size();
    conv.batch * height * width * conv.weights()
}

/// The layers of the U-Net with `c` channels, and how often each is there.
fn layers(c: usize) -> [(Conv, usize); 11] {
    let layer = |side, channels, scale| Conv { batch: BATCH, size: [side; 2], channels, scale };
    [
        (layer(16, [12, c], Scale::Same), 1),
        (layer(16, [c, c], Scale::Same), 3),
        (layer(16, [c, 2 * c], Scale::Half), 1),
        (layer(8, [2 * c, 2 * c], Scale::Same), 3),
        (layer(8, [2 * c, 4 * c], Scale::Half), 1),
        (layer(4, [4 * c, 4 * c], Scale::Same), 4),
        (layer(4, [4 * c, 2 * c], Scale::Double), 1),
        (layer(8, [4 * c, 2 * c], Scale::Same), 1),
        (layer(8, [2 * c, c], Scale::Double), 1),
        (layer(16, [2 * c, c], Scale::Same), 1),
        (layer(16, [c, 12], Scale::Same), 1),
    ]
}

fn case(conv: Conv, pass: usize, times: usize) -> Result<Case> {
    let [inputs, outputs] = conv.channels;
    let pixels = |[height, width]: [usize; 2]| BATCH * height * width;
    let (x_len, y_len) = (pixels(conv.size) * inputs, pixels(conv.output_size()) * outputs);
    let mut program = Engine::cpu().program(1)?;
    let x = program.buffer_with("x", cases::noise(x_len))?;
    let y = program.buffer_with("y", cases::noise(y_len))?;
    let w = program.buffer_with("weights", cases::noise(conv.parameters()))?;
    let out = program.buffer("out", x_len.max(y_len).max(conv.parameters()))?;
    let routine = program.routine("conv", |p| {
        let (x, y) = (Channels::all(x, inputs), Channels::all(y, outputs));
        match pass {
            0 => conv.record(p, x, w.into(), None, Channels::all(out, outputs)),
            1 => conv.record_backward_input(p, y, w.into(), None, Channels::all(out, inputs)),
            _ => conv_weight_backward::record(p, &conv, x, y, w.into(), out.into()),
        }
    })?;
    let loaded = block_on(Engine::cpu().load(program))?;
    let name = ["forward", "input", "weights"][pass].to_owned();
    let flop = 2.0 * multiply_adds(&conv) as f64;
    // Nobody needs the gradient of the images.
    let times = if pass == 1 && inputs == 12 { 0 } else { times };
    Ok(Case { name, loaded, routine, flop, times, seconds: f64::INFINITY })
}

fn matmul(shape @ [m, n, k]: [usize; 3]) -> Result<Case> {
    let mut program = Engine::cpu().program(1)?;
    let a = program.buffer_with("a", cases::noise(m * k))?;
    let b = program.buffer_with("b", cases::noise(k * n))?;
    let c = program.buffer("c", m * n)?;
    let routine =
        program.routine("matmul", |p| Matmul::new(Layout::Nn, a, b, c, shape).record(p))?;
    let loaded = block_on(Engine::cpu().load(program))?;
    let (name, flop) = ("matrix multiply".to_owned(), 2.0 * (m * n * k) as f64);
    Ok(Case { name, loaded, routine, flop, times: 1, seconds: f64::INFINITY })
}

fn main() -> Result<()> {
    let width = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(32);
    let mut gemm = matmul([768; 3])?;
    let mut table = Vec::new();
    for (conv, times) in layers(width) {
        let cases = (0..3).map(|pass| case(conv, pass, times)).collect::<Result<Vec<_>>>()?;
        table.push((conv, cases));
    }
    for _ in 0..TURNS {
        for (_, cases) in &mut table {
            gemm.measure()?;
            cases.iter_mut().try_for_each(Case::measure)?;
        }
    }
    println!("C = {width}, batch {BATCH}, {} threads", rayon::current_num_threads());
    let share = |rate: f64| 100.0 * rate / gemm.rate();
    println!("{} {:.1} GFLOP/s", gemm.name, gemm.rate());
    let [mut flop, mut seconds] = [0.0; 2];
    for (conv, cases) in &table {
        let ([side, _], [inputs, outputs]) = (conv.size, conv.channels);
        let name = format!("{side}×{side} {inputs}→{outputs} {:?}", conv.scale);
        print!("{name:<24}");
        for case in cases {
            let (rate, share) = (case.rate(), share(case.rate()));
            print!("  {} {rate:>6.1} ({share:>3.0} %) {:>5.2} ms", case.name, 1e3 * case.seconds);
            flop += case.times as f64 * case.flop;
            seconds += case.times as f64 * case.seconds;
        }
        println!();
    }
    let rate = 1e-9 * flop / seconds;
    println!("all of a step: {:.1} ms, {rate:.1} GFLOP/s, {:.0} %", 1e3 * seconds, share(rate));
    Ok(())
}
