//! What must hold for a training run on either engine.

use hidden_gaussian::compute::{Buffer, Engine};
use hidden_gaussian::data::Shape;
use hidden_gaussian::data::TrainingSets;
use hidden_gaussian::kernels::matmul::Tile;
use hidden_gaussian::model::Architecture;
use hidden_gaussian::model::unet::{Head, Norm};
use hidden_gaussian::train::{Checkpoint, Config, Optimizer, Session, Status};

use super::random;

/// An odd-sized network, batch and image, on two overlapping training sets and a tiny one.
pub fn odd() -> (Config, TrainingSets) {
    let dim = 11;
    let images: Vec<f32> = random(1, 40 * dim).iter().map(|v| 0.5 * v).collect();
    let sets = TrainingSets::new(images, dim, vec![0..40, 3..20, 7..9]).unwrap();
    let config = Config {
        architecture: Architecture::Mlp { width: 17, depth: 2 },
        batch: 9,
        steps: 60,
        warm_up: 5,
        clip: Some(1.0),
        // The last is the largest that JavaScript can write.
        ..Config::quick(vec![5, 6, (1 << 53) - 1])
    };
    (config, sets)
}

/// The same run with SGD and momentum.
pub fn odd_sgd() -> (Config, TrainingSets) {
    let (config, sets) = odd();
    (Config { optimizer: Optimizer::Sgd { momentum: 0.9 }, rate: 0.05, ..config }, sets)
}

/// The same run with a U-Net whose sides, channels and batch no tile divides.
pub fn odd_unet() -> (Config, TrainingSets) {
    let shape = Shape { height: 4, width: 12, channels: 1 };
    let images: Vec<f32> = random(1, 40 * shape.dim()).iter().map(|v| 0.5 * v).collect();
    let (config, sets) = odd();
    let sets = TrainingSets::new(images, shape.dim(), sets.ranges().to_vec()).unwrap();
    let (norm, head) = (Norm::Group, Head::Silu);
    let architecture = Architecture::UNet { shape, width: 5, levels: 2, norm, head };
    (Config { architecture, batch: 7, ..config }, sets)
}

const EVEN: Shape = Shape { height: 8, width: 8, channels: 1 };

/// Images, batches and networks that are cut into blocks of four.
fn even(architecture: Architecture) -> (Config, TrainingSets) {
    let images: Vec<f32> = random(1, 40 * EVEN.dim()).iter().map(|v| 0.5 * v).collect();
    let (config, sets) = odd();
    let sets = TrainingSets::new(images, EVEN.dim(), sets.ranges().to_vec()).unwrap();
    (Config { architecture, batch: 16, ..config }, sets)
}

pub async fn session(engine: &Engine, config: &Config, sets: &TrainingSets) -> Session {
    Session::new(engine, config.clone(), sets).await.unwrap()
}

pub fn buffer(session: &Session, name: &str) -> Buffer {
    let mut buffers = session.loaded.program().buffers().iter();
    buffers.find(|info| info.name == name).unwrap().buffer
}

