//! Power laws `y ∝ xᵃ`, fitted as straight lines between logarithms, with bootstrap intervals.

use serde::{Deserialize, Serialize};

/// A power law `y = scale · x^exponent`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PowerLaw {
    /// The exponent.
    pub exponent: f64,
    /// Lower end of the exponent's 95 % bootstrap interval.
    pub low: f64,
    /// Upper end of the exponent's 95 % bootstrap interval.
    pub high: f64,
    /// `y` at `x = 1`.
    pub scale: f64,
    /// Number of points that it was fitted to.
    pub count: usize,
}

/// A point that a power law is fitted to.
#[derive(Debug, Clone, Copy)]
pub struct Point<'a> {
    /// The abscissa.
    pub x: f64,
    /// The measured value.
    pub y: f64,
    /// The measured value in each resample of its data; may be empty.
    pub draws: &'a [f64],
}

/// Fewest points that a power law is fitted to: through two, every line fits.
pub const FEWEST: usize = 3;

/// Number of resamples of a bootstrap.
pub const DRAWS: usize = 100;

impl PowerLaw {
    /// Fits `points` by least squares. For the interval, each of [`DRAWS`] resamples picks as many
    /// points with replacement, and takes their values from the same resample of their data. Returns `None`
    /// for fewer than [`FEWEST`] points, or if all have the same `x`.
    #[must_use]
    pub fn fit(points: &[Point<'_>]) -> Option<Self> {
        if points.len() < FEWEST {
            return None;
        }
        let logs = points.iter().map(|p| (p.x.ln(), p.y.ln()));
        let (exponent, scale) = line(&logs.collect::<Vec<_>>())?;
        let resample = |draw: usize| {
            let pick = |i: usize| {
                let point = points.get(pick(draw, i, points.len()))?;
                Some((point.x.ln(), point.draws.get(draw).copied().unwrap_or(point.y).ln()))
            };
            Some(line(&(0..points.len()).filter_map(pick).collect::<Vec<_>>())?.0)
        };
        let mut exponents: Vec<f64> = (0..DRAWS).filter_map(resample).collect();
        let [low, high] = interval(&mut exponents).unwrap_or([exponent; 2]);
        Some(Self { exponent, low, high, scale: scale.exp(), count: points.len() })
    }
}

/// Which of `count` points resample `draw` takes at position `i`: a hash, so that the page computes the same
/// intervals (`www/src/reports/power-law.js`).
fn pick(draw: usize, i: usize, count: usize) -> usize {
    let mut hash = (draw as u32).wrapping_mul(0x9E37_79B1) ^ (i as u32).wrapping_mul(0x85EB_CA6B);
    hash = (hash ^ (hash >> 15)).wrapping_mul(0x2C1B_3C6D);
    hash = (hash ^ (hash >> 12)).wrapping_mul(0x297A_2D39);
    (hash ^ (hash >> 15)) as usize % count.max(1)
}

/// Slope and intercept of the least-squares line through the finite points.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let finite: Vec<_> = points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
    let count = finite.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| finite.iter().map(|p| of(p)).sum::<f64>() / count;
    let (x_mean, y_mean) = (mean(|p| p.0), mean(|p| p.1));
    let xx: f64 = finite.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
    let xy: f64 = finite.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    (xx > 1e-12).then(|| (xy / xx, y_mean - xy / xx * x_mean))
}

/// The middle 95 % of `values`; `None` if none is finite.
pub fn interval(values: &mut Vec<f64>) -> Option<[f64; 2]> {
    values.retain(|value| value.is_finite());
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some([0.025, 0.975].map(|part| values[(part * last as f64).round() as usize]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_is_found() {
        let points = [1.0, 2.0, 4.0, 8.0, 16.0].map(|x: f64| (x, 3.0 * x.powf(1.2)));
        let points = points.map(|(x, y)| Point { x, y, draws: &[] });
        let law = PowerLaw::fit(&points).unwrap();
        assert!((law.exponent - 1.2).abs() < 1e-12 && (law.scale - 3.0).abs() < 1e-12, "{law:?}");
        assert!((law.low - 1.2).abs() < 1e-9 && (law.high - 1.2).abs() < 1e-9, "{law:?}");
        assert!(PowerLaw::fit(&points[..2]).is_none());
        assert!(PowerLaw::fit(&[]).is_none());
    }

    #[test]
    fn the_interval_spans_what_resamples_give() {
        let draws: Vec<Vec<f64>> = (0..4)
            .map(|i| (0..DRAWS).map(|r| 2.0_f64.powi(i) * (1.0 + 0.01 * (r % 7) as f64)).collect())
            .collect();
        let point = |(i, draws)| Point { x: 2.0_f64.powi(i), y: 2.0_f64.powi(i), draws };
        let points: Vec<_> = (0..).zip(draws.iter().map(Vec::as_slice)).map(point).collect();
        let law = PowerLaw::fit(&points).unwrap();
        assert!((law.exponent - 1.0).abs() < 1e-12, "{law:?}");
        // Each resample scales all points by the same factor, which leaves the exponent unchanged.
        assert!((law.low - 1.0).abs() < 1e-9 && (law.high - 1.0).abs() < 1e-9, "{law:?}");
        let mut rough: Vec<_> = points.clone();
        rough[1].y *= 1.5;
        rough[1].draws = &[];
        let law = PowerLaw::fit(&rough).unwrap();
        assert!((law.exponent - 0.941_503_749_927_884_2).abs() < 1e-9, "{law:?}");
        // The same numbers as in `www/test/clocks.test.js`, so that the page prints the same.
        assert!(
            (law.low - 0.471_621).abs() < 1e-6 && (law.high - 1.514_573).abs() < 1e-6,
            "{law:?}"
        );
    }
}
