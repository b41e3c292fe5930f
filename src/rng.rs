//! Philox4x32-10 (Salmon et al., SC 2011): random numbers as a pure function of a key and a counter.
//!
//! A draw is addressed, not consumed: key = seed, counter = (block, step, stream, 0). So a device
//! thread finds its own numbers without any state, a paused run resumes to the same curve, and the
//! CPU and the GPU draw the same bits. `shaders/shared/rng.wgsl` is the twin of the functions here;
//! the bits are equal, and normals agree to a few units in the last place because both sides
//! evaluate the same polynomials instead of the platform's `log`, `sin` and `cos` (WGSL allows
//! those an absolute error of 2⁻¹¹).

use rand::{Rng, SeedableRng, TryRng, rand_core::Infallible};

use crate::error::{Error, ErrorKind, Result};

/// The purpose of a draw. Different streams of one seed are independent.
///
/// The numbers are part of a seed's meaning: never renumber them, only add new ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Stream {
    /// Parameters of procedural images.
    Data = 1,
    /// Split into training and held-out images, and choice of subsets.
    Split = 2,
    /// Initial weights.
    Weights = 3,
    /// Index of the image in each batch row.
    BatchIndex = 4,
    /// Noise level of each batch row.
    BatchSigma = 5,
    /// Noise added to a batch.
    BatchNoise = 6,
    /// Starting noise of the sampler.
    SamplerNoise = 7,
    /// Noise of the metrics.
    MetricNoise = 8,
    /// Pairs of images for the metrics.
    MetricPairs = 9,
    /// Test data.
    Test = 10,
    /// Initial centres of clusters.
    Clusters = 11,
    /// Resamples of a bootstrap.
    Bootstrap = 12,
}

/// Philox4x32-10: four random words for a counter under a key.
#[must_use]
pub fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    const M0: u32 = 0xD251_1F53;
    const M1: u32 = 0xCD9E_8D57;
    const W0: u32 = 0x9E37_79B9;
    const W1: u32 = 0xBB67_AE85;
    for round in 0..10 {
        if round > 0 {
            key = [key[0].wrapping_add(W0), key[1].wrapping_add(W1)];
        }
        let (lo0, hi0) = M0.widening(counter[0]);
        let (lo1, hi1) = M1.widening(counter[2]);
        counter = [hi1 ^ counter[1] ^ key[0], lo1, hi0 ^ counter[3] ^ key[1], lo0];
    }
    counter
}

trait Widening {
    fn widening(self, other: Self) -> (u32, u32);
}

impl Widening for u32 {
    #[inline]
    fn widening(self, other: u32) -> (u32, u32) {
        let product = u64::from(self) * u64::from(other);
        (product as u32, (product >> 32) as u32)
    }
}

/// Returns a seed as a Philox key.
#[must_use]
pub const fn key(seed: u64) -> [u32; 2] {
    [seed as u32, (seed >> 32) as u32]
}

/// Returns a fresh seed from the operating system or the browser.
///
/// It fits in 53 bits, so that JavaScript and JSON carry it exactly.
pub fn fresh_seed() -> Result<u64> {
    match getrandom::u64() {
        Ok(bits) => Ok(bits >> 11),
        Err(error) => Err(Error::new(
            ErrorKind::Internal,
            format!("The system provided no random numbers: {error}"),
            "Choose a seed yourself",
        )),
    }
}

/// Uniform in `[0, 1)` with 24 bits.
#[inline]
#[must_use]
pub fn unit(bits: u32) -> f32 {
    // The number has 24 bits, so the sign does not matter, and vector units convert only signed integers.
    (bits >> 8) as i32 as f32 * (1.0 / 16_777_216.0)
}

/// Integer in `0..n` by the high half of a product; the bias is below `n / 2³²`.
#[inline]
#[must_use]
pub fn below(bits: u32, n: u32) -> u32 {
    bits.widening(n).1
}

/// Two independent standard normals (Box-Muller) from two words.
#[inline]
#[must_use]
pub fn normal_pair(a: u32, b: u32) -> [f32; 2] {
    // u in (0, 1], so the logarithm is finite; the largest radius is √(48 ln 2) ≈ 5.8.
    let u = ((a >> 8) + 1) as i32 as f32 * (1.0 / 16_777_216.0);
    let radius = (-2.0 * ln(u)).sqrt();
    let [cos, sin] = cos_sin_turn(unit(b));
    [radius * cos, radius * sin]
}

/// Four independent standard normals from the four words of one counter.
#[inline]
#[must_use]
pub fn normals(bits: [u32; 4]) -> [f32; 4] {
    let [a, b] = normal_pair(bits[0], bits[1]);
    let [c, d] = normal_pair(bits[2], bits[3]);
    [a, b, c, d]
}

