//! The convolution on the CPU.

use std::cell::Cell;
use std::mem::take;

use super::super::group_film_silu::Affines;
use super::super::matmul::silu;
use super::super::silu::slope;
use super::super::{Call, side_by_side};
use super::{Params, TAPS, input};
use crate::compute::gemm::Operand;
use crate::compute::memory::Memory;
use crate::compute::simd::{self, Vectorized, load, mul_add, store};
use crate::platform::WASM_VECTORS;

/// Runs the stage.
pub(super) fn run(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (source, parameters, addend, film) =
        (call.read(0), call.read(1), call.read(2), call.read(3));
    let affines = Affines {
        channels: p.target_channels as usize,
        moments: None,
        film: (p.has_film == 1).then_some((film, p.film_stride as usize)),
    };
    let out = call.write(4);
    let (out, behind) = match p.behind as usize {
        0 => (out, &mut [][..]),
        behind => out.split_at_mut(behind),
    };
    let mut scratch = SCRATCH.take();
    let Scratch { links, weights, .. } = &mut scratch;
    links.find(&p);
    simd::run(PackWeights { p, parameters, packed: weights });
    let batch = p.batch as usize;
    let [source_image, target_image] = p.images();
    let channels = (p.source_channels * p.target_channels) as usize;
    // Two pieces per thread, so that another thread can take over when one is late.
    let threads = call.threads(batch * links.all.len() * channels);
    let images = batch.div_ceil(if threads > 1 { 2 * threads } else { 1 });
    let work = |piece: usize, [out, behind]: [&mut [f32]; 2]| {
        let first = piece * images;
        let p = Params { batch: images.min(batch - first) as u32, ..p };
        let source = &source[first * source_image..];
        let addend =
            &addend[first * usize::from(p.has_add == 1 || p.differentiates()) * p.add_image()..];
        let mut piece = PIECE.take();
        let scratch = &mut piece;
        simd::run(Work {
            p,
            source,
            parameters,
            weights,
            addend,
            affines,
            first,
            out,
            behind,
            links,
            scratch,
        });
        PIECE.set(piece);
    };
    let slices = [(out, images * target_image), (behind, images * target_image)];
    side_by_side(batch.div_ceil(images), slices, &work);
    SCRATCH.set(scratch);
}

impl Params {
    /// Whether the activation of the result is stored behind it.
    const fn activates(&self) -> bool {
        self.silu == 1 && self.adjoint == 0
    }

    /// Whether the result goes back through an activation.
    const fn differentiates(&self) -> bool {
        self.silu == 1 && self.adjoint == 1
    }

    /// Elements from one image to the next, in the source and in the target.
    const fn images(&self) -> [usize; 2] {
        [
            (self.source_height * self.source_width * self.source_stride) as usize,
            (self.target_height * self.target_width * self.target_stride) as usize,
        ]
    }

    /// Elements of an image of the target.
    const fn image(&self) -> usize {
        (self.target_height * self.target_width * self.target_channels) as usize
    }

    /// Elements from one image to the next in the addend.
    const fn add_image(&self) -> usize {
        (self.target_height * self.target_width * self.add_stride) as usize
    }
}

/// Which taps link which pixels.
#[derive(Default)]
struct Links {
    /// `(tap, pixel of the source image)`, for each target pixel in turn.
    all: Vec<(usize, usize)>,
    /// Where the links of each target pixel end in `all`.
    ends: Vec<usize>,
}

/// Scratch space that a call prepares before its loops.
#[derive(Default)]
struct Scratch {
    links: Links,
    /// Panels of weights, see [`PackWeights`].
    weights: Memory,
}

thread_local! {
    // Kept from call to call, so that running allocates nothing.
    static SCRATCH: Cell<Scratch> = Cell::default();
    static PIECE: Cell<Piece> = Cell::default();
}

