//! The analytic denoisers beyond the Gaussian: against their formulas in f64, and at the limits where
//! they equal other denoisers, on any engine.

use hidden_gaussian::compute::Engine;
use hidden_gaussian::data::{Shape, TrainingSets};
use hidden_gaussian::denoiser::{
    Denoiser, Empirical, Gaussian, GaussianFit, Local, Mixture, PcaLocality, k_means,
};
use hidden_gaussian::kernels::Sigma;
use hidden_gaussian::kernels::locality::Locality;

use super::closed_forms::{denoise, images, to_f64};
use super::{random, relative_error};

const SIGMAS: [f32; 5] = [0.002, 0.05, 0.4, 2.0, 50.0];

/// One noisy image per noise level, made from images of the pool.
fn noisy(pool: &[f32], dim: usize) -> Vec<f32> {
    let noise = random(2, SIGMAS.len() * dim);
    let n = pool.len() / dim;
    let value = |i: usize| pool[7 * (i / dim) % n * dim + i % dim] + SIGMAS[i / dim] * noise[i];
    (0..SIGMAS.len() * dim).map(value).collect()
}

/// `D(x; σ)` of all members, for one image at one noise level.
async fn denoise_at(
    engine: &Engine,
    members: usize,
    denoiser: &dyn Denoiser,
    x: &[f32],
    sigma: f32,
) -> Vec<f32> {
    let mut program = engine.program(members).unwrap();
    let input = program.shared("x", x.len()).unwrap();
    let level = program.shared("σ", 1).unwrap();
    let out = program.buffer("D(x)", x.len()).unwrap();
    let placed = denoiser.place(&mut program, 1).unwrap();
    let routine = program
        .routine("denoise", |p| placed.record(p, input.into(), Sigma::shared(level), out.into()))
        .unwrap();
    let mut loaded = engine.load(program).await.unwrap();
    loaded.upload(input, x).unwrap();
    loaded.upload(level, &[sigma]).unwrap();
    loaded.run(routine, 1).unwrap();
    loaded.read(out).await.unwrap()
}

/// LS or ELS by its definition: every window, every candidate, in f64.
fn local_f64(
    set: &[f32],
    shape: Shape,
    x: &[f32],
    sigma: f64,
    radius: i64,
    shifts: bool,
) -> Vec<f64> {
    let Shape { height, width, channels } = shape;
    let (h, w) = (height as i64, width as i64);
    let (x, dim) = (to_f64(x), shape.dim());
    let all: Vec<_> = set.chunks_exact(dim).map(to_f64).collect();
    let at = |i: i64, j: i64, c: usize| (i * w + j) as usize * channels + c;
    let reach = |side: i64| if shifts { radius.min((side - 1) / 2) } else { radius };
    let mut out = vec![0.0; dim];
    for i in 0..h {
        for j in 0..w {
            let mut candidates = Vec::new();
            for y in &all {
                for s in 0..if shifts { h * w } else { 1 } {
                    let mut distance = 0.0;
                    for di in -reach(h)..=reach(h) {
                        for dj in -reach(w)..=reach(w) {
                            let (mut a, mut b) = (i + di, j + dj);
                            if shifts {
                                (a, b) = (a.rem_euclid(h), b.rem_euclid(w));
                            } else if !(0..h).contains(&a) || !(0..w).contains(&b) {
                                continue;
                            }
                            let (ya, yb) = ((a + s / w) % h, (b + s % w) % w);
                            for c in 0..channels {
                                distance += (x[at(a, b, c)] - y[at(ya, yb, c)]).powi(2);
                            }
                        }
                    }
                    let value = at((i + s / w) % h, (j + s % w) % w, 0);
                    candidates.push((-distance / (2.0 * sigma * sigma), y, value));
                }
            }
            let top = candidates.iter().map(|c| c.0).fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = candidates.iter().map(|c| (c.0 - top).exp()).sum();
            for c in 0..channels {
                let mean = candidates.iter().map(|(l, y, v)| (l - top).exp() * y[v + c]);
                out[at(i, j, c)] = mean.sum::<f64>() / sum;
            }
        }
    }
    out
}

