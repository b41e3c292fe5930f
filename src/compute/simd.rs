//! Loops compiled three times: for any processor, for AVX2 with FMA, and for AVX-512, for which the matrix
//! multiply's innermost ones are also written out.
//!
//! The crate is built for the oldest x86-64, so a plain loop gets 128-bit vectors and no fused
//! multiply-add. WebAssembly has 128-bit vectors alone.

/// A loop nest that the compiler turns into vector code.
pub(crate) trait Vectorized {
    /// Does the work with vectors of `LANES` elements, or `PAIR = 2 · LANES`, and with a fused
    /// multiply-add if `FMA`. Implementations are `#[inline(always)]`, down to the innermost loop:
    /// that is what compiles them for the processor at hand.
    fn run<const LANES: usize, const PAIR: usize, const FMA: bool>(self);
}

/// Does `work` with the widest vectors of this processor.
pub(crate) fn run(work: impl Vectorized) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
    {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
        fn widest(work: impl Vectorized) {
            work.run::<16, 32, true>();
        }
        #[expect(unsafe_code, reason = "only a check at run time tells what the processor has")]
        // SAFETY: the processor has these features, as just detected; AVX-512 includes the others.
        return unsafe { widest(work) };
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        #[target_feature(enable = "avx2,fma")]
        fn wide(work: impl Vectorized) {
            work.run::<8, 16, true>();
        }
        #[expect(unsafe_code, reason = "only a check at run time tells what the processor has")]
        // SAFETY: the processor has both features, as just detected.
        return unsafe { wide(work) };
    }
    work.run::<4, 8, false>();
}

/// A processor that has AVX-512. The compiler makes no register tile of eight rows and no transposition of 16
/// out of a plain loop, so both are written for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx512(());

/// Where a register tile goes.
#[derive(Debug)]
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "nobody writes such tiles there")
)]
pub(crate) struct Tile<'a> {
    /// From its first element on.
    pub(crate) c: &'a mut [f32],
    /// From row to row.
    pub(crate) stride: usize,
    /// Rows and columns that there are of it.
    pub(crate) size: [usize; 2],
    /// Whether it is added to what is there.
    pub(crate) accumulate: bool,
}

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    /// This processor, if it has it.
    #[inline(always)]
    pub(crate) fn detect() -> Option<Self> {
        is_x86_feature_detected!("avx512f").then_some(Self(()))
    }

    /// Lays 16 rows side by side: element `p` of row `i` goes to place `first + i` of `panel[p]`. Returns how
    /// many elements of each were done: whole blocks of 16.
    #[inline(always)]
    pub(crate) fn transpose<const R: usize>(
        self,
        rows: [&[f32]; 16],
        first: usize,
        panel: &mut [[f32; R]],
    ) -> usize {
        #[expect(unsafe_code, reason = "only a check at run time tells what the processor has")]
        // SAFETY: the processor has AVX-512, else there were no `self`.
        unsafe {
            avx512::transpose(rows, first, panel)
        }
    }

    /// A register tile: the product of eight rows of a panel of `A`, from `FIRST` on, and a panel of `B`.
    #[inline(always)]
    pub(crate) fn multiply<const FIRST: usize>(
        self,
        a: &[[f32; 16]],
        b: &[[f32; 32]],
        to: Tile<'_>,
    ) {
        #[expect(unsafe_code, reason = "only a check at run time tells what the processor has")]
        // SAFETY: the processor has AVX-512, else there were no `self`.
        unsafe {
            if to.size[1] > 16 {
                avx512::multiply::<FIRST, 2>(a, b, to);
            } else {
                avx512::multiply::<FIRST, 1>(a, b, to);
            }
        }
    }
}

/// There is none, and so nobody calls the rest.
#[cfg(not(target_arch = "x86_64"))]
impl Avx512 {
    pub(crate) const fn detect() -> Option<Self> {
        None
    }

    pub(crate) fn transpose<const R: usize>(
        self,
        _: [&[f32]; 16],
        _: usize,
        _: &mut [[f32; R]],
    ) -> usize {
        0
    }

