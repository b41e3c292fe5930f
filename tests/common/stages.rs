//! Every stage gives the same numbers on both engines, on shapes that no tile divides.
//! They take any engine other than the CPU's; `native/gpu/vs_cpu.rs` and the browser tests run them.

use super::{ODD, random, relative_error, run};
use hidden_gaussian::Result;
use hidden_gaussian::compute::{Engine, Program, View};
use hidden_gaussian::kernels::matmul::{Activation, Keep, Layout, Matmul, Tile};
use hidden_gaussian::kernels::{
    Sigma, axpby, column_sums, nearest_tile, noise, ode_step, philox_words, rank_candidates,
    refine_mean, row_compare, shrink, softmax_tile, transpose_divide,
};
use hidden_gaussian::rng::{KNOWN_ANSWERS, Stream};

const TOLERANCE: f64 = 1e-4;

/// Failed cases, collected so that one run shows them all.
#[derive(Default)]
pub struct Failures(pub Vec<String>);

impl Failures {
    pub async fn compare(
        &mut self,
        case: String,
        gpu: &Engine,
        members: usize,
        inputs: &[Vec<f32>],
        lens: &[usize],
        record: impl Fn(&mut Program, &[View]) -> Result<()>,
    ) {
        self.compare_words(case, gpu, members, inputs, lens, |_, _| false, record).await;
    }

    /// Compares both engines where element `i` of buffer `b` is an integer if `is_word(b, i)`. Read as floats,
    /// small integers are nearly zero and would equal each other, so they are compared by bits.
    pub async fn compare_words(
        &mut self,
        case: String,
        gpu: &Engine,
        members: usize,
        inputs: &[Vec<f32>],
        lens: &[usize],
        is_word: impl Fn(usize, usize) -> bool,
        record: impl Fn(&mut Program, &[View]) -> Result<()>,
    ) {
        let ours = run(gpu, members, inputs, lens, &record).await;
        let twin = run(&Engine::cpu(), members, inputs, lens, &record).await;
        for (buffer, (a, b)) in ours.iter().zip(&twin).enumerate() {
            let is_word = |i: usize| is_word(buffer, i % lens[buffer]);
            self.compare_values(&format!("{case}: buffer {buffer}"), a, b, TOLERANCE, is_word);
        }
    }

    /// Compares one buffer of all members.
    pub fn compare_values(
        &mut self,
        case: &str,
        ours: &[f32],
        twin: &[f32],
        tolerance: f64,
        is_word: impl Fn(usize) -> bool,
    ) {
        let words = |values: &[f32]| -> Vec<u32> {
            let words = values.iter().enumerate().filter(|(i, _)| is_word(*i));
            words.map(|(_, v)| v.to_bits()).collect()
        };
        let floats = |values: &[f32]| -> Vec<f32> {
            let floats = values.iter().enumerate().filter(|(i, _)| !is_word(*i));
            floats.map(|(_, v)| *v).collect()
        };
        let error = relative_error(&floats(ours), &floats(twin));
        if error > tolerance {
            self.0.push(format!("{case} differs by {error:.2e}"));
        }
        let (ours, twin) = (words(ours), words(twin));
        let differs = |(a, b): &(&u32, &u32)| a != b;
        if let Some((a, b)) = ours.iter().zip(&twin).find(differs) {
            self.0.push(format!("{case} holds {a}, the twin {b}"));
        }
    }
}

impl Drop for Failures {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.0.is_empty(), "\n{}", self.0.join("\n"));
        }
    }
}

pub fn bits(words: &[u32]) -> Vec<f32> {
    words.iter().map(|&w| f32::from_bits(w)).collect()
}

/// All variants of the matrix multiply.
const TILES: [Tile; 5] = {
    let [a, b, c] = Tile::CANDIDATES;
    [Tile::REFERENCE, Tile::SOFTWARE, a, b, c]
};

const LAYOUTS: [Layout; 3] = [Layout::Nn, Layout::Nt, Layout::Tn];