pub async fn read(session: &mut Session, name: &str) -> Vec<f32> {
    let buffer = buffer(session, name);
    session.loaded.read(buffer).await.unwrap()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// Everything that a step changes.
pub async fn state(session: &mut Session) -> Vec<Vec<u32>> {
    let mut state = Vec::new();
    for name in ["weights", "averaged weights", "momentum", "variance"] {
        state.push(bits(&read(session, name).await));
    }
    // Reports clear the loss sums of a clock, so only seed, step and status count.
    let clock = bits(&read(session, "clock").await);
    state.push(clock.chunks_exact(8).flat_map(|words| words[..4].to_vec()).collect());
    state
}

pub async fn resuming_is_bit_exact(engine: &Engine) {
    resuming(engine, odd()).await;
    resuming(engine, odd_sgd()).await;
}

pub async fn resuming_a_unet_is_bit_exact(engine: &Engine) {
    resuming(engine, odd_unet()).await;
}

/// A run that is paused, measured, saved to bytes, loaded into a new session and resumed equals one that
/// never stopped.
async fn resuming(engine: &Engine, (config, sets): (Config, TrainingSets)) {
    let mut straight = session(engine, &config, &sets).await;
    assert_eq!(straight.step(50).unwrap(), 50);
    let mut paused = session(engine, &config, &sets).await;
    paused.step(13).unwrap();
    paused.progress().await.unwrap();
    paused.step(9).unwrap();
    let bytes = paused.snapshot().await.unwrap().to_bytes().unwrap();
    drop(paused);
    let mut resumed = session(engine, &config, &sets).await;
    resumed.step(3).unwrap();
    resumed.restore(&Checkpoint::from_bytes(&bytes).unwrap()).unwrap();
    assert_eq!(resumed.steps_done(), 22);
    resumed.step(28).unwrap();
    assert_eq!(state(&mut straight).await, state(&mut resumed).await);
    // The run ends where its configuration says.
    assert_eq!(resumed.step(100).unwrap(), 10);
    assert_eq!(resumed.step(1).unwrap(), 0);
}

pub async fn members_do_not_leak(engine: &Engine) {
    members_alone(engine, odd(), 30).await;
    members_alone(engine, odd_sgd(), 30).await;
}

pub async fn members_of_a_unet_do_not_leak(engine: &Engine) {
    members_alone(engine, odd_unet(), 30).await;
}

/// The variants that a GPU in hardware gets cut sums by how many threads there are, which must not count members.
pub async fn members_for_hardware_do_not_leak(engine: &Engine) {
    let Some(device) = engine.as_gpu() else { return };
    let engine = Engine::on(device.clone().with_tile(Tile::default()));
    members_alone(&engine, even(Architecture::Mlp { width: 32, depth: 2 }), 3).await;
    let (norm, head) = (Norm::None, Head::Silu);
    let unet = Architecture::UNet { shape: EVEN, width: 8, levels: 2, norm, head };
    members_alone(&engine, even(unet), 3).await;
}

/// Each member of an ensemble equals the same member trained alone.
async fn members_alone(engine: &Engine, (config, sets): (Config, TrainingSets), steps: u32) {
    let mut together = session(engine, &config, &sets).await;
    together.step(steps).unwrap();
    let all = state(&mut together).await;
    for (member, range) in sets.ranges().iter().enumerate() {
        let alone =
            TrainingSets::new(sets.pool().clone(), sets.dim(), vec![range.clone()]).unwrap();
        let config = Config { seeds: vec![config.seeds[member]], ..config.clone() };
        let mut alone = session(engine, &config, &alone).await;
        alone.step(steps).unwrap();
        for (all, one) in all.iter().zip(state(&mut alone).await) {
            assert_eq!(all[member * one.len()..][..one.len()], one, "member {member}");
        }
    }
}

pub async fn divergence_stays_with_its_member(engine: &Engine) {
    divergence(engine, odd()).await;
}

pub async fn divergence_of_a_unet_stays_with_its_member(engine: &Engine) {
    divergence(engine, odd_unet()).await;
}

/// A member that diverges stops and reports it; the others are not affected.
async fn divergence(engine: &Engine, (config, sets): (Config, TrainingSets)) {
    let mut healthy = session(engine, &config, &sets).await;
    healthy.step(25).unwrap();
    let expected = state(&mut healthy).await;
    for poison in [f32::NAN, 1e30, 1e4] {
        let mut session = session(engine, &config, &sets).await;
        session.step(10).unwrap();
        let weights = buffer(&session, "weights");
        let len = weights.len();
        session.loaded.upload_part(weights, 1, len - 30, &[poison; 30]).unwrap();
        let frozen = bits(&read(&mut session, "weights").await);
        session.step(15).unwrap();
        let report = session.progress().await.unwrap();
        let status: Vec<_> = report.members.iter().map(|member| member.status).collect();
        let diverged = Status::Diverged { step: 10 };
        assert_eq!(status, [Status::Learning, diverged, Status::Learning], "{poison}");
        assert!(report.members.iter().all(|m| m.loss.is_some_and(f32::is_finite)));
        for (ours, expected) in state(&mut session).await.iter().zip(&expected) {
            let len = expected.len() / 3;
            assert_eq!(ours[..len], expected[..len], "{poison}");
            assert_eq!(ours[2 * len..], expected[2 * len..], "{poison}");
        }
        let now = bits(&read(&mut session, "weights").await);
        assert_eq!(now[len..2 * len], frozen[len..2 * len], "{poison}");
        // Without steps since the last report, there is no loss.
        assert_eq!(session.progress().await.unwrap().members[0].loss, None);
    }
}
