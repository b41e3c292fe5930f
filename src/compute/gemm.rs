//! The CPU's matrix multiply: `C = A·B` or `C += A·B`, `C` row-major.
//!
//! Both operands are copied to panels that the register tile reads from front to back: a few rows of
//! `A` or two vectors' worth of columns of `B`, depth by depth. An element of `C` is summed in the
//! same order wherever it lies in a tile and whoever computes it, so its bits depend on its row and
//! column alone.

use std::cell::RefCell;
use std::ops::Range;

use super::memory::Memory;
use super::simd::{self, Avx512, Tile, Vectorized, load, mul_add, store};

/// Rows of a register tile in WebAssembly; its columns are two vectors. Eight sums keep both multipliers
/// of a current processor busy and leave 16 registers room for the operands.
const ROWS: usize = 4;

/// The same where vectors are wider, and loads may be part of a multiplication.
const MORE_ROWS: usize = 6;

/// Depth of a panel: a panel of `B` then takes at most 16 KiB, half of a first-level cache.
const DEPTH: usize = 256;

/// Rows of `A` that are packed at a time: 240 KiB, half of a second-level cache; whole register tiles.
const BLOCK: usize = 240;

/// The same with AVX-512: such processors have at least a megabyte of that cache.
const WIDE_BLOCK: usize = 480;

/// Columns of `B` that are packed at a time: whole cache lines, and few enough for the panels to
/// stay in the cache.
const COLUMNS: usize = 64;

/// Panels that are filled side by side. They lie a power of two apart, so more of them would drive each
/// other out of the cache.
const TOGETHER: usize = 4;

/// Rows of zeros for panels that reach over the rim.
static ZEROS: [f32; DEPTH] = [0.0; DEPTH];

thread_local! {
    /// Room for the panels, kept from call to call.
    static PANELS: RefCell<Memory> = const { RefCell::new(Memory::EMPTY) };
}

/// An operand: the rows of `A`, or the columns of `B`, each `k` deep.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operand<'a> {
    data: &'a [f32],
    stride: usize,
    deep: bool,
}

impl<'a> Operand<'a> {
    /// Element `p` of row (or column) `i` lies at `i · k + p`.
    pub(crate) const fn deep(data: &'a [f32], k: usize) -> Self {
        Self { data, stride: k, deep: true }
    }

    /// Element `p` of row (or column) `i` of `count` lies at `p · count + i`.
    pub(crate) const fn flat(data: &'a [f32], count: usize) -> Self {
        Self { data, stride: count, deep: false }
    }

    /// Element `p` of row (or column) `i` lies at `i · stride + p`.
    pub(crate) const fn strided(data: &'a [f32], stride: usize) -> Self {
        Self { data, stride, deep: true }
    }

    /// Copies `rows` to panels of `R` each, one after the other; zeros fill up the last one.
    #[inline(always)]
    pub(crate) fn pack<const R: usize>(
        self,
        rows: Range<usize>,
        depth: Range<usize>,
        panels: &mut [[f32; R]],
    ) {
        if self.deep {
            for (rows, panel) in blocks(rows, R).zip(panels.chunks_exact_mut(depth.len())) {
                self.pack_deep(rows, depth.clone(), panel);
            }
        } else {
            self.pack_flat(rows, depth, panels);
        }
    }

    /// Along memory, and so through several panels for each depth.
    #[inline(always)]
    fn pack_flat<const R: usize>(
        self,
        rows: Range<usize>,
        depth: Range<usize>,
        panels: &mut [[f32; R]],
    ) {
        let groups = panels.chunks_mut(TOGETHER * depth.len());
        for (rows, panels) in blocks(rows, TOGETHER * R).zip(groups) {
            for (p, from) in
                self.data.chunks(self.stride).skip(depth.start).take(depth.len()).enumerate()
            {
                let packed = panels[p..].iter_mut().step_by(depth.len());
                for (values, packed) in from[rows.clone()].chunks(R).zip(packed) {
                    *packed = load(values);
                }
            }
        }
    }

