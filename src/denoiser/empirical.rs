//! D_M, the optimal denoiser of the training images themselves (eq. 4).

use std::sync::Arc;

use super::{Denoiser, Placed};
use crate::compute::{Buffer, Program, View};
use crate::data::TrainingSets;
use crate::error::Result;
use crate::kernels::matmul::{Keep, Layout, Matmul};
use crate::kernels::nearest_tile::{self, CANDIDATES};
use crate::kernels::softmax_tile::{self, ImageTile, STATE};
use crate::kernels::{Sigma, rank_candidates, refine_mean, row_compare, transpose_divide};

/// Training images in a tile: large enough to keep a matrix multiply busy, small enough to stay in
/// the cache. Memory beyond the data is `rows × TILE`, whatever N is.
const TILE: usize = 512;

/// The memorizing denoiser D_M: a softmax-weighted mean of training images (eq. 4),
///
/// `D_M(x; σ) = Σᵢ wᵢ yᵢ`, `w = softmax(-‖x - yᵢ‖² / 2σ²)`.
///
/// It minimizes the training loss exactly, and can generate only training images.
#[derive(Debug, Clone)]
pub struct Empirical {
    sets: TrainingSets,
    /// `‖y‖²` of every image that a member uses.
    norms: Arc<[f32]>,
    /// The largest of `norms`.
    max_norm: f32,
}

impl Empirical {
    /// Creates D_M of each training set.
    #[must_use]
    pub fn new(sets: TrainingSets) -> Self {
        let norm = |y: &[f32]| y.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() as f32;
        let norms: Arc<[f32]> =
            sets.pool().chunks_exact(sets.dim()).take(sets.end()).map(norm).collect();
        let max_norm = norms.iter().copied().fold(0.0, f32::max);
        Self { sets, norms, max_norm }
    }

    /// The training sets.
    #[must_use]
    pub const fn sets(&self) -> &TrainingSets {
        &self.sets
    }

    /// [`Denoiser::place`], with access to the softmax state and to neighbours.
    pub fn place_in(&self, program: &mut Program, rows: usize) -> Result<PlacedEmpirical> {
        self.sets.check_members(program)?;
        let dim = self.sets.dim();
        let end = self.sets.end();
        let images = program.constant("training images", self.sets.pool())?;
        let ranges = program.buffer_with("training ranges", self.sets.range_words())?;
        let norms = program.constant("‖y‖²", &self.norms)?;
        let products = program.buffer("products", rows * TILE.min(end))?;
        let state = program.buffer("softmax state", STATE * rows)?;
        let sums = program.buffer("weighted sums", rows * dim)?;
        let candidates = Candidates::new(program, rows)?;
        let coarse_below =
            (2.0 * self.max_norm * refine_mean::COARSENESS / refine_mean::NEGLIGIBLE).sqrt();
        Ok(PlacedEmpirical {
            images,
            ranges,
            norms,
            products,
            state,
            sums,
            candidates,
            coarse_below,
            rows,
            dim,
            end,
        })
    }
}

impl Denoiser for Empirical {
    fn dim(&self) -> usize {
        self.sets.dim()
    }

    fn members(&self) -> usize {
        self.sets.ranges().len()
    }

    fn place(&self, program: &mut Program, rows: usize) -> Result<Box<dyn Placed>> {
        Ok(Box::new(self.place_in(program, rows)?))
    }
}

/// An [`Empirical`] denoiser placed in a program.
#[derive(Debug, Clone, Copy)]
pub struct PlacedEmpirical {
    images: Buffer,
    ranges: Buffer,
    norms: Buffer,
    products: Buffer,
    state: Buffer,
    sums: Buffer,
    candidates: Candidates,
    /// From this noise level on, products are precise enough for all weights.
    coarse_below: f32,
    rows: usize,
    dim: usize,
    end: usize,
}

impl PlacedEmpirical {
    /// Number of images that it was placed for.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The pool of training images.
    #[must_use]
    pub const fn images(&self) -> Buffer {
        self.images
    }

    /// `‖y‖²` of each image.
    #[must_use]
    pub const fn norms(&self) -> Buffer {
        self.norms
    }

    /// Each member's range of the pool.
    #[must_use]
    pub const fn ranges(&self) -> Buffer {
        self.ranges
    }

    fn tiles(self) -> impl Iterator<Item = ImageTile> {
        let Self { rows, end, .. } = self;
        (0..end).step_by(TILE).map(move |first| ImageTile {
            rows,
            cols: TILE.min(end - first),
            first,
        })
    }