/// Natural logarithm of a positive normal number, by mantissa polynomial (Cephes).
#[inline]
pub(crate) fn ln(x: f32) -> f32 {
    let bits = x.to_bits();
    let mut exponent = ((bits >> 23) as i32 - 126) as f32;
    let mut m = f32::from_bits((bits & 0x007f_ffff) | 0x3f00_0000);
    if m < std::f32::consts::FRAC_1_SQRT_2 {
        exponent -= 1.0;
        m += m;
    }
    m -= 1.0;
    let z = m * m;
    let mut y = 7.037_683_6e-2;
    for c in [
        -1.151_461e-1,
        1.167_699_9e-1,
        -1.242_014_1e-1,
        1.424_932_3e-1,
        -1.666_805_8e-1,
        2.000_071_5e-1,
        -2.499_999_4e-1,
        3.333_333e-1,
    ] {
        y = y * m + c;
    }
    y = y * m * z - 0.5 * z - 2.121_944_4e-4 * exponent;
    m + y + 0.693_359_4 * exponent
}

/// Cosine and sine of `turn` whole turns, for at most a million turns in either direction. It has no
/// branch and no `floor`, so that it vectorizes.
#[inline]
pub(crate) fn cos_sin_turn(turn: f32) -> [f32; 2] {
    // Adding 1.5·2²³ rounds to the nearest integer and leaves it in the low bits.
    let shifted = turn * 4.0 + 12_582_912.0;
    let quarter = shifted.to_bits();
    let r = (turn * 4.0 - (shifted - 12_582_912.0)) * std::f32::consts::FRAC_PI_2;
    let z = r * r;
    let sin = ((-1.951_529_6e-4 * z + 8.332_161e-3) * z - 1.666_665_5e-1) * z * r + r;
    let cos = ((2.443_315_7e-5 * z - 1.388_731_6e-3) * z + 4.166_664_6e-2) * z * z - 0.5 * z + 1.0;
    let (c, s) = if quarter & 1 == 0 { (cos, sin) } else { (sin, cos) };
    let signed = |value: f32, bit: u32| f32::from_bits(value.to_bits() ^ ((bit & 2) << 30));
    [signed(c, quarter + 1), signed(s, quarter)]
}

/// Philox as one of `rand`'s generators: a sequence of words.
///
/// Word `4 b + j` of the sequence is word `j` of counter `(low(b), high(b), stream, 0)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Philox {
    key: [u32; 2],
    stream: u32,
    block: u64,
    words: [u32; 4],
    used: usize,
}

impl Philox {
    /// Creates the generator of `stream` under `seed`, at its start.
    #[must_use]
    pub const fn new(seed: u64, stream: Stream) -> Self {
        Self { key: key(seed), stream: stream as u32, block: 0, words: [0; 4], used: 4 }
    }

    /// Creates the generator of `stream` from draw address `step` on: counter `(0, step, stream, 0)`.
    #[must_use]
    pub const fn at_step(mut self, step: u32) -> Self {
        self.block = (step as u64) << 32;
        self.used = 4;
        self
    }

    fn word(&mut self) -> u32 {
        if self.used == 4 {
            self.words =
                philox([self.block as u32, (self.block >> 32) as u32, self.stream, 0], self.key);
            self.block = self.block.wrapping_add(1);
            self.used = 0;
        }
        self.used += 1;
        self.words[self.used - 1]
    }
}

/// Draws from `rand`'s generators with the same values on every platform.
///
/// `rand`'s own distributions may change between versions. These must not: the images of a seed, their
/// order and every number of a recorded run depend on them.
pub trait Draw: Rng {
    /// Uniform in `[low, high)`. Takes one word.
    fn uniform(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * unit(self.next_u32())
    }

    /// A standard normal. Takes two words.
    fn normal(&mut self) -> f32 {
        let (a, b) = (self.next_u32(), self.next_u32());
        normal_pair(a, b)[0]
    }

    /// Integer in `0..n` (0 if `n` is 0). Takes one word.
    fn below(&mut self, n: u32) -> u32 {
        below(self.next_u32(), n)
    }

    /// Fisher-Yates shuffle. Takes one word per item after the first.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u32 + 1) as usize);
        }
    }
}

impl<R: Rng> Draw for R {}

/// Standard normals for elements `0..out.len()` at (seed, stream, step): exactly what the `noise`
/// stage writes on a device.
pub fn fill_normals(seed: u64, stream: Stream, step: u32, out: &mut [f32]) {
    fill_normals_keyed(key(seed), stream as u32, step, out);
}

/// Standard normals as [`fill_normals`] writes them, for a clock's key. Eight counters go side by side, so
/// that it vectorizes.
pub(crate) fn fill_normals_keyed(key: [u32; 2], stream: u32, step: u32, out: &mut [f32]) {
    const BLOCKS: usize = 8;
    for (group, out) in out.chunks_mut(4 * BLOCKS).enumerate() {
        let mut words = [[0; BLOCKS]; 4];
        for i in 0..BLOCKS {
            let block = philox([(group * BLOCKS + i) as u32, step, stream, 0], key);
            words.iter_mut().zip(block).for_each(|(lanes, word)| lanes[i] = word);
        }
        let mut values = [[0.0; 4]; BLOCKS];
        for half in [0, 2] {
            for i in 0..BLOCKS {
                [values[i][half], values[i][half + 1]] =
                    normal_pair(words[half][i], words[half + 1][i]);
            }
        }
        out.copy_from_slice(&values.as_flattened()[..out.len()]);
    }
}

