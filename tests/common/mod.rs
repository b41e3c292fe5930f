//! What the integration tests share.
//!
//! A test here is a function that takes an engine, and `tests_of!` lists them all. The native tests run
//! every list, so a test that is not listed there is dead code and does not compile.
#![cfg_attr(not(target_arch = "wasm32"), deny(dead_code))]
#![cfg_attr(
    target_arch = "wasm32",
    allow(dead_code, reason = "each test binary in a browser uses its own part")
)]
#![allow(unused_imports, unused_macros, reason = "native tests and tests in a browser share them")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

pub mod closed_forms;
pub mod conv_stages;
pub mod distillation;
pub mod experiments;
#[cfg(not(target_arch = "wasm32"))]
pub mod gradients;
pub mod self_check;
pub mod stages;
pub mod theories;
pub mod training;
pub mod training_stages;

use hidden_gaussian::Result;
use hidden_gaussian::compute::{Engine, Loaded, Program, View};
use hidden_gaussian::model::Parameters;
use hidden_gaussian::rng::{Stream, fill_normals};

/// Shapes that no tile divides.
pub const ODD: [usize; 5] = [1, 7, 63, 65, 257];

/// The GPU engine, opened once, because compiling shaders takes long. A plain `cargo test` ignores tests
/// that need it; if they are run without an adapter, they fail.
#[cfg(not(target_arch = "wasm32"))]
pub fn gpu() -> Engine {
    static GPU: std::sync::OnceLock<Engine> = std::sync::OnceLock::new();
    let open = || pollster::block_on(Engine::gpu()).unwrap_or_else(|error| panic!("{error}"));
    GPU.get_or_init(open).clone()
}

/// The GPU engine of the browser that runs the test, which must have one.
#[cfg(target_arch = "wasm32")]
pub async fn gpu() -> Engine {
    thread_local!(static GPU: std::cell::OnceCell<Engine> = const { std::cell::OnceCell::new() });
    if let Some(engine) = GPU.with(|gpu| gpu.get().cloned()) {
        return engine;
    }
    let engine = Engine::gpu().await.unwrap();
    GPU.with(|gpu| gpu.get_or_init(|| engine).clone())
}

/// Standard normals, different for each `index`.
pub fn random(index: u32, len: usize) -> Vec<f32> {
    let mut out = vec![0.0; len];
    fill_normals(42, Stream::Test, index, &mut out);
    out
}

/// Noise levels as training draws them.
pub fn noise_levels(rows: usize) -> Vec<f32> {
    random(3, rows).iter().map(|v| (v - 0.6).exp()).collect()
}

/// Initial weights, each moved a little, so that no bias and no output layer is nearly zero.
pub fn weights(parameters: &Parameters) -> Vec<f32> {
    let noise = random(4, parameters.buffer_len());
    parameters.initial(5).iter().zip(noise).map(|(w, n)| w + 0.1 * n).collect()
}

/// Records a program of one routine `record`, uploads, runs it once and reads the buffers back.
///
/// `inputs` are whole buffers (one member's worth, or all members'); `record` gets one view per input and
/// returns the views to read.
pub async fn run(
    engine: &Engine,
    members: usize,
    inputs: &[Vec<f32>],
    lens: &[usize],
    record: impl FnOnce(&mut Program, &[View]) -> Result<()>,
) -> Vec<Vec<f32>> {
    let mut program = engine.program(members).unwrap();
    let buffers: Vec<_> = lens
        .iter()
        .enumerate()
        .map(|(i, len)| program.buffer(format!("buffer {i}"), *len).unwrap())
        .collect();
    let views: Vec<View> = buffers.iter().map(|&b| b.into()).collect();
    let routine = program.routine("test", |p| record(p, &views)).unwrap();
    let mut loaded: Loaded = engine.load(program).await.unwrap();
    for (buffer, data) in buffers.iter().zip(inputs) {
        loaded.upload(*buffer, data).unwrap();
    }
    loaded.run(routine, 1).unwrap();
    let mut contents = Vec::new();
    for buffer in buffers {
        contents.push(loaded.read(buffer).await.unwrap());
    }
    contents
}

