//! The exact denoisers, the sampler and the metrics against closed forms and f64 references.
//! They take any engine; `native/closed_forms.rs` and `native/gpu/closed_forms.rs` run them on both.

use std::sync::Arc;

use hidden_gaussian::compute::{Engine, Loaded};
use hidden_gaussian::data::TrainingSets;
use hidden_gaussian::denoiser::{Denoiser, Empirical, Gaussian, GaussianFit};
use hidden_gaussian::experiment::evaluation::{Denoised, score_difference};
use hidden_gaussian::kernels::{Sigma, noise};
use hidden_gaussian::metrics::{LinearityProbe, Nearest, nearest_images};
use hidden_gaussian::rng::{Draw, Philox, Stream, fill_normals};
use hidden_gaussian::sampler::{Method, NoiseSchedule, Sampler};
use nalgebra::DVector;

use super::random;

/// Correlated images with a mean: `n` rows of `dim` numbers, with a few strong directions.
pub(super) fn images(index: u32, n: usize, dim: usize) -> Vec<f32> {
    let noise = random(index, n * dim);
    let walk = |row: &[f32]| {
        let mut sum = 0.0;
        row.iter()
            .map(|v| {
                sum = 0.8 * sum + 0.3 * v;
                sum + 0.1
            })
            .collect::<Vec<_>>()
    };
    noise.chunks_exact(dim).flat_map(walk).collect()
}

pub(super) fn to_f64(values: &[f32]) -> DVector<f64> {
    DVector::from_iterator(values.len(), values.iter().map(|&v| f64::from(v)))
}

/// `D(x; σ)` for rows `x`, all members in order.
pub(super) async fn denoise(
    engine: &Engine,
    members: usize,
    denoiser: &dyn Denoiser,
    x: &[f32],
    sigma: &[f32],
) -> Vec<f32> {
    let mut program = engine.program(members).unwrap();
    let rows = sigma.len();
    let input = program.buffer("x", x.len()).unwrap();
    let level = program.buffer("σ", rows).unwrap();
    let out = program.buffer("D(x)", x.len()).unwrap();
    let placed = denoiser.place(&mut program, rows).unwrap();
    let routine = program
        .routine("denoise", |p| placed.record(p, input.into(), Sigma::per_row(level), out.into()))
        .unwrap();
    let mut loaded = engine.load(program).await.unwrap();
    loaded.upload(input, x).unwrap();
    loaded.upload(level, sigma).unwrap();
    loaded.run(routine, 1).unwrap();
    loaded.read(out).await.unwrap()
}

/// Eq. 4 in f64, term by term.
pub(super) fn empirical_f64(set: &[f32], dim: usize, x: &[f32], sigma: f64) -> Vec<f64> {
    let x = to_f64(x);
    let logits: Vec<f64> = set
        .chunks_exact(dim)
        .map(|y| -(&x - to_f64(y)).norm_squared() / (2.0 * sigma * sigma))
        .collect();
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut mean = DVector::zeros(dim);
    let mut sum = 0.0;
    for (y, logit) in set.chunks_exact(dim).zip(logits) {
        let weight = (logit - top).exp();
        mean += to_f64(y) * weight;
        sum += weight;
    }
    (mean / sum).as_slice().to_vec()
}

/// Two members whose training sets overlap, over several tiles, at noise levels from where every
/// naive exponent underflows to where all images have the same weight.
pub async fn empirical_is_eq_4(engine: &Engine) {
    for (n, dim) in [(1, 5), (3, 1), (600, 7), (1100, 65)] {
        let pool = images(1, n, dim);
        let ranges = vec![0..n, n / 3..n.div_ceil(2).max(n / 3 + 1)];
        let sets = TrainingSets::new(pool.clone(), dim, ranges.clone()).unwrap();
        let sigmas = [0.002_f32, 0.02, 0.3, 1.0, 10.0, 80.0];
        let noise = random(2, sigmas.len() * dim);
        let x: Vec<f32> = (0..sigmas.len() * dim)
            .map(|i| pool[(7 * (i / dim) % n) * dim + i % dim] + sigmas[i / dim] * noise[i])
            .collect();
        let got = denoise(engine, 2, &Empirical::new(sets.clone()), &x, &sigmas).await;
        for (m, got) in got.chunks_exact(x.len()).enumerate() {
            for (i, &sigma) in sigmas.iter().enumerate() {
                let expected =
                    empirical_f64(sets.images(m), dim, &x[i * dim..][..dim], f64::from(sigma));
                for (a, b) in got[i * dim..][..dim].iter().zip(expected) {
                    let error = (f64::from(*a) - b).abs();
                    assert!(error < 2e-3, "n={n} d={dim} member {m} σ={sigma}: {a} {b}");
                }
            }
        }
    }
}

