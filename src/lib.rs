//! hidden-gaussian
pub mod compute;
pub mod data;
pub mod denoiser;
pub mod error;
pub mod experiment;
pub mod kernels;
pub mod metrics;
pub mod model;
pub mod rng;
pub mod sampler;
#[cfg(target_arch = "wasm32")]
pub mod web;

pub use error::{Error, ErrorKind, Result};
