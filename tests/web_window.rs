//! The engines in a browser's window. The page has them in workers (`web_worker.rs`), where all tests
//! run; here are those that use the whole of an engine.
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
