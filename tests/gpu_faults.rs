//! A GPU that goes wrong gives errors: no panic, no hang.
#![cfg(not(target_arch = "wasm32"))]

mod common;

use hidden_gaussian::ErrorKind;
use hidden_gaussian::compute::Engine;
use hidden_gaussian::kernels::axpby;

/// A destroyed device never settles a map; every later call must still return.
#[test]
fn a_lost_device_is_an_error() {
    let Some(shared) = common::gpu() else { return };
    // A device of its own: this test breaks it.
    let engine = pollster::block_on(Engine::gpu()).unwrap();
    let Engine::Gpu(gpu) = &engine else { unreachable!() };
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
fn a_buffer_beyond_the_device_is_refused_when_recorded() {
    let Some(engine) = common::gpu() else { return };
    let mut p = engine.program(1).unwrap();
    let error = p.buffer("huge", usize::MAX / 8).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::LimitExceeded { .. }), "{error}");
}
