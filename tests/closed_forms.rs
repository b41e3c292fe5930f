//! Closed forms on the CPU engine.
#![cfg(not(target_arch = "wasm32"))]

mod common;

use common::closed_forms;
use hidden_gaussian::compute::Engine;

common::on_engine!(Some(Engine::Cpu), closed_forms);
