//! The variant of [`matmul`](super::matmul) that uses workgroup memory, for any shape.

use super::matmul::{SHARED, Tile, variant};
use super::{VIEWS, wgsl};
use crate::compute::Kernel;

/// The kernel of this stage.
pub static KERNEL: Kernel =
    variant("matmul_workgroup", &[VIEWS, wgsl!("matmul_workgroup.wgsl"), SHARED]);

/// Words of workgroup memory: the workgroup's part of both operands, and one word of padding per row.
pub(super) const fn words(tile: Tile) -> u32 {
    let [rows, cols] = tile.block();
    tile.depth * (rows + cols + 2) as u32
}

/// Workgroups that keep most GPUs busy.
const BUSY: usize = 32;

/// The tile, cut in half until an `m × n` result has work for the whole GPU.
pub(super) const fn fill(mut tile: Tile, [m, n]: [usize; 2], members: usize) -> Tile {
    loop {
        let [x, y] = tile.workgroups(m, n);
        if x * y * members >= BUSY || (tile.rows <= 2 && tile.cols <= 2) {
            return tile;
        }
        if tile.rows >= tile.cols {
            tile.rows /= 2;
        } else {
            tile.cols /= 2;
        }
    }
}