/// At the size of photographs, products in f32 have larger errors than near-duplicates differ by. Their
/// weights are right nevertheless: images that differ by a few σ, a noisy image halfway between two others,
/// duplicates, and one with no image near it.
pub async fn near_ties_are_settled(engine: &Engine) {
    let (n, dim) = (530, 3072);
    // The standard deviation of the data is 0.5.
    let mut pool: Vec<f32> = random(1, n * dim).iter().map(|v| 0.5 * v).collect();
    let image = |i: usize| i * dim..(i + 1) * dim;
    for sigma in [0.002_f32, 0.02] {
        // Images 1, 520 and 521 are near-duplicates of image 0, in one tile and another; 522 is image 3.
        for (i, step) in [(1, 0.02), (520, 0.03), (521, -0.025)] {
            let change = random(10 + i as u32, dim);
            for j in 0..dim {
                pool[i * dim + j] = pool[j] + step * sigma * change[j];
            }
        }
        let duplicate = pool[image(3)].to_vec();
        pool[image(522)].copy_from_slice(&duplicate);
        let noise = random(2, 4 * dim);
        let noisy = |base: Vec<f32>, nth: usize| -> Vec<f32> {
            base.iter().zip(&noise[nth * dim..]).map(|(v, n)| v + sigma * n).collect()
        };
        let half_way = (0..dim).map(|j| 0.5 * (pool[5 * dim + j] + pool[6 * dim + j])).collect();
        let rows = [
            noisy(pool[image(0)].to_vec(), 0),
            noisy(duplicate, 1),
            noisy(half_way, 2),
            noisy(pool[image(7)].to_vec(), 3),
        ];
        let x = rows.concat();
        let sets = TrainingSets::single(pool.clone(), dim).unwrap();
        let got = denoise(engine, 1, &Empirical::new(sets.clone()), &x, &[sigma; 4]).await;
        for (i, (got, x)) in got.chunks_exact(dim).zip(&rows).enumerate() {
            let expected = empirical_f64(&pool, dim, x, f64::from(sigma));
            let error = got.iter().zip(&expected).map(|(a, b)| (f64::from(*a) - b).powi(2));
            let error = (error.sum::<f64>() / dim as f64).sqrt();
            // Halfway between two images 40 apart, f32 can barely distinguish which is nearer.
            let bound = if i == 2 { 0.02 } else { 1e-4 * f64::from(sigma) + 1e-7 };
            assert!(error < bound, "σ={sigma}, row {i}: {error}");
        }
        let nearest = nearest_images(engine, &sets, &x).await.unwrap().remove(0);
        for (i, x) in rows.iter().enumerate() {
            let distance = |y: &[f32]| (to_f64(x) - to_f64(y)).norm();
            let mut all: Vec<_> = pool.chunks_exact(dim).map(distance).collect();
            all.sort_by(f64::total_cmp);
            for (ours, exact) in [(nearest.d1[i], all[0]), (nearest.d2[i], all[1])] {
                assert!((f64::from(ours) / exact - 1.0).abs() < 1e-5, "row {i}: {ours} {exact}");
            }
        }
    }
}

/// Full-rank and rank-deficient sets, so both the covariance and the Gram matrix are used; the members
/// differ in rank.
pub async fn gaussian_is_eq_7(engine: &Engine) {
    for (n, dim) in [(1, 5), (4, 7), (40, 65), (300, 63), (9, 301), (330, 301)] {
        let sets = TrainingSets::new(images(3, n, dim), dim, vec![0..n, 0..n.div_ceil(2)]).unwrap();
        let gaussian = Gaussian::fit(&sets).unwrap();
        let sigmas = [0.002_f32, 0.1, 1.0, 80.0];
        let x: Vec<f32> = random(4, sigmas.len() * dim)
            .iter()
            .enumerate()
            .map(|(i, v)| v * (0.5 + sigmas[i / dim]))
            .collect();
        let got = denoise(engine, 2, &gaussian, &x, &sigmas).await;
        for (m, got) in got.chunks_exact(x.len()).enumerate() {
            for (i, &sigma) in sigmas.iter().enumerate() {
                let row = i * dim..(i + 1) * dim;
                let expected =
                    gaussian.fits()[m].denoise(&to_f64(&x[row.clone()]), f64::from(sigma));
                let error = (to_f64(&got[row]) - &expected).norm() / expected.norm().max(1e-3);
                assert!(error < 1e-4, "n={n} d={dim} member {m} σ={sigma}: {error}");
            }
        }
    }
}

