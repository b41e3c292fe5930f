//! One tile of a search for the two nearest training images of each row.
//!
//! `½‖x - y‖²` less `½‖x‖²` is `½‖y‖² - x·y`: the products come from a matrix multiply, and the two
//! smallest values with their indices are carried from tile to tile. Exact distances of the two are
//! then a [`super::row_compare`] away.

use super::{Call, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, cols: u32, first: u32, reset: u32 }
}

const HIGHEST: f32 = 3.0e38;

/// See the module.
pub static KERNEL: Kernel = Kernel {
    name: "nearest_tile",
    wgsl: &[VIEWS, wgsl!("nearest_tile.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("norms", Access::Read),
        ("range", Access::Read),
        ("s", Access::Read),
        ("best", Access::Write),
        ("index", Access::Write),
    ],
    cpu,
};

/// Records the tile: `s` holds the products `x·y`, `norms` holds `‖y‖²`, `range` the member's
/// training set; `best` and `index` take two values for each row, nearest first.
pub fn record(
    program: &mut Program,
    tile: super::softmax_tile::ImageTile,
    [norms, range, s, best, index]: [View; 5],
) -> Result<()> {
    let super::softmax_tile::ImageTile { rows, cols, first } = tile;
    let params = Params {
        rows: rows as u32,
        cols: cols as u32,
        first: first as u32,
        reset: u32::from(first == 0),
    };
    let bindings =
        [(norms, cols), (range, 2), (s, rows * cols), (best, 2 * rows), (index, 2 * rows)];
    program.stage(&KERNEL, &[], &params, &bindings, cover(rows))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (norms, range, s) = (call.read(0), call.read_u32(1), call.read(2));
    let (best, index) = (call.write(3), call.write_u32(4));
    let rows = s.chunks_exact(p.cols as usize);
    for ((s, best), index) in rows.zip(best.chunks_exact_mut(2)).zip(index.chunks_exact_mut(2)) {
        if p.reset == 1 {
            best.fill(HIGHEST);
            index.fill(range[0]);
        }
        for (j, (s, norm)) in s.iter().zip(norms).enumerate() {
            let image = p.first + j as u32;
            let value = 0.5 * norm - s;
            if value >= best[1] || image < range[0] || image >= range[1] {
                continue;
            }
            if value < best[0] {
                (best[1], index[1]) = (best[0], index[0]);
                (best[0], index[0]) = (value, image);
            } else {
                (best[1], index[1]) = (value, image);
            }
        }
    }
}
