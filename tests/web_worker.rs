//! The engines in a dedicated worker, where the page runs them.
#![cfg(target_arch = "wasm32")]

mod common;

use hidden_gaussian::compute::Engine;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_dedicated_worker);

mod cpu {
    use super::{Engine, common};
    use common::browser;
    common::tests_of!(closed_forms, browser, Engine::cpu());
    common::tests_of!(distillation, browser, Engine::cpu());
    common::tests_of!(experiments, browser, Engine::cpu());
    common::tests_of!(self_check, browser, Engine::cpu());
    common::tests_of!(training, browser, Engine::cpu());
}

mod gpu {
    use super::common;
    use common::browser;
    common::tests_of!(closed_forms, browser, common::gpu().await);
    common::tests_of!(distillation, browser, common::gpu().await);
    common::tests_of!(self_check, browser, common::gpu().await);
    common::tests_of!(stages, browser, common::gpu().await);
    common::tests_of!(conv_stages, browser, common::gpu().await);
    common::tests_of!(experiments, browser, common::gpu().await);
    common::tests_of!(training, browser, common::gpu().await);
    common::tests_of!(training_stages, browser, common::gpu().await);
}
