//! The league of theories on the CPU engine.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use hidden_gaussian::compute::Engine;
use hidden_gaussian::data::{Faces, Split};
use hidden_gaussian::denoiser::DenoiserId;
use hidden_gaussian::experiment::evaluation::EvalConfig;
use hidden_gaussian::experiment::league::{Config, League, Standing};
use hidden_gaussian::experiment::run::Run;
use hidden_gaussian::experiment::{Detail, Experiment, Preset};
use pollster::block_on;

fn split() -> Split {
    Faces { size: 8, count: 90, seed: 3 }.draw().unwrap().split(3, 20).unwrap()
}

fn config() -> Config {
    let split = split();
    let mut config = League::preset(Preset::Quick, split.shape(), 1);
    config.sizes = vec![8, 40];
    (config.train.steps, config.train.batch) = (30, 8);
    config.evaluation = EvalConfig {
        samples: 4,
        shown: 2,
        images: 12,
        sampler_steps: 4,
        sigmas: vec![3.0, 1.0, 0.27],
        ..config.evaluation
    };
    Config { calibration: 4, components: vec![1, 2, 4], sensitivity: vec![1.0], ..config }
}

fn findings(config: Config, detail: Detail) -> Vec<Standing> {
    block_on(async {
        let mut run = Run::<League>::start(&Engine::cpu(), &split(), config).await.unwrap();
        while !run.advance(Duration::from_millis(50)).await.unwrap().is_done() {}
        run.report(detail).await.unwrap().findings
    })
}

/// Theories that are the same denoiser score the same: a mixture of one Gaussian is D_G, and one with a
/// Gaussian per image is D_M. Errors are relative to D_G's.
#[test]
fn the_league_measures_every_theory() {
    let standings = findings(config(), Detail::Full);
    assert_eq!(standings.iter().map(|s| s.member.n).collect::<Vec<_>>(), [8, 40]);
    for standing in &standings {
        let ids: Vec<_> = standing.theories.iter().map(|theory| theory.id.name()).collect();
        assert_eq!(ids, ["gaussian", "empirical", "ls", "els", "pca-locality", "mixture"]);
        let of = |id| standing.theories.iter().find(|theory| theory.id == id).unwrap();
        let (gaussian, empirical) = (of(DenoiserId::GAUSSIAN), of(DenoiserId::EMPIRICAL));
        assert!(gaussian.scores.error.iter().all(|error| (error.mean - 1.0).abs() < 1e-6));
        let (one, all) = (&standing.mixtures[0], standing.mixtures.last().unwrap());
        assert_eq!(
            (one.setting.components, all.setting.components),
            (Some(1), Some(standing.member.n))
        );
        for level in 0..3 {
            for (mixture, theory) in [(one, gaussian), (all, empirical)] {
                let [a, b] =
                    [mixture, &theory.scores].map(|scores| scores.prediction[level].r2.mean);
                assert!(
                    (a - b).abs() < 1e-3 * (1.0 + b.abs()),
                    "N = {}: {a} {b}",
                    standing.member.n
                );
            }
            assert!(standing.entropy[level].mean <= (standing.member.n as f64).ln() + 1e-6);
        }
        let local = of(DenoiserId::LS);
        let windows = local.scores.setting.windows.as_ref().unwrap();
        assert!(windows.is_sorted_by(|a, b| a >= b), "{windows:?}");
        assert!(local.uncalibrated.is_some() && gaussian.uncalibrated.is_none());
        let fields = &standing.sensitivity[0].fields;
        assert!((fields[&DenoiserId::TRAINED].cosine - 1.0).abs() < 1e-9);
        assert!(!fields.contains_key(&DenoiserId::ELS));
    }
    // Shards find what the whole finds.
    for (shard, standing) in League::shards(&config(), 2).into_iter().zip(&standings) {
        assert_eq!(findings(shard, Detail::Full), std::slice::from_ref(standing));
    }
    let preview = findings(config(), Detail::Preview);
    assert!(preview.iter().all(|standing| standing.mixtures.is_empty()));
}

/// A configuration that cannot be measured is refused before anything is trained.
#[test]
fn impossible_leagues_are_refused() {
    let start =
        |config| block_on(Run::<League>::start(&Engine::cpu(), &split(), config)).unwrap_err();
    let error = start(Config { calibration: 0, ..config() });
    assert!(error.hint.contains("at least one"), "{error}");
    let error = start(Config { calibration: 9, ..config() });
    assert!(error.message.contains("needs 21 held-out images"), "{error}");
    let error = start(Config { sensitivity: vec![0.5], ..config() });
    assert!(error.message.contains("0.5"), "{error}");
    let mut without = config();
    without.evaluation.denoisers = vec![DenoiserId::LS];
    assert!(start(without).hint.contains("gaussian"));
}
