//! Training on the GPU engine.

use crate::common;

use common::native_gpu;
use hidden_gaussian::compute::Engine;
use hidden_gaussian::kernels::matmul::Tile;

common::tests_of!(experiments, native_gpu, common::gpu());
common::tests_of!(training, native_gpu, common::gpu());
common::tests_of!(training_stages, native_gpu, common::gpu());

/// As on a graphics card: all members in one dispatch, packs of stages, and its tiles.
#[test]
#[ignore = "needs a GPU: cargo xtask test --only gpu"]
fn ensembles_in_one_dispatch() {
    let engine = common::gpu();
    let gpu = engine.as_gpu().unwrap().clone();
    for tile in Tile::CANDIDATES {
        let engine = Engine::on(gpu.clone().with_tile(tile));
        assert!(engine.profile().packs);
        pollster::block_on(async {
            common::training::members_do_not_leak(&engine).await;
            common::training_stages::steps_match_the_cpu(&engine).await;
            common::training_stages::steps_of_a_unet_match_the_cpu(&engine).await;
        });
    }
}