/// Scratch space for a few images.
#[derive(Default)]
struct Piece {
    /// The source, `[pixel][channel][image]`.
    panel: Memory,
    /// Sums that go through an activation before they are stored.
    sums: Memory,
    /// Arguments of the activation, of one image.
    arguments: Memory,
}

impl Links {
    fn find(&mut self, p: &Params) {
        let scale = [p.up, p.down];
        self.all.clear();
        self.ends.clear();
        for y in 0..p.target_height as usize {
            for x in 0..p.target_width as usize {
                let rows = axis(p.adjoint == 1, y, scale, p.source_height as usize);
                for (ky, row) in rows {
                    let columns = axis(p.adjoint == 1, x, scale, p.source_width as usize);
                    self.all.extend(
                        columns.map(|(kx, column)| {
                            (3 * ky + kx, row * p.source_width as usize + column)
                        }),
                    );
                }
                self.ends.push(self.all.len());
            }
        }
    }
}

/// The taps that link pixel `target` of an axis to source pixels, and those pixels.
fn axis(
    adjoint: bool,
    target: usize,
    [up, down]: [u32; 2],
    len: usize,
) -> impl Iterator<Item = (usize, usize)> {
    let forward = (0..3).filter_map(move |k| Some((k, input(target, k, [up, down], len)?)));
    let (up, down) = (up as usize, down as usize);
    let adjoint_taps = (0..3).flat_map(move |k| (0..up).map(move |d| (k, up * target + d + 1)));
    let back = adjoint_taps.filter_map(move |(k, q)| {
        let q = q.checked_sub(k).filter(|q| q.is_multiple_of(down))?;
        Some((k, q / down)).filter(|&(_, o)| o < len)
    });
    forward.filter(move |_| !adjoint).chain(back.filter(move |_| adjoint))
}

/// Blocks of target channels, as wide as two vectors, or as one where that suffices: the first channel of
/// each, and whether it is a wide one.
#[inline(always)]
pub(in super::super) fn column_blocks<const LANES: usize>(
    channels: usize,
) -> impl Iterator<Item = (usize, bool)> {
    (0..channels).step_by(2 * LANES).map(move |first| (first, channels - first > LANES))
}

/// Copies the weights to panels, one per block of target channels: `[tap][source channel]`, then the
/// channels of the block.
struct PackWeights<'a> {
    p: Params,
    parameters: &'a [f32],
    packed: &'a mut Memory,
}

impl Vectorized for PackWeights<'_> {
    #[inline(always)]
    fn run<const LANES: usize, const PAIR: usize, const FMA: bool>(self) {
        let (k, n) = (self.p.source_channels as usize, self.p.target_channels as usize);
        self.packed.reserve(TAPS * k * n.next_multiple_of(LANES));
        for (first, wide) in column_blocks::<LANES>(n) {
            let panel = &mut self.packed[TAPS * k * first..];
            if wide {
                pack_weights::<PAIR>(&self.p, self.parameters, first, panel);
            } else {
                pack_weights::<LANES>(&self.p, self.parameters, first, panel);
            }
        }
    }
}

#[inline(always)]
fn pack_weights<const N: usize>(p: &Params, parameters: &[f32], first: usize, panel: &mut [f32]) {
    let (k, n) = (p.source_channels as usize, p.target_channels as usize);
    let (panel, _) = panel.as_chunks_mut::<N>();
    for (weights, panel) in parameters.chunks_exact(k * n).zip(panel.chunks_exact_mut(k)).take(TAPS)
    {
        let weights = match p.adjoint {
            0 => Operand::flat(weights, n),
            _ => Operand::deep(weights, k),
        };
        weights.pack(first..n.min(first + N), 0..k, panel);
    }
}

struct Work<'a> {
    p: Params,
    source: &'a [f32],
    parameters: &'a [f32],
    weights: &'a [f32],
    addend: &'a [f32],
    affines: Affines<'a>,
    /// Index of the first image among those that have scales and shifts.
    first: usize,
    out: &'a mut [f32],
    behind: &'a mut [f32],
    links: &'a Links,
    scratch: &'a mut Piece,
}

