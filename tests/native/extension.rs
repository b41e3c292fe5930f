//! A denoiser that is not in the table, added as `docs/adding-a-denoiser.md` describes: a row whose
//! `fit` computes it from the training images. Everything else follows from the row.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hidden_gaussian::compute::{Buffer, Engine, Program, View};
use hidden_gaussian::data::{Faces, TrainingSets};
use hidden_gaussian::denoiser::{Denoiser, DenoiserId, Entry, Fit, Origin, Placed, TABLE};
use hidden_gaussian::experiment::Detail;
use hidden_gaussian::experiment::ensemble::{Ensemble, Member};
use hidden_gaussian::experiment::evaluation::EvalConfig;
use hidden_gaussian::experiment::references::References;
use hidden_gaussian::kernels::{Sigma, axpby};
use hidden_gaussian::sampler::{Noise, Sampler};
use hidden_gaussian::train::Config;
use hidden_gaussian::{Result, denoise, sample};
use pollster::block_on;

/// Returns the mean training image, whatever the input: the limit of every denoiser at high noise.
#[derive(Debug)]
struct Mean {
    means: Vec<Vec<f32>>,
}

impl Mean {
    fn fit(sets: &TrainingSets) -> Self {
        Self { means: (0..sets.ranges().len()).map(|member| sets.mean(member)).collect() }
    }
}

impl Denoiser for Mean {
    fn dim(&self) -> usize {
        self.means[0].len()
    }

    fn members(&self) -> usize {
        self.means.len()
    }

    fn place(&self, program: &mut Program, rows: usize) -> Result<Box<dyn Placed>> {
        let rows_of = |mean: &Vec<f32>| mean.repeat(rows);
        let means = program.buffer_with("mean", self.means.iter().flat_map(rows_of).collect())?;
        Ok(Box::new(PlacedMean { means }))
    }
}

struct PlacedMean {
    means: Buffer,
}

impl Placed for PlacedMean {
    fn record(&self, program: &mut Program, x: View, _: Sigma, out: View) -> Result<()> {
        axpby::record(program, [x, self.means.into(), out], [0.0, 1.0], self.means.len())
    }
}

const MEAN: Entry = Entry {
    id: DenoiserId::new("mean"),
    symbol: "D_0",
    equation: None,
    source: "The first moment",
    label: "Mean image",
    about: "Returns the mean training image.",
    origin: Origin::Fit(|to| {
        Box::pin(async { Ok(Box::new(Mean::fit(to.sets)) as Box<dyn Denoiser>) })
    }),
    work: [0.0; 3],
};

/// The new row appears in the report like every other: measured, shown, and compared with all.
#[test]
fn a_new_denoiser_is_one_row() {
    let split = Faces { size: 6, count: 64, seed: 3 }.draw().unwrap().split(3, 20).unwrap();
    let members = [4, 20].map(|n| Member { first: 0, n, seed: 5 });
    let evaluation =
        EvalConfig { samples: 8, images: 8, sampler_steps: 4, ..EvalConfig::default() };
    let train = Config { steps: 5, ..Config::quick(Vec::new()) };
    let fitted = TABLE.iter().filter(|entry| matches!(entry.origin, Origin::Fit(_))).copied();
    let entries: Vec<Entry> = fitted.chain([MEAN]).collect();
    let points = block_on(async {
        let engine = Engine::cpu();
        let mut ensemble =
            Ensemble::new(&engine, &split, &members, &train, &evaluation).await.unwrap();
        let references = References::with_entries(&engine, &split, &members, &evaluation, &entries);
        ensemble.points(&mut references.await.unwrap(), Detail::Full).await.unwrap()
    });
    assert_eq!(points.len(), 2);
    for point in points {
        let ids: Vec<_> = point.denoisers.keys().map(|id| id.name()).collect();
        let theories = ["ls", "els", "pca-locality", "mixture"];
        assert_eq!(ids[..3], ["trained", "gaussian", "empirical"]);
        assert_eq!(ids[3..7], theories);
        assert_eq!(ids[7..], ["mean"]);
        for id in theories {
            let theory = &point.denoisers[&id.parse::<DenoiserId>().unwrap()];
            assert!(theory.error.held_out.iter().all(|e| e.mean.is_finite()), "{id}");
        }
        let mean = point.of(MEAN.id).unwrap();
        assert_eq!(mean.error.held_out.len(), evaluation.sigmas.len());
        assert!(mean.against.is_empty() && mean.samples.is_some());
        for id in [DenoiserId::TRAINED, DenoiserId::GAUSSIAN, DenoiserId::EMPIRICAL] {
            let comparison = &point.of(id).unwrap().against[&MEAN.id];
            assert_eq!(comparison.cosine.count, evaluation.samples, "{id}");
        }
        let report = serde_json::to_value(&point).unwrap();
        let difference = &report["denoisers"]["gaussian"]["against"]["mean"]["difference"];
        assert!(difference["heldOut"][0]["mean"].is_number(), "{difference}");
    }
}

/// The functions at the crate's root accept it like the others.
#[test]
fn a_new_denoiser_is_sampled_from() {
    let split = Faces { size: 6, count: 64, seed: 3 }.draw().unwrap().split(3, 20).unwrap();
    let sets = TrainingSets::new(split.train(), split.dim(), vec![0..4, 0..40]).unwrap();
    let engine = Engine::cpu();
    let to = Fit { engine: &engine, sets: &sets, shape: split.shape() };
    let mean = block_on(MEAN.fit(&to)).unwrap();
    let rows = 2 * split.dim();
    let denoised = block_on(denoise(&engine, &*mean, &split.held_out()[..rows], 0.3)).unwrap();
    let expected = [sets.mean(0).repeat(2), sets.mean(1).repeat(2)].concat();
    assert_eq!(denoised, expected);
    let noise = Noise { count: 2, seed: 1 };
    let samples = block_on(sample(&engine, &*mean, &Sampler::paper(), noise)).unwrap();
    for (sample, expected) in samples.iter().zip(&expected) {
        assert!((sample - expected).abs() < 1e-3, "{sample} {expected}");
    }
    assert!(block_on(denoise(&engine, &*mean, &[0.0; 5], 0.3)).is_err());
}
