//! Interoperability: the safetensors library reads what this crate writes, and this crate reads what that
//! library writes.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use hidden_gaussian::Engine;
use hidden_gaussian::data::{Options, import};
use hidden_gaussian::train::Checkpoint;
use npyz::{NpyFile, WriterBuilder};
use pollster::block_on;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use crate::common::training;

/// A checkpoint of a short run.
fn saved() -> Checkpoint {
    let (config, sets) = training::odd();
    let mut session = block_on(training::session(&Engine::cpu(), &config, &sets));
    session.step(3).unwrap();
    block_on(session.snapshot()).unwrap()
}

#[test]
fn safetensors_reads_a_checkpoint() {
    let checkpoint = saved();
    let bytes = checkpoint.to_bytes().unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let members = checkpoint.ranges.len();
    let network = checkpoint.config.architecture.network(checkpoint.dim).unwrap();
    let parameters = network.parameters().list();
    assert_eq!(file.len(), 1 + 4 * parameters.len(), "the clock and four groups");
    for parameter in parameters {
        let tensor = file.tensor(&format!("average/{}", parameter.name)).unwrap();
        assert_eq!(tensor.dtype(), Dtype::F32);
        assert_eq!(tensor.shape(), [&[members], parameter.shape.as_slice()].concat());
    }
    let clock = file.tensor("clock").unwrap();
    assert_eq!(clock.dtype(), Dtype::U32);
    // Words 0 and 1 are the member's seed.
    let seeds = clock.data().chunks_exact(clock.data().len() / members);
    for (words, seed) in seeds.zip(&checkpoint.config.seeds) {
        assert_eq!(words[..8], seed.to_le_bytes());
    }
    let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    let step = metadata.metadata().as_ref().and_then(|texts| texts.get("step")).unwrap();
    assert_eq!(*step, checkpoint.step.to_string());
}

#[test]
fn a_checkpoint_that_safetensors_wrote_is_the_same() {
    let checkpoint = saved();
    let bytes = checkpoint.to_bytes().unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    let texts: HashMap<String, String> = metadata.metadata().clone().unwrap();
    // The library orders the tensors in its own way.
    let tensors: Vec<(String, TensorView<'_>)> = file.tensors();
    let rewritten = safetensors::serialize(tensors, Some(texts)).unwrap();
    assert_ne!(rewritten, bytes);
    assert_eq!(Checkpoint::from_bytes(&rewritten).unwrap(), checkpoint);
}

#[test]
fn npyz_reads_the_samples() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("interoperability");
    fs::create_dir_all(&folder).unwrap();
    let [run, array] = ["run.safetensors", "samples.npy"].map(|name| folder.join(name));
    let program = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hidden-gaussian"));
        let output = command.args(args).args(["--engine", "cpu"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let [run, array] = [&run, &array].map(|path| path.to_str().unwrap());
    program(&["train", "--n", "8,16", "--steps", "2", "--width", "16", "--out", run]);
    program(&["sample", run, "--count", "3", "--out", array]);

    let bytes = fs::read(array).unwrap();
    let samples = NpyFile::new(&bytes[..]).unwrap();
    assert_eq!(samples.shape(), [2 * 3, 12, 12, 1], "three samples of each network");
    assert_eq!(samples.order(), npyz::Order::C);
    let values: Vec<f32> = samples.into_vec().unwrap();
    assert!(values.iter().all(|value| value.is_finite()));
}

#[test]
fn an_array_that_npyz_wrote_is_imported() {
    // Two images of 3 × 3 pixels in colour.
    let pixels: Vec<u8> = (0..54).map(|i| i * 4).collect();
    let mut bytes = Vec::new();
    let builder = npyz::WriteOptions::new().default_dtype().shape(&[2, 3, 3, 3]);
    let mut writer = builder.writer(&mut bytes).begin_nd().unwrap();
    writer.extend(&pixels).unwrap();
    writer.finish().unwrap();

    let set = import("array.npy", &bytes, &Options::default()).unwrap();
    assert_eq!((set.len(), set.shape().channels), (2, 3));
    let read: Vec<u8> = set.images().iter().map(|v| ((v + 1.0) * 127.5).round() as u8).collect();
    assert_eq!(read, pixels);
}