    /// Four by four: such a transposition is a few shuffles of registers. Deep ones go in blocks, as
    /// there are only so many zeros.
    #[inline(always)]
    fn pack_deep<const R: usize>(
        self,
        rows: Range<usize>,
        depth: Range<usize>,
        panel: &mut [[f32; R]],
    ) {
        for (depth, panel) in blocks(depth, DEPTH).zip(panel.chunks_mut(DEPTH)) {
            self.pack_block(rows.clone(), depth, panel);
        }
    }

    #[inline(always)]
    fn pack_block<const R: usize>(
        self,
        rows: Range<usize>,
        depth: Range<usize>,
        panel: &mut [[f32; R]],
    ) {
        let row = |i: usize| match i < rows.len() {
            true => &self.data[(rows.start + i) * self.stride..][depth.clone()],
            false => &ZEROS[..depth.len()],
        };
        let mut done = 0;
        if R.is_multiple_of(16)
            && let Some(wide) = Avx512::detect()
        {
            for first in (0..R).step_by(16) {
                let mut rows = [[].as_slice(); 16];
                rows.iter_mut().enumerate().for_each(|(i, to)| *to = row(first + i));
                done = wide.transpose(rows, first, panel);
            }
        }
        let panel = &mut panel[done..];
        for first in (0..R).step_by(4) {
            let count = (R - first).min(4);
            let rest = |i: usize| row(first + i)[done..].as_chunks::<4>();
            let from = [rest(0), rest(1), rest(2), rest(3)];
            let (blocks, rest) = panel.as_chunks_mut::<4>();
            for (b, block) in blocks.iter_mut().enumerate() {
                let square = from.map(|(chunks, _)| chunks[b]);
                for (p, packed) in block.iter_mut().enumerate() {
                    for (i, row) in square.iter().enumerate().take(count) {
                        packed[first + i] = row[p];
                    }
                }
            }
            for (p, packed) in rest.iter_mut().enumerate() {
                for (i, (_, row)) in from.iter().enumerate().take(count) {
                    packed[first + i] = row[p];
                }
            }
        }
    }
}

/// Computes `rows` of `C`, which are all of `c`: `A·B`, added to what `c` held if `accumulate`.
pub(crate) fn gemm(
    rows: Range<usize>,
    [n, k]: [usize; 2],
    a: Operand<'_>,
    b: Operand<'_>,
    accumulate: bool,
    c: &mut [f32],
) {
    PANELS.with_borrow_mut(|panels| {
        simd::run(Gemm { rows, n, k, a, b, accumulate, c, panels });
    });
}

struct Gemm<'a> {
    rows: Range<usize>,
    n: usize,
    k: usize,
    a: Operand<'a>,
    b: Operand<'a>,
    accumulate: bool,
    c: &'a mut [f32],
    panels: &'a mut Memory,
}

impl Vectorized for Gemm<'_> {
    #[inline(always)]
    fn run<const LANES: usize, const PAIR: usize, const FMA: bool>(self) {
        if LANES == 16
            && let Some(wide) = Avx512::detect()
        {
            self.multiply_wide(wide);
        } else if LANES == 4 {
            self.multiply::<ROWS, PAIR, FMA>();
        } else {
            self.multiply::<MORE_ROWS, PAIR, FMA>();
        }
    }
}