    pub(crate) fn multiply<const FIRST: usize>(
        self,
        _: &[[f32; 16]],
        _: &[[f32; 32]],
        _: Tile<'_>,
    ) {
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::Tile;
    use std::arch::x86_64::{
        __m512, _mm512_add_ps, _mm512_castpd_ps as ps, _mm512_castps_pd as pd, _mm512_fmadd_ps,
        _mm512_set1_ps, _mm512_setzero_ps, _mm512_shuffle_f32x4 as quarters, _mm512_unpackhi_pd,
        _mm512_unpackhi_ps, _mm512_unpacklo_pd, _mm512_unpacklo_ps,
    };

    #[inline(always)]
    fn from_array(array: [f32; 16]) -> __m512 {
        #[expect(unsafe_code, reason = "a vector is an array that a register holds")]
        // SAFETY: both are 16 numbers, and any bits are numbers.
        unsafe {
            std::mem::transmute(array)
        }
    }

    #[inline(always)]
    fn to_array(vector: __m512) -> [f32; 16] {
        #[expect(unsafe_code, reason = "a vector is an array that a register holds")]
        // SAFETY: both are 16 numbers, and any bits are numbers.
        unsafe {
            std::mem::transmute(vector)
        }
    }

    /// The product of eight rows of a panel of `A`, from `FIRST` on, and `VECTORS` vectors of a panel of `B`.
    #[target_feature(enable = "avx512f")]
    #[inline]
    pub(super) fn multiply<const FIRST: usize, const VECTORS: usize>(
        a: &[[f32; 16]],
        b: &[[f32; 32]],
        to: Tile<'_>,
    ) {
        let mut sums = [[_mm512_setzero_ps(); VECTORS]; 8];
        for (a, b) in a.iter().zip(b) {
            let b: &[[f32; 16]; 2] = bytemuck::cast_ref(b);
            let mut vectors = [_mm512_setzero_ps(); VECTORS];
            for (vector, b) in vectors.iter_mut().zip(b) {
                *vector = from_array(*b);
            }
            for i in 0..8 {
                let a = _mm512_set1_ps(a[FIRST + i]);
                for j in 0..VECTORS {
                    sums[i][j] = _mm512_fmadd_ps(a, vectors[j], sums[i][j]);
                }
            }
        }
        let Tile { c, stride, size: [rows, columns], accumulate } = to;
        for i in 0..8 {
            if i >= rows {
                break;
            }
            let row = &mut c[i * stride..][..columns];
            for j in 0..VECTORS {
                let row = &mut row[16 * j..];
                if let Some(row) = row.first_chunk_mut::<16>() {
                    let mut sums = sums[i][j];
                    if accumulate {
                        sums = _mm512_add_ps(sums, from_array(*row));
                    }
                    *row = to_array(sums);
                } else {
                    let sums = to_array(sums[i][j]);
                    for (to, sum) in row.iter_mut().zip(sums) {
                        *to = if accumulate { sum + *to } else { sum };
                    }
                }
            }
        }
    }

    /// See [`Avx512::transpose`](super::Avx512::transpose).
    #[target_feature(enable = "avx512f")]
    pub(super) fn transpose<const R: usize>(
        rows: [&[f32]; 16],
        first: usize,
        panel: &mut [[f32; R]],
    ) -> usize {
        let (blocks, _) = panel.as_chunks_mut::<16>();
        for (b, block) in blocks.iter_mut().enumerate() {
            let mut r = [_mm512_setzero_ps(); 16];
            for (r, row) in r.iter_mut().zip(rows) {
                let (chunks, _) = row.as_chunks::<16>();
                *r = from_array(chunks[b]);
            }
            // Pairs of rows, then fours: each quarter of a vector then has one column of four rows.
            let mut pairs = r;
            for i in 0..8 {
                pairs[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
                pairs[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
            }
            let mut fours = r;
            for g in 0..4 {
                for c in 0..2 {
                    let (a, b) = (pd(pairs[4 * g + c]), pd(pairs[4 * g + c + 2]));
                    fours[4 * g + 2 * c] = ps(_mm512_unpacklo_pd(a, b));
                    fours[4 * g + 2 * c + 1] = ps(_mm512_unpackhi_pd(a, b));
                }
            }
            for c in 0..4 {
                let [f0, f1, f2, f3] = [fours[c], fours[4 + c], fours[8 + c], fours[12 + c]];
                let even = [quarters::<0x88>(f0, f1), quarters::<0x88>(f2, f3)];
                let odd = [quarters::<0xdd>(f0, f1), quarters::<0xdd>(f2, f3)];
                let columns: [__m512; 4] = [
                    quarters::<0x88>(even[0], even[1]),
                    quarters::<0x88>(odd[0], odd[1]),
                    quarters::<0xdd>(even[0], even[1]),
                    quarters::<0xdd>(odd[0], odd[1]),
                ];
                for (i, column) in columns.into_iter().enumerate() {
                    block[4 * i + c][first..first + 16].copy_from_slice(&to_array(column));
                }
            }
        }
        16 * blocks.len()
    }
}

/// `a · b + c`.
#[inline(always)]
pub(crate) fn mul_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// The first `N` elements of `row`; zeros follow a shorter one.
#[inline(always)]
pub(crate) fn load<const N: usize>(row: &[f32]) -> [f32; N] {
    if let Some(full) = row.first_chunk() {
        return *full;
    }
    let mut padded = [0.0; N];
    padded[..row.len()].copy_from_slice(row);
    padded
}

/// Writes as much of `values` as `row` takes.
#[inline(always)]
pub(crate) fn store<const N: usize>(row: &mut [f32], values: &[f32; N]) {
    if let Some(full) = row.first_chunk_mut() {
        *full = *values;
    } else {
        let len = row.len();
        row.copy_from_slice(&values[..len]);
    }
}
