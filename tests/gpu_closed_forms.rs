//! Closed forms on the GPU engine.
#![cfg(not(target_arch = "wasm32"))]

mod common;

use common::closed_forms;

common::on_engine!(common::gpu(), closed_forms);
