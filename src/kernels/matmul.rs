//! `C = f(A·B)`: the heart of everything.
//!
//! `A` is `m × k`, `B` is `k × n`, all row-major and dense; [`Layout`] says which operand is stored
//! transposed. The epilogue adds to what `C` held, adds a bias row and applies an activation, so
//! that none of them costs a pass over memory.

use super::{Call, VIEWS, matmul_vec4, matmul_workgroup, params, side_by_side, wgsl};
pub use crate::compute::Tile;
use crate::compute::gemm::{Operand, gemm};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

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

/// What happens to an element last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// Nothing.
    Identity,
    /// `x / (1 + e⁻ˣ)`.
    Silu,
}

/// What becomes of the old content of `C`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// It is overwritten.
    Nothing,
    /// It is added to.
    All,
    /// Row `i` is first multiplied by element `4 i + 2` of the view: a softmax state's rescaling.
    Rescaled(View),
}

/// A matrix multiply to record.
#[derive(Debug, Clone, Copy)]
pub struct Matmul {
    /// Storage of the operands.
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
    /// What happens to the old content.
    pub keep: Keep,
    /// What happens last.
    pub activation: Activation,
}

impl Matmul {
    /// `C = A·B` with nothing else.
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

    /// Keeps the old content.
    #[must_use]
    pub const fn keep(self, keep: Keep) -> Self {
        Self { keep, ..self }
    }

    /// Applies an activation.
    #[must_use]
    pub const fn activation(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    /// Records with the tile that suits the engine.
    pub fn record(self, program: &mut Program) -> Result<()> {
        let tile = program.profile().tile;
        self.record_with(program, tile)
    }

    /// Records with a given tile.
    pub fn record_with(self, program: &mut Program, tile: Tile) -> Result<()> {
        let Self { m, n, k, .. } = self;
        let members = program.members();
        let (kernel, tile) = if tile.depth > 0 {
            (&matmul_workgroup::KERNEL, matmul_workgroup::fill(tile, [m, n], members))
        } else if matmul_vec4::fits(&self, tile, members) {
            (&matmul_vec4::KERNEL, tile)
        } else {
            (&KERNEL, Tile { rows: tile.rows.min(4), cols: tile.cols.min(4), ..tile })
        };
        let tile = tile.stacked(n);
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
        };
        // An operand that is not there is bound to `A`; the parameters say that nobody reads it.
        let absent = (self.a, 1);
        let rescale = if let Keep::Rescaled(view) = self.keep { (view, 4 * m) } else { absent };
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
            ],
            &params,
            &[
                (self.a, m * k),
                (self.b, k * n),
                self.bias.map_or(absent, |bias| (bias, n)),
                rescale,
                (self.c, m * n),
            ],
            tile.workgroups(m, n),
        )
    }
}

params! {
    struct Params { m: u32, n: u32, k: u32, has_bias: u32, keep: u32, silu: u32, stored: u32 }
}

/// For any shape, a small tile to a thread.
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
        for (i, row) in c.chunks_exact_mut(n).enumerate() {
            if p.keep == 2 {
                let scale = rescale[4 * (first + i) + 2];
                row.iter_mut().for_each(|value| *value *= scale);
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
