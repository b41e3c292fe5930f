//! `sweep run`: computes a shard, resumes it if it was stopped, and skips it if it is done.

use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use erased_serde::Serialize;
use hidden_gaussian::compute::Engine;
use hidden_gaussian::data::Split;
use hidden_gaussian::experiment::Detail;
use hidden_gaussian::experiment::any::{AnyRun, by_name};
use hidden_gaussian::experiment::sweep::environment::{self, ShardOf, variables};
use hidden_gaussian::experiment::sweep::folder::{self, Folder};
use hidden_gaussian::experiment::sweep::{Cell, Checkpoint, Images, PieceResult, ShardResult};
use hidden_gaussian::{Error, Result};
use pollster::block_on;
use rayon::ThreadPoolBuilder;

use super::super::checkpoint::CheckpointEvery;
use super::super::run_to_end::SLICE;
use super::super::stop::was_stopped;
use super::super::{EngineName, data};
use super::progress::{Progress, State};
use super::{PlanFile, STOPPED};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    plan: PlanFile,
    /// Index and number of shards, from 0, such as 3/16 [default: what Slurm, Kubernetes, PBS or Grid Engine
    /// say]
    #[arg(long, value_name = "I/N", verbatim_doc_comment)]
    shard: Option<ShardOf>,
    /// Compute all shards, one after the other
    #[arg(long, conflicts_with = "shard")]
    all: bool,
    /// Engine to compute on
    #[arg(long, value_enum, default_value = "auto")]
    engine: EngineName,
    /// Number of threads [default: SLURM_CPUS_PER_TASK, or as many as the machine and the control group allow]
    #[arg(long)]
    threads: Option<usize>,
    #[command(flatten)]
    checkpoints: CheckpointEvery,
}

impl Arguments {
    /// The indices of the shards to compute, out of `count`.
    fn shards(&self, count: usize) -> Result<Vec<usize>> {
        if self.all {
            return Ok((0..count).collect());
        }
        if let Some(shard) = self.shard {
            if shard.count != count {
                return Err(Error::bad_input(
                    format!("The plan has {count} shards, not {}", shard.count),
                    format!("Pass --shard 0/{count} to --shard {}/{count}", count - 1),
                ));
            }
            return Ok(vec![shard.index]);
        }
        let shard = environment::shard(&variables, count)?;
        shard.map(|index| vec![index]).ok_or_else(|| {
            Error::bad_input(
                "There is no shard to compute: no scheduler assigns one",
                format!("Pass --shard 0/{count} to --shard {}/{count}, or --all", count - 1),
            )
        })
    }
}

