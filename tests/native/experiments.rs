//! Experiments by name on the CPU engine: shards, saved runs, damaged ones, and bad configurations.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use std::time::Duration;

use common::experiments::{advance, report, split, start, tiny};
use common::native_cpu;
use hidden_gaussian::ErrorKind;
use hidden_gaussian::compute::Engine;
use hidden_gaussian::experiment::any::{self, by_name};
use hidden_gaussian::experiment::emergence::Emergence;
use hidden_gaussian::experiment::{Detail, Experiment, Preset};
use pollster::block_on;
use proptest::prelude::{any as prop_any, *};
use serde_json::{Value, json};

common::tests_of!(experiments, native_cpu, Engine::cpu());

fn names() -> impl Iterator<Item = &'static str> {
    any::ALL.into_iter().map(any::AnyExperiment::name)
}

fn findings(config: &Value, experiment: &str) -> Value {
    block_on(async {
        let (split, engine) = (split(), Engine::cpu());
        let experiment = by_name(experiment).unwrap();
        let mut run = experiment.start(&engine, &split, config.clone()).await.unwrap();
        advance(&mut *run, usize::MAX).await;
        report(&mut *run, Detail::Full).await["findings"].take()
    })
}

/// Joins lists, including those inside an object.
fn join(whole: &mut Value, part: &Value) {
    match (whole, part) {
        (Value::Array(whole), Value::Array(part)) => whole.extend(part.iter().cloned()),
        (Value::Object(whole), Value::Object(part)) => {
            whole.iter_mut().for_each(|(name, list)| join(list, &part[name]));
        }
        (whole, part) => unreachable!("{whole} and {part} are no lists"),
    }
}

/// Several workers find the same as one, bit for bit.
#[test]
fn shards_make_the_whole() {
    for name in names() {
        let config = tiny(name, &split());
        let whole = findings(&config, name);
        for workers in [2, 3] {
            let shards = by_name(name).unwrap().shards(config.clone(), workers).unwrap();
            assert_eq!(shards.len(), workers, "{name}");
            let mut parts = shards.iter().map(|shard| findings(shard, name));
            let mut joined = parts.next().unwrap();
            parts.for_each(|part| join(&mut joined, &part));
            assert_eq!(joined, whole, "{name}, {workers} workers");
        }
    }
}

/// A network that diverged is not reported as a trained one.
#[test]
fn diverged_networks_are_marked() {
    let diverging = |name| {
        let mut config = tiny(name, &split());
        config["train"]["rate"] = json!(0.9);
        config["train"]["warmUp"] = json!(1);
        // The loss is about 1 at the beginning.
        config["train"]["blowUp"] = json!(4.0);
        findings(&config, name)
    };
    for point in diverging("transition").as_array().unwrap() {
        assert_eq!(point["status"]["name"], "diverged", "{point}");
        let number = |path| point.pointer(path).and_then(Value::as_f64).unwrap();
        let own = number("/status/step");
        assert!(own < number("/step"), "{own}");
        assert_eq!(number("/epochs"), own * 5.0 / number("/n"));
    }
    for agreement in diverging("strong-generalization").as_array().unwrap() {
        let names = [0, 1].map(|half| &agreement["networks"][half]["status"]["name"]);
        assert_eq!(names, ["diverged"; 2]);
    }
}

/// The page trains the quick presets on two or three workers, none of which should be idle for long.
#[test]
fn the_quick_presets_are_sharded_evenly() {
    let shape = split().shape();
    let shards = |name: &str, workers| -> Vec<Value> {
        let experiment = by_name(name).unwrap();
        let config = experiment.preset(Preset::Quick, shape, 1).unwrap();
        experiment.shards(config, workers).unwrap()
    };
    let sizes = |shard: &Value| shard["sizes"].as_array().unwrap().len();
    for workers in [2, 3] {
        let lens: Vec<usize> = shards("transition", workers).iter().map(sizes).collect();
        assert_eq!(lens, vec![6 / workers; workers]);
    }
    let two = shards("emergence", 2);
    assert_eq!([sizes(&two[0]), sizes(&two[1])], [2, 2]);
}

