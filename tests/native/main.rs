//! The native tests, one module per topic. They are one binary because most of what they test is
//! asynchronous or generic, and rustc compiles that anew for every binary that uses it.
#![cfg(not(target_arch = "wasm32"))]

#[path = "../common/mod.rs"]
mod common;

mod allocations;
mod cancelling;
mod cli;
mod closed_forms;
mod experiments;
mod extension;
mod gpu;
mod gradients;
mod gradients_conv;
mod hostile_input;
mod importers;
mod interoperability;
mod layers;
mod league;
mod packs;
mod paper_claims;
mod recording;
mod shaders_validate;
mod sweep;
mod training;
