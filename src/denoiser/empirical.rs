//! D_M, the optimal denoiser of the training images themselves (eq. 4).

use std::sync::Arc;

use super::{Denoiser, Placed};
use crate::compute::{Buffer, Program, View};
use crate::data::TrainingSets;
use crate::error::Result;
use crate::kernels::matmul::{Keep, Layout, Matmul};
use crate::kernels::softmax_tile::{self, ImageTile, STATE};
use crate::kernels::{Sigma, divide_rows, nearest_tile, row_compare};

/// Training images in a tile: large enough to keep a matrix multiply busy, small enough to stay in
/// the cache. Memory beyond the data is `rows × TILE`, whatever N is.
const TILE: usize = 512;

/// The empirical denoiser: a softmax-weighted mean of training images (eq. 4),
///
/// `D_M(x; σ) = Σᵢ wᵢ yᵢ`, `w = softmax(-‖x - yᵢ‖² / 2σ²)`.
///
/// It minimizes the training loss exactly, and all that it can generate are training images.
#[derive(Debug, Clone)]
pub struct Empirical {
    sets: TrainingSets,
    /// `‖y‖²` of every image that a member uses.
    norms: Arc<[f32]>,
}

impl Empirical {
    /// The empirical denoiser of each training set.
    #[must_use]
    pub fn new(sets: TrainingSets) -> Self {
        let norm = |y: &[f32]| y.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() as f32;
        let norms = sets.pool().chunks_exact(sets.dim()).take(sets.end()).map(norm).collect();
        Self { sets, norms }
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
        Ok(PlacedEmpirical { images, ranges, norms, products, state, rows, dim, end })
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

/// An [`Empirical`] denoiser that stands in a program.
#[derive(Debug, Clone, Copy)]
pub struct PlacedEmpirical {
    images: Buffer,
    ranges: Buffer,
    norms: Buffer,
    products: Buffer,
    state: Buffer,
    rows: usize,
    dim: usize,
    end: usize,
}

impl PlacedEmpirical {
    /// How many images it was placed for.
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

    /// Each member's part of the pool.
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

    /// Records the products of every row of `x` with the images of a tile.
    fn products(&self, program: &mut Program, tile: ImageTile, x: View) -> Result<()> {
        let images = self.images.at(tile.first * self.dim);
        Matmul::new(Layout::Nt, x, images, self.products, [tile.rows, tile.cols, self.dim])
            .record(program)
    }

    /// Records the search for the two nearest training images of each row of `x`: their numbers go
    /// to `index` (two for each row), and `‖x‖², ‖y‖², x·y, ‖x - y‖²` to `first` and `second`.
    pub fn record_nearest(&self, program: &mut Program, x: View, into: Neighbours) -> Result<()> {
        let Neighbours { best, index, first, second } = into;
        for tile in self.tiles() {
            self.products(program, tile, x)?;
            let norms = self.norms.at(tile.first);
            let views =
                [norms, self.ranges.into(), self.products.into(), best.into(), index.into()];
            nearest_tile::record(program, tile, views)?;
        }
        let shape = [self.rows, self.dim, self.end];
        for (nth, out) in [first, second].into_iter().enumerate() {
            let views = [x, self.images.into(), index.at(nth), out.into()];
            row_compare::record_picked(program, views, shape)?;
        }
        Ok(())
    }
}

impl Placed for PlacedEmpirical {
    fn record(&self, program: &mut Program, x: View, sigma: Sigma, out: View) -> Result<()> {
        let shape = [self.rows, self.dim];
        for tile in self.tiles() {
            self.products(program, tile, x)?;
            let (norms, images) =
                (self.norms.at(tile.first), self.images.at(tile.first * self.dim));
            let views = [norms, self.ranges.into(), self.products.into(), self.state.into()];
            softmax_tile::record(program, tile, sigma, views)?;
            let keep =
                if tile.first == 0 { Keep::Nothing } else { Keep::Rescaled(self.state.into()) };
            Matmul::new(Layout::Nn, self.products, images, out, [tile.rows, self.dim, tile.cols])
                .keep(keep)
                .record(program)?;
        }
        divide_rows::record(program, self.state.at(1), STATE, out, shape)
    }
}

/// Where the search for neighbours puts its results.
#[derive(Debug, Clone, Copy)]
pub struct Neighbours {
    best: Buffer,
    /// Pool numbers of the two nearest images, for each row.
    pub index: Buffer,
    /// Comparison of each row with its nearest image.
    pub first: Buffer,
    /// Comparison of each row with the second nearest.
    pub second: Buffer,
}

impl Neighbours {
    /// Room for the neighbours of `rows` images.
    pub fn new(program: &mut Program, rows: usize) -> Result<Self> {
        Ok(Self {
            best: program.buffer("smallest distances", 2 * rows)?,
            index: program.buffer("nearest images", 2 * rows)?,
            first: program.buffer("nearest", 4 * rows)?,
            second: program.buffer("second nearest", 4 * rows)?,
        })
    }
}