/// Largest difference, relative to the largest finite magnitude of `b`. Values that are not finite must
/// match on both sides: the same infinity, or NaN.
pub fn relative_error(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let finite = b.iter().filter(|v| v.is_finite());
    let scale = finite.fold(1e-30_f64, |m, v| m.max(f64::from(v.abs())));
    let difference = |(a, b): (&f32, &f32)| match (a, b) {
        (a, b) if a.is_finite() && b.is_finite() => (f64::from(*a) - f64::from(*b)).abs(),
        (a, b) if a == b || a.is_nan() && b.is_nan() => 0.0,
        _ => f64::INFINITY,
    };
    a.iter().zip(b).map(difference).fold(0.0, f64::max) / scale
}

/// Passes the names of a module's tests to a macro of the test binary.
macro_rules! tests_of {
    (closed_forms, $run:ident, $engine:expr) => {
        $run! { $engine, closed_forms:
        empirical_is_eq_4, near_ties_are_settled, gaussian_is_eq_7, samplers_converge_to_the_closed_form,
        empirical_samples_are_training_images, linearity_of_the_gaussian,
        score_difference_is_eq_6, degenerate_sets_denoise_to_their_mean,
        copies_of_a_single_image_are_copies }
    };
    (distillation, $run:ident, $engine:expr) => {
        $run! { $engine, distillation:
        distilling_a_linear_network_returns_it, large_images_are_distilled,
        distillation_leaves_nothing_linear,
        distilled_on_its_training_images_the_optimum_is_gaussian }
    };
    (experiments, $run:ident, $engine:expr) => {
        $run! { $engine, experiments:
        a_restored_experiment_goes_on, a_preview_is_a_small_report, an_experiment_changes_engines }
    };
    (self_check, $run:ident, $engine:expr) => {
        $run! { $engine, self_check: every_check_holds }
    };
    (stages, $run:ident, $engine:expr) => {
        $run! { $engine, stages:
        matmul_on_odd_shapes, matmul_on_multiples_of_four,
        matmul_of_views_with_every_epilogue, matmul_for_hardware, row_stages_on_odd_shapes,
        tiles_over_training_images_on_odd_shapes, candidates_on_odd_shapes,
        philox_is_bit_exact }
    };
    (conv_stages, $run:ident, $engine:expr) => {
        $run! { $engine, conv_stages:
        convolutions_on_odd_shapes, convolutions_on_multiples_of_four,
        convolutions_for_hardware,
        image_stages_on_odd_shapes, unet_passes_on_odd_shapes }
    };
    (theories, $run:ident, $engine:expr) => {
        $run! { $engine, theories:
        local_denoisers_are_their_formulas, local_with_a_full_window_is_eq_4,
        equivariant_with_a_full_window_memorizes_translates, black_and_white_become_the_majority,
        windows_follow_the_noise_level, pca_locality_is_its_formula,
        a_mixture_leads_from_the_gaussian_to_the_images, a_mixture_is_its_formula }
    };
    (training, $run:ident, $engine:expr) => {
        $run! { $engine, training:
        resuming_is_bit_exact, resuming_a_unet_is_bit_exact,
        members_do_not_leak, members_of_a_unet_do_not_leak, members_for_hardware_do_not_leak,
        divergence_stays_with_its_member, divergence_of_a_unet_stays_with_its_member }
    };
    (training_stages, $run:ident, $engine:expr) => {
        $run! { $engine, training_stages:
        stages_on_odd_shapes, the_optimizer_on_odd_lengths, steps_match_the_cpu,
        steps_of_a_unet_match_the_cpu }
    };
}
pub(crate) use tests_of;

/// Native tests on the CPU engine.
macro_rules! native_cpu {
    ($engine:expr, $module:ident: $($test:ident),*) => {
        $(#[test]
        fn $test() {
            pollster::block_on(common::$module::$test(&$engine));
        })*
    };
}
pub(crate) use native_cpu;

/// Native tests on the GPU engine.
macro_rules! native_gpu {
    ($engine:expr, $module:ident: $($test:ident),*) => {
        $(#[test]
        #[ignore = "needs a GPU: cargo xtask test --only gpu"]
        fn $test() {
            pollster::block_on(common::$module::$test(&$engine));
        })*
    };
}
pub(crate) use native_gpu;

/// Browser tests on one engine, in a module of their own.
macro_rules! browser {
    ($engine:expr, $module:ident: $($test:ident),*) => {
        $(#[wasm_bindgen_test::wasm_bindgen_test]
        async fn $test() {
            common::$module::$test(&$engine).await;
        })*
    };
}
pub(crate) use browser;