impl Gemm<'_> {
    #[inline(always)]
    fn multiply<const ROWS: usize, const PAIR: usize, const FMA: bool>(self) {
        let Self { rows, n, k, a, b, accumulate, c, panels } = self;
        let deepest = k.min(DEPTH);
        // Those of `B` begin at a cache line, too.
        let room_for_a =
            (rows.len().min(BLOCK).next_multiple_of(ROWS) * deepest).next_multiple_of(16);
        let room = room_for_a + n.min(COLUMNS).next_multiple_of(PAIR) * deepest;
        panels.reserve(room);
        let (a_panels, b_panels) = panels.split_at_mut(room_for_a);
        let (a_panels, _) = a_panels.as_chunks_mut::<ROWS>();
        let (b_panels, _) = b_panels.as_chunks_mut::<PAIR>();
        for depth in blocks(0..k, DEPTH) {
            let accumulate = accumulate || depth.start > 0;
            for block in blocks(rows.clone(), BLOCK) {
                a.pack(block.clone(), depth.clone(), a_panels);
                let c = &mut c[(block.start - rows.start) * n..];
                for columns in blocks(0..n, COLUMNS) {
                    b.pack(columns.clone(), depth.clone(), b_panels);
                    let b_panels = b_panels.chunks_exact(depth.len());
                    for (columns, b_panel) in blocks(columns, PAIR).zip(b_panels) {
                        let a_panels = a_panels.chunks_exact(depth.len());
                        for (tile, a_panel) in blocks(block.clone(), ROWS).zip(a_panels) {
                            let sums = multiply::<ROWS, PAIR, FMA>(a_panel, b_panel);
                            let c = &mut c[(tile.start - block.start) * n + columns.start..];
                            for (i, sums) in sums.iter().enumerate().take(tile.len()) {
                                let row = &mut c[i * n..][..columns.len()];
                                if accumulate {
                                    let mut sums = *sums;
                                    let old = load::<PAIR>(row);
                                    sums.iter_mut().zip(old).for_each(|(sum, old)| *sum += old);
                                    store(row, &sums);
                                } else {
                                    store(row, sums);
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// The same with AVX-512: panels of 16 rows, and tiles of eight rows and two vectors.
    #[inline(always)]
    fn multiply_wide(self, wide: Avx512) {
        let Self { rows, n, k, a, b, accumulate, c, panels } = self;
        let deepest = k.min(DEPTH);
        let room_for_a = rows.len().min(WIDE_BLOCK).next_multiple_of(16) * deepest;
        let room = room_for_a + n.min(COLUMNS).next_multiple_of(32) * deepest;
        panels.reserve(room);
        let (a_panels, b_panels) = panels.split_at_mut(room_for_a);
        let (a_panels, _) = a_panels.as_chunks_mut::<16>();
        let (b_panels, _) = b_panels.as_chunks_mut::<32>();
        for depth in blocks(0..k, DEPTH) {
            let accumulate = accumulate || depth.start > 0;
            for block in blocks(rows.clone(), WIDE_BLOCK) {
                a.pack(block.clone(), depth.clone(), a_panels);
                let c = &mut c[(block.start - rows.start) * n..];
                for columns in blocks(0..n, COLUMNS) {
                    b.pack(columns.clone(), depth.clone(), b_panels);
                    let b_panels = b_panels.chunks_exact(depth.len());
                    for (columns, b) in blocks(columns, 32).zip(b_panels) {
                        let a_panels = a_panels.chunks_exact(depth.len());
                        for (rows, a) in blocks(block.clone(), 16).zip(a_panels) {
                            let first = (rows.start - block.start) * n + columns.start;
                            let size = [rows.len(), columns.len()];
                            let tile = Tile { c: &mut c[first..], stride: n, size, accumulate };
                            wide.multiply::<0>(a, b, tile);
                            if rows.len() > 8 {
                                let (c, size) = (&mut c[first + 8 * n..], [size[0] - 8, size[1]]);
                                let tile = Tile { c, stride: n, size, accumulate };
                                wide.multiply::<8>(a, b, tile);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// `range` in pieces of `len`; the last may be shorter.
#[inline(always)]
pub(crate) fn blocks(range: Range<usize>, len: usize) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(len).map(move |start| start..end.min(start + len))
}

/// One register tile: the product of a panel of `A` and a panel of `B`.
#[inline(always)]
fn multiply<const ROWS: usize, const COLS: usize, const FMA: bool>(
    a: &[[f32; ROWS]],
    b: &[[f32; COLS]],
) -> [[f32; COLS]; ROWS] {
    let mut sums = [[0.0; COLS]; ROWS];
    for (a, b) in a.iter().zip(b) {
        for i in 0..ROWS {
            for j in 0..COLS {
                sums[i][j] = mul_add::<FMA>(a[i], b[j], sums[i][j]);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every layout against sums in f64, on shapes that cross each block size; and a block of rows
    /// computed alone has the same bits as within the whole.
    #[test]
    fn products_are_right_and_rows_do_not_depend_on_their_block() {
        let value = |i: usize| ((i * 7919 + 13) % 1009) as f32 / 504.5 - 1.0;
        let shapes = [
            [1, 1, 1],
            [5, 3, 2],
            [4, 16, 256],
            [7, 83, 259],
            [5, 128, 3],
            [261, 17, 514],
            [497, 49, 35],
        ];
        for [m, n, k] in shapes {
            let a: Vec<f32> = (0..m * k).map(value).collect();
            let b: Vec<f32> = (0..k * n).map(|i| value(3 * i + 1)).collect();
            for (deep_a, deep_b) in [(true, false), (true, true), (false, false)] {
                let left = if deep_a { Operand::deep(&a, k) } else { Operand::flat(&a, m) };
                let right = if deep_b { Operand::deep(&b, k) } else { Operand::flat(&b, n) };
                let at = |o: Operand<'_>, i: usize, p: usize| {
                    f64::from(o.data[if o.deep { i * o.stride + p } else { p * o.stride + i }])
                };
                let mut c = vec![f32::NAN; m * n];
                gemm(0..m, [n, k], left, right, false, &mut c);
                gemm(0..m, [n, k], left, right, true, &mut c);
                for (at_c, c) in c.iter().enumerate() {
                    let (i, j) = (at_c / n, at_c % n);
                    let exact: f64 = (0..k).map(|p| at(left, i, p) * at(right, j, p)).sum();
                    let error = (f64::from(*c) - 2.0 * exact).abs();
                    assert!(error < 1e-4, "{m}×{n}×{k} at {i},{j}: {c} {exact}");
                }
                let half = m / 2;
                let mut part = vec![0.0; (m - half) * n];
                gemm(half..m, [n, k], left, right, false, &mut part);
                gemm(half..m, [n, k], left, right, true, &mut part);
                assert_eq!(part, c[half * n..]);
            }
        }
    }

    /// The tiles that are written for AVX-512 have the bits of those that the compiler made.
    #[test]
    fn tiles_for_avx512_change_no_bit() {
        let Some(wide) = Avx512::detect() else { return };
        let value = |i: usize| ((i * 7919 + 13) % 1009) as f32 / 504.5 - 1.0;
        for [m, n, k] in [[1, 1, 1], [9, 40, 19], [64, 144, 384], [497, 49, 35]] {
            let a: Vec<f32> = (0..m * k).map(value).collect();
            let b: Vec<f32> = (0..k * n).map(|i| value(3 * i + 1)).collect();
            for accumulate in [false, true] {
                let mut both = [vec![0.5; m * n], vec![0.5; m * n]];
                for (plain, c) in both.iter_mut().enumerate() {
                    let (a, b) = (Operand::deep(&a, k), Operand::deep(&b, k));
                    let mut memory = Memory::EMPTY;
                    let panels = &mut memory;
                    let gemm = Gemm { rows: 0..m, n, k, a, b, accumulate, c, panels };
                    if plain == 1 {
                        gemm.multiply::<MORE_ROWS, 16, true>();
                    } else {
                        gemm.multiply_wide(wide);
                    }
                }
                assert!(both[0] == both[1], "{m}×{n}×{k}, {accumulate}");
            }
        }
    }
}
