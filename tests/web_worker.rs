//! The engines in a dedicated worker, where the page runs them.
#![cfg(target_arch = "wasm32")]

mod common;

use hidden_gaussian::compute::Engine;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_dedicated_worker);

mod cpu {
    use super::{Engine, common};
    use common::browser;
    common::tests_of!(closed_forms, browser, Engine::Cpu);
}

mod gpu {
    use super::{Engine, common};
    use common::browser;
    common::tests_of!(closed_forms, browser, Engine::gpu().await.unwrap());
    common::tests_of!(stages, browser, Engine::gpu().await.unwrap());
}
