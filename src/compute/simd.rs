//! Loops compiled three times: for any processor, for AVX2 with FMA, and for AVX-512.
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
