//! LS and ELS, the local score machines (Kamb and Ganguli, 2025): optimal among denoisers that see only
//! a window around each pixel.

use super::{Denoiser, Placed};
use crate::compute::{Buffer, Program, View};
use crate::data::Shape;
use crate::data::TrainingSets;
use crate::error::{Error, Result};
use crate::kernels::local_tile::{self, LocalTile, MAX_SIDE, STATE};
use crate::kernels::{Sigma, divide_rows};

/// Training images in a tile. A tile is one dispatch, which must not take long on a GPU. On the CPU, multiples of
/// 16 fill its vectors.
const TILE: usize = 256;
/// Training images in a tile, times their pixels, if every image is compared at every shift.
const EQUIVARIANT_TILE: usize = 16 * 16 * 16;

/// A local score machine, in the paper's notation for noise added to clean images:
///
/// - LS: `D(x; σ)[m] = Σₙ softmaxₙ(-‖(x - yₙ)_Ω(m)‖² / 2σ²) yₙ[m]`,
/// - ELS: the same softmax over all images *and* all their circular shifts.
///
/// Ω(m) is the square window around pixel `m`, with all channels. At the border LS cuts the window off,
/// which amounts to zero padding, and ELS wraps it around.
#[derive(Debug, Clone)]
pub struct Local {
    sets: TrainingSets,
    shape: Shape,
    equivariant: bool,
    thresholds: Vec<f32>,
}

impl Local {
    /// Creates LS of each training set. The window has `2r + 1` pixels per side, where `r` is the number of
    /// `thresholds` that the noise level reaches.
    pub fn new(sets: TrainingSets, shape: Shape, thresholds: Vec<f32>) -> Result<Self> {
        if sets.dim() != shape.dim() {
            return Err(Error::bad_input(
                format!(
                    "The images have {} values, which do not fit the shape {shape:?}",
                    sets.dim()
                ),
                "Give the shape of the training images",
            ));
        }
        if shape.height.max(shape.width) > MAX_SIDE {
            return Err(Error::limit(
                "Pixels per side for a local denoiser",
                shape.height.max(shape.width) as u64,
                MAX_SIDE as u64,
                "Resize the images",
            ));
        }
        if thresholds.iter().any(|t| !t.is_finite()) {
            return Err(Error::bad_input("A window's noise level is not finite", ""));
        }
        Ok(Self { sets, shape, equivariant: false, thresholds })
    }

    /// Turns LS into ELS.
    #[must_use]
    pub fn equivariant(self) -> Self {
        Self { equivariant: true, ..self }
    }

    /// The thresholds of windows with the same odd `side` at every noise level.
    #[must_use]
    pub fn fixed_window(side: usize) -> Vec<f32> {
        vec![0.0; side / 2]
    }
}

impl Denoiser for Local {
    fn dim(&self) -> usize {
        self.sets.dim()
    }

    fn members(&self) -> usize {
        self.sets.ranges().len()
    }

    fn place(&self, program: &mut Program, rows: usize) -> Result<Box<dyn Placed>> {
        self.sets.check_members(program)?;
        let Shape { height, width, channels } = self.shape;
        let thresholds =
            if self.thresholds.is_empty() { vec![f32::MAX] } else { self.thresholds.clone() };
        Ok(Box::new(PlacedLocal {
            images: program.constant("training images", self.sets.pool())?,
            ranges: program.buffer_with("training ranges", self.sets.range_words())?,
            thresholds: program.constant("window thresholds", &thresholds.into())?,
            state: program.buffer("local softmax state", STATE * rows * height * width)?,
            tile: LocalTile {
                rows,
                shape: [height, width, channels],
                images: 0,
                first: 0,
                equivariant: self.equivariant,
                thresholds: self.thresholds.len(),
            },
            end: self.sets.end(),
        }))
    }
}

/// A [`Local`] denoiser placed in a program.
#[derive(Debug, Clone, Copy)]
struct PlacedLocal {
    images: Buffer,
    ranges: Buffer,
    thresholds: Buffer,
    state: Buffer,
    /// A tile that contains all images.
    tile: LocalTile,
    end: usize,
}

impl Placed for PlacedLocal {
    fn record(&self, program: &mut Program, x: View, sigma: Sigma, out: View) -> Result<()> {
        let [height, width, channels] = self.tile.shape;
        let dim = height * width * channels;
        let size = if self.tile.equivariant {
            EQUIVARIANT_TILE.div_ceil(height * width).min(TILE)
        } else {
            TILE
        };
        for first in (0..self.end).step_by(size) {
            let tile = LocalTile { first, images: size.min(self.end - first), ..self.tile };
            let views = [
                x,
                self.images.at(first * dim),
                self.ranges.into(),
                self.thresholds.into(),
                self.state.into(),
                out,
            ];
            local_tile::record(program, tile, sigma, views)?;
        }
        let pixels = self.tile.rows * height * width;
        divide_rows::record(program, self.state.at(1), STATE, out, [pixels, channels])
    }
}
