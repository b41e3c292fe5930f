//! The engines in a browser's window. The page runs them in workers (`web_worker.rs`), where all tests
//! run; this file has only those that use a whole engine.
#![cfg(target_arch = "wasm32")]

mod common;

use hidden_gaussian::compute::Engine;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);

mod cpu {
    use super::{Engine, common};
    use common::browser;
    common::tests_of!(closed_forms, browser, Engine::cpu());
}

mod gpu {
    use super::common;
    use common::browser;
    common::tests_of!(closed_forms, browser, common::gpu().await);
}