/// Samples `rows` images with one denoiser for one member; returns the noise and the ends of the paths.
async fn sample(
    engine: &Engine,
    sampler: &Sampler,
    denoiser: &dyn Denoiser,
    rows: usize,
    seed: u64,
) -> [Vec<f32>; 2] {
    let dim = denoiser.dim();
    let mut program = engine.program(1).unwrap();
    let clock: Arc<[f32]> = noise::clock(seed, 0).map(f32::from_bits).into();
    let clock = program.constant("clock", &clock).unwrap();
    let start = program.buffer("start", rows * dim).unwrap();
    let placed = denoiser.place(&mut program, rows).unwrap();
    let mut end = None;
    let routine = program
        .routine("sample", |p| {
            sampler.record_noise(p, clock.into(), start.into(), [rows, dim])?;
            end = Some(sampler.record(p, &*placed, start)?.end());
            Ok(())
        })
        .unwrap();
    let mut loaded = engine.load(program).await.unwrap();
    loaded.run(routine, 1).unwrap();
    [loaded.read(start).await.unwrap(), loaded.read(end.unwrap()).await.unwrap()]
}

/// Eq. 7 of the full text: the Gaussian trajectory has a closed form, and the samplers converge to it
/// at their order: halving the steps divides the error by 2 (Euler) or 4 (Heun).
pub async fn samplers_converge_to_the_closed_form(engine: &Engine) {
    let dim = 9;
    let sets = TrainingSets::single(images(5, 200, dim), dim).unwrap();
    let gaussian = Gaussian::fit(&sets).unwrap();
    // Stop at σ = 0.05, where the closed form is compared.
    let (high, low) = (20.0, 0.05);
    let error = async |method, steps: usize| {
        let sampler =
            Sampler { schedule: NoiseSchedule::edm(steps + 1, low, high, 7.0).unwrap(), method };
        let mut program = engine.program(1).unwrap();
        let clock: Arc<[f32]> = noise::clock(11, 0).map(f32::from_bits).into();
        let clock = program.constant("clock", &clock).unwrap();
        let start = program.buffer("start", 4 * dim).unwrap();
        let placed = gaussian.place(&mut program, 4).unwrap();
        let mut last = None;
        let routine = program
            .routine("sample", |p| {
                sampler.record_noise(p, clock.into(), start.into(), [4, dim])?;
                last = Some(sampler.record(p, &*placed, start)?.x[steps]);
                Ok(())
            })
            .unwrap();
        let mut loaded: Loaded = engine.load(program).await.unwrap();
        loaded.run(routine, 1).unwrap();
        let noise: Vec<f32> = loaded.read(start).await.unwrap();
        let reached: Vec<f32> = loaded.read(last.unwrap()).await.unwrap();
        let rows = noise.chunks_exact(dim).zip(reached.chunks_exact(dim));
        let errors = rows.map(|(noise, reached)| {
            let exact = gaussian.fits()[0].flow(&to_f64(noise), high, low);
            (to_f64(reached) - exact).norm()
        });
        errors.fold(0.0, f64::max)
    };
    for (method, order, steps) in [(Method::Euler, 1, [64, 128]), (Method::Heun, 2, [16, 32])] {
        let [coarse, fine] = [error(method, steps[0]).await, error(method, steps[1]).await];
        let measured = (coarse / fine).log2();
        assert!(
            (measured - f64::from(order)).abs() < 0.25,
            "{method:?}: order {measured}, errors {coarse} {fine}"
        );
    }
}

