//! PCA-locality (Lukoianov et al., 2025): each output coordinate compares the training images on the
//! coordinates to which the Wiener filter gives weight.

use std::sync::Arc;

use super::{Denoiser, Gaussian, GaussianFit, Placed};
use crate::compute::{Buffer, Engine, Program, View};
use crate::data::TrainingSets;
use crate::error::{Error, Result};
use crate::kernels::coordinate_softmax::{self, CoordinateTile, STATE};
use crate::kernels::locality::{self, Locality};
use crate::kernels::matmul::{Layout, Matmul};
use crate::kernels::{Sigma, axpby, divide_rows, shrink, squared_differences};

/// Training images in a tile: their differences from all noisy images form a matrix that should stay in
/// the cache.
const TILE: usize = 16;

/// Largest image in values: a tile costs a matrix multiply with a square matrix of this side.
pub const MAX_LOCALITY_DIM: usize = 3072;

/// PCA-locality of each training set:
///
/// `D(x; σ)[m] = Σₙ softmaxₙ(-(1/2σ²) Σⱼ Q[j, m] (xⱼ - yₙⱼ)²) yₙ[m]`,
///
/// with one softmax over the whole set, where `Q` follows from the Wiener filter `W = U Λ(Λ + σ²)⁻¹ Uᵀ` of
/// the same images ([`Locality`]).
#[derive(Debug, Clone)]
pub struct PcaLocality {
    sets: TrainingSets,
    gaussian: Gaussian,
    locality: Locality,
}

impl PcaLocality {
    /// Creates PCA-locality of each training set, given its Gaussian.
    pub fn new(sets: TrainingSets, gaussian: Gaussian, locality: Locality) -> Result<Self> {
        let dim = sets.dim();
        if dim > MAX_LOCALITY_DIM {
            return Err(Error::limit(
                "Values per image for PCA-locality",
                dim as u64,
                MAX_LOCALITY_DIM as u64,
                "Choose a smaller image size, or grey instead of colour",
            ));
        }
        if gaussian.fits().len() != sets.ranges().len() {
            return Err(Error::bad_input(
                format!(
                    "There are {} Gaussians for {} training sets",
                    gaussian.fits().len(),
                    sets.ranges().len()
                ),
                "Fit the Gaussians to the same sets",
            ));
        }
        Ok(Self { sets, gaussian, locality })
    }

    /// The weights `Q` of the first training set, row by row.
    pub async fn weights(&self, engine: &Engine, sigma: f32) -> Result<Vec<f32>> {
        let mut program = engine.program(1)?;
        let level = program.constant("σ", &[sigma].into())?;
        let placed = self.place_weights(&mut program, &self.gaussian.fits()[..1])?;
        let routine = program.routine("locality", |p| placed.record(p, Sigma::shared(level)))?;
        let mut loaded = engine.load(program).await?;
        loaded.run_cooperative(routine, 1).await?;
        loaded.read(placed.weights).await
    }

    fn place_weights(
        &self,
        program: &mut Program,
        fits: &[Arc<GaussianFit>],
    ) -> Result<PlacedWeights> {
        let dim = self.sets.dim();
        let rank = fits.iter().map(|fit| fit.eigenvalues.len()).max().unwrap_or(0).max(1);
        let (mut axes, mut lambda) = (Vec::new(), Vec::new());
        for fit in fits {
            // Rows are coordinates here: the filter is (U · gain) Uᵀ.
            let axis = |j: usize, i: usize| fit.eigenvectors.get((j, i)).map_or(0.0, |&v| v as f32);
            axes.extend(
                (0..dim).flat_map(|j| (0..rank).map(move |i| (j, i))).map(|(j, i)| axis(j, i)),
            );
            lambda.extend((0..rank).map(|i| fit.eigenvalues.get(i).map_or(0.0, |&v| v as f32)));
        }
        Ok(PlacedWeights {
            axes: program.buffer_with("U", axes)?,
            lambda: program.buffer_with("λ", lambda)?,
            scaled: program.buffer("U · gain", dim * rank)?,
            filter: program.buffer("Wiener filter", dim * dim)?,
            weights: program.buffer("locality", dim * dim)?,
            locality: self.locality,
            rank,
            dim,
        })
    }
}

impl Denoiser for PcaLocality {
    fn dim(&self) -> usize {
        self.sets.dim()
    }

    fn members(&self) -> usize {
        self.sets.ranges().len()
    }

    fn place(&self, program: &mut Program, rows: usize) -> Result<Box<dyn Placed>> {
        self.sets.check_members(program)?;
        let (dim, end) = (self.sets.dim(), self.sets.end());
        let tile = TILE.min(end);
        Ok(Box::new(PlacedPcaLocality {
            images: program.constant("training images", self.sets.pool())?,
            ranges: program.buffer_with("training ranges", self.sets.range_words())?,
            weights: self.place_weights(program, self.gaussian.fits())?,
            squares: program.buffer("squared differences", rows * tile * dim)?,
            distances: program.buffer("weighted distances", rows * tile * dim)?,
            state: program.buffer("coordinate softmax state", STATE * rows * dim)?,
            rows,
            dim,
            end,
        }))
    }
}

/// The weights `Q` in a program.
#[derive(Debug, Clone, Copy)]
struct PlacedWeights {
    axes: Buffer,
    lambda: Buffer,
    scaled: Buffer,
    filter: Buffer,
    weights: Buffer,
    locality: Locality,
    rank: usize,
    dim: usize,
}

impl PlacedWeights {
    /// Records `Q` at one noise level.
    fn record(&self, program: &mut Program, sigma: Sigma) -> Result<()> {
        let Self { axes, lambda, scaled, filter, weights, locality, rank, dim } = *self;
        let views = [axes.into(), axes.into(), scaled.into()];
        axpby::record(program, views, [1.0, 0.0], dim * rank)?;
        shrink::record(program, lambda.into(), sigma, scaled.into(), [dim, rank])?;
        Matmul::new(Layout::Nt, scaled, axes, filter, [dim, dim, rank]).record(program)?;
        locality::record(program, locality, [filter.into(), weights.into()], dim)
    }
}

/// A [`PcaLocality`] denoiser placed in a program.
#[derive(Debug, Clone, Copy)]
struct PlacedPcaLocality {
    images: Buffer,
    ranges: Buffer,
    weights: PlacedWeights,
    squares: Buffer,
    distances: Buffer,
    state: Buffer,
    rows: usize,
    dim: usize,
    end: usize,
}

impl Placed for PlacedPcaLocality {
    fn record(&self, program: &mut Program, x: View, sigma: Sigma, out: View) -> Result<()> {
        let Self { rows, dim, end, .. } = *self;
        if sigma.per_row {
            return Err(Error::bad_input(
                "PCA-locality cannot denoise several noise levels at once",
                "Denoise one noise level at a time",
            ));
        }
        self.weights.record(program, sigma)?;
        for first in (0..end).step_by(TILE) {
            let images = TILE.min(end - first);
            let set = self.images.at(first * dim);
            squared_differences::record(
                program,
                [x, set, self.squares.into()],
                [rows, images, dim],
            )?;
            let shape = [rows * images, dim, dim];
            Matmul::new(Layout::Nn, self.squares, self.weights.weights, self.distances, shape)
                .record(program)?;
            let tile = CoordinateTile { rows, images, cols: dim, first };
            let views = [self.distances.into(), set, self.ranges.into(), self.state.into(), out];
            coordinate_softmax::record(program, tile, sigma, views)?;
        }
        divide_rows::record(program, self.state.at(1), STATE, out, [rows * dim, 1])
    }
}
