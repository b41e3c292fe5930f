//! hidden-gaussian
pub mod compute;
pub mod denoiser;
pub mod error;
pub mod kernels;
pub mod model;
pub mod rng;
pub use error::{Error, ErrorKind, Result};
