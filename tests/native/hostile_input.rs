//! Whatever a file or a configuration contains, the result is an error or a run, never a panic, and nothing
//! is allocated before its size is known to be sensible.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common;

use std::sync::OnceLock;
use std::time::Duration;

use common::training;
use hidden_gaussian::ErrorKind;
use hidden_gaussian::compute::Engine;
use hidden_gaussian::data::TrainingSets;
use hidden_gaussian::data::{Shape, faces::faces};
use hidden_gaussian::experiment::any::{ALL, by_name};
use hidden_gaussian::experiment::{Detail, Preset};
use hidden_gaussian::model::Architecture;
use hidden_gaussian::model::unet::{Head, Norm, UNet};
use hidden_gaussian::train::{Checkpoint, Config, Plan, Session};
use pollster::block_on;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Values that no honest file has.
fn odd_values() -> Vec<Value> {
    let mut values = vec![Value::Null, json!([]), json!({}), json!("9999999999"), json!(-1)];
    values.extend([0_u64, 1, 2, 1 << 16, 1 << 31, 1 << 32, 1 << 40, u64::MAX].map(Value::from));
    values.extend([0.5, -0.0, 1e-40, 1e39, f64::MAX].map(Value::from));
    values
}

/// The paths of the leaves: numbers, texts, and those inside a text that is itself JSON.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(list) => {
            let each = list.iter().enumerate();
            each.for_each(|(i, item)| leaves(item, &format!("{path}/{i}"), found));
        }
        Value::Object(map) => {
            for (key, item) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                leaves(item, &format!("{path}/{key}"), found);
            }
        }
        _ => found.push(path.into()),
    }
}

/// Replaces one leaf by `new`.
fn edit(value: &mut Value, which: prop::sample::Index, new: Value) {
    let mut found = Vec::new();
    leaves(value, "", &mut found);
    let leaf = value.pointer_mut(&which.get(&found)[..]).unwrap();
    let inner = leaf.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    *leaf = match inner {
        Some(mut inner) if inner.is_object() || inner.is_array() => {
            edit(&mut inner, which, new);
            inner.to_string().into()
        }
        // In the metadata, numbers are texts.
        _ if leaf.is_string() && new.is_number() => new.to_string().into(),
        _ => new,
    };
}

fn saved() -> &'static (Config, TrainingSets, Vec<u8>) {
    static SAVED: OnceLock<(Config, TrainingSets, Vec<u8>)> = OnceLock::new();
    SAVED.get_or_init(|| {
        let (config, sets) = training::odd();
        let mut session = block_on(training::session(&Engine::cpu(), &config, &sets));
        session.step(3).unwrap();
        let bytes = block_on(session.snapshot()).unwrap().to_bytes().unwrap();
        (config, sets, bytes)
    })
}

/// The file with its header edited.
fn with_header(bytes: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let (length, rest) = bytes.split_first_chunk::<8>().unwrap();
    let (head, data) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let mut header = serde_json::from_slice(head).unwrap();
    change(&mut header);
    let head = header.to_string();
    [&(head.len() as u64).to_le_bytes()[..], head.as_bytes(), data].concat()
}

/// Reads a file and, if it can be read, continues from it.
fn use_checkpoint(bytes: &[u8]) {
    let Ok(checkpoint) = Checkpoint::from_bytes(bytes) else { return };
    let (config, sets, _) = saved();
    let mut session = block_on(training::session(&Engine::cpu(), config, sets));
    if session.restore(&checkpoint).is_ok() {
        block_on(session.progress()).unwrap();
        session.step(2).unwrap();
        block_on(session.progress()).unwrap();
    }
    drop(Plan::new(&Engine::cpu(), checkpoint.config.clone(), sets));
    checkpoint.to_bytes().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    #[test]
    fn edited_checkpoints(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..3),
    ) {
        let values = odd_values();
        use_checkpoint(&with_header(&saved().2, |header| {
            for (which, new) in edits {
                edit(header, which, new.get(&values).clone());
            }
        }));
    }

    #[test]
    fn damaged_checkpoints(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        in_header in any::<bool>(),
        len in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let mut bytes = saved().2.clone();
        let reach = if in_header { 4000 } else { bytes.len() };
        for (at, byte) in flips {
            bytes[at.index(reach)] = byte;
        }
        if cut {
            bytes.truncate(len.index(saved().2.len()));
        }
        use_checkpoint(&bytes);
    }

    #[test]
    fn random_bytes(mut bytes in prop::collection::vec(any::<u8>(), 0..300), length in 0_u64..300) {
        use_checkpoint(&bytes);
        if bytes.len() > 8 {
            bytes[..8].copy_from_slice(&length.to_le_bytes());
            use_checkpoint(&bytes);
        }
    }

    #[test]
    fn edited_configurations(which in any::<prop::sample::Index>(), new in any::<prop::sample::Index>()) {
        let (config, sets, _) = saved();
        let mut value = serde_json::to_value(config).unwrap();
        edit(&mut value, which, new.get(&odd_values()).clone());
        if let Ok(config) = hidden_gaussian::serial::read::<Config>(value) {
            drop(Plan::new(&Engine::cpu(), config, sets));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..Default::default() })]

    #[test]
    fn edited_experiments(
        experiment in prop::sample::select(ALL.to_vec()),
        which in any::<prop::sample::Index>(),
        new in any::<prop::sample::Index>(),
    ) {
        let split = faces(1, 60, 4).unwrap().split(1, 20).unwrap();
        let mut config = experiment.preset(Preset::Quick, split.shape(), 1).unwrap();
        for sizes in ["sizes", "widthSizes", "widths"] {
            if config[sizes].is_array() {
                config[sizes] = json!([4, 9]);
            }
        }
        edit(&mut config, which, new.get(&odd_values()).clone());
        drop(experiment.images(config.clone()));
        drop(experiment.shards(config.clone(), 3));
        drop(block_on(experiment.start(&Engine::cpu(), &split, config)));
    }
}

