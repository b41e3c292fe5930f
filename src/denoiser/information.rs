//! How much information a noisy image carries about the training image that it came from, and what follows:
//! the noise level below which D_M memorizes, and the windows that keep a local denoiser from memorizing
//! (Hunt, Kamb and Ganguli, 2026).
//!
//! Seen through a window, a noisy image of Gaussian data carries `½ ln det(I + Σ/σ²)` nats about its
//! origin, where Σ is the covariance in the window. It takes `ln N` nats to tell `N` images apart.

use nalgebra::{DMatrix, SymmetricEigen};

use super::GaussianFit;
use crate::error::{Error, Result};
use crate::shape::Shape;

/// Most values in a window whose covariance is decomposed. Windows do not grow beyond it: 32 pixels per
/// side in grey, 17 in colour.
const MAX_WINDOW: usize = 1024;

/// `½ Σ ln(1 + λ/σ²)`, in nats.
#[must_use]
pub fn information(variances: &[f64], sigma: f64) -> f64 {
    // Rounding leaves some variances slightly below 0.
    variances.iter().map(|v| 0.5 * (v.max(0.0) / (sigma * sigma)).ln_1p()).sum()
}

/// The noise level at which the information is `nats`. At lower noise it is larger.
#[must_use]
pub fn critical_sigma(variances: &[f64], nats: f64) -> f64 {
    let (mut low, mut high) = (1e-9_f64.ln(), 1e9_f64.ln());
    // Each round halves the interval, to beyond f64's precision.
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        if information(variances, middle.exp()) > nats {
            low = middle;
        } else {
            high = middle;
        }
    }
    high.exp()
}

/// The noise levels above which a window may grow: with `2r + 1` pixels per side, it carries at most `ln n`
/// nats once σ reaches the `r`-th level (see [`Local::new`](super::Local::new)). The window lies in the
/// middle of the image, where the border does not cut it off.
///
/// An equivariant machine can confuse an image with every position of every image, so it has
/// `ln(n · pixels)` nats, and the covariance is that of all translates.
pub fn window_thresholds(
    fit: &GaussianFit,
    shape: Shape,
    n: usize,
    equivariant: bool,
) -> Result<Vec<f32>> {
    if fit.mean.len() != shape.dim() {
        return Err(Error::internal("The Gaussian was fitted to images of another size"));
    }
    let Shape { height, width, channels } = shape;
    let covariance = covariance(fit);
    let covariance = if equivariant { translated(fit, &covariance, shape) } else { covariance };
    let candidates = if equivariant { n * height * width } else { n };
    let nats = (candidates as f64).ln();
    let mut thresholds: Vec<f32> = Vec::new();
    for radius in 1..=height.max(width) / 2 {
        let near = |middle: usize, side: usize| {
            middle.saturating_sub(radius)..(middle + radius + 1).min(side)
        };
        let columns = near(width / 2, width);
        let pixels = near(height / 2, height).flat_map(|y| columns.clone().map(move |x| (y, x)));
        let inside: Vec<usize> = pixels
            .flat_map(|(y, x)| (0..channels).map(move |c| (y * width + x) * channels + c))
            .collect();
        if inside.len() > MAX_WINDOW {
            break;
        }
        let window =
            DMatrix::from_fn(inside.len(), inside.len(), |i, j| covariance[(inside[i], inside[j])]);
        let variances = SymmetricEigen::new(window).eigenvalues;
        thresholds.push(critical_sigma(variances.as_slice(), nats) as f32);
    }
    Ok(thresholds)
}

/// The covariance Σ = U Λ Uᵀ.
fn covariance(fit: &GaussianFit) -> DMatrix<f64> {
    let scaled = &fit.eigenvectors * DMatrix::from_diagonal(&fit.eigenvalues);
    scaled * fit.eigenvectors.transpose()
}

/// The covariance of all circular translates of the images.
fn translated(fit: &GaussianFit, covariance: &DMatrix<f64>, shape: Shape) -> DMatrix<f64> {
    let Shape { height, width, channels } = shape;
    let pixels = height * width;
    let channel_mean =
        |c: usize| fit.mean.iter().skip(c).step_by(channels).sum::<f64>() / pixels as f64;
    let means: Vec<f64> = (0..channels).map(channel_mean).collect();
    // The second moment of two values depends on their channels and on their displacement.
    let mut moments = vec![0.0; pixels * channels * channels];
    let apart = |i: usize, j: usize| {
        let ([a, b], [c, d]) = ([i / channels, i % channels], [j / channels, j % channels]);
        let dy = (c / width + height - a / width) % height;
        let dx = (c % width + width - a % width) % width;
        ((dy * width + dx) * channels + b) * channels + d
    };
    let dim = shape.dim();
    for i in 0..dim {
        for j in 0..dim {
            moments[apart(i, j)] += covariance[(i, j)] + fit.mean[i] * fit.mean[j];
        }
    }
    DMatrix::from_fn(dim, dim, |i, j| {
        moments[apart(i, j)] / pixels as f64 - means[i % channels] * means[j % channels]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Stream, fill_normals};

    /// For isotropic data the critical noise is Biroli's collapse time in closed form:
    /// `σ² = λ / (n^(2/d) - 1)`.
    #[test]
    fn the_critical_noise_of_isotropic_data() {
        let (variance, dim, n) = (0.7, 12, 500.0_f64);
        let expected = (variance / (n.powf(2.0 / 12.0) - 1.0)).sqrt();
        let sigma = critical_sigma(&vec![variance; dim], n.ln());
        assert!((sigma / expected - 1.0).abs() < 1e-9, "{sigma} {expected}");
        assert!((information(&vec![variance; dim], sigma) - n.ln()).abs() < 1e-9);
    }

    /// Pixels that do not depend on each other: a window of `k` pixels is isotropic data of `k`
    /// dimensions. More images, or more positions, let it grow sooner.
    #[test]
    fn windows_of_independent_pixels() {
        let shape = Shape { height: 7, width: 7, channels: 1 };
        let mut images = vec![0.0; 4000 * 49];
        fill_normals(3, Stream::Test, 0, &mut images);
        let fit = GaussianFit::new(&images, 49).unwrap();
        let thresholds = window_thresholds(&fit, shape, 100, false).unwrap();
        assert_eq!(thresholds.len(), 3);
        for (radius, &sigma) in (1_i32..).zip(&thresholds) {
            let pixels = f64::from((2 * radius + 1).pow(2));
            let expected = (100.0_f64.powf(2.0 / pixels) - 1.0).powf(-0.5);
            assert!(
                (f64::from(sigma) / expected - 1.0).abs() < 0.05,
                "{radius}: {sigma} {expected}"
            );
        }
        let more = window_thresholds(&fit, shape, 1000, false).unwrap();
        let equivariant = window_thresholds(&fit, shape, 100, true).unwrap();
        for ((more, equivariant), fewer) in more.iter().zip(&equivariant).zip(&thresholds) {
            assert!(more < fewer && equivariant < fewer);
        }
        let other = Shape { height: 5, ..shape };
        assert!(window_thresholds(&fit, other, 100, false).is_err());
    }
}