/// Shapes that no tile divides.
pub async fn matmul_on_odd_shapes(gpu: &Engine) {
    let mut failures = Failures::default();
    for (case, &m) in ODD.iter().enumerate() {
        for (j, &n) in ODD.iter().enumerate() {
            let k = ODD[(case + 2 * j + 1) % ODD.len()];
            matmul_by_all_tiles(&mut failures, gpu, [m, n, k]).await;
        }
    }
}

/// Shapes that can be loaded four numbers at a time.
pub async fn matmul_on_multiples_of_four(gpu: &Engine) {
    let mut failures = Failures::default();
    for shape in [[4, 4, 4], [20, 12, 68], [7, 68, 4], [68, 8, 260], [132, 144, 36]] {
        matmul_by_all_tiles(&mut failures, gpu, shape).await;
    }
}

/// The variants that a GPU in hardware gets: threads that share sums.
pub async fn matmul_for_hardware(gpu: &Engine) {
    let Some(device) = gpu.as_gpu() else { return };
    let gpu = Engine::on(device.clone().with_tile(Tile::default()));
    let mut failures = Failures::default();
    for shape in [[64, 128, 256], [7, 68, 16], [68, 4, 260], [132, 144, 20], [4, 8, 4096]] {
        matmul_by_all_tiles(&mut failures, &gpu, shape).await;
    }
}

async fn matmul_by_all_tiles(failures: &mut Failures, gpu: &Engine, [m, n, k]: [usize; 3]) {
    let (inputs, lens) = matmul_operands([m, n, k], 0);
    for layout in LAYOUTS {
        for tile in TILES {
            let case = format!("{layout:?} {m}×{n}×{k} {tile:?}");
            let record = |p: &mut Program, v: &[View]| {
                Matmul::new(layout, v[0], v[1], v[3], [m, n, k])
                    .bias(v[2])
                    .keep(Keep::All)
                    .activation(Activation::Silu)
                    .record_with(p, tile)
            };
            failures.compare(case, gpu, 2, &inputs, &lens, record).await;
        }
    }
}

/// Operands for two members, each `offset` elements into its buffer: A, B, a bias, C, rescalings.
fn matmul_operands([m, n, k]: [usize; 3], offset: usize) -> (Vec<Vec<f32>>, Vec<usize>) {
    let lens: Vec<_> = [m * k, k * n, n, m * n, n].map(|len| len + offset).into();
    let inputs = lens.iter().zip(1..).map(|(len, index)| random(index, 2 * len)).collect();
    (inputs, lens)
}

/// Views and members that begin between two groups of four, with each way to keep the old content. Every
/// epilogue meets every tile, and the layouts alternate: all combinations would compile for a minute.
pub async fn matmul_of_views_with_every_epilogue(gpu: &Engine) {
    let mut failures = Failures::default();
    let shape = [20, 24, 28];
    for (i, offset) in [0, 3, 4].into_iter().enumerate() {
        let (inputs, lens) = matmul_operands(shape, offset);
        for (j, tile) in TILES.into_iter().enumerate() {
            for epilogue in 0..4 {
                let layout = LAYOUTS[(i + j + epilogue) % LAYOUTS.len()];
                let case = format!("{layout:?} from {offset}, epilogue {epilogue}, {tile:?}");
                let record = |p: &mut Program, v: &[View]| {
                    let at = |i: usize| v[i].at(offset);
                    let plain = Matmul::new(layout, at(0), at(1), at(3), shape);
                    match epilogue {
                        0 => plain,
                        1 => plain.bias(at(2)),
                        2 => plain.keep(Keep::Rescaled(at(4))),
                        _ => plain.keep(Keep::All).activation(Activation::Silu),
                    }
                    .record_with(p, tile)
                };
                failures.compare(case, gpu, 2, &inputs, &lens, record).await;
            }
        }
    }
}

