//! A faulty GPU causes errors, but no panic and no hang.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use std::time::Duration;

use hidden_gaussian::ErrorKind;
use hidden_gaussian::compute::{Buffer, Engine, Loaded, Program, Routine};
use hidden_gaussian::kernels::axpby;
use hidden_gaussian::kernels::matmul::{Layout, Matmul};

/// A destroyed device never settles a map; every later call must still return.
#[test]
#[ignore = "needs a GPU: cargo xtask test --only gpu"]
fn a_lost_device_is_an_error() {
    let shared = common::gpu();
    // A separate device, which this test breaks.
    let engine = pollster::block_on(Engine::gpu()).unwrap();
    let Some(gpu) = engine.as_gpu() else { unreachable!() };
    let mut p = engine.program(1).unwrap();
    let [x, out] = [p.buffer("x", 8).unwrap(), p.buffer("out", 8).unwrap()];
    let routine = p
        .routine("test", |p| axpby::record(p, [x.into(), x.into(), out.into()], [1.0, 1.0], 8))
        .unwrap();
    let mut loaded = pollster::block_on(engine.load(p)).unwrap();
    loaded.upload(x, &[1.0_f32; 8]).unwrap();
    loaded.run(routine, 1).unwrap();
    gpu.destroy();
    let read = pollster::block_on(loaded.read::<f32>(out));
    assert!(matches!(&read, Err(e) if e.kind == ErrorKind::DeviceLost), "{read:?}");
    assert!(loaded.run(routine, 1).is_err());
    assert!(loaded.upload(x, &[1.0_f32; 8]).is_err());
    assert!(pollster::block_on(engine.load(engine.program(1).unwrap())).is_err());
    // Another device is not affected.
    pollster::block_on(shared.load(shared.program(1).unwrap())).unwrap();
}

#[test]
#[ignore = "needs a GPU: cargo xtask test --only gpu"]
fn a_buffer_beyond_the_device_is_refused_when_recorded() {
    let engine = common::gpu();
    let mut p = engine.program(1).unwrap();
    let error = p.buffer("huge", usize::MAX / 8).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::LimitExceeded { .. }), "{error}");
}

/// A program that keeps a device busy for a while.
fn busy(engine: &Engine, repeats: usize) -> (Loaded, Routine, Buffer) {
    let mut p = engine.program(1).unwrap();
    let side = 512;
    let [a, b, c] = ["a", "b", "c"].map(|name| p.buffer(name, side * side).unwrap());
    let multiply = |p: &mut Program| Matmul::new(Layout::Nn, a, b, c, [side; 3]).record(p);
    let routine = p.routine("busy", |p| (0..repeats).try_for_each(|_| multiply(p))).unwrap();
    (pollster::block_on(engine.load(p)).unwrap(), routine, c)
}

/// A readback that times out says so, and the device is not lost because of it.
#[test]
#[ignore = "needs a GPU: cargo xtask test --only gpu"]
fn a_deadline_is_kept() {
    let engine = common::gpu();
    let (mut loaded, routine, out) = busy(&engine, 4);
    loaded.run(routine, 1).unwrap();
    let read = pollster::block_on(loaded.read_within::<f32>(out, Duration::ZERO));
    let read = read.map(|values| values.len());
    assert!(matches!(&read, Err(e) if e.kind == ErrorKind::Timeout), "{read:?}");
    assert_eq!(pollster::block_on(loaded.read::<f32>(out)).unwrap().len(), out.len());
}

/// An error outside any call is returned by the next call that waits, and by all later ones.
#[test]
#[ignore = "needs a GPU: cargo xtask test --only gpu"]
fn an_error_outside_any_call_is_not_lost() {
    // A separate device, which this test breaks.
    let engine = pollster::block_on(Engine::gpu()).unwrap();
    let Some(gpu) = engine.as_gpu() else { unreachable!() };
    let (mut loaded, routine, out) = busy(&engine, 1);
    pollster::block_on(loaded.read::<f32>(out)).unwrap();
    drop(gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: Some("mappable for both"),
        size: 16,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::MAP_WRITE,
        mapped_at_creation: false,
    }));
    loaded.run(routine, 1).unwrap();
    for _ in 0..2 {
        let read = pollster::block_on(loaded.read::<f32>(out)).map(|values| values.len());
        assert!(matches!(&read, Err(e) if e.kind == ErrorKind::Gpu), "{read:?}");
    }
    assert!(pollster::block_on(loaded.finish()).is_err());
    let again = pollster::block_on(engine.load(engine.program(1).unwrap()));
    assert!(again.is_err_and(|e| e.kind == ErrorKind::Gpu));
}
