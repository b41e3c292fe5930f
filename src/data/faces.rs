//! Procedural faces: an endless, deterministic set of small grey pictures.
//!
//! Face `index` of `seed` is a pure function of the two: its parameters come from its own Philox
//! counter, and it is drawn by plain `f32` arithmetic (no `exp` or `sin` of the platform), so every
//! machine draws the same bits.
//!
//! The spread of the parameters keeps brightness from swamping everything else: at 12×12, about 15
//! principal components hold 90 % of the variance and about 46 hold 99 %.

use super::{About, Dataset, FACES, Shape, check_total};
use crate::{
    error::{Error, Result},
    rng::{Draw, Philox, Stream},
};

/// Procedural faces, grey and square.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faces {
    /// Side of an image, in pixels.
    pub size: usize,
    /// Number of images.
    pub count: u32,
    /// Seed that determines every face.
    pub seed: u64,
}

impl Faces {
    /// Draws the faces.
    pub fn draw(self) -> Result<Dataset> {
        faces(self.seed, self.count, self.size)
    }
}

/// Faces `0..count` of `seed`, each `size × size`.
pub fn faces(seed: u64, count: u32, size: usize) -> Result<Dataset> {
    if !(4..=256).contains(&size) {
        return Err(Error::bad_input(
            format!("Faces can't be drawn {size} pixels wide"),
            "Choose a size from 4 to 256",
        ));
    }
    let shape = Shape { height: size, width: size, channels: 1 };
    let mut images = vec![0.0; check_total(count as usize, shape)?];
    for (index, image) in (0..count).zip(images.chunks_exact_mut(shape.dim())) {
        Face::new(seed, index).draw(size, image);
    }
    let about = About {
        set: FACES.into(),
        name: "Faces".into(),
        source: "Drawn by this program from random parameters".into(),
        licence: "MIT OR Apache-2.0".into(),
        note: String::new(),
    };
    Dataset::new(about, shape, images)
}

/// The parameters of one face. The picture is [-1, 1]², x to the right and y down.
struct Face {
    /// Brightness in the middle, and its slopes along x and y.
    background: [f32; 3],
    centre: [f32; 2],
    /// Cosine and sine of the tilt. What follows is in coordinates that tilt with the face.
    tilt: [f32; 2],
    radius: [f32; 2],
    skin: f32,
    hair: f32,
    light: f32,
    hairline: f32,
    hair_volume: f32,
    hair_length: f32,
    eye: [f32; 2],
    eye_radius: [f32; 2],
    brow_offset: f32,
    brow_slant: f32,
    brow_thickness: f32,
    brow_strength: f32,
    mouth_width: f32,
    mouth_height: f32,
    mouth_curve: f32,
    mouth_thickness: f32,
    mouth_strength: f32,
    nose: f32,
    /// Moves eyes, nose and mouth sideways.
    turn: f32,
}

impl Face {
    fn new(seed: u64, index: u32) -> Self {
        fn normal(rng: &mut impl Draw, mean: f32, deviation: f32) -> f32 {
            mean + deviation * rng.normal().clamp(-2.5, 2.5)
        }
        let r = &mut Philox::new(seed, Stream::Data).at_step(index);
        // The order of the fields is the order of the draws.
        Self {
            background: [r.uniform(-0.55, 0.15), normal(r, 0.0, 0.25), normal(r, 0.0, 0.2)],
            centre: [normal(r, 0.0, 0.09), normal(r, 0.08, 0.07)],
            tilt: cos_sin(normal(r, 0.0, 0.2)),
            radius: [normal(r, 0.53, 0.07), normal(r, 0.68, 0.06)],
            skin: r.uniform(0.25, 0.8),
            hair: r.uniform(-1.0, -0.1),
            light: normal(r, 0.0, 0.25),
            hairline: normal(r, -0.36, 0.16),
            hair_volume: normal(r, 1.16, 0.07),
            hair_length: r.uniform(-0.1, 1.1),
            eye: [normal(r, 0.25, 0.03), normal(r, -0.08, 0.04)],
            eye_radius: [normal(r, 0.13, 0.02), normal(r, 0.08, 0.025)],
            brow_offset: normal(r, -0.17, 0.03),
            brow_slant: normal(r, 0.0, 0.25),
            brow_thickness: normal(r, 0.035, 0.01),
            brow_strength: r.uniform(0.0, 1.0),
            mouth_width: normal(r, 0.27, 0.06),
            mouth_height: normal(r, 0.36, 0.04),
            mouth_curve: normal(r, 0.04, 0.11),
            mouth_thickness: normal(r, 0.06, 0.04).abs() + 0.03,
            mouth_strength: r.uniform(0.3, 0.9),
            nose: r.uniform(0.05, 0.4),
            turn: normal(r, 0.0, 0.1),
        }
    }

