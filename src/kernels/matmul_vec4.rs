//! The variant of [`matmul`](super::matmul) for operands that can be loaded four numbers at a time.

use super::matmul::{Keep, Layout, Matmul, SHARED, Tile, variant};
use super::{PRODUCT, SHARED_SUM, VIEWS, aligned, wgsl};
use crate::compute::Kernel;

/// The kernel of this stage.
pub static KERNEL: Kernel =
    variant("matmul_vec4", &[VIEWS, PRODUCT, SHARED_SUM, wgsl!("matmul_vec4.wgsl"), SHARED]);

/// Whether the tile consists of blocks of four by four, and every row that is loaded or stored begins at a
/// multiple of four, for each member.
pub(super) fn fits(matmul: &Matmul, tile: Tile, members: usize) -> bool {
    let rescale = if let Keep::Rescaled(view) = matmul.keep { Some(view) } else { None };
    tile.rows.is_multiple_of(4)
        && tile.cols.is_multiple_of(4)
        && matmul.n.is_multiple_of(4)
        && matmul.k.is_multiple_of(4)
        && (matmul.layout != Layout::Tn || matmul.m.is_multiple_of(4))
        && [Some(matmul.a), Some(matmul.b), Some(matmul.c), matmul.bias, rescale]
            .into_iter()
            .flatten()
            .all(|view| aligned(view, members))
}
