//! Simulated devices on a real one: broken, slow and small.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use std::time::Duration;

use hidden_gaussian::ErrorKind;
use hidden_gaussian::compute::{
    Buffer, Control, Engine, Gpu, Loaded, Program, Routine, Simulation,
};
use hidden_gaussian::kernels::matmul::{Layout, Matmul, Tile};
use pollster::block_on;

/// A device that appears to be a GPU in hardware.
const HARDWARE: Simulation =
    Simulation { limits: None, hardware: true, rewrite: None, delays: 0, lost_submit: None };

fn tuned(rewrite: fn(&str, String) -> String) -> hidden_gaussian::Result<Gpu> {
    let simulation = Simulation { rewrite: Some(rewrite), ..HARDWARE };
    block_on(block_on(Gpu::simulated(simulation)).unwrap().tuned())
}

/// What a faulty workgroup turns a result into, in some of the runs: their results begin at other
/// places.
const SOMETIMES: &str =
    "var value = select(sum, Value(7.0), row < 16u && base(4u, member) % 10u == 0u);";

/// Spoils the register tile that loads vectors.
fn spoil_registers(kernel: &str, source: String) -> String {
    if kernel == "matmul_vec4" { source.replace("var value = sum;", SOMETIMES) } else { source }
}

/// Spoils every matrix multiply.
fn spoil_products(kernel: &str, source: String) -> String {
    if kernel.starts_with("matmul") {
        source.replace("var value = sum;", SOMETIMES)
    } else {
        source
    }
}

/// Spoils one image of a convolution, equally in every run.
fn spoil_convolutions(kernel: &str, source: String) -> String {
    let spoilt = "var value = sums + Value(f32(image / 8u));";
    if kernel == "conv" { source.replace("var value = sums;", spoilt) } else { source }
}

#[test]
#[ignore = "needs a GPU: cargo xtask test --only gpu"]
fn a_tile_that_computes_wrong_is_dropped() {
    let right = block_on(block_on(Gpu::simulated(HARDWARE)).unwrap().tuned()).unwrap();
    assert!(Tile::CANDIDATES.contains(&right.profile().tile));
    let gpu = tuned(spoil_registers).unwrap();
    assert!(gpu.profile().tile.depth > 0, "{:?}", gpu.profile().tile);
}

#[test]
#[ignore = "needs a GPU: cargo xtask test --only gpu"]
fn a_gpu_that_computes_wrong_is_not_used() {
    let error = tuned(spoil_products).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Gpu);
    assert!(error.message.ends_with("it fails at a matrix multiply"), "{error}");
    let error = tuned(spoil_convolutions).unwrap_err();
    assert!(error.message.ends_with("it fails at a convolution"), "{error}");
}

/// The page shows the reason in its badge.
#[test]
#[ignore = "needs a GPU: cargo xtask test --only gpu"]
fn the_cpu_engine_takes_over_and_says_why() {
    let simulation = Simulation { rewrite: Some(spoil_everything), ..Simulation::default() };
    let gpu = block_on(Gpu::simulated(simulation)).unwrap();
    // Opening a faulty engine explicitly fails, too.
    assert!(block_on(gpu.clone().tuned()).is_err());
    let (engine, choice) = block_on(Engine::auto_of(Ok(gpu)));
    assert_eq!(engine.name(), "cpu");
    let slower = choice.rates.gpu.is_some() && choice.rates.gpu < choice.rates.cpu;
    assert!(slower || choice.reason.contains("wrong numbers"), "{choice:?}");
}

/// Wrong, and so fast that it would be chosen, because it computes nothing.
fn spoil_everything(kernel: &str, source: String) -> String {
    let fast = "if row < p.m {\nreturn;\n}\nlet a_row";
    if kernel == "matmul_vec4" { source.replace("let a_row", fast) } else { source }
}

/// A program of `stages` equal stages.
fn program(engine: &Engine, stages: usize) -> (Loaded, Routine, Buffer) {
    let mut p = engine.program(1).unwrap();
    let side = 128;
    let [a, b, c] = ["a", "b", "c"].map(|name| p.buffer(name, side * side).unwrap());
    let multiply = |p: &mut Program| Matmul::new(Layout::Nn, a, b, c, [side; 3]).record(p);
    let routine = p.routine("test", |p| (0..stages).try_for_each(|_| multiply(p))).unwrap();
    (block_on(engine.load(p)).unwrap(), routine, c)
}

