//! Linear algebra of large matrices in f64, by `faer`: products, and the eigendecomposition of a symmetric
//! matrix in steps between which others have a turn. Matrices are slices, column after column.
//!
//! Householder reflections reduce the matrix to a tridiagonal one, divide and conquer solves that, and
//! the reflections turn its eigenvectors back. Measured at order 3072 on a
//! covariance whose spectrum falls as that of photographs does: natively 1.4 s on two threads, where
//! LAPACK by way of NumPy takes 1.8 s, and on one thread as long as LAPACK; in WebAssembly 17 s on its
//! one thread. So the whole decomposition is affordable everywhere, and nothing is truncated.
//!
//! It is a crate of its own because the page downloads it only for large images: it weighs as much as a
//! third of the library that the page begins with.

#[cfg(target_arch = "wasm32")]
mod web;

use faer::diag::{DiagMut, DiagRef};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::evd::{
    ComputeEigenvectors, self_adjoint_evd_scratch, tridiag, tridiagonal_self_adjoint_evd,
};
use faer::linalg::householder;
#[cfg(not(target_arch = "wasm32"))]
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
#[cfg(not(target_arch = "wasm32"))]
use faer::{Accum, prelude::Solve};
use faer::{Conj, Mat, MatMut, MatRef, Par};

/// Eigenvectors that are turned back in a step.
const COLUMNS: usize = 256;

/// The threads that work on a matrix.
fn threads() -> Par {
    #[cfg(not(target_arch = "wasm32"))]
    return Par::rayon(0);
    #[cfg(target_arch = "wasm32")]
    Par::Seq
}

/// A matrix, column after column, of so many rows.
fn view(values: &[f64], rows: usize) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(values, rows, values.len().checked_div(rows).unwrap_or(0))
}

fn view_mut(values: &mut [f64], rows: usize) -> MatMut<'_, f64> {
    let cols = values.len().checked_div(rows).unwrap_or(0);
    MatMut::from_column_major_slice_mut(values, rows, cols)
}

/// Adds `a aᵀ` to the lower triangle of `sum`, both of `rows` rows, at the speed of a matrix multiply.
#[cfg(not(target_arch = "wasm32"))]
pub fn add_square(sum: &mut [f64], a: &[f64], rows: usize) {
    add_product(sum, view(a, rows));
}

/// Adds `bᵀ b` to the lower triangle of `sum`, where `b` is `count` rows of `a` from the row `first` on.
#[cfg(not(target_arch = "wasm32"))]
pub fn add_gram(sum: &mut [f64], a: &[f64], rows: usize, first: usize, count: usize) {
    add_product(sum, view(a, rows).subrows(first, count).transpose());
}

#[cfg(not(target_arch = "wasm32"))]
fn add_product(sum: &mut [f64], a: MatRef<'_, f64>) {
    triangular::matmul(
        view_mut(sum, a.nrows()),
        BlockStructure::TriangularLower,
        Accum::Add,
        a,
        BlockStructure::Rectangular,
        a.transpose(),
        BlockStructure::Rectangular,
        1.0,
        threads(),
    );
}

/// Writes `a · b` to `out`, where `a` has `rows` rows and `inner` columns.
#[cfg(not(target_arch = "wasm32"))]
pub fn multiply(out: &mut [f64], a: &[f64], b: &[f64], rows: usize, inner: usize) {
    let (a, b) = (view(a, rows), view(b, inner));
    faer::linalg::matmul::matmul(view_mut(out, rows), Accum::Replace, a, b, 1.0, threads());
}

/// Replaces `b` by the solution of `a · x = b`, where `a` is symmetric of this `order`: by Cholesky's
/// factors, at the speed of a matrix multiply. False if `a` is not positive.
#[cfg(not(target_arch = "wasm32"))]
#[must_use]
pub fn solve_positive(a: &[f64], b: &mut [f64], order: usize) -> bool {
    let Ok(factor) = view(a, order).llt(faer::Side::Lower) else { return false };
    factor.solve_in_place(view_mut(b, order));
    true
}

/// Why a decomposition failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// There are not this many bytes of memory.
    Memory(usize),
    /// The iteration did not converge.
    NoConvergence,
}