impl TryRng for Philox {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.word())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let low = u64::from(self.word());
        Ok(low | u64::from(self.word()) << 32)
    }

    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        for bytes in dst.chunks_mut(4) {
            bytes.copy_from_slice(&self.word().to_le_bytes()[..bytes.len()]);
        }
        Ok(())
    }
}

impl SeedableRng for Philox {
    type Seed = [u8; 8];

    fn from_seed(seed: [u8; 8]) -> Self {
        Self::new(u64::from_le_bytes(seed), Stream::Test)
    }
}

/// Published known-answer vectors of Philox4x32-10 (Random123 `kat_vectors`): counter, key, output.
pub const KNOWN_ANSWERS: [([u32; 4], [u32; 2], [u32; 4]); 3] = [
    ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
    ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
    (
        [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
        [0xa409_3822, 0x299f_31d0],
        [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, rngs::StdRng};

    #[test]
    fn known_answers() {
        for (counter, key, expected) in KNOWN_ANSWERS {
            assert_eq!(philox(counter, key), expected);
        }
    }

    #[test]
    fn polynomials_match_the_platform() {
        for i in 1..=4096_u32 {
            let x = i as f32 / 4096.0;
            assert!((ln(x) - x.ln()).abs() <= 2e-7 * x.ln().abs().max(1e-1), "ln {x}");
            let turn = (i - 1) as f32 / 4096.0;
            let angle = f64::from(turn) * std::f64::consts::TAU;
            let [cos, sin] = cos_sin_turn(turn);
            assert!((f64::from(cos) - angle.cos()).abs() < 2e-7, "cos {turn}");
            assert!((f64::from(sin) - angle.sin()).abs() < 2e-7, "sin {turn}");
        }
    }

    #[test]
    fn normals_have_unit_moments() {
        let mut x = vec![0.0; 1 << 18];
        fill_normals(7, Stream::Test, 0, &mut x);
        let n = x.len() as f64;
        let moment = |p: i32| x.iter().map(|&v| f64::from(v).powi(p)).sum::<f64>() / n;
        assert!(moment(1).abs() < 0.01);
        assert!((moment(2) - 1.0).abs() < 0.01);
        assert!(moment(3).abs() < 0.03);
        assert!((moment(4) - 3.0).abs() < 0.06);
        assert!(x.iter().all(|v| v.is_finite() && v.abs() < 5.9));
    }

    #[test]
    fn extreme_words_give_finite_normals() {
        for a in [0, 1, u32::MAX, u32::MAX - 1, 1 << 31] {
            for b in [0, 1, u32::MAX, 1 << 30, 1 << 31, 3 << 30] {
                assert!(normal_pair(a, b).iter().all(|v| v.is_finite()), "{a} {b}");
            }
        }
    }

    #[test]
    fn integers_below_n_are_even() {
        let mut rng = Philox::new(3, Stream::Test);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[rng.below(7) as usize] += 1;
        }
        assert!(counts.iter().all(|&c| (9_600..10_400).contains(&c)), "{counts:?}");
        assert_eq!(rng.below(0), 0);
    }

    #[test]
    fn any_generator_shuffles() {
        fn shuffled(mut rng: impl Rng) -> [u8; 6] {
            let mut items = [0, 1, 2, 3, 4, 5];
            rng.shuffle(&mut items);
            items
        }
        // This seed has always given this order.
        assert_eq!(shuffled(Philox::new(7, Stream::Split)), [2, 3, 0, 1, 4, 5]);
        let mut items = shuffled(StdRng::seed_from_u64(7));
        assert_ne!(items, [0, 1, 2, 3, 4, 5]);
        items.sort_unstable();
        assert_eq!(items, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn fresh_seeds_differ_and_fit_in_a_double() {
        let seeds = [fresh_seed().unwrap(), fresh_seed().unwrap()];
        assert_ne!(seeds[0], seeds[1]);
        assert!(seeds.iter().all(|&seed| seed < 1 << 53));
    }

    #[test]
    fn philox_is_a_generator_of_rand() {
        let mut rng = Philox::seed_from_u64(1);
        let die = rng.random_range(1..=6);
        assert!((1..=6).contains(&die));
        let (mut a, mut b) = (Philox::new(5, Stream::Data), Philox::new(5, Stream::Data));
        let mut bytes = [0; 8];
        a.fill_bytes(&mut bytes);
        assert_eq!(u64::from_le_bytes(bytes), b.next_u64());
    }

    #[test]
    fn streams_steps_and_seeds_differ() {
        let first = |seed, stream, step| Philox::new(seed, stream).at_step(step).next_u32();
        let base = first(1, Stream::Data, 0);
        assert_ne!(base, first(2, Stream::Data, 0));
        assert_ne!(base, first(1, Stream::Split, 0));
        assert_ne!(base, first(1, Stream::Data, 1));
    }
}
