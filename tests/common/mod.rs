//! What the integration tests share.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod closed_forms;

use hidden_gaussian::compute::{Engine, Loaded, Program, View};
use hidden_gaussian::rng::{Stream, fill_normals};
use hidden_gaussian::{ErrorKind, Result};

/// Shapes that no tile divides.
pub const ODD: [usize; 5] = [1, 7, 63, 65, 257];

/// The GPU engine. Where a GPU is required (as in CI) its absence fails the test.
pub fn gpu() -> Option<Engine> {
    match pollster::block_on(Engine::gpu()) {
        Ok(engine) => Some(engine),
        Err(error)
            if error.kind == ErrorKind::NoAdapter
                && std::env::var_os("HG_REQUIRE_GPU").is_none() =>
        {
            eprintln!("no GPU adapter: this test did not run ({error})");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Standard normals, different for each `index`.
pub fn random(index: u32, len: usize) -> Vec<f32> {
    let mut out = vec![0.0; len];
    fill_normals(42, Stream::Test, index, &mut out);
    out
}

/// Records a program of one routine `record`, uploads, runs it once and reads the buffers back.
///
/// `inputs` are whole buffers (one member's worth, or all members'); `record` gets one view for each
/// input and returns the views to read.
pub fn run(
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
    let mut loaded: Loaded = pollster::block_on(engine.load(program)).unwrap();
    for (buffer, data) in buffers.iter().zip(inputs) {
        loaded.upload(*buffer, data).unwrap();
    }
    loaded.run(routine, 1).unwrap();
    buffers.iter().map(|buffer| pollster::block_on(loaded.read(*buffer)).unwrap()).collect()
}

/// Largest difference, relative to the largest magnitude of `b`.
pub fn relative_error(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let scale = b.iter().fold(1e-30_f64, |m, v| m.max(f64::from(v.abs())));
    let worst = a.iter().zip(b).fold(0.0_f64, |worst, (a, b)| {
        let difference = f64::from((a - b).abs());
        // NaN on one side only is the worst difference of all.
        if a.is_nan() != b.is_nan() { f64::INFINITY } else { worst.max(difference) }
    });
    worst / scale
}

/// The tests of a module on one engine.
#[allow(unused_macros, reason = "each test binary uses its own part")]
macro_rules! on_engine {
    ($engine:expr, $module:ident) => {
        common::on_engine!($engine, $module:
            empirical_is_eq_4, gaussian_is_eq_7, samplers_converge_to_the_closed_form,
            empirical_samples_are_training_images, linearity_of_the_gaussian,
            score_difference_is_eq_6, degenerate_sets_denoise_to_their_mean);
    };
    ($engine:expr, $module:ident: $($test:ident),*) => {
        $(#[test]
        fn $test() {
            if let Some(engine) = $engine {
                $module::$test(&engine);
            }
        })*
    };
}
#[allow(unused_imports, reason = "each test binary uses its own part")]
pub(crate) use on_engine;
