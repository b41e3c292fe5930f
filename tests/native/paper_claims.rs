//! The directions of Figures 1 to 3 on real, if tiny, networks. `hidden-gaussian reproduce` compares the
//! full presets with their bands.
//!
//! The sizes were chosen so that networks this small show the directions within seconds; at some
//! others (N = 8, or N = 4 and 16 for early stopping) they did not. So this guards a regime that is
//! known to work, and says nothing about how common it is.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use hidden_gaussian::compute::Engine;
use hidden_gaussian::data::Split;
use hidden_gaussian::data::faces::faces;
use hidden_gaussian::denoiser::DenoiserId;
use hidden_gaussian::experiment::emergence::{self, Emergence};
use hidden_gaussian::experiment::ensemble::Point;
use hidden_gaussian::experiment::evaluation::{BySet, EvalConfig};
use hidden_gaussian::experiment::gaussian_bias::{self, GaussianBias};
use hidden_gaussian::experiment::run::Run;
use hidden_gaussian::experiment::strong_generalization::{self, StrongGeneralization};
use hidden_gaussian::experiment::{Detail, Experiment, Preset};
use hidden_gaussian::model::Architecture;
use hidden_gaussian::train;
use pollster::block_on;

/// Few enough images for a small network to memorize in a thousand steps, and enough to generalize from.
const FEW: usize = 4;
const MANY: usize = 512;

fn split() -> Split {
    faces(1, 2 * MANY as u32 + 150, 8).unwrap().split(1, 150).unwrap()
}

fn small(train: &train::Config) -> train::Config {
    let architecture = Architecture::Mlp { width: 96, depth: 2 };
    train::Config { architecture, steps: 1000, ..train.clone() }
}

fn brief(config: &EvalConfig) -> EvalConfig {
    let sigmas = vec![1.0, 0.55];
    EvalConfig { samples: 40, images: 40, sampler_steps: 10, sigmas, ..config.clone() }
}

/// The fraction of a network's samples that are memorized.
fn copies(point: &Point) -> f64 {
    point.trained().unwrap().closeness.memorized.mean
}

/// The cosine between a network's samples and those of denoiser `id`.
fn cosine(point: &Point, id: DenoiserId) -> f64 {
    point.trained().unwrap().against[&id].cosine.mean
}

fn moment(point: &Point) -> [f64; 2] {
    [cosine(point, DenoiserId::GAUSSIAN), copies(point)]
}

/// Runs an experiment to its end.
fn run<E: Experiment>(split: &Split, change: impl FnOnce(&mut E::Config)) -> E::Findings {
    let mut config = E::preset(Preset::Quick, split.shape(), 1);
    change(&mut config);
    block_on(async {
        let engine = Engine::cpu();
        let mut run = Run::<E>::start(&engine, split, config).await.unwrap();
        while !run.advance(Duration::from_millis(200)).await.unwrap().is_done() {}
        run.report(Detail::Full).await.unwrap().findings
    })
}

