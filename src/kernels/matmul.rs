//! Matrix multiply `C = f(A·B)`, which takes most of the time.
//!
//! `A` is `m × k`, `B` is `k × n`, all row-major and dense; [`Layout`] says which operand is stored
//! transposed. The epilogue adds to what `C` held, adds a bias row and applies an activation, so
//! that none of them costs a pass over memory.

use super::{
    Call, VIEWS, matmul_vec4, matmul_workgroup, params, shared_words, sharers, side_by_side, wgsl,
};
pub use crate::compute::Tile;
use crate::compute::gemm::{Operand, gemm};
use crate::compute::{Access, Kernel, Profile, Program, View};
use crate::error::Result;

/// Terms from which a sum may be cut into parts, and elements of a result up to which that pays off.
const LONG: usize = 2048;
const SMALL: usize = 1 << 15;

/// Which operand is stored transposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `A` is stored `m × k`, `B` is stored `k × n`.
    Nn,
    /// `B` is stored `n × k`.
    Nt,
    /// `A` is stored `k × m`.
    Tn,
}

/// The last operation on each element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// No activation.
    Identity,
    /// `x / (1 + e⁻ˣ)`.
    Silu,
}

/// What happens to the old content of `C`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Overwrites the old content.
    Nothing,
    /// Adds to the old content.
    All,
    /// Adds to the old content after multiplying column `j` by element `j` of the view: a softmax state's
    /// rescaling.
    Rescaled(View),
}

/// A matrix multiply to record.
#[derive(Debug, Clone, Copy)]
pub struct Matmul {
    /// How the operands are stored.
    pub layout: Layout,
    /// Left operand.
    pub a: View,
    /// Right operand.
    pub b: View,
    /// Result.
    pub c: View,
    /// Rows of the result.
    pub m: usize,
    /// Columns of the result.
    pub n: usize,
    /// The summed dimension.
    pub k: usize,
    /// A row added to every row of the result.
    pub bias: Option<View>,
    /// What happens to the old content of `c`.
    pub keep: Keep,
    /// The last operation.
    pub activation: Activation,
}

impl Matmul {
    /// Creates `C = A·B` without bias, old content or activation.
    pub fn new(
        layout: Layout,
        a: impl Into<View>,
        b: impl Into<View>,
        c: impl Into<View>,
        [m, n, k]: [usize; 3],
    ) -> Self {
        Self {
            layout,
            a: a.into(),
            b: b.into(),
            c: c.into(),
            m,
            n,
            k,
            bias: None,
            keep: Keep::Nothing,
            activation: Activation::Identity,
        }
    }

    /// Adds `bias` to every row.
    #[must_use]
    pub fn bias(self, bias: impl Into<View>) -> Self {
        Self { bias: Some(bias.into()), ..self }
    }

    /// Sets what happens to the old content.
    #[must_use]
    pub const fn keep(self, keep: Keep) -> Self {
        Self { keep, ..self }
    }