/// Checkpoints in any order, twice, and beyond the end: each is reached once, and the run ends.
#[test]
fn checkpoints_in_disorder_come_to_an_end() {
    let split = faces(1, 60, 4).unwrap().split(1, 20).unwrap();
    let experiment = by_name("emergence").unwrap();
    let mut config = experiment.preset(Preset::Quick, split.shape(), 1).unwrap();
    for (name, value) in [
        ("sizes", json!([4])),
        ("widths", json!([4])),
        ("widthSizes", json!([4])),
        ("checkpoints", json!([6, 2, 90, 2])),
    ] {
        config[name] = value;
    }
    for train in ["train", "trainLong"] {
        config[train]["steps"] = json!(8);
        config[train]["batch"] = json!(2);
    }
    config["evaluation"]["samples"] = json!(2);
    config["evaluation"]["images"] = json!(2);
    let engine = Engine::cpu();
    let mut run = block_on(experiment.start(&engine, &split, config)).unwrap();
    for _ in 0..100 {
        let progress = block_on(run.advance(Duration::from_secs(1))).unwrap();
        if progress.step == progress.total {
            let report = block_on(run.report(Detail::Full)).unwrap();
            let report = serde_json::to_value(&*report).unwrap();
            let steps = report["findings"]["overTime"].as_array().unwrap().iter();
            let steps: Vec<_> = steps.map(|point| point["step"].as_u64().unwrap()).collect();
            assert_eq!(steps, [2, 6, 8]);
            return;
        }
    }
    panic!("the run does not end");
}

/// Extreme numbers from the command line.
#[test]
fn what_is_too_large_is_refused_before_it_is_made() {
    let (config, sets) = training::odd();
    let mlp = |width, depth| Architecture::Mlp { width, depth };
    let too_large = [
        Config { architecture: mlp(1_000_000, 2), ..config.clone() },
        Config { architecture: mlp(16, 1_000_000_000), ..config.clone() },
        Config { architecture: mlp(usize::MAX, usize::MAX), ..config.clone() },
        Config { batch: usize::MAX, ..config.clone() },
        Config { batch: 1 << 20, ..config.clone() },
        // Each is allowed, but not all buffers at once.
        Config { architecture: mlp(4000, 1), batch: 4096, seeds: vec![1; 16], ..config.clone() },
    ];
    for config in too_large {
        let ranges = vec![0..9; config.seeds.len()];
        let sets = TrainingSets::new(sets.pool().clone(), sets.dim(), ranges).unwrap();
        let error = block_on(Session::new(&Engine::cpu(), config, &sets)).unwrap_err();
        let exceeded = matches!(error.kind, ErrorKind::LimitExceeded { need, have } if need > have);
        assert!(exceeded && !error.hint.is_empty(), "{error}");
    }
    for side in [0, 4, 1 << 20, usize::MAX - 3, usize::MAX] {
        for width in [0, 1, 5000, usize::MAX] {
            for levels in [0, 2, 8, 63, 64, usize::MAX] {
                let shape = Shape { height: side, width: 256, channels: 3 };
                drop(UNet::new(shape, width, levels, Norm::Group, Head::Silu));
            }
        }
    }
    let small = Shape { height: 8, width: 8, channels: 1 };
    let error = UNet::new(small, 4096, 2, Norm::None, Head::Linear).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::LimitExceeded { .. }), "{error}");
}

/// A checkpoint that claims to be beyond the end of its run would make the remaining steps negative.
#[test]
fn steps_beyond_the_end_are_refused() {
    for step in ["61", "4294967295"] {
        let bytes = with_header(&saved().2, |header| header["__metadata__"]["step"] = step.into());
        assert!(Checkpoint::from_bytes(&bytes).is_err(), "{step}");
    }
}

/// All of a file's tensors could point to the same few bytes.
#[test]
fn a_small_file_of_large_networks_is_refused() {
    let bytes = with_header(&saved().2, |header| {
        let config = header["__metadata__"]["config"].as_str().unwrap();
        let wide = config.replace("\"width\":17", "\"width\":1700");
        assert_ne!(wide, config);
        header["__metadata__"]["config"] = wide.into();
    });
    let error = Checkpoint::from_bytes(&bytes).unwrap_err();
    assert!(error.message.contains("larger networks"), "{error}");
}
