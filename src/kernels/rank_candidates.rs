//! Exact squared distances of each row to its candidates, sorted.
//!
//! [`super::nearest_tile`] finds candidates by `½‖y‖² - x·y`, which in f32 is off by a few millionths of
//! `‖y‖²`: far more than the distances differ where a row lies between two images, or where images are
//! near-duplicates. Here the distances are summed from differences.

use super::nearest_tile::{CANDIDATES, HIGHEST};
use super::{Call, ROW_SUM, VIEWS, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, cols: u32, images: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "rank_candidates",
    wgsl: &[VIEWS, ROW_SUM, wgsl!("rank_candidates.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("x", Access::Read),
        ("images", Access::Read),
        ("best", Access::Read),
        ("index", Access::Write),
        ("distances", Access::Write),
    ],
    cpu,
};

/// Records the ranking of the candidates of `rows` rows of `cols` numbers, in a pool of `images`.
pub fn record(
    program: &mut Program,
    [x, pool, best, index, distances]: [View; 5],
    [rows, cols, images]: [usize; 3],
) -> Result<()> {
    let params = Params { rows: rows as u32, cols: cols as u32, images: images as u32 };
    let listed = CANDIDATES * rows;
    let bindings = [
        (x, rows * cols),
        (pool, images * cols),
        (best, listed),
        (index, listed),
        (distances, listed),
    ];
    let constants = [("ROW_THREADS", program.profile().row_threads)];
    program.stage(&KERNEL, &constants, &params, &bindings, [rows, 1])
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (x, pool, best) = (call.read(0), call.read(1), call.read(2));
    let (index, distances) = (call.write_u32(3), call.write(4));
    let cols = p.cols as usize;
    let rows = x.chunks_exact(cols).zip(best.as_chunks::<CANDIDATES>().0);
    let lists = index.as_chunks_mut::<CANDIDATES>().0.iter_mut();
    let lists = lists.zip(distances.as_chunks_mut::<CANDIDATES>().0);
    for ((x, best), (index, distances)) in rows.zip(lists) {
        let mut ranked = [(0.0, 0); CANDIDATES];
        for ((ranked, &number), &best) in ranked.iter_mut().zip(&*index).zip(best) {
            let number = number.min(p.images - 1);
            let y = &pool[number as usize * cols..][..cols];
            *ranked = (if best < HIGHEST { squared_distance(x, y) } else { HIGHEST }, number);
        }
        // Insertion sort: equal values keep their order, and nothing is allocated.
        for k in 1..CANDIDATES {
            let mut at = k;
            while at > 0 && ranked[at].0 < ranked[at - 1].0 {
                ranked.swap(at, at - 1);
                at -= 1;
            }
        }
        for ((index, distance), ranked) in index.iter_mut().zip(distances).zip(ranked) {
            (*distance, *index) = ranked;
        }
    }
}

/// `‖x - y‖²`, summed in f64.
fn squared_distance(x: &[f32], y: &[f32]) -> f32 {
    const LANES: usize = 4;
    let mut sums = [0.0_f64; LANES];
    for (x, y) in x.chunks(LANES).zip(y.chunks(LANES)) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += f64::from(x - y).powi(2);
        }
    }
    sums.iter().sum::<f64>() as f32
}