    /// Records the products of a tile's images with every row of `x`.
    fn products(&self, program: &mut Program, tile: ImageTile, x: View) -> Result<()> {
        let images = self.images.at(tile.first * self.dim);
        Matmul::new(Layout::Nt, images, x, self.products, [tile.cols, tile.rows, self.dim])
            .record(program)
    }

    /// Records the search of a tile whose products were computed.
    fn search(&self, program: &mut Program, tile: ImageTile, into: Candidates) -> Result<()> {
        let (norms, ranges) = (self.norms.at(tile.first), self.ranges.into());
        let views = [norms, ranges, self.products.into(), into.best.into(), into.index.into()];
        nearest_tile::record(program, tile, views)
    }

    /// Records the ranking of the candidates of all tiles.
    fn rank(&self, program: &mut Program, x: View, found: Candidates) -> Result<()> {
        let Candidates { best, index, distances } = found;
        let views = [x, self.images.into(), best.into(), index.into(), distances.into()];
        rank_candidates::record(program, views, [self.rows, self.dim, self.end])
    }

    /// Records the search for the training images nearest to each row of `x`: their indices go to
    /// [`Neighbours::index`], and `‖x‖², ‖y‖², x·y, ‖x - y‖²` of the two nearest to `first` and `second`.
    pub fn record_nearest(&self, program: &mut Program, x: View, into: Neighbours) -> Result<()> {
        let Neighbours { candidates, index, first, second } = into;
        for tile in self.tiles() {
            self.products(program, tile, x)?;
            self.search(program, tile, candidates)?;
        }
        self.rank(program, x, candidates)?;
        let shape = [self.rows, self.dim, self.end];
        for (nth, out) in [first, second].into_iter().enumerate() {
            let views = [x, self.images.into(), index.at(nth), out.into()];
            row_compare::record_picked(program, views, CANDIDATES, shape)?;
        }
        Ok(())
    }
}

impl Placed for PlacedEmpirical {
    fn record(&self, program: &mut Program, x: View, sigma: Sigma, out: View) -> Result<()> {
        let Self { rows, dim, end, sums, state, candidates, .. } = *self;
        let coarse = sigma.level.is_none_or(|level| level.sigma < self.coarse_below);
        for tile in self.tiles() {
            self.products(program, tile, x)?;
            if coarse {
                self.search(program, tile, candidates)?;
            }
            let (norms, images) = (self.norms.at(tile.first), self.images.at(tile.first * dim));
            let views = [norms, self.ranges.into(), self.products.into(), state.into()];
            softmax_tile::record(program, tile, sigma, views)?;
            let keep =
                if tile.first == 0 { Keep::Nothing } else { Keep::Rescaled(state.at(2 * rows)) };
            Matmul::new(Layout::Tn, images, self.products, sums, [dim, rows, tile.cols])
                .keep(keep)
                .record(program)?;
        }
        transpose_divide::record(program, [state.at(rows), sums.into(), out], [rows, dim])?;
        if coarse {
            self.rank(program, x, candidates)?;
            let Candidates { best, index, distances } = candidates;
            let views = [self.images, self.norms, best, index, distances].map(View::from);
            let [images, norms, best, index, distances] = views;
            let views = [images, norms, best, index, distances, out];
            refine_mean::record(program, sigma, views, [rows, dim, end])?;
        }
        Ok(())
    }
}

/// The training images that may be nearest to each row.
#[derive(Debug, Clone, Copy)]
struct Candidates {
    best: Buffer,
    index: Buffer,
    distances: Buffer,
}

impl Candidates {
    fn new(program: &mut Program, rows: usize) -> Result<Self> {
        Ok(Self {
            best: program.buffer("smallest distances", CANDIDATES * rows)?,
            index: program.buffer("nearest images", CANDIDATES * rows)?,
            distances: program.buffer("exact distances", CANDIDATES * rows)?,
        })
    }
}

/// The buffers that receive the results of a neighbour search.
#[derive(Debug, Clone, Copy)]
pub struct Neighbours {
    candidates: Candidates,
    /// Pool indices of the nearest images, [`CANDIDATES`] per row, nearest first.
    pub index: Buffer,
    /// Comparison of each row with its nearest image.
    pub first: Buffer,
    /// Comparison of each row with its second nearest image.
    pub second: Buffer,
}

impl Neighbours {
    /// Reserves buffers for the neighbours of `rows` images.
    pub fn new(program: &mut Program, rows: usize) -> Result<Self> {
        let candidates = Candidates::new(program, rows)?;
        Ok(Self {
            candidates,
            index: candidates.index,
            first: program.buffer("nearest", 4 * rows)?,
            second: program.buffer("second nearest", 4 * rows)?,
        })
    }
}