/// Odd shapes, colour, windows inside and beyond the image, several tiles, two members.
pub async fn local_denoisers_are_their_formulas(engine: &Engine) {
    let cases =
        [([5, 3, 1], 70, false), ([4, 6, 3], 9, false), ([3, 5, 1], 6, true), ([4, 4, 3], 5, true)];
    for ([height, width, channels], n, equivariant) in cases {
        let shape = Shape { height, width, channels };
        let dim = shape.dim();
        let pool = images(1, n, dim);
        let ranges = [0..n, n / 3..n - 1];
        let sets = TrainingSets::new(pool.clone(), dim, ranges.to_vec()).unwrap();
        let x = noisy(&pool, dim);
        for radius in [0, 1, 2] {
            let denoiser = Local::new(sets.clone(), shape, vec![0.0; radius]).unwrap();
            let denoiser = if equivariant { denoiser.equivariant() } else { denoiser };
            let got = denoise(engine, 2, &denoiser, &x, &SIGMAS).await;
            for (m, range) in ranges.iter().enumerate() {
                let set = &pool[range.start * dim..range.end * dim];
                for (row, &sigma) in SIGMAS.iter().enumerate() {
                    let x = &x[row * dim..][..dim];
                    let exact = local_f64(set, shape, x, sigma.into(), radius as i64, equivariant);
                    let exact: Vec<f32> = exact.iter().map(|&v| v as f32).collect();
                    let got = &got[(m * SIGMAS.len() + row) * dim..][..dim];
                    let error = relative_error(got, &exact);
                    // At σ = 0.002 a logit is the distance times 125,000, so two windows at nearly equal distances lose
                    // digits.
                    let tolerance = if sigma < 0.01 { 2e-3 } else { 2e-5 };
                    assert!(error < tolerance, "{shape:?} radius {radius} σ {sigma}: {error:.1e}");
                }
            }
        }
    }
}

/// With a window that covers the whole image, LS is the memorizing denoiser.
pub async fn local_with_a_full_window_is_eq_4(engine: &Engine) {
    let shape = Shape { height: 5, width: 4, channels: 1 };
    let pool = images(1, 90, shape.dim());
    let sets = TrainingSets::single(pool.clone(), shape.dim()).unwrap();
    let x = noisy(&pool, shape.dim());
    let local = Local::new(sets.clone(), shape, Local::fixed_window(2 * 5 - 1)).unwrap();
    let got = denoise(engine, 1, &local, &x, &SIGMAS).await;
    let expected = denoise(engine, 1, &Empirical::new(sets), &x, &SIGMAS).await;
    assert!(relative_error(&got, &expected) < 1e-3);
}

/// With windows that wrap around and cover the whole image, ELS memorizes all translates.
pub async fn equivariant_with_a_full_window_memorizes_translates(engine: &Engine) {
    let shape = Shape { height: 5, width: 5, channels: 1 };
    let pool = images(1, 6, 25);
    let translate = |y: &[f32], s: usize| -> Vec<f32> {
        (0..25).map(|m| y[(m / 5 + s / 5) % 5 * 5 + (m % 5 + s % 5) % 5]).collect()
    };
    let all: Vec<f32> =
        pool.chunks_exact(25).flat_map(|y| (0..25).flat_map(move |s| translate(y, s))).collect();
    let x = noisy(&pool, 25);
    let sets = TrainingSets::single(pool, 25).unwrap();
    let local = Local::new(sets, shape, Local::fixed_window(5)).unwrap().equivariant();
    let got = denoise(engine, 1, &local, &x, &SIGMAS).await;
    let translates = Empirical::new(TrainingSets::single(all, 25).unwrap());
    let expected = denoise(engine, 1, &translates, &x, &SIGMAS).await;
    assert!(relative_error(&got, &expected) < 1e-3);
}

