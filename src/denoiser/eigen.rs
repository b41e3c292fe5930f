//! The eigendecomposition of a large symmetric matrix in f64, in steps between which others have a turn.
//!
//! Householder reflections reduce the matrix to a tridiagonal one, divide and conquer solves that, and
//! the reflections turn its eigenvectors back: `faer` does all three. Measured at order 3072 on a
//! covariance whose spectrum falls as that of photographs does: natively 1.4 s on two threads, where
//! LAPACK by way of NumPy takes 1.8 s, and on one thread as long as LAPACK; in WebAssembly 17 s on its
//! one thread. So the whole decomposition is affordable everywhere, and nothing is truncated.

use faer::diag::DiagRef;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::evd::{
    ComputeEigenvectors, self_adjoint_evd_scratch, tridiag, tridiagonal_self_adjoint_evd,
};
use faer::linalg::householder;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::{Accum, Conj, Mat, MatMut, MatRef, Par};
use nalgebra::DMatrix;

use crate::error::{Error, ErrorKind, Result};

/// Eigenvectors that are turned back in a step.
const COLUMNS: usize = 256;

/// The threads that work on a matrix.
pub(super) fn threads() -> Par {
    #[cfg(not(target_arch = "wasm32"))]
    return Par::rayon(0);
    #[cfg(target_arch = "wasm32")]
    Par::Seq
}

/// The same numbers, as `faer` sees them.
pub(super) fn view(matrix: &DMatrix<f64>) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(matrix.as_slice(), matrix.nrows(), matrix.ncols())
}

/// The same numbers, as `faer` writes them.
pub(super) fn view_mut(matrix: &mut DMatrix<f64>) -> MatMut<'_, f64> {
    let (rows, cols) = matrix.shape();
    MatMut::from_column_major_slice_mut(matrix.as_mut_slice(), rows, cols)
}

