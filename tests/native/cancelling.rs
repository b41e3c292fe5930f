//! Long work stops soon after it is cancelled, and completed work is not lost.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use common::training;
use hidden_gaussian::compute::{Control, Engine};
use hidden_gaussian::data::TrainingSets;
use hidden_gaussian::data::faces::faces;
use hidden_gaussian::experiment::ensemble::Member;
use hidden_gaussian::experiment::evaluation::EvalConfig;
use hidden_gaussian::experiment::references::References;
use hidden_gaussian::experiment::{Detail, Preset};
use hidden_gaussian::train::{Checkpoint, Config, Session};
use hidden_gaussian::{ErrorKind, Result};
use pollster::block_on;

/// How long work may continue after it was cancelled.
const SOON: Duration = Duration::from_millis(200);

/// One test at a time: all use the same threads, and one would wait for another.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts `work`, cancels it after a while, and returns how long it then continued.
fn cancelled_after<T>(
    wait: Duration,
    control: &Control,
    work: impl FnOnce() -> Result<T>,
) -> Duration {
    let told = control.clone();
    let teller = thread::spawn(move || {
        thread::sleep(wait);
        told.cancel();
        Instant::now()
    });
    let error = work().map(drop).unwrap_err();
    let end = Instant::now();
    assert_eq!(error.kind, ErrorKind::Cancelled, "{error}");
    end.saturating_duration_since(teller.join().unwrap())
}

/// Requires most of a few attempts to be soon enough, since the machine may be busy.
fn is_soon(mut once: impl FnMut() -> Duration) {
    let mut delays: Vec<Duration> = (0..5).map(|_| once()).collect();
    println!("{delays:?}");
    delays.sort_unstable();
    assert!(delays[2] < SOON, "{delays:?}");
}

/// An ensemble that takes long: a step of all members may take longer than a reader would wait.
fn long_run(preset: Preset, members: usize) -> (Config, TrainingSets) {
    let images = faces(1, 64, preset.side()).unwrap();
    let seeds = (1..=members as u64).collect();
    let config = match preset {
        Preset::Faithful => Config::faithful(images.shape(), seeds),
        _ => Config::main(seeds),
    };
    let sets = TrainingSets::new(images.images(), images.dim(), vec![0..64; members]).unwrap();
    (Config { steps: u32::MAX, ..config }, sets)
}

fn training_stops(engine: &Engine, preset: Preset, members: usize) {
    let _alone = alone();
    let (config, sets) = long_run(preset, members);
    let mut session = block_on(training::session(engine, &config, &sets));
    is_soon(|| {
        session.control().resume();
        let control = session.control();
        let wait = Duration::from_millis(350);
        cancelled_after(wait, &control, || block_on(session.step_cooperative(u32::MAX)))
    });
    // It stays cancelled, but can be saved.
    assert_eq!(session.step(1).unwrap_err().kind, ErrorKind::Cancelled);
    let saved = block_on(session.snapshot()).unwrap();
    assert_eq!(saved.step, session.steps_done());
    session.control().resume();
    goes_on(engine, &config, &sets, session, &saved);
}

/// A cancelled run continues, there and in another session, to the bits of a run that was never cancelled.
fn goes_on(
    engine: &Engine,
    config: &Config,
    sets: &TrainingSets,
    mut cancelled: Session,
    saved: &Checkpoint,
) {
    let mut straight = block_on(training::session(engine, config, sets));
    straight.step(saved.step + 1).unwrap();
    let mut resumed = block_on(training::session(engine, config, sets));
    resumed.restore(&Checkpoint::from_bytes(&saved.to_bytes().unwrap()).unwrap()).unwrap();
    resumed.step(1).unwrap();
    cancelled.step(1).unwrap();
    let expected = block_on(training::state(&mut straight));
    assert!(expected == block_on(training::state(&mut resumed)), "step {}", saved.step);
    assert!(expected == block_on(training::state(&mut cancelled)), "step {}", saved.step);
}

#[test]
#[ignore = "measures time: cargo xtask test --only cancel"]
fn training_stops_on_the_cpu() {
    training_stops(&Engine::cpu(), Preset::Main, 3);
}

#[test]
#[ignore = "measures time: cargo xtask test --only cancel"]
fn a_large_ensemble_stops_within_a_step() {
    training_stops(&Engine::cpu(), Preset::Faithful, 40);
}

#[test]
#[ignore = "measures time: cargo xtask test --only cancel"]
fn training_stops_on_the_gpu() {
    let engine = common::gpu();
    training_stops(&engine, Preset::Main, 2);
}

/// Sampling from D_M of many images takes seconds.
fn evaluating_stops(engine: &Engine, n: usize) {
    let _alone = alone();
    let split = faces(1, n as u32 + 200, 12).unwrap().split(1, 200).unwrap();
    let members: Vec<_> = (1..=4).map(|i| Member { first: 0, n: n * i / 4, seed: 1 }).collect();
    let evaluation = EvalConfig { samples: 400, images: 100, ..EvalConfig::default() };
    is_soon(|| {
        let control = Control::default();
        cancelled_after(Duration::from_millis(500), &control, || {
            block_on(async {
                let engine = engine.with_control(&control);
                let mut references =
                    References::new(&engine, &split, &members, &evaluation).await?;
                references.at(Detail::Full).await.map(drop)
            })
        })
    });
}

#[test]
#[ignore = "measures time: cargo xtask test --only cancel"]
fn evaluating_stops_on_the_cpu() {
    evaluating_stops(&Engine::cpu(), 20_000);
}

#[test]
#[ignore = "measures time: cargo xtask test --only cancel"]
fn evaluating_stops_on_the_gpu() {
    let engine = common::gpu();
    evaluating_stops(&engine, 8000);
}

/// A pause is not an error: `step` returns the steps that it has done, and does nothing until resumed.
#[test]
#[ignore = "measures time: cargo xtask test --only cancel"]
fn training_pauses() {
    let _alone = alone();
    let (config, sets) = long_run(Preset::Main, 1);
    let mut session = block_on(training::session(&Engine::cpu(), &config, &sets));
    let control = session.control();
    let teller = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        control.pause();
    });
    let done = session.step(u32::MAX).unwrap();
    teller.join().unwrap();
    assert_eq!(session.steps_done(), done);
    assert_eq!(session.step(5).unwrap(), 0);
    assert_eq!(block_on(session.step_cooperative(5)).unwrap(), 0);
    session.control().resume();
    assert_eq!(session.step(5).unwrap(), 5);
}
