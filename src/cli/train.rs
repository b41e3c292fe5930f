//! `train`: trains networks and saves them.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use hidden_gaussian::Result;
use hidden_gaussian::compute::Engine;
use hidden_gaussian::data::{Shape, Split, TrainingSets};
use hidden_gaussian::experiment::Preset;
use hidden_gaussian::model::Architecture;
use hidden_gaussian::train::{Checkpoint, Config, Progress, Session, Status};
use pollster::block_on;
use serde_json::json;

use super::run_to_end::{Bar, SLICE, stopped};
use super::saved::SavedNetworks;
use super::stop::was_stopped;
use super::table::Table;
use super::{Common, PresetName, file_error, json};

/// Arguments of `train`. Defaults come from the preset.
#[derive(Debug, Args)]
pub(super) struct Train {
    /// Numbers of training images, one network per number
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1024")]
    n: Vec<usize>,
    /// Preset of the other settings
    #[arg(long, value_enum, default_value = "quick")]
    preset: PresetName,
    /// Kind of network
    #[arg(long, value_enum)]
    network: Option<NetworkName>,
    /// Hidden units of an MLP, channels of a U-Net
    #[arg(long)]
    width: Option<usize>,
    /// Blocks of an MLP, resolutions of a U-Net
    #[arg(long)]
    depth: Option<usize>,
    /// Training steps
    #[arg(long)]
    steps: Option<u32>,
    /// Images per step
    #[arg(long)]
    batch: Option<usize>,
    /// Highest learning rate
    #[arg(long)]
    rate: Option<f32>,
    /// Largest norm of a gradient
    #[arg(long)]
    clip: Option<f32>,
    #[command(flatten)]
    common: Common,
    /// Where to save the networks [default: run.safetensors, or the file that is resumed]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Resume a run that was stopped, with its own settings
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "n", "preset", "network", "width", "depth", "steps", "batch", "rate", "clip", "seed",
    ])]
    resume: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum NetworkName {
    /// A residual multilayer perceptron
    Mlp,
    /// A convolutional U-Net
    Unet,
}

impl Train {
    /// The preset's configuration with the given settings.
    fn config(&self, shape: Shape) -> Config {
        // All networks have the same seed; only their training sets differ.
        let seeds = vec![self.common.source.seed; self.n.len()];
        let preset = Preset::from(self.preset).train(shape, seeds);
        let mut architecture = match (self.network, preset.architecture) {
            (Some(NetworkName::Mlp), Architecture::UNet { .. }) => {
                Config::main(Vec::new()).architecture
            }
            (Some(NetworkName::Unet), Architecture::Mlp { .. }) => {
                Config::faithful(shape, Vec::new()).architecture
            }
            (_, architecture) => architecture,
        };
        let (Architecture::Mlp { width, depth } | Architecture::UNet { width, levels: depth, .. }) =
            &mut architecture;
        *width = self.width.unwrap_or(*width);
        *depth = self.depth.unwrap_or(*depth);
        Config {
            architecture,
            steps: self.steps.unwrap_or(preset.steps),
            batch: self.batch.unwrap_or(preset.batch),
            rate: self.rate.unwrap_or(preset.rate),
            clip: self.clip.or(preset.clip),
            ..preset
        }
    }

    /// Creates new networks and loads their images.
    async fn begin(&self, engine: &Engine) -> Result<(Session, Split)> {
        let (source, preset) = (&self.common.source, self.preset.into());
        let most = self.n.iter().copied().max().unwrap_or(0);
        let split = source.split(&source.dataset(preset, most)?)?;
        let ranges = self.n.iter().map(|&n| 0..n).collect();
        let sets = TrainingSets::new(split.subset(0..most)?, split.dim(), ranges)?;
        let session = Session::new(engine, self.config(split.shape()), &sets).await?;
        Ok((session, split))
    }

    /// Loads saved networks and their images.
    async fn resume(&self, engine: &Engine, path: &Path) -> Result<(Session, Split)> {
        let run = SavedNetworks::read(path, self.common.source.named())?;
        Ok((run.session(engine).await?, run.split))
    }
}

pub(super) fn command(args: &Train) -> Result<bool> {
    let engine = args.common.engine.open()?;
    let default = || args.resume.clone().unwrap_or_else(|| "run.safetensors".into());
    let out = args.out.clone().unwrap_or_else(default);
    block_on(async {
        let (mut session, split) = match &args.resume {
            Some(path) => args.resume(&engine, path).await?,
            None => args.begin(&engine).await?,
        };
        let bar = Bar::new("train", &engine);
        eprintln!("Images of {}: {}", split.shape(), session.config());
        let mut last = session.progress().await?;
        while last.step < last.total {
            let stepped = session.step_cooperative(session.steps_within(SLICE.as_secs_f64())).await;
            last = session.progress().await?;
            bar.show(last.step, last.total, last.seconds_left);
            if was_stopped(&stepped) {
                break;
            }
            stepped?;
        }
        bar.clear();
        let mut checkpoint = session.snapshot().await?;
        checkpoint.recipe = Some(split.recipe().clone());
        fs::write(&out, checkpoint.to_bytes()?).map_err(|error| file_error(&out, &error))?;
        if last.step < last.total {
            return Err(stopped([last.step, last.total], &out, "train", &args.common.again()));
        }
        if args.json {
            let Checkpoint { config, ranges, recipe, .. } = &checkpoint;
            let parameters = session.parameter_count();
            let described = json!({
                "out": out, "data": recipe, "config": config, "ranges": ranges,
                "parameters": parameters, "progress": last,
            });
            println!("{}", json(&described)?);
        } else {
            print!("{}", table(&checkpoint, session.parameter_count(), &last));
            println!("Saved in {}", out.display());
        }
        Ok(true)
    })
}

fn table(run: &Checkpoint, parameters: usize, last: &Progress) -> Table {
    let mut table = Table::new(&["images", "steps", "parameters", "last loss", "gradient", ""]);
    for (range, member) in run.ranges.iter().zip(&last.members) {
        let status = match member.status {
            Status::Learning => String::new(),
            Status::Diverged { step } => format!("diverged at step {step}"),
        };
        table.row([
            range.len().to_string(),
            last.step.to_string(),
            parameters.to_string(),
            member.loss.map_or_else(String::new, |loss| format!("{loss:.4}")),
            format!("{:.4}", member.gradient_norm),
            status,
        ]);
    }
    table
}
