//! Recording and uploading refuse what could not run, and say why. Nothing panics.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use common::random;
use hidden_gaussian::ErrorKind;
use hidden_gaussian::compute::{Engine, Profile, Program, Scope};
use hidden_gaussian::kernels::axpby;
use hidden_gaussian::kernels::matmul::{Layout, Matmul};

fn program() -> Program {
    Engine::cpu().program(2).unwrap()
}

/// The error message of recording one routine.
fn refusal(record: impl FnOnce(&mut Program) -> hidden_gaussian::Result<()>) -> String {
    let mut p = program();
    let error = p.routine("test", record).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Internal, "{error}");
    error.message.clone()
}

#[test]
fn extents_are_checked() {
    let message = refusal(|p| {
        let x = p.buffer("x", 10)?;
        let out = p.buffer("out", 10)?;
        axpby::record(p, [x.into(), x.into(), out.at(3)], [1.0, 1.0], 8)
    });
    assert!(message.contains("8 elements at 3 of “out”"), "{message}");
}

#[test]
fn aliasing_is_refused() {
    let message = refusal(|p| {
        let x = p.buffer("x", 10)?;
        let y = p.buffer("y", 10)?;
        axpby::record(p, [x.into(), y.into(), x.into()], [1.0, 1.0], 10)
    });
    assert!(message.contains("twice"), "{message}");
}

#[test]
fn shared_buffers_are_read_only() {
    let message = refusal(|p| {
        let x = p.shared("x", 10)?;
        let out = p.shared("out", 10)?;
        axpby::record(p, [x.into(), x.into(), out.into()], [1.0, 1.0], 10)
    });
    assert!(message.contains("writes the shared buffer “out”"), "{message}");
}

#[test]
fn empty_and_foreign_buffers_are_refused() {
    let mut other = program();
    for name in ["a", "b", "c"] {
        other.buffer(name, 7).unwrap();
    }
    let foreign = other.buffer("foreign", 99).unwrap();
    let message = refusal(|p| {
        let out = p.buffer("out", 10)?;
        axpby::record(p, [foreign.into(), foreign.into(), out.into()], [1.0, 1.0], 10)
    });
    assert!(message.contains("another program"), "{message}");
    assert!(program().buffer("nothing", 0).is_err());
    assert!(Engine::cpu().program(0).is_err());
    let message = refusal(|p| {
        let [a, b, c] = [p.buffer("a", 4)?, p.buffer("b", 4)?, p.buffer("c", 4)?];
        Matmul::new(Layout::Nn, a, b, c, [2, 2, 0]).record(p)
    });
    assert!(message.contains("needs 0 elements"), "{message}");
}

#[test]
fn stages_stand_in_routines() {
    let mut p = program();
    let x = p.buffer("x", 4).unwrap();
    let y = p.buffer("y", 4).unwrap();
    assert!(axpby::record(&mut p, [x.into(), x.into(), y.into()], [1.0, 0.0], 4).is_err());
    let nested = p.routine("outer", |p| p.routine("inner", |_| Ok(())).map(drop));
    assert!(nested.is_err());
    // A refused routine leaves the program usable.
    p.routine("good", |p| axpby::record(p, [x.into(), x.into(), y.into()], [1.0, 0.0], 4)).unwrap();
}

#[test]
fn limits_say_what_they_need() {
    let small = Profile { max_buffer_bytes: 1024, max_workgroups: 2, ..Profile::default() };
    let mut p = Program::new(2, small).unwrap();
    let error = p.buffer("large", 200).unwrap_err();
    assert_eq!(error.kind, ErrorKind::LimitExceeded { need: 1600, have: 1024 });
    assert!(!error.hint.is_empty());
    let x = p.buffer("x", 120).unwrap();
    let y = p.buffer("y", 120).unwrap();
    // Workgroups of 64: two for 120 elements, three for 129.
    p.routine("fits", |p| axpby::record(p, [x.into(), x.into(), y.into()], [1.0, 1.0], 120))
        .unwrap();
    let roomy = Profile { max_buffer_bytes: 4096, ..small };
    let mut p = Program::new(2, roomy).unwrap();
    let [x, y] = ["x", "y"].map(|name| p.buffer(name, 129).unwrap());
    let wide = |p: &mut Program| axpby::record(p, [x.into(), x.into(), y.into()], [1.0, 1.0], 129);
    let error = p.routine("too wide", wide).unwrap_err();
    assert_eq!(error.kind, ErrorKind::LimitExceeded { need: 3, have: 2 });
    let error = Program::new(3, small).unwrap_err();
    assert_eq!(error.kind, ErrorKind::LimitExceeded { need: 3, have: 2 });
    let error = Engine::cpu().program(1).unwrap().buffer("huge", usize::MAX).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::LimitExceeded { .. }));
}

#[test]
fn uploads_are_checked() {
    let mut p = program();
    let own = p.buffer("own", 3).unwrap();
    let shared = p.shared("shared", 2).unwrap();
    assert_eq!((own.scope(), shared.scope()), (Scope::Member, Scope::Shared));
    let mut loaded = pollster::block_on(Engine::cpu().load(p)).unwrap();
    loaded.upload(own, &[1.0_f32, 2.0, 3.0]).unwrap();
    loaded.upload(shared, &[7_u32, 8]).unwrap();
    let everywhere: Vec<f32> = pollster::block_on(loaded.read(own)).unwrap();
    assert_eq!(everywhere, [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
    loaded.upload(own, &random(1, 6)).unwrap();
    loaded.upload_part(own, 1, 1, &[5.0_f32]).unwrap();
    let parts: Vec<f32> = pollster::block_on(loaded.read(own)).unwrap();
    assert_eq!(parts[4], 5.0);
    assert!(loaded.upload(own, &[1.0_f32; 4]).is_err());
    assert!(loaded.upload_part(own, 2, 0, &[1.0_f32]).is_err());
    assert!(loaded.upload_part(own, 0, 3, &[1.0_f32]).is_err());
    assert!(loaded.upload_part(own, 0, usize::MAX, &[1.0_f32]).is_err());
    let bytes: hidden_gaussian::Result<Vec<f64>> = pollster::block_on(loaded.read(own));
    assert!(bytes.is_err());
}