/// The optimum memorizes: everything that D_M generates is a training image.
pub async fn empirical_samples_are_training_images(engine: &Engine) {
    let (n, dim, rows) = (600, 20, 33);
    let pool = images(6, n, dim);
    let sets = TrainingSets::single(pool.clone(), dim).unwrap();
    let empirical = Empirical::new(sets.clone());
    let gaussian = Gaussian::fit(&sets).unwrap();
    let samples = async |denoiser: &dyn Denoiser| {
        let [_, x] = sample(engine, &Sampler::paper(), denoiser, rows, 3).await;
        let mut program = engine.program(1).unwrap();
        let input = program.buffer("samples", x.len()).unwrap();
        let placed = empirical.place_in(&mut program, rows).unwrap();
        let mut nearest = None;
        let routine = program
            .routine("nearest", |p| {
                nearest = Some(Nearest::record(p, &placed, input.into())?);
                Ok(())
            })
            .unwrap();
        let mut loaded = engine.load(program).await.unwrap();
        loaded.upload(input, &x).unwrap();
        loaded.run(routine, 1).unwrap();
        (x, nearest.unwrap().read(&mut loaded).await.unwrap().remove(0))
    };
    let (x, copies) = samples(&empirical).await;
    assert!(copies.closeness.gl.mean < 0.01, "{:?}", copies.closeness);
    assert_eq!(copies.closeness.memorized.mean, 1.0);
    for (i, x) in x.chunks_exact(dim).enumerate() {
        // The search agrees with a plain one.
        let distance = |y: &[f32]| (to_f64(x) - to_f64(y)).norm();
        let mut all: Vec<_> = pool.chunks_exact(dim).map(distance).enumerate().collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        assert_eq!(all[0].0 as u32, copies.index[i]);
        assert!((all[0].1 - f64::from(copies.d1[i])).abs() < 1e-4);
        assert!((all[1].1 - f64::from(copies.d2[i])).abs() < 1e-4);
    }
    let (_, new) = samples(&gaussian).await;
    assert!(
        new.closeness.gl.mean > 0.3 && new.closeness.memorized.mean < 0.1,
        "{:?}",
        new.closeness
    );
}

/// D_G's linearity has its closed form, and its affine part accounts for the whole deviation from 1.
pub async fn linearity_of_the_gaussian(engine: &Engine) {
    let (dim, pairs) = (12, 40);
    let mut train = images(7, 50, dim);
    // A strong mean makes the affine artefact large.
    train.iter_mut().for_each(|v| *v += 0.5);
    let held_out = images(8, 30, dim);
    let sets = TrainingSets::single(train, dim).unwrap();
    let gaussian = Gaussian::fit(&sets).unwrap();
    let mut program = engine.program(1).unwrap();
    let placed = gaussian.place(&mut program, pairs).unwrap();
    let alone = gaussian.place(&mut program, 1).unwrap();
    let both = [&*placed, &*alone];
    let probe = LinearityProbe::place(&mut program, both, &held_out, dim, pairs, 5).unwrap();
    let mut loaded = engine.load(program).await.unwrap();
    for sigma in [0.1_f32, 1.0, 10.0] {
        let got = probe.measure(&mut loaded, sigma).await.unwrap()[0];
        assert!((got.corrected_cosine.mean - 1.0).abs() < 1e-5, "{got:?}");
        assert!(got.corrected_nmse.mean < 1e-4, "{got:?}");
        let expected = linearity_f64(&gaussian.fits()[0], &held_out, dim, pairs, f64::from(sigma));
        assert!((got.cosine.mean - expected[0]).abs() < 1e-4, "σ={sigma}: {got:?} {expected:?}");
        assert!((got.nmse.mean - expected[1]).abs() < 1e-4, "σ={sigma}: {got:?} {expected:?}");
        assert_eq!(got.cosine.count, pairs);
    }
}

/// Cosine and NMSE of D_G in f64, on the pairs and noise that the metric draws.
fn linearity_f64(
    fit: &GaussianFit,
    images: &[f32],
    dim: usize,
    pairs: usize,
    sigma: f64,
) -> [f64; 2] {
    let mut rng = Philox::new(5, Stream::MetricPairs);
    let count = (images.len() / dim) as u32;
    let [mut n1, mut n2] = [vec![0.0; pairs * dim], vec![0.0; pairs * dim]];
    fill_normals(5, Stream::MetricNoise, 1, &mut n1);
    fill_normals(5, Stream::MetricNoise, 2, &mut n2);
    let weight = 0.5_f64.sqrt();
    let mut sums = [0.0; 2];
    for pair in 0..pairs {
        let i = rng.below(count) as usize;
        let j = (i + 1 + rng.below(count - 1) as usize) % count as usize;
        let noisy = |image: usize, noise: &[f32]| {
            to_f64(&images[image * dim..][..dim]) + to_f64(&noise[pair * dim..][..dim]) * sigma
        };
        let (x1, x2) = (noisy(i, &n1), noisy(j, &n2));
        let of_mixed = fit.denoise(&((&x1 + &x2) * weight), sigma);
        let mixed = (fit.denoise(&x1, sigma) + fit.denoise(&x2, sigma)) * weight;
        sums[0] += of_mixed.dot(&mixed) / (of_mixed.norm() * mixed.norm());
        sums[1] += (&of_mixed - &mixed).norm() / of_mixed.norm();
    }
    sums.map(|sum| sum / pairs as f64)
}

