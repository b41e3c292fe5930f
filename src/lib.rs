//! Tiny diffusion denoisers, trained where the reader is, and the two exact ones that they move
//! between: a companion to *Understanding Generalizability of Diffusion Models Requires Rethinking
//! the Hidden Gaussian Structure* (Li, Dai, Qu, NeurIPS 2024).
//!
//! A diffusion model that minimized its training loss would be D_M, a softmax-weighted mean of its
//! training images (eq. 4), and could only repeat them. Trained on enough images it becomes nearly
//! linear instead, and nearly equal to D_G, the optimal denoiser of a Gaussian with the data's mean
//! and covariance (eq. 7).
//!
//! | module | what is there |
//! |---|---|
//! | [`data`] | image sets: procedural, shipped, imported |
//! | [`compute`] | a program is recorded as data and run by either engine |
//! | [`kernels`] | one file per stage, beside its shader and its CPU twin |
//! | [`model`] | networks: forward and backward passes, preconditioning |
//! | [`train`] | an ensemble learns: session, report, checkpoint |
//! | [`denoiser`] | D_M, D_L, D_G, D_θ: they record themselves |
//! | [`sampler`] | EDM's noise levels, Euler and Heun |
//! | [`metrics`] | GL score, memorized fraction, linearity, score difference |
//! | [`experiment`] | the figures: transition, Gaussian bias, emergence, strong generalization |
//! | [`self_check`] | does this machine compute what it should? |
//! | `main.rs`, `cli` | the command line (native only) |
//! | `web` | the JavaScript face (wasm only) |
//!
//! ```
//! use hidden_gaussian::{compute::Engine, data::faces::faces, experiment::exact::Exact, sampler::Sampler};
//!
//! # async fn example() -> hidden_gaussian::Result<()> {
//! let split = faces(7, 300, 12)?.split(7, 44)?;
//! let mut exact = Exact::fit(&Engine::cpu(), &split, 256).await?;
//! let [empirical, gaussian] = exact.sample(&Sampler::paper(), 16, 1).await?;
//! assert!(empirical.nearest.closeness.memorized.mean > 0.9); // D_M repeats its training images,
//! assert!(gaussian.nearest.closeness.memorized.mean < 0.1); // D_G does not.
//! # Ok(())
//! # }
//! # #[cfg(not(target_arch = "wasm32"))]
//! # pollster::block_on(example()).unwrap();
//! ```

pub mod compute;
pub mod data;
pub mod denoiser;
pub mod error;
pub mod experiment;
pub mod kernels;
pub mod metrics;
pub mod model;
pub mod platform;
pub mod rng;
pub mod sampler;
pub mod self_check;
pub mod serial;
pub mod shape;
pub mod train;
#[cfg(target_arch = "wasm32")]
pub mod web;

pub use error::{Error, ErrorKind, Result};
