//! Training on the GPU engine.

use crate::common;

use common::native_gpu;
use hidden_gaussian::compute::Engine;
use hidden_gaussian::kernels::matmul::Tile;

common::tests_of!(experiments, native_gpu, common::gpu());
common::tests_of!(training, native_gpu, common::gpu());
common::tests_of!(training_stages, native_gpu, common::gpu());

/// As on a graphics card: all members in one dispatch, and the tile that suits most adapters.
#[test]
#[ignore = "needs a GPU: cargo xtask test --only gpu"]
fn ensembles_in_one_dispatch() {
    let engine = common::gpu();
    let gpu = engine.as_gpu().unwrap().clone();
    let engine = Engine::on(gpu.with_tile(Tile::default()));
    pollster::block_on(async {
        common::training::members_do_not_leak(&engine).await;
        common::training_stages::steps_match_the_cpu(&engine).await;
    });
}
