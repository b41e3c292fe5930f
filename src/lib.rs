//! hidden-gaussian
pub mod compute;
pub mod data;
pub mod error;
pub mod kernels;
pub mod rng;
pub use error::{Error, ErrorKind, Result};
