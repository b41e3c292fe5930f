//! Every stage gives the same numbers on both engines.
#![cfg(not(target_arch = "wasm32"))]

mod common;

use common::native;

common::tests_of!(stages, native, common::gpu());