    /// Writes the face into the `size²` values of `image`, with several samples per pixel.
    // Not inlined, so that a browser that optimizes functions at run time can do so between two faces:
    // inlined, the first, slow version would draw all faces.
    #[inline(never)]
    fn draw(&self, size: usize, image: &mut [f32]) {
        // A coarse pixel needs more samples for an equally smooth edge.
        let samples = if size < 16 { 3 } else { 2 };
        let step = 2.0 / (size * samples) as f32;
        let at = |i: usize| (i as f32 + 0.5) * step - 1.0;
        let mut line = vec![0.0; size * samples];
        for (row, pixels) in image.chunks_exact_mut(size).enumerate() {
            pixels.fill(0.0);
            for y in row * samples..(row + 1) * samples {
                for (x, value) in line.iter_mut().enumerate() {
                    *value = self.brightness(at(x), at(y));
                }
                for (pixel, values) in pixels.iter_mut().zip(line.chunks_exact(samples)) {
                    *pixel += values.iter().sum::<f32>();
                }
            }
            for pixel in pixels {
                *pixel = (*pixel / (samples * samples) as f32).clamp(-1.0, 1.0);
            }
        }
    }

    /// Brightness at a point. Each part is blended over what lies below it by a soft mask, which is
    /// a logistic function of the (rough) distance to the part's edge over `w`, the edge's width.
    #[inline(always)]
    fn brightness(&self, picture_x: f32, picture_y: f32) -> f32 {
        let (dx, dy) = (picture_x - self.centre[0], picture_y - self.centre[1]);
        let [cos_tilt, sin_tilt] = self.tilt;
        let (x, y) = (cos_tilt * dx + sin_tilt * dy, cos_tilt * dy - sin_tilt * dx);
        let side = x - self.turn;
        // In units of the face's radii.
        let (u, v) = (x / self.radius[0], y / self.radius[1]);
        let mut value =
            self.background[0] + self.background[1] * picture_x + self.background[2] * picture_y;

        let shoulders = soft((picture_y - 0.86 - 0.5 * dx * dx) / 0.05);
        value = mix(value, shoulders, 0.5 * self.hair + 0.2 * self.skin - 0.1);

        let lowered = (y - 0.06) / self.radius[1];
        let hair = soft_both(
            (1.0 - length(u, lowered) / self.hair_volume) / 0.06,
            (self.hair_length - y) / 0.08,
        );
        value = mix(value, hair, self.hair);

        let fringe = self.hairline - 0.12 * cos(3.0 * x);
        let face = soft_both((1.0 - length(u, v)) / 0.06, (y - fringe) / 0.06);
        value = mix(value, face, self.skin + self.light * x - 0.12 * u * u - 0.08 * v * v);

        // Both eyes and both brows at once: the face is symmetric about x = turn.
        let (eye_x, eye_y) = (side.abs() - self.eye[0], y - self.eye[1]);
        let eyes =
            soft((1.0 - length(eye_x / self.eye_radius[0], eye_y / self.eye_radius[1])) / 0.25);
        value = mix(value, eyes, -0.85);

        let from_brow = eye_y - self.brow_offset - self.brow_slant * eye_x;
        let brows = soft_both(
            (self.brow_thickness - from_brow.abs()) / 0.025,
            (1.4 * self.eye_radius[0] - eye_x.abs()) / 0.025,
        );
        value = mix(value, brows * (0.35 + 0.5 * self.brow_strength), self.hair.min(-0.2));

        // Right of the middle, like the shadow of a nose.
        let (nose_x, nose_y) = ((side - 0.05) / 0.06, (y - 0.12) / 0.12);
        let nose = exp(-0.5 * (nose_x * nose_x + nose_y * nose_y));
        value -= self.nose * nose;

        let along = side / self.mouth_width;
        let mouth_y = self.mouth_height - self.mouth_curve * (2.0 * along * along - 1.0);
        let mouth = soft_both(
            (self.mouth_thickness - (y - mouth_y).abs()) / 0.025,
            (self.mouth_width - side.abs()) / 0.025,
        );
        value = mix(value, mouth * self.mouth_strength, -0.7);
        value
    }
}

/// Blends `over` over `below` by `mask`.
#[inline(always)]
fn mix(below: f32, mask: f32, over: f32) -> f32 {
    below + mask * (over - below)
}

#[inline(always)]
fn length(x: f32, y: f32) -> f32 {
    (x * x + y * y).sqrt()
}

/// The logistic function.
#[inline(always)]
fn soft(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// `soft(x) · soft(y)` with one division.
#[inline(always)]
fn soft_both(x: f32, y: f32) -> f32 {
    1.0 / ((1.0 + exp(-x)) * (1.0 + exp(-y)))
}

/// `eˣ` to a relative 1e-5 for |x| ≤ 40, and its value at the limit beyond, in a form that vectorizes.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // Adding 1.5 · 2²³ rounds to an integer and leaves it in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let exponent = x.clamp(-40.0, 40.0) * std::f32::consts::LOG2_E;
    let rounded = exponent + ROUND;
    let fraction = exponent - (rounded - ROUND);
    let power = f32::from_bits((rounded.to_bits() << 23).wrapping_add(127 << 23));
    let mut y = 1.333_56e-3;
    for c in [9.618_13e-3, 5.550_411e-2, 2.402_265e-1, 6.931_472e-1, 1.0] {
        y = y * fraction + c;
    }
    y * power
}