/// With one black and one white image, a 3×3 window turns each pixel into the majority of its neighbours:
/// the minimal example of the paper.
pub async fn black_and_white_become_the_majority(engine: &Engine) {
    let shape = Shape { height: 7, width: 6, channels: 1 };
    let dim = shape.dim();
    let pool = [vec![-1.0; dim], vec![1.0; dim]].concat();
    let sets = TrainingSets::single(pool, dim).unwrap();
    let x: Vec<f32> = random(9, dim).iter().map(|v| v.signum()).collect();
    for local in [
        Local::new(sets.clone(), shape, Local::fixed_window(3)).unwrap(),
        Local::new(sets, shape, Local::fixed_window(3)).unwrap().equivariant(),
    ] {
        let wraps = format!("{local:?}").contains("equivariant: true");
        let got = denoise(engine, 1, &local, &x, &[0.02]).await;
        for i in 0..7_i32 {
            for j in 0..6_i32 {
                let mut votes = 0.0;
                for (a, b) in (-1..=1).flat_map(|a| (-1..=1).map(move |b| (i + a, j + b))) {
                    if wraps {
                        votes += x[(a.rem_euclid(7) * 6 + b.rem_euclid(6)) as usize];
                    } else if (0..7).contains(&a) && (0..6).contains(&b) {
                        votes += x[(a * 6 + b) as usize];
                    }
                }
                let pixel = got[(i * 6 + j) as usize];
                // A tie is grey: the corners and edges of LS have an even number of neighbours.
                let expected = if votes == 0.0 { 0.0 } else { votes.signum() };
                assert!((pixel - expected).abs() < 1e-3, "{i}, {j}: {pixel}, votes {votes}");
            }
        }
    }
}

/// The window grows where the noise level reaches a threshold.
pub async fn windows_follow_the_noise_level(engine: &Engine) {
    let shape = Shape { height: 6, width: 6, channels: 1 };
    let pool = images(1, 40, 36);
    let sets = TrainingSets::single(pool.clone(), 36).unwrap();
    let x = noisy(&pool, 36);
    let local = |thresholds| Local::new(sets.clone(), shape, thresholds).unwrap();
    let got = denoise(engine, 1, &local(vec![0.05, 2.0]), &x, &SIGMAS).await;
    for (row, radius) in [0, 1, 1, 2, 2].into_iter().enumerate() {
        let fixed = denoise(engine, 1, &local(vec![0.0; radius]), &x, &SIGMAS).await;
        assert_eq!(got[row * 36..][..36], fixed[row * 36..][..36], "row {row}");
    }
}

/// PCA-locality by its definition, in f64.
fn pca_locality_f64(
    set: &[f32],
    dim: usize,
    x: &[f32],
    sigma: f64,
    locality: Locality,
) -> Vec<f64> {
    let fit = GaussianFit::new(set, dim).unwrap();
    let gain = fit.eigenvalues.map(|lambda| lambda / (lambda + sigma * sigma));
    let u = &fit.eigenvectors;
    let filter = u * nalgebra::DMatrix::from_diagonal(&gain) * u.transpose();
    let largest = (0..dim)
        .flat_map(|j| (0..dim).map(move |m| (j, m)))
        .map(|(j, m)| (filter[(j, m)] / filter[(j, j)]).abs())
        .fold(0.0, f64::max);
    let weight = |j: usize, m: usize| match locality {
        Locality::Soft => (filter[(j, m)] / filter[(m, m)]).abs(),
        Locality::Threshold(share) => {
            let ratio = (filter[(j, m)] / filter[(j, j)]).abs();
            f64::from(u8::from(ratio >= f64::from(share) * largest))
        }
    };
    let x = to_f64(x);
    (0..dim)
        .map(|m| {
            let logits: Vec<f64> = set
                .chunks_exact(dim)
                .map(|y| {
                    let distance =
                        (0..dim).map(|j| weight(j, m) * (x[j] - f64::from(y[j])).powi(2));
                    -distance.sum::<f64>() / (2.0 * sigma * sigma)
                })
                .collect();
            let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = logits.iter().map(|l| (l - top).exp()).sum();
            let images = set.chunks_exact(dim).zip(&logits);
            images.map(|(y, l)| (l - top).exp() * f64::from(y[m])).sum::<f64>() / sum
        })
        .collect()
}

/// Both forms of the weights, two members, several tiles.
pub async fn pca_locality_is_its_formula(engine: &Engine) {
    let (n, dim) = (37, 11);
    let pool = images(1, n, dim);
    let ranges = [0..n, 15..n - 2];
    let sets = TrainingSets::new(pool.clone(), dim, ranges.to_vec()).unwrap();
    let gaussian = Gaussian::fit(&sets).unwrap();
    let x = noisy(&pool, dim);
    // No ratio of this filter is near the threshold, where rounding would decide.
    for locality in [Locality::Threshold(0.3), Locality::Soft] {
        let denoiser = PcaLocality::new(sets.clone(), gaussian.clone(), locality).unwrap();
        for (row, &sigma) in SIGMAS.iter().enumerate() {
            let x = &x[row * dim..][..dim];
            let got = denoise_at(engine, 2, &denoiser, x, sigma).await;
            for (m, range) in ranges.iter().enumerate() {
                let set = &pool[range.start * dim..range.end * dim];
                let exact = pca_locality_f64(set, dim, x, sigma.into(), locality);
                let exact: Vec<f32> = exact.iter().map(|&v| v as f32).collect();
                let error = relative_error(&got[m * dim..][..dim], &exact);
                let tolerance = if sigma < 0.01 { 5e-3 } else { 1e-4 };
                assert!(error < tolerance, "{locality:?} σ {sigma}: {error:.1e}");
            }
        }
    }
}

