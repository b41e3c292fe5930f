//! One tile of a search for the training images nearest to each row.
//!
//! `½‖x - y‖²` minus `½‖x‖²` is `½‖y‖² - x·y`: the products come from a matrix multiply, and the smallest
//! values with their indices are carried from tile to tile. They are candidates: rounding blurs the
//! order of images at almost equal distances, and [`super::rank_candidates`] settles it.

use super::softmax_tile::ImageTile;
use super::{Call, LANES, VIEWS, cover, params, wgsl};
use crate::compute::simd::load;
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, cols: u32, first: u32, reset: u32 }
}

/// Images that are kept per row, nearest first.
pub const CANDIDATES: usize = 8;

/// Fills the list where there are fewer images than candidates.
pub const HIGHEST: f32 = 3.0e38;

/// The kernel of this stage.
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

/// Records the tile: column `i` of `s` holds the products `x·y` of row `i`, `norms` holds `‖y‖²`, `range`
/// the member's training set; `best` and `index` receive [`CANDIDATES`] values per row, nearest first.
pub fn record(
    program: &mut Program,
    tile: ImageTile,
    [norms, range, s, best, index]: [View; 5],
) -> Result<()> {
    let ImageTile { rows, cols, first } = tile;
    let params = Params {
        rows: rows as u32,
        cols: cols as u32,
        first: first as u32,
        reset: u32::from(first == 0),
    };
    let listed = CANDIDATES * rows;
    let bindings = [(norms, cols), (range, 2), (s, rows * cols), (best, listed), (index, listed)];
    program.stage(&KERNEL, &[], &params, &bindings, cover(rows))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (norms, range, s) = (call.read(0), call.read_u32(1), call.read(2));
    let (best, index) = (call.write(3), call.write_u32(4));
    if p.reset == 1 {
        best.fill(HIGHEST);
        index.fill(range[0]);
    }
    let rows = p.rows as usize;
    let begin = (range[0].max(p.first) - p.first).min(p.cols) as usize;
    let end = ((range[1].max(p.first) - p.first).min(p.cols) as usize).max(begin);
    let best = best.as_chunks_mut::<CANDIDATES>().0.chunks_mut(LANES);
    let index = index.as_chunks_mut::<CANDIDATES>().0.chunks_mut(LANES);
    for (block, (best, index)) in best.zip(index).enumerate() {
        let first = block * LANES;
        // The bound that a value must be below. In lanes past the last row, no value is.
        let mut limits = [f32::NEG_INFINITY; LANES];
        limits.iter_mut().zip(&*best).for_each(|(limit, best)| *limit = best[CANDIDATES - 1]);
        for j in begin..end {
            let products: [f32; LANES] = load(&s[j * rows + first..(j + 1) * rows]);
            let values = products.map(|product| 0.5 * norms[j] - product);
            let nearer = |(value, limit): (&f32, &f32)| value < limit;
            if !values.iter().zip(&limits).map(nearer).fold(false, |any, nearer| any | nearer) {
                continue;
            }
            for (i, (best, index)) in best.iter_mut().zip(&mut *index).enumerate() {
                if values[i] < limits[i] {
                    insert(best, index, values[i], p.first + j as u32);
                    limits[i] = best[CANDIDATES - 1];
                }
            }
        }
    }
}

/// Inserts `value` in order, after equal values; the last value drops out.
fn insert(best: &mut [f32; CANDIDATES], index: &mut [u32; CANDIDATES], value: f32, image: u32) {
    let mut at = CANDIDATES - 1;
    while at > 0 && value < best[at - 1] {
        (best[at], index[at]) = (best[at - 1], index[at - 1]);
        at -= 1;
    }
    (best[at], index[at]) = (value, image);
}