/// Most rows of a register tile, images or input channels: with two vectors of channels each, twelve sums.
/// WebAssembly has registers for eight.
pub(in super::super) const TILE_ROWS: usize = if WASM_VECTORS { 4 } else { 6 };

impl Vectorized for Work<'_> {
    #[inline(always)]
    fn run<const LANES: usize, const PAIR: usize, const FMA: bool>(mut self) {
        let batch = self.p.batch as usize;
        let tiles = batch.div_ceil(TILE_ROWS);
        for tile in 0..tiles {
            // Tiles of almost equal heights: a short last one would leave the multipliers idle.
            let [begin, end] = [tile * batch / tiles, (tile + 1) * batch / tiles];
            match end - begin {
                6 if TILE_ROWS > 4 => self.images::<6, LANES, PAIR, FMA>(begin),
                5 if TILE_ROWS > 4 => self.images::<5, LANES, PAIR, FMA>(begin),
                4 => self.images::<4, LANES, PAIR, FMA>(begin),
                3 => self.images::<3, LANES, PAIR, FMA>(begin),
                2 => self.images::<2, LANES, PAIR, FMA>(begin),
                _ => self.images::<1, LANES, PAIR, FMA>(begin),
            }
            if self.p.activates() {
                (begin..end).for_each(|image| self.activate::<LANES>(image));
            } else if self.p.differentiates() {
                (begin..end).for_each(|image| self.differentiate::<LANES>(image, begin));
            }
        }
    }
}

