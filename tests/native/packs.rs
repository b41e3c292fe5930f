//! Stages that share a dispatch: their shaders are valid, and a training step takes few dispatches.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::HashSet;

use hidden_gaussian::compute::{Profile, Program, packs};
use hidden_gaussian::data::{Shape, TrainingSets};
use hidden_gaussian::kernels::matmul::Tile;
use hidden_gaussian::model::Architecture;
use hidden_gaussian::model::unet::{Head, Norm};
use hidden_gaussian::train::{Config, Plan};

fn shape(side: usize, channels: usize) -> Shape {
    Shape { height: side, width: side, channels }
}

/// The program of a training run on a GPU in hardware.
fn program(shape: Shape, config: Config, tile: Tile) -> Program {
    let sets = TrainingSets::single(vec![0.0; 4 * shape.dim()], shape.dim()).unwrap();
    Plan::with_profile(Profile { tile, ..Profile::default() }, config, &sets).unwrap().program
}

fn odd_unet() -> (Shape, Config) {
    let shape = Shape { height: 12, width: 20, channels: 1 };
    let (norm, head) = (Norm::Group, Head::Silu);
    let architecture = Architecture::UNet { shape, width: 6, levels: 2, norm, head };
    (shape, Config { architecture, ..Config::faithful(shape, vec![1]) })
}

fn networks() -> [(Shape, Config); 5] {
    let seeds = || vec![1];
    [
        (shape(12, 1), Config::quick(seeds())),
        (shape(12, 1), Config::main(seeds())),
        (shape(16, 1), Config::faithful(shape(16, 1), seeds())),
        (shape(32, 3), Config::cifar(shape(32, 3), 32, seeds())),
        odd_unet(),
    ]
}

#[test]
fn packs_are_valid_shaders() {
    let mut seen = HashSet::new();
    for (shape, config) in networks() {
        for tile in Tile::CANDIDATES {
            let program = program(shape, config.clone(), tile);
            for pack in program.routines().flat_map(|(_, stages)| packs(stages, program.profile()))
            {
                let source = pack.source(|_, text| text);
                if !seen.insert(source.clone()) {
                    continue;
                }
                let module = naga::front::wgsl::parse_str(&source).unwrap_or_else(|error| {
                    panic!("{}", error.emit_to_string_with_path(&source, &pack.name()))
                });
                let mut validator = naga::valid::Validator::new(
                    naga::valid::ValidationFlags::all(),
                    naga::valid::Capabilities::empty(),
                );
                validator.validate(&module).unwrap_or_else(|error| {
                    panic!("{}", error.emit_to_string_with_path(&source, &pack.name()))
                });
                let mut layouter = naga::proc::Layouter::default();
                layouter.update(module.to_ctx()).unwrap();
                let memory = module.global_variables.iter().filter_map(|(_, variable)| {
                    let shared = variable.space == naga::AddressSpace::WorkGroup;
                    shared.then(|| layouter[variable.ty].size)
                });
                assert!(memory.sum::<u32>() <= 16 << 10, "{}", pack.name());
            }
        }
    }
    assert!(seen.len() > 50);
}

/// On a GPU in hardware, a small network's step takes as long as its dispatches.
#[test]
fn steps_take_few_dispatches() {
    let most = [22, 22, 35, 48, 68];
    for ((shape, config), most) in networks().into_iter().zip(most) {
        let program = program(shape, config, Tile::default());
        let mut routines = program.routines();
        let (_, stages) = routines.find(|(name, _)| *name == "train").unwrap();
        let packed = packs(stages, program.profile());
        println!("{} stages, {} dispatches", stages.len(), packed.len());
        assert!(packed.len() <= most, "{}", packed.len());
        assert_eq!(packed.iter().map(|pack| pack.stages.len()).sum::<usize>(), stages.len());
        let alone = Profile { packs: false, ..*program.profile() };
        assert_eq!(packs(stages, &alone).len(), stages.len());
    }
}
