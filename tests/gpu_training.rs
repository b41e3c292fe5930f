//! Training on the GPU engine.
#![cfg(not(target_arch = "wasm32"))]

mod common;

use common::native;

common::tests_of!(training, native, common::gpu());
common::tests_of!(training_stages, native, common::gpu());
