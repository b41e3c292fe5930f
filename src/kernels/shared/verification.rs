//! Verifies that a GPU computes correctly. Some drivers occasionally return whole tiles of wrong numbers
//! without an error. So the basic kernels run several times, at shapes that no tile divides: all runs must
//! give the same bits, and agree with the CPU engine up to rounding.

use crate::compute::{Buffer, Engine, Profile, Program, View};
use crate::error::Result;
use crate::kernels::matmul::{Layout, Matmul};
use crate::kernels::softmax_tile::{self, ImageTile};
use crate::kernels::{Sigma, dot};
use crate::rng::{Stream, fill_normals};

/// How often each kernel runs. Known faults appear in an eighth of the runs of a kernel or more; with six
/// matrix multiplies, one in ten thousand goes unnoticed.
const REPEATS: usize = 12;

/// How far a result may be from the CPU engine's, relative to the largest.
const TOLERANCE: f32 = 1e-4;

/// A computation that runs `REPEATS` times into one buffer.
struct Trial {
    /// Its name in a sentence.
    name: &'static str,
    out: Buffer,
}

/// Finds what the engine computes wrong, if anything.
pub(super) async fn fault(engine: &Engine) -> Result<Option<&'static str>> {
    let cpu = Engine::cpu();
    let expected = results(&cpu, cpu.profile()).await?;
    let profile = engine.profile();
    // Larger results have no sums that threads share.
    let alone = (profile.sharers > 1).then_some(Profile { sharers: 1, ..profile });
    for profile in [Some(profile), alone].into_iter().flatten() {
        let ours = results(engine, profile).await?;
        let wrong = ours.iter().zip(&expected).find(|((_, ours), (_, cpu))| is_wrong(ours, cpu));
        if let Some(((name, _), _)) = wrong {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

fn is_wrong(ours: &[f32], cpu: &[f32]) -> bool {
    let len = cpu.len() / REPEATS;
    let (first, cpu) = (&ours[..len], &cpu[..len]);
    let bits = |values: &[f32]| -> Vec<u32> { values.iter().map(|v| v.to_bits()).collect() };
    let expected = bits(first);
    let scale = cpu.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    // NaN is close to nothing.
    let close = |(a, b): (&f32, &f32)| (a - b).abs() <= TOLERANCE * scale;
    !first.iter().zip(cpu).all(close) || ours.chunks_exact(len).any(|again| bits(again) != expected)
}

async fn results(engine: &Engine, profile: Profile) -> Result<Vec<(&'static str, Vec<f32>)>> {
    // No packs: a pack's shader would hold several runs of a kernel.
    let mut program = Program::new(1, Profile { packs: false, ..profile })?;
    let mut trials = Vec::new();
    let routine = program.routine("verification", |p| {
        products(p, &mut trials)?;
        #[cfg(feature = "training")]
        convolutions(p, &mut trials)?;
        softmax(p, &mut trials)
    })?;
    let mut loaded = engine.load(program).await?;
    loaded.run_cooperative(routine, 1).await?;
    let mut results = Vec::new();
    for Trial { name, out } in trials {
        results.push((name, loaded.read(out).await?));
    }
    Ok(results)
}

fn normals(index: u32, len: usize) -> Vec<f32> {
    let mut values = vec![0.0; len];
    fill_normals(1, Stream::Test, index, &mut values);
    values
}

/// Records `record(output)` for each repeat, with `len` elements.
fn repeat(
    p: &mut Program,
    trials: &mut Vec<Trial>,
    name: &'static str,
    len: usize,
    mut record: impl FnMut(&mut Program, View) -> Result<()>,
) -> Result<()> {
    let out = p.buffer(name, REPEATS * len)?;
    for time in 0..REPEATS {
        record(p, out.at(time * len))?;
    }
    trials.push(Trial { name, out });
    Ok(())
}

fn products(p: &mut Program, trials: &mut Vec<Trial>) -> Result<()> {
    for (i, shape @ [m, n, k]) in [[132, 140, 68], [67, 71, 33]].into_iter().enumerate() {
        let a = p.buffer_with("a", normals(2 * i as u32, m * k))?;
        let b = p.buffer_with("b", normals(2 * i as u32 + 1, k * n))?;
        for layout in [Layout::Nn, Layout::Nt, Layout::Tn] {
            repeat(p, trials, "a matrix multiply", m * n, |p, c| {
                Matmul::new(layout, a, b, c, shape).record(p)
            })?;
        }
    }
    Ok(())
}

#[cfg(feature = "training")]
fn convolutions(p: &mut Program, trials: &mut Vec<Trial>) -> Result<()> {
    use crate::kernels::conv::{Channels, Conv, Scale};
    use crate::kernels::conv_weight_backward;
    for (i, channels) in [[12, 20], [3, 7]].into_iter().enumerate() {
        let conv = Conv { batch: 9, size: [6, 5], channels, scale: Scale::Same };
        let [inputs, outputs] = channels;
        let pixels = conv.batch * conv.size[0] * conv.size[1];
        let first = 3 * i as u32 + 10;
        let x = p.buffer_with("x", normals(first, pixels * inputs))?;
        let y = p.buffer_with("y", normals(first + 1, pixels * outputs))?;
        let weights = p.buffer_with("weights", normals(first + 2, conv.parameters()))?.into();
        let scratch = p.buffer("parts", conv_weight_backward::scratch(p, &conv))?.into();
        let (x, y) = (Channels::all(x, inputs), Channels::all(y, outputs));
        repeat(p, trials, "a convolution", pixels * outputs, |p, out| {
            conv.record(p, x, weights, None, Channels::all(out, outputs))
        })?;
        repeat(p, trials, "a convolution's gradient", pixels * inputs, |p, out| {
            conv.record_backward_input(p, y, weights, None, Channels::all(out, inputs))
        })?;
        repeat(
            p,
            trials,
            "the gradient of a convolution's weights",
            conv.parameters(),
            |p, out| conv_weight_backward::record(p, &conv, x, y, scratch, out),
        )?;
    }
    Ok(())
}

fn softmax(p: &mut Program, trials: &mut Vec<Trial>) -> Result<()> {
    let (rows, cols, dim) = (37, 67, 16);
    let images = normals(20, cols * dim);
    let norms = images.chunks_exact(dim).map(|image| dot(image, image)).collect();
    let norms = p.buffer_with("norms", norms)?.into();
    let range = p.buffer_with("range", [3, 65].map(f32::from_bits).to_vec())?.into();
    let sigma = p.buffer_with("σ", vec![0.7; rows])?;
    let products = normals(21, cols * rows).repeat(REPEATS);
    let weights = p.buffer_with("weights", products)?;
    let len = softmax_tile::STATE * rows;
    let mut time = 0;
    repeat(p, trials, "a softmax", len, |p, state| {
        let s = weights.at(time * cols * rows);
        time += 1;
        let tile = ImageTile { rows, cols, first: 0 };
        softmax_tile::record(p, tile, Sigma::per_row(sigma), [norms, range, s, state])
    })?;
    trials.push(Trial { name: "a softmax", out: weights });
    Ok(())
}