/// Each piece of work on a slow device is short, and shorter while a reader interacts.
#[test]
#[ignore = "needs a GPU: cargo xtask test --only gpu"]
fn pieces_are_bounded_on_a_slow_device() {
    let simulation = Simulation { delays: 15, ..Simulation::default() };
    let gpu = block_on(Gpu::simulated(simulation)).unwrap().with_tile(Tile::SOFTWARE);
    let control = Control::default();
    let engine = Engine::on(gpu).with_control(&control);
    let mut dispatches = Vec::new();
    for interactive in [false, true] {
        control.set_interactive(interactive);
        // The first piece is a guess; later ones are based on measurements.
        let (mut loaded, routine, _) = program(&engine, 48);
        block_on(loaded.run_cooperative(routine, 1)).unwrap();
        // Another process may have the machine for a while, so one undisturbed try is enough; and a single
        // dispatch cannot be divided.
        let tries = std::iter::repeat_with(|| {
            loaded.forget_longest_piece();
            block_on(loaded.run_cooperative(routine, 1)).unwrap();
            loaded.longest_piece().unwrap()
        });
        let seen: Vec<_> = tries.take(8).collect();
        let bounded = |&&(longest, most): &&(_, _)| longest < 5 * control.slice() || most == 1;
        let kept = seen.iter().find(bounded);
        let &(_, most) = kept.unwrap_or_else(|| panic!("{seen:?}"));
        dispatches.push(most);
    }
    assert!(dispatches[1] <= dispatches[0] && dispatches[0] < 48, "{dispatches:?}");
}

/// A driver that kills a command buffer silently: reading fails from then on.
#[test]
#[ignore = "needs a GPU: cargo xtask test --only gpu"]
fn a_lost_submit_is_an_error() {
    for lost in [0, 1] {
        let simulation = Simulation { lost_submit: Some(lost), ..Simulation::default() };
        let engine = Engine::on(block_on(Gpu::simulated(simulation)).unwrap());
        let (mut loaded, routine, out) = program(&engine, 20);
        if lost == 1 {
            loaded.run(routine, 1).unwrap();
        } else {
            block_on(loaded.run_cooperative(routine, 1)).unwrap_err();
        }
        for _ in 0..2 {
            let read = block_on(loaded.read::<f32>(out)).map(|values| values.len());
            assert!(matches!(&read, Err(e) if e.kind == ErrorKind::DeviceLost), "{read:?}");
        }
        let error = block_on(loaded.finish()).unwrap_err();
        assert!(error.message.contains("submits and reported"), "{error}");
        assert!(!error.hint.is_empty());
    }
    // Without a loss there is no error.
    let engine = Engine::on(block_on(Gpu::open()).unwrap());
    let (mut loaded, routine, out) = program(&engine, 20);
    loaded.run(routine, 3).unwrap();
    block_on(loaded.run_cooperative(routine, 3)).unwrap();
    assert_eq!(block_on(loaded.read::<f32>(out)).unwrap().len(), out.len());
    assert!(block_on(loaded.read_within::<f32>(out, Duration::from_secs(30))).is_ok());
}

/// The minimum of WebGPU's compatibility mode, as on old phones.
#[test]
#[ignore = "needs a GPU: cargo xtask test --only gpu"]
fn small_adapters_train_and_denoise() {
    let limits = wgpu::Limits {
        max_compute_invocations_per_workgroup: 128,
        max_compute_workgroup_size_x: 128,
        max_compute_workgroup_size_y: 128,
        max_compute_workgroup_storage_size: 16 << 10,
        max_storage_buffer_binding_size: 128 << 20,
        max_buffer_size: 128 << 20,
        ..wgpu::Limits::default()
    };
    let simulation = Simulation { limits: Some(limits), ..HARDWARE };
    let gpu = block_on(Gpu::simulated(simulation)).unwrap();
    assert_eq!(gpu.profile().max_buffer_bytes, 128 << 20);
    // The limits are in force: a larger workgroup is refused.
    let large = Engine::on(gpu.clone().with_tile(Tile::CANDIDATES[2]));
    let mut p = large.program(1).unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| p.buffer(name, 256 * 256).unwrap());
    let product = |p: &mut Program| {
        Matmul::new(Layout::Nn, a, b, c, [256; 3]).record_with(p, Tile::CANDIDATES[2])
    };
    p.routine("test", product).unwrap();
    assert!(block_on(large.load(p)).is_err());
    let gpu = block_on(gpu.tuned()).unwrap();
    assert_ne!(gpu.profile().tile, Tile::CANDIDATES[2]);
    let engine = Engine::on(gpu);
    block_on(async {
        common::training_stages::steps_match_the_cpu(&engine).await;
        common::training_stages::steps_of_a_unet_match_the_cpu(&engine).await;
        common::closed_forms::empirical_is_eq_4(&engine).await;
    });
}
