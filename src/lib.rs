//! Tiny diffusion denoisers that train on the reader's machine, and the exact denoisers they move between:
//! a companion to *Understanding Generalizability of Diffusion Models Requires Rethinking the Hidden
//! Gaussian Structure* (Li, Dai, Qu, NeurIPS 2024).
//!
//! A diffusion model that minimized its training loss would be D_M, a softmax-weighted mean of its
//! training images (eq. 4), and could only reproduce them. Trained on enough images it becomes nearly
//! linear instead, and nearly equal to D_G, the optimal denoiser of a Gaussian with the data's mean
//! and covariance (eq. 7).
//!
//! # Denoise, sample, measure
//!
//! ```
//! use hidden_gaussian::data::{Faces, TrainingSets};
//! use hidden_gaussian::denoiser::{Empirical, Gaussian};
//! use hidden_gaussian::sampler::{Noise, Sampler};
//! use hidden_gaussian::{Engine, Result, denoise, metrics::nearest_images, sample};
//!
//! # async fn example() -> Result<()> {
//! let engine = Engine::cpu(); // or Engine::gpu().await?
//! let split = Faces { size: 12, count: 300, seed: 7 }.draw()?.split(7, 44)?;
//! let train = TrainingSets::single(split.subset(0..256)?, split.dim())?;
//!
//! let gaussian = Gaussian::fit(&train)?;
//! let mean = denoise(&engine, &gaussian, split.held_out(), 50.0).await?;
//! assert_eq!(mean.len(), split.held_out().len());
//!
//! let noise = Noise { count: 16, seed: 1 };
//! let new = sample(&engine, &gaussian, &Sampler::paper(), noise).await?;
//! let copies = sample(&engine, &Empirical::new(train.clone()), &Sampler::paper(), noise).await?;
//! let memorized = |found: &[hidden_gaussian::metrics::NearestImages]| found[0].closeness.memorized.mean;
//! assert!(memorized(&nearest_images(&engine, &train, &copies).await?) > 0.9); // D_M repeats images,
//! assert!(memorized(&nearest_images(&engine, &train, &new).await?) < 0.1); // D_G does not.
//! # Ok(())
//! # }
//! # #[cfg(not(target_arch = "wasm32"))]
//! # pollster::block_on(example()).unwrap();
//! ```
//!
//! # Train, save, load, sample
//!
//! ```
//! use hidden_gaussian::data::{Faces, TrainingSets};
//! use hidden_gaussian::sampler::{Noise, Sampler};
//! use hidden_gaussian::train::{Checkpoint, Config, Session};
//! use hidden_gaussian::{Engine, Result, sample};
//!
//! # async fn example() -> Result<()> {
//! let engine = Engine::cpu();
//! let split = Faces { size: 8, count: 80, seed: 7 }.draw()?.split(7, 16)?;
//! let sets = TrainingSets::new(split.train(), split.dim(), vec![0..8, 0..64])?; // two networks
//! let mut session = Session::new(&engine, Config::quick(vec![1, 1]), &sets).await?;
//! session.step(20)?;
//! let bytes = session.snapshot().await?.to_bytes()?; // a safetensors file
//!
//! let saved = Checkpoint::from_bytes(&bytes)?;
//! let images = sample(&engine, &saved.denoiser()?, &Sampler::paper(), Noise { count: 4, seed: 1 }).await?;
//! assert_eq!(images.len(), 2 * 4 * split.dim());
//! # Ok(())
//! # }
//! # #[cfg(not(target_arch = "wasm32"))]
//! # pollster::block_on(example()).unwrap();
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`data`] | image sets: procedural, shipped, imported; training sets |
//! | [`denoiser`] | the table of denoisers D_θ, D_L, D_G, D_M, and how each records itself |
//! | [`sampler`] | EDM's noise levels, Euler and Heun |
//! | [`metrics`] | GL score, memorized fraction, linearity, score difference |
//! | [`train`] | ensembles of networks: step, save, restore |
//! | [`experiment`] | the figures: configuration in, report out |
//! | [`compute`] | a program is recorded as data and run by either engine |
//! | [`self_check`] | checks that this machine computes correctly |

pub mod compute;
pub mod data;
pub mod denoiser;
pub mod error;
pub mod experiment;
#[doc(hidden)]
pub mod kernels;
pub mod metrics;
pub mod model;
#[doc(hidden)]
pub mod platform;
#[doc(hidden)]
pub mod rng;
pub mod sampler;
pub mod self_check;
#[doc(hidden)]
pub mod serial;
mod shape;
pub mod train;
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod web;

pub use compute::Engine;
pub use denoiser::denoise;
pub use error::{Error, ErrorKind, Result};
pub use sampler::sample;
