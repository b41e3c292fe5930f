//! Training on the GPU engine.

use crate::common;

use common::native;
use hidden_gaussian::compute::Engine;
use hidden_gaussian::kernels::matmul::Tile;

common::tests_of!(experiments, native, common::gpu());
common::tests_of!(training, native, common::gpu());
common::tests_of!(training_stages, native, common::gpu());

/// As on a graphics card: all members in one dispatch, and the tile that suits most adapters.
#[test]
fn ensembles_in_one_dispatch() {
    if let Some(gpu) = common::gpu().as_ref().and_then(Engine::as_gpu) {
        let engine = Engine::on(gpu.clone().with_tile(Tile::default()));
        pollster::block_on(async {
            common::training::members_do_not_leak(&engine).await;
            common::training_stages::steps_match_the_cpu(&engine).await;
        });
    }
}