impl Work<'_> {
    /// Computes images `begin .. begin + R`.
    #[inline(always)]
    fn images<const R: usize, const LANES: usize, const PAIR: usize, const FMA: bool>(
        &mut self,
        begin: usize,
    ) {
        let p = &self.p;
        let (k, stride) = (p.source_channels as usize, p.source_stride as usize);
        let pixels = (p.source_height * p.source_width) as usize;
        let [image, _] = p.images();
        if p.differentiates() {
            self.scratch.sums.reserve(R * p.image());
        }
        let mut panel = take(&mut self.scratch.panel);
        panel.reserve(pixels * k * R);
        let (packed, _) = panel.as_chunks_mut::<R>();
        for (pixel, packed) in packed.chunks_exact_mut(k).enumerate().take(pixels) {
            let rows = Operand::strided(&self.source[begin * image + pixel * stride..], image);
            rows.pack(0..R, 0..k, packed);
        }
        for (first, wide) in column_blocks::<LANES>(p.target_channels as usize) {
            if wide {
                self.columns::<R, PAIR, FMA>(begin, first, packed);
            } else {
                self.columns::<R, LANES, FMA>(begin, first, packed);
            }
        }
        self.scratch.panel = panel;
    }

    /// Runs of elements that lie side by side in an image of the target, if all its channels and those of
    /// what goes along, `stride` apart, do: the number and length of runs.
    fn runs(&self, stride: u32) -> [usize; 2] {
        let p = &self.p;
        let (pixels, n) = ((p.target_height * p.target_width) as usize, p.target_channels as usize);
        let dense = [p.target_stride, stride].iter().all(|&stride| stride as usize == n);
        if dense { [1, pixels * n] } else { [pixels, n] }
    }

    /// Stores the activation of an image behind it, while it is in the cache.
    #[inline(always)]
    fn activate<const LANES: usize>(&mut self, image: usize) {
        let p = &self.p;
        let [runs, len] = self.runs(p.target_stride);
        for run in 0..runs {
            let at = image * p.images()[1] + run * p.target_stride as usize;
            let behind = &mut self.behind[at..][..len];
            self.affines.apply::<LANES>(self.first + image, &self.out[at..][..len], behind);
            for value in behind {
                *value = silu(*value);
            }
        }
    }

    /// Multiplies the sums of an image by the derivative of the activation, and stores them. The first image
    /// of the sums is `begin`.
    #[inline(always)]
    fn differentiate<const LANES: usize>(&mut self, image: usize, begin: usize) {
        let p = &self.p;
        let n = p.target_channels as usize;
        let [runs, len] = self.runs(p.add_stride);
        let Piece { sums, arguments, .. } = &mut *self.scratch;
        arguments.reserve(len);
        for run in 0..runs {
            let x = image * p.add_image() + run * p.add_stride as usize;
            let at = image * p.images()[1] + run * p.target_stride as usize;
            let arguments = &mut arguments[..len];
            self.affines.apply::<LANES>(self.first + image, &self.addend[x..][..len], arguments);
            let sums = &mut sums[(image - begin) * p.image() + run * n..][..len];
            for (d, argument) in sums.iter_mut().zip(&*arguments) {
                *d *= slope(*argument);
            }
            for first in (0..n).step_by(LANES) {
                let cols = LANES.min(n - first);
                let block = self.affines.block::<LANES>(self.first + image, first, cols);
                for (d, out) in sums.chunks(n).zip(self.out[at..][..len].chunks_mut(n)) {
                    let out = &mut out[first..][..cols];
                    let d: [f32; LANES] = load(&d[first..][..cols]);
                    let mut sum = if p.keep == 1 { load(out) } else { [0.0; LANES] };
                    for j in 0..LANES {
                        sum[j] += d[j] * (block.gain[j] * block.inverse[j]);
                    }
                    store(out, &sum);
                }
            }
            if p.has_film == 1 {
                self.behind[at..][..len].copy_from_slice(sums);
            }
        }
    }

    /// Computes target channels `first .. first + N` of these images.
    #[inline(always)]
    fn columns<const R: usize, const N: usize, const FMA: bool>(
        &mut self,
        begin: usize,
        first: usize,
        images: &[[f32; R]],
    ) {
        let p = &self.p;
        let (k, n) = (p.source_channels as usize, p.target_channels as usize);
        let cols = N.min(n - first);
        let (weights, _) = self.weights[TAPS * k * first..].as_chunks::<N>();
        let mut bias = [0.0; N];
        if p.adjoint == 0 {
            bias = load(&self.parameters[p.bias as usize + first..][..cols]);
        }
        let pixels = (p.target_height * p.target_width) as usize;
        let mut link = 0;
        for (pixel, &last) in self.links.ends.iter().enumerate() {
            let mut sums = [bias; R];
            if p.has_add == 1 {
                for (i, sums) in sums.iter_mut().enumerate() {
                    let at = ((begin + i) * pixels + pixel) * p.add_stride as usize + first;
                    let add: [f32; N] = load(&self.addend[at..][..cols]);
                    for j in 0..N {
                        sums[j] += add[j];
                    }
                }
            }
            multiply::<R, N, FMA>(&mut sums, &self.links.all[link..last], images, weights, k);
            link = last;
            for (i, sums) in sums.iter().enumerate() {
                if p.differentiates() {
                    let at = (i * pixels + pixel) * n;
                    store(&mut self.scratch.sums[at + first..][..cols], sums);
                } else {
                    let at = ((begin + i) * pixels + pixel) * p.target_stride as usize;
                    store(&mut self.out[at + first..][..cols], sums);
                }
            }
        }
    }
}

/// Adds the products of the links to `sums`; row `i` belongs to image `i`.
#[inline(always)]
fn multiply<const R: usize, const N: usize, const FMA: bool>(
    sums: &mut [[f32; N]; R],
    links: &[(usize, usize)],
    images: &[[f32; R]],
    weights: &[[f32; N]],
    k: usize,
) {
    // A copy that is not behind a reference stays in registers.
    let mut local = *sums;
    for &(tap, pixel) in links {
        for (values, weights) in images[pixel * k..][..k].iter().zip(&weights[tap * k..][..k]) {
            for i in 0..R {
                for j in 0..N {
                    local[i][j] = mul_add::<FMA>(values[i], weights[j], local[i][j]);
                }
            }
        }
    }
    *sums = local;
}
