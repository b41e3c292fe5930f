//! How well one denoiser's images match another's.

use serde::Serialize;

use crate::metrics::Estimate;

/// How well a theory predicts images, image by image.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Prediction {
    /// The fraction of the image's variance that is predicted: `1 - SSE / SST`, at most 1.
    pub r2: Estimate,
    /// Pearson's correlation of the pixels. It ignores a wrong scale or brightness; some of the
    /// literature prints it as r².
    pub pearson: Estimate,
}

impl Prediction {
    /// Compares rows of `dim` numbers.
    pub(super) fn of(predicted: &[f32], actual: &[f32], dim: usize) -> Self {
        let rows = || predicted.chunks_exact(dim).zip(actual.chunks_exact(dim)).map(Sums::of);
        Self {
            r2: Estimate::of(rows().map(|sums| sums.r2())),
            pearson: Estimate::of(rows().map(|sums| sums.pearson())),
        }
    }
}

/// Sums of squares of two rows about their means.
struct Sums {
    predicted: f64,
    actual: f64,
    product: f64,
    error: f64,
}

impl Sums {
    fn of((predicted, actual): (&[f32], &[f32])) -> Self {
        let mean = |row: &[f32]| row.iter().map(|&v| f64::from(v)).sum::<f64>() / row.len() as f64;
        let [mean_p, mean_a] = [predicted, actual].map(mean);
        let mut sums = Self { predicted: 0.0, actual: 0.0, product: 0.0, error: 0.0 };
        for (&p, &a) in predicted.iter().zip(actual) {
            let (p, a) = (f64::from(p), f64::from(a));
            sums.predicted += (p - mean_p).powi(2);
            sums.actual += (a - mean_a).powi(2);
            sums.product += (p - mean_p) * (a - mean_a);
            sums.error += (p - a).powi(2);
        }
        sums
    }

    fn r2(&self) -> f64 {
        // A flat image that is predicted exactly leaves nothing unexplained.
        if self.error == 0.0 { 1.0 } else { 1.0 - self.error / self.actual }
    }

    fn pearson(&self) -> f64 {
        if self.error == 0.0 {
            return 1.0;
        }
        self.product / (self.predicted * self.actual).sqrt()
    }
}

/// The squared error of each row.
pub(super) fn squared_errors<'a>(
    a: &'a [f32],
    b: &'a [f32],
    dim: usize,
) -> impl Iterator<Item = f64> + 'a {
    let error = |(a, b): (&[f32], &[f32])| {
        a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>() / a.len() as f64
    };
    a.chunks_exact(dim).zip(b.chunks_exact(dim)).map(error)
}

/// The mean of `values` over that of `reference`, on the same images. As both are high on the same images,
/// the ratio is more certain than either mean.
pub(super) fn relative(values: &[f64], reference: &[f64]) -> Estimate {
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
    let (ratio, scale) = (mean(values) / mean(reference), mean(reference));
    let rest = values.iter().zip(reference).map(|(v, r)| (v - ratio * r) / scale);
    Estimate { mean: ratio, ..Estimate::of(rest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wrong scale lowers R² but not the correlation; the mean image itself predicts nothing.
    #[test]
    fn r2_is_not_the_square_of_pearson() {
        let actual = [1.0, -1.0, 2.0, -2.0];
        let half = actual.map(|v| v / 2.0 + 3.0);
        let Prediction { r2, pearson } = Prediction::of(&half, &actual, 4);
        assert!((pearson.mean - 1.0).abs() < 1e-12);
        // SSE = Σ (a/2 - 3)² = 2.5 + 36, SST = 10.
        assert!((r2.mean - (1.0 - 38.5 / 10.0)).abs() < 1e-6, "{r2:?}");
        assert_eq!(Prediction::of(&[0.0; 4], &actual, 4).r2.mean, 0.0);
        let exact = Prediction::of(&actual, &actual, 2);
        assert_eq!((exact.r2.mean, exact.r2.count, exact.pearson.mean), (1.0, 2, 1.0));
    }

    /// If errors are proportional on every image, their ratio has no uncertainty.
    #[test]
    fn a_ratio_of_paired_errors() {
        let reference = [1.0, 5.0, 0.5, 2.0];
        let ratio = relative(&reference.map(|v| 1.5 * v), &reference);
        assert!((ratio.mean - 1.5).abs() < 1e-12 && ratio.standard_error < 1e-12, "{ratio:?}");
        assert!(relative(&[2.0, 1.0, 2.0, 1.0], &reference).standard_error > 0.1);
    }

    #[test]
    fn squared_errors_are_per_number() {
        let errors: Vec<f64> =
            squared_errors(&[1.0, 2.0, 0.0, 0.0], &[1.0, 0.0, 3.0, 3.0], 2).collect();
        assert_eq!(errors, [2.0, 9.0]);
    }
}
