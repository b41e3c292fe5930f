//! What must hold in a dedicated worker, where the engines of the page run.
#![cfg(target_arch = "wasm32")]

use hidden_gaussian::rng::{KNOWN_ANSWERS, philox};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_dedicated_worker);

#[wasm_bindgen_test]
fn philox_known_answers() {
    for (counter, key, expected) in KNOWN_ANSWERS {
        assert_eq!(philox(counter, key), expected);
    }
}

#[wasm_bindgen_test]
async fn webgpu_adapter() {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapter = instance.request_adapter(&wgpu::RequestAdapterOptions::default()).await;
    assert!(adapter.is_ok(), "{adapter:?}");
}
