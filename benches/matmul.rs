//! GFLOP/s of the matrix multiply: the CPU engine, and every tile on the GPU, for the shapes of our
//! networks. `cargo bench --bench matmul [-- cpu|gpu]`.
#![cfg_attr(target_arch = "wasm32", no_main)]
#![cfg(not(target_arch = "wasm32"))]

use std::time::Instant;

use hidden_gaussian::Result;
use hidden_gaussian::compute::Engine;
use hidden_gaussian::kernels::matmul::{Layout, Matmul, Tile};

/// Members, then `m`, `n`, `k`.
const SHAPES: [[usize; 4]; 8] = [
    [1, 32, 144, 144],
    [9, 32, 144, 144],
    [1, 64, 256, 256],
    [1, 128, 256, 256],
    [4, 128, 256, 256],
    [1, 256, 256, 128],
    [1, 64, 512, 256],
    [1, 64, 256, 512],
];

const LAYOUTS: [Layout; 3] = [Layout::Nn, Layout::Nt, Layout::Tn];

/// Milliseconds until the first run was done, and the best GFLOP/s of several.
fn measure(
    engine: &Engine,
    [members, m, n, k]: [usize; 4],
    layout: Layout,
    tile: Tile,
) -> Result<[f64; 2]> {
    pollster::block_on(async {
        let mut program = engine.program(members)?;
        let [a, b, c] =
            [program.buffer("a", m * k)?, program.buffer("b", k * n)?, program.buffer("c", m * n)?];
        let routine = program
            .routine("matmul", |p| Matmul::new(layout, a, b, c, [m, n, k]).record_with(p, tile))?;
        let start = Instant::now();
        let mut loaded = engine.load(program).await?;
        loaded.run(routine, 1)?;
        loaded.finish().await?;
        let first = start.elapsed();
        let flops = (2 * members * m * n * k) as f64;
        let (mut best, mut times) = (0.0_f64, 1);
        let start = Instant::now();
        while start.elapsed().as_millis() < 300 {
            let now = Instant::now();
            loaded.run(routine, times)?;
            loaded.finish().await?;
            let seconds = now.elapsed().as_secs_f64();
            best = best.max(1e-9 * flops * f64::from(times) / seconds);
            if seconds < 0.02 {
                times *= 2;
            }
        }
        Ok([1e3 * first.as_secs_f64(), best])
    })
}

fn table(title: &str, engine: &Engine, tiles: &[(String, Tile)]) -> Result<()> {
    println!("\n{title}");
    print!("{:26}", "");
    for [members, m, n, k] in SHAPES {
        print!("{:>15}", format!("{members}·{m}×{n}×{k}"));
    }
    println!("{:>15}", "first run");
    for (name, tile) in tiles {
        for layout in LAYOUTS {
            print!("{name:22} {layout:?}  ");
            let mut slowest_first = 0.0_f64;
            for shape in SHAPES {
                let [first, rate] = measure(engine, shape, layout, *tile)?;
                slowest_first = slowest_first.max(first);
                print!("{rate:15.2}");
            }
            println!("{slowest_first:12.0} ms");
        }
    }
    Ok(())
}

fn main() -> Result<()> {
    let only: Vec<String> =
        std::env::args().skip(1).filter(|arg| ["cpu", "gpu"].contains(&arg.as_str())).collect();
    let wanted = |name: &str| only.is_empty() || only.iter().any(|arg| arg == name);
    if wanted("cpu") {
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let cpu = [("CPU engine".to_owned(), Tile::default())];
        if let Ok(one) = one {
            one.install(|| table("One thread, GFLOP/s", &Engine::cpu(), &cpu))?;
        }
        table("All threads, GFLOP/s", &Engine::cpu(), &cpu)?;
    }
    if wanted("gpu") {
        let gpu = pollster::block_on(Engine::gpu())?;
        let title = gpu.adapter().unwrap_or_default();
        let tiles = [Tile::REFERENCE, Tile::SOFTWARE].into_iter().chain(Tile::CANDIDATES);
        let name = |tile: Tile| {
            let Tile { rows, cols, threads_x, threads_y, depth } = tile;
            let memory = if depth > 0 { format!(" deep {depth}") } else { String::new() };
            format!("{rows}×{cols} on {threads_y}×{threads_x}{memory}")
        };
        let tiles: Vec<_> = tiles.map(|tile| (name(tile), tile)).collect();
        table(&format!("{title}, GFLOP/s"), &gpu, &tiles)?;
    }
    Ok(())
}