/// Adds `a aᵀ` to the lower triangle of `sum`, at the speed of a matrix multiply.
pub(super) fn add_square(sum: &mut DMatrix<f64>, a: MatRef<'_, f64>) {
    triangular::matmul(
        view_mut(sum),
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

/// `a · b`.
pub(super) fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> DMatrix<f64> {
    let mut out = DMatrix::zeros(a.nrows(), b.ncols());
    faer::linalg::matmul::matmul(view_mut(&mut out), Accum::Replace, a, b, 1.0, threads());
    out
}

/// The solution of `a · x = b`, where `a` is symmetric and positive: by Cholesky's factors, at the speed of
/// a matrix multiply.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn solve_positive(a: &DMatrix<f64>, mut b: DMatrix<f64>) -> Option<DMatrix<f64>> {
    use faer::linalg::solvers::Solve;
    let factor = view(a).llt(faer::Side::Lower).ok()?;
    factor.solve_in_place(view_mut(&mut b));
    Some(b)
}

/// Room for what a stage of `faer` keeps aside.
fn room(need: StackReq) -> Result<MemBuffer> {
    MemBuffer::try_new(need).map_err(|_| {
        let kind = ErrorKind::LimitExceeded { need: need.size_bytes() as u64, have: 0 };
        let hint = "Choose a smaller image size, grey instead of colour, or fewer images";
        Error::new(kind, "There is not enough memory for the eigenvectors of the covariance", hint)
    })
}

/// A decomposition under way.
#[derive(Debug)]
pub(super) struct Eigen {
    /// The matrix, of which the lower triangle counts; then the reflections.
    matrix: DMatrix<f64>,
    factors: Mat<f64>,
    /// Eigenvalues, ascending.
    pub(super) values: Vec<f64>,
    /// Eigenvectors in the same order, as columns.
    pub(super) vectors: DMatrix<f64>,
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
    pub(super) fn new(matrix: DMatrix<f64>) -> Self {
        let vectors = DMatrix::zeros(0, 0);
        Self { matrix, factors: Mat::new(), values: Vec::new(), vectors, stage: Stage::Reduce }
    }

    /// Multiply-adds that a step is worth, in units of the cube of the order: what progress is
    /// reckoned in. The reduction streams the matrix from memory and so counts double.
    pub(super) const WORK: f64 = 5.0;

    /// Of [`Self::WORK`], what is done.
    pub(super) fn done(&self) -> f64 {
        match self.stage {
            Stage::Reduce => 0.0,
            Stage::Solve => 2.5,
            Stage::Transform(next) => 4.0 + next as f64 / self.matrix.nrows().max(1) as f64,
        }
    }

    /// Rows of the matrix.
    pub(super) fn order(&self) -> usize {
        self.matrix.nrows()
    }

    /// Does a step; true if it was the last.
    pub(super) fn step(&mut self) -> Result<bool> {
        let order = self.matrix.nrows();
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

    fn reduce(&mut self, order: usize) -> Result<()> {
        let block = recommended_block_size::<f64>(order, order);
        self.factors = Mat::zeros(block, order - 1);
        let params = Default::default();
        let mut room = room(tridiag::tridiag_in_place_scratch::<f64>(order, threads(), params))?;
        let (matrix, factors) = (view_mut(&mut self.matrix), self.factors.as_mut());
        tridiag::tridiag_in_place(matrix, factors, threads(), MemStack::new(&mut room), params);
        Ok(())
    }

    fn solve(&mut self, order: usize) -> Result<()> {
        let diagonal: Vec<f64> = (0..order).map(|i| self.matrix[(i, i)]).collect();
        let below: Vec<f64> = (1..order).map(|i| self.matrix[(i, i - 1)]).collect();
        self.values = vec![0.0; order];
        self.vectors = DMatrix::zeros(order, order);
        let params = Default::default();
        let with = ComputeEigenvectors::Yes;
        let mut room = room(self_adjoint_evd_scratch::<f64>(order, with, threads(), params))?;
        tridiagonal_self_adjoint_evd(
            DiagRef::from_slice(&diagonal),
            DiagRef::from_slice(&below),
            faer::diag::DiagMut::from_slice_mut(&mut self.values),
            Some(view_mut(&mut self.vectors)),
            threads(),
            MemStack::new(&mut room),
            params,
        )
        .map_err(|_| {
            let hint = "Do the images hold extreme values?";
            Error::bad_input("The covariance's eigenvectors did not converge", hint)
        })
    }

    fn transform(&mut self, order: usize, first: usize, columns: usize) -> Result<()> {
        let block = self.factors.nrows();
        let scratch =
            householder::apply_block_householder_sequence_on_the_left_in_place_scratch::<f64>;
        let mut room = room(scratch(order - 1, block, columns))?;
        householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
            view(&self.matrix).submatrix(1, 0, order - 1, order - 1),
            self.factors.as_ref(),
            Conj::No,
            view_mut(&mut self.vectors).submatrix_mut(1, first, order - 1, columns),
            threads(),
            MemStack::new(&mut room),
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `A u = λ u` and `Uᵀ U = 1`, at orders around the blocks' sizes.
    #[test]
    fn eigenvectors_are_eigenvectors() {
        for order in [2, 7, 257, 300] {
            let value = |i: usize, j: usize| ((i * 7919 + j * 104_729 + 13) % 1009) as f64 / 504.5;
            let half = DMatrix::from_fn(order, order, value);
            let mut matrix = DMatrix::zeros(order, order);
            add_square(&mut matrix, view(&half));
            let mut eigen = Eigen::new(matrix.clone());
            while !eigen.step().unwrap() {}
            matrix.fill_upper_triangle_with_lower_triangle();
            let scaled =
                DMatrix::from_fn(order, order, |i, j| eigen.vectors[(i, j)] * eigen.values[j]);
            let top = eigen.values[order - 1];
            let residual = (&matrix * &eigen.vectors - scaled).amax() / top;
            let identity = DMatrix::identity(order, order);
            let skew = (eigen.vectors.tr_mul(&eigen.vectors) - identity).amax();
            assert!(residual < 1e-13 && skew < 1e-12, "{order}: {residual} {skew}");
            assert!(eigen.values.is_sorted(), "{order}");
        }
    }
}