#[test]
fn bad_configurations_say_what_and_where() {
    let (split, engine) = (split(), Engine::cpu());
    assert!(by_name("transitions").err().unwrap().hint.contains("gaussian-bias"));
    for name in names() {
        let good = tiny(name, &split);
        let experiment = by_name(name).unwrap();
        let refuse = |config: Value| {
            let error = block_on(experiment.start(&engine, &split, config)).err().unwrap();
            assert_eq!(error.kind, ErrorKind::BadInput, "{name}: {error}");
            error.message.clone()
        };
        let change = |path: &str, value: Value| {
            let mut config = good.clone();
            *config.pointer_mut(path).unwrap() = value;
            config
        };
        let mut surplus = good.clone();
        surplus["evaluation"]["sample"] = json!(3);
        let message = refuse(surplus);
        assert!(message.contains("evaluation.sample: unknown field `sample`"), "{message}");
        let mut surplus = good.clone();
        surplus["train"]["architecture"]["levels"] = json!(2);
        let message = refuse(surplus);
        assert!(message.contains("train.architecture: unknown field `levels`"), "{message}");
        let message = refuse(change("/evaluation/samples", json!("many")));
        assert!(message.contains("evaluation.samples: invalid type"), "{message}");
        let message = refuse(change("/evaluation/denoisers", json!(["gauss"])));
        assert!(message.contains("evaluation.denoisers[0]: No denoiser is called"), "{message}");
        refuse(change("/evaluation/denoisers", json!(["trained"])));
        refuse(change("/evaluation/samples", json!(0)));
        refuse(change("/evaluation/sigmas", json!([])));
        refuse(change("/train/steps", json!(0)));
        refuse(change("/train/rate", json!(-1.0)));
        refuse(change("/sizes", json!([0])));
        let error = block_on(experiment.start(&engine, &split, change("/sizes", json!([1000]))));
        let error = error.err().unwrap();
        assert!(matches!(error.kind, ErrorKind::LimitExceeded { .. }), "{name}: {error}");
    }
}

/// A handful of images is enough to train on.
#[test]
fn small_sets_can_be_trained_on() {
    for count in [4_u32, 5, 9] {
        let set = hidden_gaussian::data::faces::faces(3, count, 6).unwrap();
        let split = set.split(3, set.hold_out(8, 1024)).unwrap();
        let mut config = tiny("transition", &split);
        config["sizes"] = json!([1]);
        block_on(async {
            let (experiment, engine) = (by_name("transition").unwrap(), Engine::cpu());
            let mut run = experiment.start(&engine, &split, config).await.unwrap();
            advance(&mut *run, usize::MAX).await;
            report(&mut *run, Detail::Full).await;
        });
    }
}

/// A run that was stopped during its last measurement repeats it when it is resumed.
#[test]
fn an_interrupted_measurement_is_repeated() {
    block_on(async {
        let split = split();
        let mut config = Emergence::preset(Preset::Quick, split.shape(), 5);
        (config.sizes, config.widths, config.width_sizes) = (vec![4], vec![8], vec![5]);
        config.checkpoints = vec![3];
        (config.train_long.steps, config.train.steps) = (6, 6);
        (config.evaluation.samples, config.evaluation.images) = (4, 4);
        let mut run = Emergence::new(&Engine::cpu(), &split, config).await.unwrap();
        while !run.advance(Duration::ZERO).await.unwrap().is_done() {}
        let memory = run.memory().unwrap();
        for ensemble in 0..2 {
            let mut measured = memory.clone();
            let points = measured[ensemble].as_array_mut().unwrap();
            assert_eq!(points.len(), 2);
            points.pop();
            run.recall(measured).unwrap();
            run.findings(Detail::Full).await.unwrap();
            assert!(run.memory().unwrap() == memory);
        }
    });
}

fn saved(experiment: &str) -> Vec<u8> {
    block_on(async {
        let mut run = start(&Engine::cpu(), experiment, &split()).await;
        advance(&mut *run, 30).await;
        run.snapshot().await.unwrap()
    })
}

/// A saved run can be restored only into its own experiment.
#[test]
fn other_runs_are_refused() {
    block_on(async {
        let (split, engine) = (split(), Engine::cpu());
        let saved = saved("transition");
        let mut emergence = start(&engine, "emergence", &split).await;
        assert!(emergence.restore(&saved).unwrap_err().message.contains("transition"));
        let mut config = tiny("transition", &split);
        config["train"]["batch"] = json!(6);
        let experiment = by_name("transition").unwrap();
        let mut other = experiment.start(&engine, &split, config).await.unwrap();
        assert!(other.restore(&saved).unwrap_err().message.contains("configuration"));
        let images = hidden_gaussian::data::faces::faces(4, 64, 6).unwrap().split(3, 20).unwrap();
        let mut other = start(&engine, "transition", &images).await;
        assert!(other.restore(&saved).unwrap_err().message.contains("images"));
        start(&engine, "transition", &split).await.restore(&saved).unwrap();
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// A damaged saved run is refused with a sentence, and the run that refused it stays unchanged.
    #[test]
    fn damage_is_noticed(at in prop_any::<prop::sample::Index>(), bit in 0..8_u32, cut: bool) {
        thread_local! {
            static SAVED: Vec<u8> = saved("emergence");
        }
        let mut bytes = SAVED.with(Clone::clone);
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= 1 << bit;
        }
        let error = block_on(async {
            let mut run = start(&Engine::cpu(), "emergence", &split()).await;
            let error = run.restore(&bytes).unwrap_err();
            assert_eq!(advance(&mut *run, 1).await.step, 1);
            error
        });
        prop_assert_eq!(error.kind.clone(), ErrorKind::BadInput);
        prop_assert!(error.message.contains("saved run"));
    }
}
