//! The free parameters of the theories: the defaults of the table of denoisers, and the values that suit a
//! network best.

use serde::Serialize;

use crate::data::TrainingSets;
use crate::denoiser::table::{CLUSTER_SEED, LOCALITY_THRESHOLD, default_components};
use crate::denoiser::{
    Denoiser, DenoiserId, Fit, Gaussian, GaussianFit, Local, Mixture, PcaLocality,
    window_thresholds,
};
use crate::error::Result;
use crate::kernels::locality::Locality;
use crate::serial::decimal;
use crate::shape::Shape;

/// A theory's free parameter; empty for theories that have none.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Setting {
    /// Pixels per side of the window, per noise level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<Vec<usize>>,
    /// The noise levels at which a window grows by a pixel on each side.
    #[serde(skip)]
    pub(super) thresholds: Vec<f32>,
    /// Threshold of PCA-locality's mask.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "decimal::serialize")]
    pub threshold: Option<f32>,
    /// Gaussians in the mixture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub components: Option<usize>,
}

/// Candidate thresholds of PCA-locality's mask.
pub(super) const THRESHOLDS: [f32; 6] = [0.005, 0.02, 0.05, 0.1, 0.2, 0.4];

impl Setting {
    /// The setting of the table of denoisers, which depends only on the training images.
    pub(super) fn of_table(id: DenoiserId, to: &Fit<'_>, sigmas: &[f32]) -> Result<Self> {
        let (images, dim) = (to.sets.images(0), to.sets.dim());
        let n = images.len() / dim;
        Ok(match id {
            DenoiserId::LS | DenoiserId::ELS => {
                let fit = GaussianFit::new(images, dim)?;
                let thresholds = window_thresholds(&fit, to.shape, n, id == DenoiserId::ELS)?;
                Self::growing(thresholds, sigmas)
            }
            DenoiserId::PCA_LOCALITY => Self::mask(LOCALITY_THRESHOLD),
            DenoiserId::MIXTURE => Self::mixture(default_components(n)),
            _ => Self::default(),
        })
    }

    /// The setting of a mask with this `threshold`.
    pub(super) fn mask(threshold: f32) -> Self {
        Self { threshold: Some(threshold), ..Self::default() }
    }

    /// The setting of a mixture of this many Gaussians.
    pub(super) fn mixture(components: usize) -> Self {
        Self { components: Some(components), ..Self::default() }
    }

    /// Windows that grow at each of `thresholds`.
    fn growing(thresholds: Vec<f32>, sigmas: &[f32]) -> Self {
        let side = |sigma: &f32| 1 + 2 * thresholds.iter().filter(|&t| t <= sigma).count();
        let windows = Some(sigmas.iter().map(side).collect());
        Self { windows, thresholds, ..Self::default() }
    }

    /// The windows with the smallest total cost such that none shrinks as the noise grows: `costs` has one row
    /// per noise level, with the cost of each of `sides`. Between levels they grow halfway.
    pub(super) fn windows(sigmas: &[f32], sides: &[usize], costs: &[Vec<f64>]) -> Self {
        let mut order: Vec<usize> = (0..sigmas.len()).collect();
        order.sort_by(|&a, &b| sigmas[a].total_cmp(&sigmas[b]));
        // The best sum so far that ends with each window, and the choices that lead there.
        let mut best: Vec<(f64, Vec<usize>)> = vec![(0.0, Vec::new()); sides.len()];
        for &level in &order {
            let least = costs[level].iter().copied().fold(f64::INFINITY, f64::min);
            let mut next: Vec<(f64, Vec<usize>)> = Vec::new();
            for (side, cost) in costs[level].iter().enumerate() {
                // Among equal costs, the smallest window, which is cheaper.
                let mut from = 0;
                for i in 1..=side {
                    if best[i].0 < best[from].0 {
                        from = i;
                    }
                }
                let (sum, path) = &best[from];
                let cost = cost / least.max(f64::MIN_POSITIVE);
                next.push((sum + cost, [path.as_slice(), &[side]].concat()));
            }
            best = next;
        }
        let path = best.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).map_or(Vec::new(), |b| b.1);
        let mut thresholds = Vec::new();
        for (i, &side) in path.iter().enumerate() {
            let at = match i {
                0 => 0.0,
                _ => (sigmas[order[i - 1]] * sigmas[order[i]]).sqrt(),
            };
            thresholds.resize((sides[side] / 2).max(thresholds.len()), at);
        }
        Self::growing(thresholds, sigmas)
    }

    /// Fits the theory with this setting.
    pub(super) async fn fit(&self, id: DenoiserId, to: &Fit<'_>) -> Result<Box<dyn Denoiser>> {
        let sets: &TrainingSets = to.sets;
        if let Some(components) = self.components {
            let (rank, seed) = (sets.dim(), CLUSTER_SEED);
            let mixture = Mixture::fit(to.engine, sets, components, rank, seed).await?;
            return Ok(Box::new(mixture));
        }
        if let Some(locality) = self.locality(sets)? {
            return Ok(Box::new(locality));
        }
        let local = Local::new(sets.clone(), to.shape, self.thresholds.clone())?;
        Ok(Box::new(if id == DenoiserId::ELS { local.equivariant() } else { local }))
    }

    /// PCA-locality with the threshold of this setting, if it has one.
    pub(super) fn locality(&self, sets: &TrainingSets) -> Result<Option<PcaLocality>> {
        let fit = |threshold| {
            let mask = Locality::Threshold(threshold);
            PcaLocality::new(sets.clone(), Gaussian::fit(sets)?, mask)
        };
        self.threshold.map(fit).transpose()
    }
}

/// Candidate windows: those of odd sides within the image, and for LS one that always covers the whole
/// image.
pub(super) fn sides(shape: Shape, equivariant: bool) -> Vec<usize> {
    let side = shape.height.max(shape.width);
    let mut sides: Vec<usize> = (1..=side).step_by(2).collect();
    if !equivariant {
        sides.push(2 * side - 1);
    }
    sides
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds the cheapest sequence that never shrinks, whatever the order of the levels; between two levels the
    /// window grows at their geometric mean.
    #[test]
    fn windows_never_shrink_as_noise_grows() {
        let sigmas = [4.0, 1.0, 0.25];
        let costs = [vec![3.0, 3.0, 1.0], vec![1.0, 1.1, 9.0], vec![9.0, 1.0, 2.0]];
        // Alone, the levels would choose 5, 1 and 3.
        let setting = Setting::windows(&sigmas, &[1, 3, 5], &costs);
        assert_eq!(setting.windows, Some(vec![5, 3, 3]));
        assert_eq!(setting.thresholds, [0.0, 2.0]);
        let alone = Setting::windows(&[1.0], &[1, 3], &[vec![1.0, 2.0]]);
        assert_eq!((alone.windows, alone.thresholds), (Some(vec![1]), vec![]));
    }

    #[test]
    fn sides_are_odd() {
        let shape = Shape { height: 6, width: 8, channels: 3 };
        assert_eq!(sides(shape, false), [1, 3, 5, 7, 15]);
        assert_eq!(sides(shape, true), [1, 3, 5, 7]);
    }
}