/// Cosine for |x| ≤ π, and its value at the limit beyond.
#[inline(always)]
fn cos(x: f32) -> f32 {
    let x = x.clamp(-std::f32::consts::PI, std::f32::consts::PI);
    let z = x * x;
    let mut y = 2.087_675_7e-9;
    for c in [-2.755_732e-7, 2.480_158_7e-5, -1.388_888_9e-3, 4.166_666_8e-2, -0.5, 1.0] {
        y = y * z + c;
    }
    y
}

/// Cosine and sine of an angle within a quarter turn.
fn cos_sin(x: f32) -> [f32; 2] {
    [cos(x), cos(std::f32::consts::FRAC_PI_2 - x)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{DMatrix, SymmetricEigen};

    #[test]
    fn functions_match_the_platform() {
        for i in -1000..=1000_i16 {
            let x = f32::from(i) * 0.04;
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-5, "exp {x}");
            let x = f32::from(i) * (std::f32::consts::PI / 1000.0);
            assert!((cos(x) - x.cos()).abs() < 2e-4, "cos {x}");
        }
    }

    #[test]
    fn a_face_depends_on_seed_and_index_only() {
        let few = faces(3, 4, 12).unwrap();
        let many = faces(3, 9, 12).unwrap();
        assert_eq!(few.images(), &many.images()[..few.images().len()]);
        assert_ne!(few.image(0), few.image(1));
        assert_ne!(few.image(0), faces(4, 1, 12).unwrap().image(0));
        assert!(many.images().iter().all(|v| (-1.0..=1.0).contains(v)));
    }

    /// A change of these bits changes the meaning of every seed in a shared link.
    #[test]
    fn the_bits_stay() {
        let face = faces(1, 1, 12).unwrap();
        let hash = face.images().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, v| {
            (hash ^ u64::from(v.to_bits())).wrapping_mul(0x0100_0000_01b3)
        });
        assert_eq!(hash, 6_240_567_766_969_085_963);
    }

    #[test]
    fn refuses_silly_sizes() {
        assert!(faces(1, 1, 0).is_err());
        assert!(faces(1, 1, 1 << 20).is_err());
        assert!(faces(1, u32::MAX, 256).is_err());
        assert!(faces(1, 0, 12).is_err());
    }

    /// How many principal components hold each fraction of the variance.
    fn components(size: usize, shares: [f64; 2]) -> [usize; 2] {
        let split = faces(1, 5120, size).unwrap().split(1, 512).unwrap();
        let rows = DMatrix::from_row_slice(4608, size * size, split.train());
        let covariance = rows.tr_mul(&rows).map(f64::from);
        let mut variances = SymmetricEigen::new(covariance).eigenvalues.as_slice().to_vec();
        variances.sort_by(|a, b| b.total_cmp(a));
        let total: f64 = variances.iter().sum();
        shares.map(|share| {
            let mut sum = 0.0;
            let below = |v: &&f64| {
                sum += **v;
                sum < share * total
            };
            variances.iter().take_while(below).count() + 1
        })
    }

    #[test]
    fn variance_spreads_over_enough_components() {
        for (size, expected) in [(12, [15, 46]), (16, [18, 64])] {
            let found = components(size, [0.90, 0.99]);
            println!("{size}×{size}: {found:?} components");
            assert!(found[0].abs_diff(expected[0]) <= 3, "{size}: {found:?}");
            assert!(found[1].abs_diff(expected[1]) <= 6, "{size}: {found:?}");
        }
    }

    /// Mean distance from a held-out image to the nearest of N others, relative to the image's norm.
    #[test]
    fn held_out_images_keep_their_distance() {
        let split = faces(1, 4608, 12).unwrap().split(1, 512).unwrap();
        let norm = |v: &mut dyn Iterator<Item = f32>| v.map(|v| v * v).sum::<f32>();
        for (n, expected) in [(16, 0.94), (32, 0.87), (128, 0.75), (1024, 0.65), (4096, 0.59)] {
            let train = split.subset(0..n).unwrap();
            let sum: f32 = split
                .held_out()
                .chunks(144)
                .map(|x| {
                    let nearest = train
                        .chunks(144)
                        .map(|y| norm(&mut x.iter().zip(y).map(|(a, b)| a - b)))
                        .fold(f32::MAX, f32::min);
                    (nearest / norm(&mut x.iter().copied())).sqrt()
                })
                .sum();
            let score = sum / split.held_out_len() as f32;
            println!("N = {n}: {score:.3}");
            assert!((score - expected).abs() <= 0.04, "N = {n}: {score}");
        }
    }
}
