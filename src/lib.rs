//! hidden-gaussian
pub mod data;
pub mod error;
pub mod rng;
pub use error::{Error, ErrorKind, Result};