pub async fn row_stages_on_odd_shapes(gpu: &Engine) {
    let mut failures = Failures::default();
    for rows in ODD {
        for cols in ODD {
            let len = rows * cols;
            let shape = [rows, cols];
            let x = random(1, 2 * len);
            let y = random(2, 2 * len);
            let case = |name: &str| format!("{name} {rows}×{cols}");
            failures
                .compare(
                    case("column_sums"),
                    gpu,
                    2,
                    std::slice::from_ref(&x),
                    &[len, cols],
                    |p, v| column_sums::record(p, v[0], v[1], shape),
                )
                .await;
            failures
                .compare(
                    case("axpby"),
                    gpu,
                    2,
                    &[x.clone(), y.clone()],
                    &[len, len, len],
                    |p, v| axpby::record(p, [v[0], v[1], v[2]], [0.6, -0.8], len),
                )
                .await;
            failures
                .compare(
                    case("axpby, one row for all"),
                    gpu,
                    2,
                    &[x.clone(), y[..2 * cols].to_vec()],
                    &[len, cols, len],
                    |p, v| axpby::record_rows(p, [v[0], v[1], v[2]], [0.6, -0.8], shape),
                )
                .await;
            failures
                .compare(
                    case("row_compare"),
                    gpu,
                    2,
                    &[x.clone(), y.clone()],
                    &[len, len, 4 * rows],
                    |p, v| row_compare::record(p, [v[0], v[1], v[2]], shape),
                )
                .await;
            let picks: Vec<u32> = (0..2 * rows).map(|i| ((7 * i + 3) % rows) as u32).collect();
            let inputs = [x.clone(), y.clone(), bits(&picks)];
            failures
                .compare(
                    case("row_compare picked"),
                    gpu,
                    2,
                    &inputs,
                    &[len, len, 2 * rows, 4 * rows],
                    |p, v| {
                        row_compare::record_picked(
                            p,
                            [v[0], v[1], v[2], v[3]],
                            2,
                            [rows, cols, rows],
                        )
                    },
                )
                .await;
            failures
                .compare(
                    case("transpose_divide"),
                    gpu,
                    2,
                    &[random(7, rows), x.clone()],
                    &[rows, len, len],
                    |p, v| transpose_divide::record(p, [v[0], v[1], v[2]], shape),
                )
                .await;
            let lambda: Vec<f32> = random(3, cols).iter().map(|v| v.max(0.0)).collect();
            let sigma: Vec<f32> = random(4, rows).iter().map(|v| v.exp()).collect();
            failures
                .compare(
                    case("shrink"),
                    gpu,
                    2,
                    &[lambda, sigma.clone(), x.clone()],
                    &[cols, rows, len],
                    |p, v| shrink::record(p, v[0], Sigma::per_row(v[1]), v[2], shape),
                )
                .await;
            let clock = bits(&noise::clock(0x1234_5678_9abc, 5));
            failures
                .compare(
                    case("noise"),
                    gpu,
                    2,
                    &[clock, sigma, x.clone()],
                    &[4, rows, len, len],
                    |p, v| {
                        noise::record(
                            p,
                            v[0],
                            Stream::Test,
                            Sigma::per_row(v[1]),
                            Some(v[2]),
                            v[3],
                            shape,
                        )
                    },
                )
                .await;
            let sigmas = vec![1.5, 0.5];
            let inputs = [sigmas, x.clone(), y.clone(), random(5, len), random(6, len)];
            failures
                .compare(
                    case("ode_step"),
                    gpu,
                    2,
                    &inputs,
                    &[2, len, len, len, len, len, len],
                    |p, v| {
                        ode_step::record_euler(p, v[0], [v[1], v[2], v[5]], len)?;
                        ode_step::record_heun(p, v[0], [v[1], v[2], v[3], v[4], v[6]], len)
                    },
                )
                .await;
        }
    }
}