    /// Sets the activation.
    #[must_use]
    pub const fn activation(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    /// How many parts to cut the sum into, so that a small result keeps the engine busy. `C` then receives
    /// that many results one after the other, which remain to be added up.
    #[must_use]
    pub fn parts(&self, program: &Program) -> usize {
        let Profile { parts, hardware, .. } = *program.profile();
        let mut most = parts as usize;
        if parts > 1 && hardware {
            most *= (self.k / (2 * LONG)).clamp(1, 4);
        }
        let long = self.k >= LONG && self.m * self.n <= SMALL && self.keep == Keep::Nothing;
        if long && self.bias.is_none() { self.k.div_ceil(self.span(most)) } else { 1 }
    }

    /// Number of terms in each of `parts` sums, a multiple of the vector length.
    const fn span(&self, parts: usize) -> usize {
        self.k.div_ceil(parts).next_multiple_of(4)
    }

    /// Records the multiply with the tile that suits the engine, its sum cut into `parts`.
    pub fn record_in(self, program: &mut Program, parts: usize) -> Result<()> {
        let tile = program.profile().tile;
        self.record_parts(program, tile, parts)
    }

    /// Records the multiply with the tile that suits the engine.
    pub fn record(self, program: &mut Program) -> Result<()> {
        let tile = program.profile().tile;
        self.record_with(program, tile)
    }

    /// Records the multiply with a given tile.
    pub fn record_with(self, program: &mut Program, tile: Tile) -> Result<()> {
        self.record_parts(program, tile, 1)
    }

    fn record_parts(self, program: &mut Program, tile: Tile, parts: usize) -> Result<()> {
        let Self { m, n, k, .. } = self;
        let members = program.members();
        let hardware = program.profile().hardware.into();
        let (kernel, tile) = if tile.depth > 0 {
            (&matmul_workgroup::KERNEL, matmul_workgroup::fill(tile, [m, n], parts * members))
        } else if matmul_vec4::fits(&self, tile, members) {
            (&matmul_vec4::KERNEL, tile)
        } else {
            (&KERNEL, Tile { rows: tile.rows.min(4), cols: tile.cols.min(4), ..tile })
        };
        let tile = tile.stacked(n);
        let (sharers, words) = if kernel.name == matmul_vec4::KERNEL.name {
            let blocks = m.div_ceil(tile.rows as usize) * n.div_ceil(tile.cols as usize);
            let sharers = sharers(program, tile, parts * blocks, k / parts / 4);
            (sharers, shared_words(sharers, tile.threads()))
        } else {
            (1, matmul_workgroup::words(tile))
        };
        let [x, y] = Tile { threads_y: tile.threads_y / sharers, ..tile }.workgroups(m, n);
        let params = Params {
            m: m as u32,
            n: n as u32,
            k: k as u32,
            has_bias: u32::from(self.bias.is_some()),
            keep: match self.keep {
                Keep::Nothing => 0,
                Keep::All => 1,
                Keep::Rescaled(_) => 2,
            },
            silu: u32::from(self.activation == Activation::Silu),
            stored: self.layout as u32,
            span: self.span(parts) as u32,
            blocks: y as u32,
        };
        // An absent operand is bound to `A`; the parameters say that it is not read.
        let absent = (self.a, 1);
        let rescale = if let Keep::Rescaled(view) = self.keep { (view, n) } else { absent };
        program.stage(
            kernel,
            &[
                ("LAYOUT", params.stored),
                ("KEEP", params.keep),
                ("BIAS", params.has_bias),
                ("SILU", params.silu),
                ("ROWS", tile.rows),
                ("COLS", tile.cols),
                ("QUADS_Y", tile.rows / 4),
                ("QUADS_X", tile.cols / 4),
                ("THREADS_X", tile.threads_x),
                ("THREADS_Y", tile.threads_y),
                ("DEPTH", tile.depth),
                ("SHARERS", sharers),
                ("WORKGROUP_WORDS", words),
                ("SPLIT", u32::from(parts > 1)),
                ("HARDWARE", hardware),
            ],
            &params,
            &[
                (self.a, m * k),
                (self.b, k * n),
                self.bias.map_or(absent, |bias| (bias, n)),
                rescale,
                (self.c, parts * m * n),
            ],
            [x, y * parts],
        )
    }
}

params! {
    struct Params { m: u32, n: u32, k: u32, has_bias: u32, keep: u32, silu: u32, stored: u32, span: u32, blocks: u32 }
}

/// The variant for any shape, with a small tile per thread.
pub static KERNEL: Kernel = variant("matmul", &[VIEWS, wgsl!("matmul.wgsl"), SHARED]);

/// WGSL that all variants share.
pub(super) const SHARED: &str = wgsl!("shared/matmul.wgsl");

/// A variant of the kernel: all have the same parameters, bindings and twin.
pub(super) const fn variant(name: &'static str, wgsl: &'static [&'static str]) -> Kernel {
    Kernel {
        name,
        wgsl,
        params: Params::FIELDS,
        bindings: &[
            ("a", Access::Read),
            ("b", Access::Read),
            ("bias", Access::Read),
            ("rescale", Access::Read),
            ("c", Access::Write),
        ],
        cpu,
    }
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (a, b, bias, rescale) = (call.read(0), call.read(1), call.read(2), call.read(3));
    let c = call.write(4);
    let (m, n, k) = (p.m as usize, p.n as usize, p.k as usize);
    let (a, b) = match p.stored {
        0 => (Operand::deep(a, k), Operand::flat(b, n)),
        1 => (Operand::deep(a, k), Operand::deep(b, k)),
        _ => (Operand::flat(a, m), Operand::flat(b, n)),
    };
    let bias = (p.has_bias == 1).then_some(bias);
    let accumulate = p.keep != 0 || bias.is_some();
    let compute = |first: usize, c: &mut [f32]| {
        for row in c.chunks_exact_mut(n) {
            if p.keep == 2 {
                row.iter_mut().zip(rescale).for_each(|(value, scale)| *value *= scale);
            }
            match bias {
                Some(bias) if p.keep == 0 => row.copy_from_slice(bias),
                Some(bias) => row.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias),
                None => {}
            }
        }
        gemm(first..first + c.len() / n, [n, k], a, b, accumulate, c);
        if p.silu == 1 {
            c.iter_mut().for_each(|value| *value = silu(*value));
        }
    };
    // Each block packs all of B, so it needs some rows to pay for that.
    let rows = m.div_ceil(call.threads(m * n * k)).max(16);
    let block = |i: usize, [c]: [&mut [f32]; 1]| compute(i * rows, c);
    side_by_side(m.div_ceil(rows), [(c, rows * n)], &block);
}

/// `x / (1 + e⁻ˣ)`, without overflow on either side.
#[inline]
#[must_use]
pub fn silu(x: f32) -> f32 {
    x * sigmoid(x)
}

/// `1 / (1 + e⁻ˣ)`.
#[inline]
#[must_use]
pub fn sigmoid(x: f32) -> f32 {
    let e = super::exp_negative(-x.abs());
    let s = 1.0 / (1.0 + e);
    if x < 0.0 { e * s } else { s }
}