/// Figures 1 and 2: a network with few images memorizes them and is close to D_M; one with many
/// generalizes, is more linear, and is close to D_L and D_G.
#[test]
fn more_images_make_the_network_gaussian() {
    let found = run::<GaussianBias>(&split(), |config: &mut gaussian_bias::Config| {
        config.sizes = vec![FEW, MANY];
        config.train = small(&config.train);
        config.evaluation = brief(&config.evaluation);
    });
    let [few, many] = found.as_slice() else { panic!("two networks") };
    let [memorized, generalized] = [few, many].map(|bias| copies(&bias.point));
    println!("memorized {memorized:.2} {generalized:.2}");
    assert!(memorized > 0.3 && generalized < 0.1);

    let [bent, linear] = [few, many]
        .map(|bias| bias.point.trained().unwrap().linearity.as_ref().unwrap()[0].cosine.mean);
    println!("linearity {bent:.3} {linear:.3}");
    assert!(linear > bent + 0.04);

    let [apart, close] = [few, many].map(|bias| cosine(&bias.point, DenoiserId::GAUSSIAN));
    println!("cos(θ, G) {apart:.3} {close:.3}");
    assert!(close > 0.9 && close > apart + 0.1);
    assert!(cosine(&many.point, DenoiserId::LINEAR) > 0.9);

    let difference = |bias: &gaussian_bias::Bias, id: DenoiserId| -> BySet {
        bias.point.trained().unwrap().against[&id].difference.clone()
    };
    let on_training = |d: &BySet| d.train[1].mean;
    let on_held_out = |d: &BySet| d.held_out[1].mean;
    let [gaussian, empirical] =
        [DenoiserId::GAUSSIAN, DenoiserId::EMPIRICAL].map(|id| difference(few, id));
    println!("few: G {:.3} M {:.3}", on_training(&gaussian), on_training(&empirical));
    assert!(on_training(&empirical) < 0.8 * on_training(&gaussian));
    let empirical = on_held_out(&difference(many, DenoiserId::EMPIRICAL));
    for near in [DenoiserId::LINEAR, DenoiserId::GAUSSIAN] {
        let near = on_held_out(&difference(many, near));
        println!("many: {near:.3}, M {empirical:.3}");
        assert!(near < 0.5 * empirical);
    }
    let overlap = many.alignment.as_ref().unwrap()[0].overlap;
    assert!(overlap > 0.85, "{overlap}");
}

/// Figure 3: with few images, a young network comes close to D_G and later leaves it to memorize.
#[test]
fn a_young_network_is_gaussian() {
    let found = run::<Emergence>(&split(), |config: &mut emergence::Config| {
        config.sizes = vec![3 * FEW];
        config.widths = vec![8];
        config.width_sizes = vec![3 * FEW];
        config.train = train::Config { steps: 200, ..small(&config.train) };
        let long = small(&config.train_long);
        config.train_long = train::Config { steps: 2000, rate: 4e-3, ..long };
        config.checkpoints = vec![100, 200, 400, 2000];
        config.evaluation = brief(&config.evaluation);
    });
    assert_eq!((found.over_time.len(), found.over_width.len()), (4, 2));
    let course: Vec<[f64; 2]> = found.over_time.iter().map(moment).collect();
    println!("cos(θ, G), memorized: {course:.2?}");
    let best = course.iter().max_by(|a, b| a[0].total_cmp(&b[0])).unwrap();
    let last = course.last().unwrap();
    assert!(best[0] > last[0] + 0.05 && best[1] + 0.1 < last[1]);
}

/// Figure 3: with few images, a small network stays close to D_G where a wide one memorizes.
///
/// Measured for seeds 1 to 5, and for widths from 8 to 192 with 8 to 24 images: below a width of 32
/// networks memorize nothing either, but are too small to come close to anything.
#[test]
fn a_small_network_is_gaussian() {
    let found = run::<Emergence>(&split(), |config: &mut emergence::Config| {
        config.sizes = vec![];
        config.widths = vec![48, 192];
        config.width_sizes = vec![4 * FEW];
        config.train = train::Config { steps: 2000, ..small(&config.train) };
        config.checkpoints = vec![];
        config.evaluation = brief(&config.evaluation);
    });
    let networks: Vec<[f64; 2]> = found.over_width.iter().map(moment).collect();
    println!("cos(θ, G), memorized: {networks:.3?}");
    let [small, wide] = networks[..] else { panic!("two networks") };
    assert!(small[0] > wide[0] + 0.05 && small[1] + 0.2 < wide[1]);
}

/// Two networks that share no image agree if they have seen many, and not by chance.
#[test]
fn networks_on_disjoint_images_agree() {
    let found =
        run::<StrongGeneralization>(&split(), |config: &mut strong_generalization::Config| {
            config.sizes = vec![FEW, MANY];
            config.train = small(&config.train);
            config.evaluation = brief(&config.evaluation);
        });
    let [few, many] = found.as_slice() else { panic!("two sizes") };
    println!("{:.3} {:.3}", few.cosine.mean, many.cosine.mean);
    assert!(many.cosine.mean > 0.85 && few.cosine.mean < many.cosine.mean - 0.2);
    assert!(many.cosine_other_noise.mean.abs() < 0.3, "{:?}", many.cosine_other_noise);
}
