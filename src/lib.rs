//! hidden-gaussian
pub mod compute;
pub mod data;
pub mod denoiser;
pub mod error;
pub mod kernels;
pub mod metrics;
pub mod rng;
pub mod sampler;
pub use error::{Error, ErrorKind, Result};
