//! Products of large matrices, and the eigendecomposition of a symmetric one, in f64.
//!
//! Natively `faer` does both, by way of the crate in `eigen/`. In a page that would be a quarter of what
//! readers wait for, and few need it. There nalgebra multiplies, and it decomposes small matrices; large
//! ones too, slowly, unless the page has loaded the other crate (see [`use_for_large`]).

#[cfg(target_arch = "wasm32")]
pub(crate) use page::{Decomposition, Eigen, add_gram, add_square, product, use_for_large};

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use native::{Eigen, add_gram, add_square, product, solve_positive};

use nalgebra::{DMatrix, Dyn, SymmetricEigen};

use crate::error::{Error, ErrorKind, Result};

/// There is no room for eigenvectors.
fn too_large(need: u64) -> Error {
    let kind = ErrorKind::LimitExceeded { need, have: 0 };
    let hint = "Choose a smaller image size, grey instead of colour, or fewer images";
    Error::new(kind, "There is not enough memory for the eigenvectors of the covariance", hint)
}

/// The decomposition of a small matrix, at one go.
pub(super) fn decompose(matrix: DMatrix<f64>) -> Result<SymmetricEigen<f64, Dyn>> {
    SymmetricEigen::try_new(matrix, 1e-13, 10_000).ok_or_else(no_convergence)
}

/// Numbers are so extreme that eigenvectors are not found.
fn no_convergence() -> Error {
    let hint = "Do the images hold extreme values?";
    Error::bad_input("The covariance's eigenvectors did not converge", hint)
}

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use std::mem::take;
    use std::ops::Range;

    use hidden_gaussian_eigen as large;
    use large::Failure;
    use nalgebra::DMatrix;

    use super::{no_convergence, too_large};
    use crate::error::Result;

    /// Adds `a aᵀ` to the lower triangle of `sum`.
    pub(crate) fn add_square(sum: &mut DMatrix<f64>, a: &DMatrix<f64>) {
        large::add_square(sum.as_mut_slice(), a.as_slice(), a.nrows());
    }

    /// Adds `bᵀ b` to the lower triangle of `sum`, where `b` is some rows of `a`.
    pub(crate) fn add_gram(sum: &mut DMatrix<f64>, a: &DMatrix<f64>, rows: Range<usize>) {
        large::add_gram(sum.as_mut_slice(), a.as_slice(), a.nrows(), rows.start, rows.len());
    }

    /// `a · b`.
    pub(crate) fn product(a: &DMatrix<f64>, b: &DMatrix<f64>) -> DMatrix<f64> {
        let mut out = DMatrix::zeros(a.nrows(), b.ncols());
        let (rows, inner) = a.shape();
        large::multiply(out.as_mut_slice(), a.as_slice(), b.as_slice(), rows, inner);
        out
    }

    /// The solution of `a · x = b`, where `a` is symmetric and positive.
    pub(crate) fn solve_positive(a: &DMatrix<f64>, mut b: DMatrix<f64>) -> Option<DMatrix<f64>> {
        large::solve_positive(a.as_slice(), b.as_mut_slice(), a.nrows()).then_some(b)
    }

    /// A decomposition under way.
    #[derive(Debug)]
    pub(crate) struct Eigen {
        order: usize,
        inner: large::Eigen,
        /// Eigenvalues, ascending.
        pub(crate) values: Vec<f64>,
        /// Eigenvectors in the same order, as columns.
        pub(crate) vectors: DMatrix<f64>,
    }

    impl Eigen {
        /// What progress is reckoned in (see [`large::Eigen::WORK`]).
        pub(crate) const WORK: f64 = large::Eigen::WORK;

        /// Begins with a matrix of which the lower triangle counts.
        pub(crate) fn new(matrix: DMatrix<f64>) -> Self {
            let order = matrix.nrows();
            let inner = large::Eigen::new(matrix.data.into(), order);
            Self { order, inner, values: Vec::new(), vectors: DMatrix::zeros(0, 0) }
        }

        /// Of [`Self::WORK`], what is done.
        pub(crate) fn done(&self) -> f64 {
            self.inner.done()
        }

        /// Rows of the matrix.
        pub(crate) const fn order(&self) -> usize {
            self.order
        }

        /// Does a step; true if it was the last.
        pub(crate) fn step(&mut self) -> Result<bool> {
            let last = self.inner.step().map_err(|failure| match failure {
                Failure::Memory(bytes) => too_large(bytes as u64),
                Failure::NoConvergence => no_convergence(),
            })?;
            if last {
                self.values = take(&mut self.inner.values);
                let vectors = take(&mut self.inner.vectors);
                self.vectors = DMatrix::from_vec(self.order, self.order, vectors);
            }
            Ok(last)
        }
    }
}

#[cfg(target_arch = "wasm32")]
mod page {
    use std::cell::Cell;
    use std::fmt::Debug;
    use std::ops::Range;