/// Eq. 6 between D_G and D_M, against f64; a denoiser does not differ from itself.
pub async fn score_difference_is_eq_6(engine: &Engine) {
    let (dim, rows) = (10, 21);
    let sets = TrainingSets::single(images(9, 70, dim), dim).unwrap();
    let held_out = images(10, rows, dim);
    let gaussian = Gaussian::fit(&sets).unwrap();
    let empirical = Empirical::new(sets.clone());
    let mut noise = vec![0.0; rows * dim];
    fill_normals(8, Stream::MetricNoise, 0, &mut noise);
    let sigmas = [0.05_f32, 0.7, 30.0];
    let noisy = |sigma: f32| -> Vec<f32> {
        held_out.iter().zip(&noise).map(|(y, n)| y + sigma * n).collect()
    };
    let mut denoised = [Denoised::default(), Denoised::default()];
    for sigma in sigmas {
        let all: [&dyn Denoiser; 2] = [&gaussian, &empirical];
        for (denoiser, denoised) in all.into_iter().zip(&mut denoised) {
            let answer = denoise(engine, 1, denoiser, &noisy(sigma), &[sigma; 21]).await;
            denoised.images.push(answer);
        }
    }
    let [of_gaussian, of_empirical] = &denoised;
    let same = score_difference(of_gaussian, of_gaussian, dim);
    assert!(same.iter().all(|estimate| estimate.mean == 0.0), "{same:?}");
    let got = score_difference(of_gaussian, of_empirical, dim);
    for (sigma, got) in sigmas.into_iter().zip(got) {
        let s = f64::from(sigma);
        let difference = |x: &[f32]| {
            let g = gaussian.fits()[0].denoise(&to_f64(x), s);
            let m = DVector::from_vec(empirical_f64(sets.images(0), dim, x, s));
            (g - m).norm() / (dim as f64).sqrt()
        };
        let expected = noisy(sigma).chunks(dim).map(difference).sum::<f64>() / rows as f64;
        let error = (got.mean - expected).abs();
        assert!(error < 1e-3 * expected.max(0.01), "σ={sigma}: {got:?} {expected}");
        assert_eq!(got.count, rows);
    }
}

/// A single image, many equal images, and some that differ in only one pixel.
pub async fn degenerate_sets_denoise_to_their_mean(engine: &Engine) {
    let dim = 6;
    let x = random(11, dim);
    let mut one_varies = vec![0.25; 5 * dim];
    one_varies
        .iter_mut()
        .step_by(dim)
        .zip([-0.5, 0.0, 0.25, 0.5, 1.0])
        .for_each(|(v, new)| *v = new);
    for pixels in [vec![0.25; dim], vec![0.25; 5 * dim], one_varies] {
        let sets = TrainingSets::single(pixels, dim).unwrap();
        let gaussian = Gaussian::fit(&sets).unwrap();
        for denoiser in [&gaussian as &dyn Denoiser, &Empirical::new(sets.clone())] {
            let answer = denoise(engine, 1, denoiser, &x, &[0.5]).await;
            // The pixel that varies also has a mean of 0.25, but its denoised value may differ.
            for value in &answer[1..] {
                assert!((value - 0.25).abs() < 1e-6, "{answer:?}");
            }
            assert!((-0.5..=1.0).contains(&answer[0]), "{answer:?}");
        }
    }
}

/// With one training image, every sample that equals it is a copy, since there is no second image.
pub async fn copies_of_a_single_image_are_copies(engine: &Engine) {
    let dim = 6;
    let image = random(12, dim);
    let sets = TrainingSets::single(image.clone(), dim).unwrap();
    let found = nearest_images(engine, &sets, &image).await.unwrap();
    assert_eq!(found[0].closeness.memorized.mean, 1.0, "{found:?}");
    assert!(found[0].d1[0] < 1e-3 && found[0].d2[0] == f32::INFINITY);
}