/// One component is D_G, and one per image is D_M.
pub async fn a_mixture_leads_from_the_gaussian_to_the_images(engine: &Engine) {
    let (n, dim) = (40, 9);
    let pool = images(1, n, dim);
    let sets = TrainingSets::new(pool.clone(), dim, vec![0..n, 5..n]).unwrap();
    let x = noisy(&pool, dim);
    let one = Mixture::fit(engine, &sets, 1, dim, 1).await.unwrap();
    let got = denoise(engine, 2, &one, &x, &SIGMAS).await;
    let gaussian = denoise(engine, 2, &Gaussian::fit(&sets).unwrap(), &x, &SIGMAS).await;
    assert!(relative_error(&got, &gaussian) < 1e-4);
    let sets = TrainingSets::single(pool, dim).unwrap();
    let all = Mixture::fit(engine, &sets, n, 0, 1).await.unwrap();
    let got = denoise(engine, 1, &all, &x, &SIGMAS).await;
    let empirical = denoise(engine, 1, &Empirical::new(sets), &x, &SIGMAS).await;
    assert!(relative_error(&got, &empirical) < 1e-3);
}

/// Three components of low rank, against the densities in f64.
pub async fn a_mixture_is_its_formula(engine: &Engine) {
    let (n, dim, rank) = (60, 8, 3);
    let mut pool = images(1, n, dim);
    // Three groups, far enough apart for k-means to find.
    pool.chunks_exact_mut(dim).enumerate().for_each(|(i, y)| y[0] += 3.0 * (i % 3) as f32);
    let sets = TrainingSets::single(pool.clone(), dim).unwrap();
    let x = noisy(&pool, dim);
    let mixture = Mixture::fit(engine, &sets, 3, rank, 1).await.unwrap();
    let got = denoise(engine, 1, &mixture, &x, &SIGMAS).await;
    let clusters = k_means(engine, &pool, dim, 3, 1).await.unwrap();
    let mut sizes: Vec<_> = clusters.iter().map(Vec::len).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [20, 20, 20]);
    for (row, &sigma) in SIGMAS.iter().enumerate() {
        let (x, noise) = (to_f64(&x[row * dim..][..dim]), f64::from(sigma).powi(2));
        let mut parts = Vec::new();
        for cluster in &clusters {
            let own: Vec<f32> =
                cluster.iter().flat_map(|&i| &pool[i * dim..][..dim]).copied().collect();
            let fit = GaussianFit::new(&own, dim).unwrap();
            let (u, lambda) = (fit.eigenvectors.columns(0, rank), fit.eigenvalues.rows(0, rank));
            let r = &x - &fit.mean;
            let a = u.transpose() * &r;
            let rest = r.norm_squared() - a.norm_squared();
            let sum: f64 = (0..rank)
                .map(|j| (lambda[j] + noise).ln() + a[j] * a[j] / (lambda[j] + noise))
                .sum();
            let log_p = -0.5 * (sum + (dim - rank) as f64 * noise.ln() + rest / noise);
            let kept = a.zip_map(&lambda, |a, l| a * l / (l + noise));
            parts.push((log_p, &fit.mean + u * kept));
        }
        let top = parts.iter().map(|p| p.0).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = parts.iter().map(|p| (p.0 - top).exp()).sum();
        let mut exact = nalgebra::DVector::zeros(dim);
        for (log_p, part) in parts {
            exact += part * ((log_p - top).exp() / sum);
        }
        let exact: Vec<f32> = exact.iter().map(|&v| v as f32).collect();
        let error = relative_error(&got[row * dim..][..dim], &exact);
        assert!(error < 1e-3, "σ {sigma}: {error:.1e}");
    }
}