/// Room for what a stage of `faer` keeps aside.
fn room(need: StackReq) -> Result<MemBuffer, Failure> {
    MemBuffer::try_new(need).map_err(|_| Failure::Memory(need.size_bytes()))
}

/// A decomposition under way.
#[derive(Debug)]
pub struct Eigen {
    order: usize,
    /// The matrix, of which the lower triangle counts; then the reflections.
    matrix: Vec<f64>,
    factors: Mat<f64>,
    /// Eigenvalues, ascending.
    pub values: Vec<f64>,
    /// Eigenvectors in the same order, as columns.
    pub vectors: Vec<f64>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    Reduce,
    Solve,
    /// The eigenvectors from this one on are still those of the tridiagonal matrix.
    Transform(usize),
}

impl Eigen {
    /// Begins with a matrix of this order, at least 2.
    #[must_use]
    pub fn new(matrix: Vec<f64>, order: usize) -> Self {
        let (factors, values, vectors) = (Mat::new(), Vec::new(), Vec::new());
        Self { order, matrix, factors, values, vectors, stage: Stage::Reduce }
    }

    /// Multiply-adds that all steps are worth, in units of the cube of the order: what progress is
    /// reckoned in. The reduction streams the matrix from memory and so counts double.
    pub const WORK: f64 = 5.0;

    /// Of [`Self::WORK`], what is done.
    #[must_use]
    pub fn done(&self) -> f64 {
        match self.stage {
            Stage::Reduce => 0.0,
            Stage::Solve => 2.5,
            Stage::Transform(next) => 4.0 + next as f64 / self.order.max(1) as f64,
        }
    }

    /// Does a step; true if it was the last.
    pub fn step(&mut self) -> Result<bool, Failure> {
        let order = self.order;
        self.stage = match self.stage {
            Stage::Reduce => {
                self.reduce(order)?;
                Stage::Solve
            }
            Stage::Solve => {
                self.solve(order)?;
                Stage::Transform(0)
            }
            Stage::Transform(next) => {
                let columns = COLUMNS.min(order - next);
                self.transform(order, next, columns)?;
                Stage::Transform(next + columns)
            }
        };
        Ok(matches!(self.stage, Stage::Transform(next) if next == order))
    }

    fn reduce(&mut self, order: usize) -> Result<(), Failure> {
        let block = recommended_block_size::<f64>(order, order);
        self.factors = Mat::zeros(block, order - 1);
        let params = Default::default();
        let mut room = room(tridiag::tridiag_in_place_scratch::<f64>(order, threads(), params))?;
        let (matrix, factors) = (view_mut(&mut self.matrix, order), self.factors.as_mut());
        tridiag::tridiag_in_place(matrix, factors, threads(), MemStack::new(&mut room), params);
        Ok(())
    }

    fn solve(&mut self, order: usize) -> Result<(), Failure> {
        let matrix = view(&self.matrix, order);
        let diagonal: Vec<f64> = (0..order).map(|i| matrix[(i, i)]).collect();
        let below: Vec<f64> = (1..order).map(|i| matrix[(i, i - 1)]).collect();
        self.values = vec![0.0; order];
        self.vectors = vec![0.0; order * order];
        let params = Default::default();
        let with = ComputeEigenvectors::Yes;
        let mut room = room(self_adjoint_evd_scratch::<f64>(order, with, threads(), params))?;
        tridiagonal_self_adjoint_evd(
            DiagRef::from_slice(&diagonal),
            DiagRef::from_slice(&below),
            DiagMut::from_slice_mut(&mut self.values),
            Some(view_mut(&mut self.vectors, order)),
            threads(),
            MemStack::new(&mut room),
            params,
        )
        .map_err(|_| Failure::NoConvergence)
    }

    fn transform(&mut self, order: usize, first: usize, columns: usize) -> Result<(), Failure> {
        let block = self.factors.nrows();
        let scratch =
            householder::apply_block_householder_sequence_on_the_left_in_place_scratch::<f64>;
        let mut room = room(scratch(order - 1, block, columns))?;
        householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
            view(&self.matrix, order).submatrix(1, 0, order - 1, order - 1),
            self.factors.as_ref(),
            Conj::No,
            view_mut(&mut self.vectors, order).submatrix_mut(1, first, order - 1, columns),
            threads(),
            MemStack::new(&mut room),
        );
        Ok(())
    }
}