/// Two members with different training sets, over several tiles, at noise levels where a plain
/// softmax would underflow.
pub async fn tiles_over_training_images_on_odd_shapes(gpu: &Engine) {
    let mut failures = Failures::default();
    for rows in ODD {
        for n in ODD {
            for sigma in [0.002_f32, 0.3, 80.0] {
                let width = 63.min(n);
                let products = random(1, rows * n);
                let norms: Vec<f32> = random(2, n).iter().map(|v| 1.0 + v * v).collect();
                let end = n as u32;
                let range = bits(&[0, end, n as u32 / 2, end]);
                let listed = nearest_tile::CANDIDATES * rows;
                let lens = [n, 1, 2, rows * n, softmax_tile::STATE * rows, listed, listed];
                let inputs = [norms, vec![sigma], range, products];
                let case = format!("tiles {rows}×{n} σ={sigma}");
                let is_word = |buffer, _| [2, 6].contains(&buffer);
                failures
                    .compare_words(case, gpu, 2, &inputs, &lens, is_word, |p, v| {
                        let [norms, sigma, range, s, state, best, index] =
                            [v[0], v[1], v[2], v[3], v[4], v[5], v[6]];
                        for first in (0..n).step_by(width) {
                            let cols = width.min(n - first);
                            let tile = softmax_tile::ImageTile { rows, cols, first };
                            let (norms, s) = (norms.at(first), s.at(rows * first));
                            nearest_tile::record(p, tile, [norms, range, s, best, index])?;
                            softmax_tile::record(
                                p,
                                tile,
                                Sigma::shared(sigma),
                                [norms, range, s, state],
                            )?;
                        }
                        Ok(())
                    })
                    .await;
            }
        }
    }
}

/// Candidates of two members, by products and by distances: several near images, or fewer images than
/// candidates, at noise levels where products are too coarse for weights and where they are not.
pub async fn candidates_on_odd_shapes(gpu: &Engine) {
    let mut failures = Failures::default();
    for (rows, dim, images) in [(1, 1, 1), (3, 65, 5), (5, 63, 9), (2, 300, 40)] {
        for sigma in [0.002_f32, 0.005, 3.0] {
            let norms: Vec<f32> = random(2, images).iter().map(|v| 1.0 + v.abs()).collect();
            // Far enough apart for rounding not to matter, and some of them within reach.
            let product = |at: usize| {
                let (image, row) = (at / rows % images, at % rows);
                0.5 * norms[image] - 12.0 * sigma * sigma * ((7 * image + row) % images) as f32
            };
            let end = images as u32;
            let listed = nearest_tile::CANDIDATES * rows;
            let [batch, tile] = [rows * dim, rows * images];
            let lens = [batch, images * dim, images, 1, 2, tile, batch, listed, listed, listed];
            let inputs = [
                random(3, 2 * batch),
                random(1, 2 * images * dim),
                [norms.clone(), norms.clone()].concat(),
                vec![sigma; 2],
                bits(&[0, end, end / 2, end]),
                (0..2 * tile).map(product).collect(),
                random(4, 2 * batch),
            ];
            let case = format!("candidates {rows}×{dim} of {images}, σ={sigma}");
            let is_word = |buffer, _| [4, 8].contains(&buffer);
            failures
                .compare_words(case, gpu, 2, &inputs, &lens, is_word, |p, v| {
                    let [x, pool, norms, sigma, range] = [v[0], v[1], v[2], v[3], v[4]];
                    let [s, out, best, index, distances] = [v[5], v[6], v[7], v[8], v[9]];
                    let tile = softmax_tile::ImageTile { rows, cols: images, first: 0 };
                    nearest_tile::record(p, tile, [norms, range, s, best, index])?;
                    let shape = [rows, dim, images];
                    rank_candidates::record(p, [x, pool, best, index, distances], shape)?;
                    let views = [pool, norms, best, index, distances, out];
                    refine_mean::record(p, Sigma::shared(sigma), views, shape)
                })
                .await;
        }
    }
}

pub async fn philox_is_bit_exact(gpu: &Engine) {
    let mut input: Vec<u32> =
        KNOWN_ANSWERS.iter().flat_map(|(c, k, _)| c.iter().chain(k).copied()).collect();
    input.extend((0..6 * 997_u32).map(|i| i.wrapping_mul(0x9E37_79B9)));
    let count = input.len() / 6;
    let lens = [6 * count, 4 * count];
    let words = async |engine| {
        let out = run(engine, 1, &[bits(&input)], &lens, |p, v| {
            philox_words::record(p, v[0], v[1], count)
        })
        .await;
        out[1].iter().map(|v| v.to_bits()).collect::<Vec<_>>()
    };
    let (ours, twin) = (words(gpu).await, words(&Engine::cpu()).await);
    assert_eq!(ours, twin);
    let expected: Vec<u32> = KNOWN_ANSWERS.iter().flat_map(|(_, _, words)| *words).collect();
    assert_eq!(ours[..expected.len()], expected);
}