pub(super) fn command(arguments: &Arguments) -> Result<ExitCode> {
    let folder = arguments.plan.open()?;
    let shards = arguments.shards(folder.plan.shards.len())?;
    let threads = arguments.threads.map_or_else(|| environment::threads(&variables), Ok)?;
    let pool = ThreadPoolBuilder::new().num_threads(threads).build_global();
    pool.map_err(|error| Error::bad_input(format!("Cannot use {threads} threads: {error}"), ""))?;
    let interval = arguments.checkpoints.interval()?;
    let mut engine = None;
    for index in shards {
        if folder.result(index)?.is_some() {
            // An earlier attempt may have been killed when only this was left to do.
            let _ = fs::remove_file(folder.checkpoint_path(index));
            eprintln!("Shard {index} is already done");
            continue;
        }
        let engine = match &engine {
            Some(engine) => engine,
            None => engine.insert(arguments.engine.open()?),
        };
        folder.remove_remnants(index);
        if let Ended::Stopped(why) = Work::begin(&folder, index, engine, interval)?.run()? {
            eprintln!("{why}");
            return Ok(ExitCode::from(STOPPED));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// How an attempt at a shard ended.
enum Ended {
    Done,
    /// The attempt stopped for this reason; the next attempt resumes.
    Stopped(String),
}

/// An attempt at a shard.
struct Work<'a> {
    folder: &'a Folder,
    index: usize,
    engine: &'a Engine,
    interval: Duration,
    /// The results of the completed pieces.
    done: Vec<PieceResult>,
    /// A snapshot from which to resume the next piece.
    snapshot: Option<Vec<u8>>,
    progress: Progress,
    saved: Instant,
}

impl<'a> Work<'a> {
    fn begin(
        folder: &'a Folder,
        index: usize,
        engine: &'a Engine,
        interval: Duration,
    ) -> Result<Self> {
        let (done, snapshot, seconds) = match folder.checkpoint(index)? {
            Some(Checkpoint { done, snapshot, seconds, .. }) => (done, snapshot, seconds),
            None => (Vec::new(), None, 0.0),
        };
        let [shards, pieces] = [folder.plan.shards.len(), folder.plan.shards[index].pieces.len()];
        let path = folder.progress_path(index);
        let progress = Progress::new([index, shards], pieces, seconds, path, engine);
        let saved = Instant::now();
        Ok(Self { folder, index, engine, interval, done, snapshot, progress, saved })
    }

    fn run(mut self) -> Result<Ended> {
        let computed = block_on(self.compute());
        if was_stopped(&computed) {
            self.progress.end(State::Stopped);
            let path = self.folder.checkpoint_path(self.index);
            let path = path.display();
            return Ok(Ended::Stopped(format!("Stopped; the next start resumes from {path}")));
        }
        computed?;
        let plan = self.folder.plan.hash.clone();
        let result = ShardResult { plan, shard: self.index, pieces: self.done };
        let path = self.folder.result_path(self.index);
        if let Err(error) = folder::write(&path, result.to_json()?.as_bytes()) {
            self.progress.end(State::Stopped);
            let message = format!("{}: {error}; the next start tries again", path.display());
            return Ok(Ended::Stopped(message));
        }
        let _ = fs::remove_file(self.folder.checkpoint_path(self.index));
        self.progress.end(State::Done);
        Ok(Ended::Done)
    }

    /// Computes the remaining pieces. If it is stopped midway, it saves its state.
    async fn compute(&mut self) -> Result<()> {
        let plan = &self.folder.plan;
        let pieces = &plan.shards[self.index].pieces;
        let experiment = by_name(&plan.sweep.experiment)?;
        let mut images: Option<(usize, Split)> = None;
        while let Some(&piece) = pieces.get(self.done.len()) {
            self.progress.piece(self.done.len());
            let split = match images.take() {
                Some((cell, split)) if cell == piece.cell => split,
                _ => load(&plan.cells[piece.cell])?,
            };
            let config = plan.config(piece)?;
            let mut run = experiment.start(self.engine, &split, config).await?;
            images = Some((piece.cell, split));
            if let Some(snapshot) = &self.snapshot {
                let path = self.folder.checkpoint_path(self.index);
                run.restore(snapshot).map_err(|error| folder::at(&path, &error))?;
            }
            let report = self.train(&mut *run).await;
            if was_stopped(&report) {
                self.save(Some(&mut *run)).await?;
            }
            self.done.push(PieceResult::new(piece, &*report?)?);
            self.snapshot = None;
            if self.done.len() < pieces.len() {
                self.save(None).await?;
            }
        }
        self.progress.piece(self.done.len());
        Ok(())
    }

    /// Trains to the end, with checkpoints at intervals, and reports.
    async fn train(&mut self, run: &mut dyn AnyRun) -> Result<Box<dyn Serialize>> {
        loop {
            let now = run.advance(SLICE).await?;
            self.progress.step([now.step, now.total], now.seconds_left);
            if self.saved.elapsed() >= self.interval {
                self.save(Some(&mut *run)).await?;
            }
            if now.is_done() {
                break;
            }
        }
        run.report(Detail::Full).await
    }

    /// Saves the state of the shard. If that fails, such as on a full disk, the earlier checkpoint
    /// remains and the work continues.
    async fn save(&mut self, run: Option<&mut dyn AnyRun>) -> Result<()> {
        if let Some(run) = run {
            self.snapshot = Some(run.snapshot().await?);
        }
        let checkpoint = Checkpoint {
            plan: self.folder.plan.hash.clone(),
            shard: self.index,
            seconds: self.progress.seconds(),
            done: self.done.clone(),
            snapshot: self.snapshot.take(),
        };
        let path = self.folder.checkpoint_path(self.index);
        if let Err(error) = folder::write(&path, &checkpoint.to_bytes()?) {
            let what = "The checkpoint could not be saved, and the earlier one remains";
            self.progress.warn(format!("{what}: {}: {error}", path.display()));
        }
        self.saved = Instant::now();
        Ok(())
    }
}

/// Loads the images of a cell, and checks that they are the ones it was planned for.
fn load(cell: &Cell) -> Result<Split> {
    let split = data::again(&cell.images.recipe, Some(&cell.data))?;
    if Images::of(&split).fingerprint != cell.images.fingerprint {
        return Err(Error::bad_input(
            format!("“{}” has other images than when the sweep was planned", cell.data),
            "Use the same file, or plan the sweep again",
        ));
    }
    Ok(split)
}