    use nalgebra::DMatrix;

    use super::super::descending;
    use super::super::gaussian::SMALL;
    use super::{decompose, no_convergence, too_large};
    use crate::error::Result;

    /// Adds `a aᵀ` to `sum`.
    pub(crate) fn add_square(sum: &mut DMatrix<f64>, a: &DMatrix<f64>) {
        sum.gemm(1.0, a, &a.transpose(), 1.0);
    }

    /// Adds `bᵀ b` to `sum`, where `b` is some rows of `a`.
    pub(crate) fn add_gram(sum: &mut DMatrix<f64>, a: &DMatrix<f64>, rows: Range<usize>) {
        let part = a.rows_range(rows).into_owned();
        sum.gemm(1.0, &part.transpose(), &part, 1.0);
    }

    /// `a · b`.
    pub(crate) fn product(a: &DMatrix<f64>, b: &DMatrix<f64>) -> DMatrix<f64> {
        a * b
    }

    /// A decomposition that another library does.
    pub(crate) trait Decomposition: Debug {
        /// Does a step; true if it was the last. It fails with the bytes that are missing, or with nothing
        /// if it does not converge.
        fn step(&mut self) -> Result<bool, Option<f64>>;

        /// Of [`Eigen::WORK`], what is done.
        fn done(&self) -> f64;

        /// Eigenvalues, ascending, and the eigenvectors, one after the other.
        fn result(&mut self) -> [Vec<f64>; 2];
    }

    /// Begins the decomposition of a matrix of an order, of which the lower triangle counts.
    type Begin = fn(&[f64], usize) -> Option<Box<dyn Decomposition>>;

    thread_local!(static LARGE: Cell<Option<Begin>> = const { Cell::new(None) });

    /// Has large matrices decomposed by another library from now on.
    pub(crate) fn use_for_large(begin: Begin) {
        LARGE.set(Some(begin));
    }

    /// A decomposition under way.
    #[derive(Debug)]
    pub(crate) struct Eigen {
        order: usize,
        work: Work,
        /// Eigenvalues, ascending.
        pub(crate) values: Vec<f64>,
        /// Eigenvectors in the same order, as columns.
        pub(crate) vectors: DMatrix<f64>,
    }

    #[derive(Debug)]
    enum Work {
        Here(DMatrix<f64>),
        Elsewhere(Box<dyn Decomposition>),
    }

    impl Eigen {
        /// What progress is reckoned in, in units of the cube of the order.
        pub(crate) const WORK: f64 = 5.0;

        /// Begins with a matrix of which the lower triangle counts.
        pub(crate) fn new(matrix: DMatrix<f64>) -> Self {
            let order = matrix.nrows();
            let begin = LARGE.get().filter(|_| order > SMALL);
            let work = match begin.and_then(|begin| begin(matrix.as_slice(), order)) {
                Some(elsewhere) => Work::Elsewhere(elsewhere),
                None => Work::Here(matrix),
            };
            Self { order, work, values: Vec::new(), vectors: DMatrix::zeros(0, 0) }
        }

        /// Of [`Self::WORK`], what is done.
        pub(crate) fn done(&self) -> f64 {
            match &self.work {
                Work::Here(_) => 0.0,
                Work::Elsewhere(work) => work.done(),
            }
        }

        /// Rows of the matrix.
        pub(crate) const fn order(&self) -> usize {
            self.order
        }

        /// Does a step; true if it was the last.
        pub(crate) fn step(&mut self) -> Result<bool> {
            match &mut self.work {
                Work::Here(matrix) => {
                    let eigen = decompose(std::mem::take(matrix))?;
                    let mut order = descending(eigen.eigenvalues.as_slice());
                    order.reverse();
                    self.values = order.iter().map(|&i| eigen.eigenvalues[i]).collect();
                    self.vectors = eigen.eigenvectors.select_columns(&order);
                    Ok(true)
                }
                Work::Elsewhere(work) => {
                    let last = work.step().map_err(|need| {
                        need.map_or_else(no_convergence, |need| too_large(need as u64))
                    })?;
                    if last {
                        let [values, vectors] = work.result();
                        self.values = values;
                        self.vectors = DMatrix::from_vec(self.order, self.order, vectors);
                    }
                    Ok(last)
                }
            }
        }
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    /// `A u = λ u` and `Uᵀ U = 1`, at orders around the blocks' sizes.
    #[test]
    fn eigenvectors_are_eigenvectors() {
        for order in [2, 7, 257, 300] {
            let value = |i: usize, j: usize| ((i * 7919 + j * 104_729 + 13) % 1009) as f64 / 504.5;
            let half = DMatrix::from_fn(order, order, value);
            let mut matrix = DMatrix::zeros(order, order);
            add_square(&mut matrix, &half);
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
