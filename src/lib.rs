//! hidden-gaussian
pub mod error;
pub mod rng;
pub use error::{Error, ErrorKind, Result};
