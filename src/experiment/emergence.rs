//! Figure 3: small networks and young networks are close to the Gaussian structure, too.
//!
//! A network that trains for long is measured at several checkpoints, for several training-set sizes, and so
//! are networks of several widths. Each width is an ensemble of its own, since members of one program
//! share an architecture. The ensembles take turns, so that all are done at about the same
//! time.

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ensemble::{Ensemble, Member, Point};
use super::evaluation::EvalConfig;
use super::references::References;
use super::{
    Detail, Experiment, Preset, Progress, cost, cut, cut_networks, largest, nothing_to_train,
    share, steps,
};
use crate::compute::Engine;
use crate::data::Split;
use crate::error::{Error, Result};
use crate::serial;
use crate::shape::Shape;
use crate::train;

/// Configuration of the experiment: what to train and how to evaluate it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// Sizes of the training sets of the network that trains for long.
    pub sizes: Vec<usize>,
    /// How the network that trains for long is trained.
    pub train_long: train::Config,
    /// Widths of the other networks.
    pub widths: Vec<usize>,
    /// Sizes of the training sets of the networks of several widths.
    pub width_sizes: Vec<usize>,
    /// How the networks of several widths are trained.
    pub train: train::Config,
    /// Every network is trained once from each seed.
    pub seeds: Vec<u64>,
    /// Steps after which the networks are measured, besides the last step.
    pub checkpoints: Vec<u32>,
    /// How the networks are evaluated.
    pub evaluation: EvalConfig,
}

/// What Figure 3 shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Findings {
    /// Networks of each width, for each training-set size, at each checkpoint.
    pub over_width: Vec<Point>,
    /// The network that trains for long, for each training-set size, at each checkpoint.
    pub over_time: Vec<Point>,
}

/// The experiment of Figure 3.
#[derive(Debug)]
pub struct Emergence {
    config: Config,
    /// The networks that train for long, if any.
    long: Vec<Track>,
    /// One track per width.
    widths: Vec<Track>,
    references: References,
}

/// An ensemble with its checkpoints.
#[derive(Debug)]
struct Track {
    ensemble: Ensemble,
    checkpoints: Vec<u32>,
    /// The measurements, by checkpoint, then by member.
    measured: Vec<Vec<Point>>,
    seconds_left: Option<f64>,
}

impl Track {
    async fn new(
        engine: &Engine,
        split: &Split,
        sizes: &[usize],
        train: &train::Config,
        config: &Config,
    ) -> Result<Self> {
        let members = Member::nested(sizes, &config.seeds);
        let ensemble = Ensemble::new(engine, split, &members, train, &config.evaluation).await?;
        let mut checkpoints = config.checkpoints.clone();
        checkpoints.retain(|&step| step < train.steps);
        checkpoints.push(train.steps);
        checkpoints.sort_unstable();
        checkpoints.dedup();
        Ok(Self { ensemble, checkpoints, measured: Vec::new(), seconds_left: None })
    }

    /// Trains for about `slice`, or to the next checkpoint, and measures there.
    async fn advance(
        &mut self,
        slice: Duration,
        references: &mut References,
    ) -> Result<train::Progress> {
        let next = self.checkpoints.get(self.measured.len()).copied();
        let progress = self.ensemble.advance_to(next.unwrap_or(u32::MAX), slice).await?;
        self.seconds_left = progress.seconds_left;
        self.measure(references).await?;
        Ok(progress)
    }

    /// Measures if the next checkpoint is reached: the ensemble has just arrived there, or an earlier
    /// measurement was interrupted.
    async fn measure(&mut self, references: &mut References) -> Result<()> {
        let step = self.ensemble.session().steps_done();
        if self.checkpoints.get(self.measured.len()) == Some(&step) {
            self.measured.push(self.ensemble.points(references, Detail::Full).await?);
        }
        Ok(())
    }

    /// Everything measured so far, member by member. A preview also includes the networks as they are
    /// now.
    async fn findings(
        &mut self,
        references: &mut References,
        detail: Detail,
    ) -> Result<Vec<Point>> {
        self.measure(references).await?;
        let mut now = Vec::new();
        if detail == Detail::Preview && self.measured.len() < self.checkpoints.len() {
            now = self.ensemble.points(references, detail).await?;
        }
        let levels = self.ensemble.evaluation().preview_levels();
        let mut findings = Vec::new();
        for member in 0..self.ensemble.sets().ranges().len() {
            for points in &self.measured {
                let mut point = points[member].clone();
                if detail == Detail::Preview {
                    point.keep(&levels);
                }
                findings.push(point);
            }
            findings.extend(now.get(member).cloned());
        }
        Ok(findings)
    }
}

impl Experiment for Emergence {
    type Config = Config;
    type Findings = Findings;
    const NAME: &'static str = "emergence";
    const TITLE: &'static str = "Small networks and young networks";
    const FIGURE: Option<u32> = Some(3);

    fn preset(preset: Preset, shape: Shape, seed: u64) -> Config {
        let train = preset.train(shape, Vec::new());
        // Only time is to change, so the learning rate stays constant.
        let long = train::Config { rate: 2e-3, floor: 1.0, ..train.clone() };
        let (sizes, widths, width_sizes, steps) = match preset {
            Preset::Quick => (vec![16, 32, 64, 128], vec![16, 64, 192], vec![32], 6400),
            Preset::Main => (
                vec![8, 16, 32, 64, 128, 256, 512, 1024],
                vec![32, 64, 128, 256, 512],
                vec![32, 128],
                6400,
            ),
            Preset::Faithful => (vec![64], vec![4, 8, 16, 32], vec![64], 12_800),
            Preset::CifarQuick => (vec![64], vec![4, 8, 16], vec![64], 3200),
            Preset::Cifar => (vec![64, 256], vec![8, 16, 32], vec![64], 6400),
        };
        // There is an evaluation at every checkpoint, so each is shorter.
        let evaluation =
            EvalConfig { sigmas: vec![1.0, 0.4, 0.15], shown: 6, ..preset.evaluation(seed) };
        Config {
            sizes,
            train_long: train::Config { steps, ..long },
            widths,
            width_sizes,
            train,
            seeds: vec![seed],
            checkpoints: (0..).map(|i| 50 << i).take_while(|&step| step <= steps).collect(),
            evaluation,
        }
    }

    fn images(config: &Config) -> usize {
        largest(&config.sizes).max(largest(&config.width_sizes))
    }

    fn evaluation(config: &Config) -> &EvalConfig {
        &config.evaluation
    }

    fn shards(config: &Config, parts: usize) -> Vec<Config> {
        // The time of a step grows with the width, at first linearly, then quadratically.
        let work = |train: &train::Config, width: usize| {
            let (batch, width) = (train.batch as f64, width as f64);
            f64::from(train.steps) * batch * width * (width + 128.0)
        };
        let long = work(&config.train_long, config.train_long.architecture.width());
        let short = |&width| work(&config.train, width) * config.width_sizes.len() as f64;
        let sizes = config.sizes.len();
        let count = sizes + config.widths.len();
        if count > 0 && parts > count {
            // One size or width per shard, each of which is cut further.
            let long = config.sizes.iter().enumerate().flat_map(|(i, &n)| {
                let cut = cut_networks(&[n], &config.seeds, share(i, count, parts)).into_iter();
                let alone = Config { widths: Vec::new(), ..config.clone() };
                cut.map(move |(sizes, seeds)| Config { sizes, seeds, ..alone.clone() })
            });
            let short = config.widths.iter().zip(sizes..).flat_map(|(&width, i)| {
                let parts = share(i, count, parts);
                let cut = cut_networks(&config.width_sizes, &config.seeds, parts).into_iter();
                let alone = Config { sizes: Vec::new(), widths: vec![width], ..config.clone() };
                cut.map(move |(width_sizes, seeds)| Config { width_sizes, seeds, ..alone.clone() })
            });
            return long.chain(short).collect();
        }
        let mut works = vec![long; sizes];
        works.extend(config.widths.iter().map(short));
        let shard = |chunk: Range<usize>| Config {
            sizes: config.sizes[chunk.start.min(sizes)..chunk.end.min(sizes)].to_vec(),
            widths: config.widths[chunk.start.max(sizes) - sizes..chunk.end.max(sizes) - sizes]
                .to_vec(),
            ..config.clone()
        };
        cut(&works, parts).into_iter().map(shard).collect()
    }

    fn flop(config: &Config, dim: usize) -> Result<f64> {
        let over_time = |sizes: &[usize], train: &train::Config| {
            let before_the_end = config.checkpoints.iter().filter(|&&step| step < train.steps);
            cost::networks(sizes, train, &config.evaluation, before_the_end.count() + 1, dim)
        };
        let mut sum = over_time(&config.sizes, &config.train_long)?;
        for &width in &config.widths {
            let architecture = config.train.architecture.with_width(width);
            let train = train::Config { architecture, ..config.train.clone() };
            sum += over_time(&config.width_sizes, &train)?;
        }
        Ok(sum * config.seeds.len() as f64)
    }

    async fn new(engine: &Engine, split: &Split, config: Config) -> Result<Self> {
        let (mut long, mut widths, mut all) = (Vec::new(), Vec::new(), Vec::new());
        if !config.sizes.is_empty() {
            all.extend(Member::nested(&config.sizes, &config.seeds));
            let train = &config.train_long;
            long.push(Track::new(engine, split, &config.sizes, train, &config).await?);
        }
        for &width in &config.widths {
            all.extend(Member::nested(&config.width_sizes, &config.seeds));
            let architecture = config.train.architecture.with_width(width);
            let train = &train::Config { architecture, ..config.train.clone() };
            widths.push(Track::new(engine, split, &config.width_sizes, train, &config).await?);
        }
        let references = References::new(engine, split, &all, &config.evaluation).await?;
        Ok(Self { config, long, widths, references })
    }

    async fn advance(&mut self, slice: Duration) -> Result<Progress> {
        let tracks = self.long.iter_mut().chain(&mut self.widths);
        let part = |track: &Track| track.ensemble.part_done();
        let behind = tracks.min_by(|a, b| part(a).total_cmp(&part(b)));
        let behind = behind.ok_or_else(nothing_to_train)?;
        let training = behind.advance(slice, &mut self.references).await?;
        let [step, total] = steps(&self.sessions());
        let tracks = self.long.iter().chain(&self.widths);
        let seconds_left = tracks.map(|track| track.seconds_left).sum();
        Ok(Progress { step, total, seconds_left, training })
    }

    async fn findings(&mut self, detail: Detail) -> Result<Findings> {
        let mut findings = Findings { over_width: Vec::new(), over_time: Vec::new() };
        for track in &mut self.widths {
            findings.over_width.extend(track.findings(&mut self.references, detail).await?);
        }
        for track in &mut self.long {
            findings.over_time.extend(track.findings(&mut self.references, detail).await?);
        }
        Ok(findings)
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn ensembles(&mut self) -> Vec<&mut Ensemble> {
        self.long.iter_mut().chain(&mut self.widths).map(|track| &mut track.ensemble).collect()
    }

    fn memory(&self) -> Result<Value> {
        let tracks = self.long.iter().chain(&self.widths);
        serial::to_value(&tracks.map(|track| &track.measured).collect::<Vec<_>>())
    }

    fn recall(&mut self, memory: Value) -> Result<()> {
        let measured: Vec<Vec<Vec<Point>>> = serial::read(memory)?;
        let mut tracks: Vec<_> = self.long.iter_mut().chain(&mut self.widths).collect();
        let fits = |(track, measured): (&&mut Track, &Vec<Vec<Point>>)| {
            let members = track.ensemble.sets().ranges().len();
            measured.len() <= track.checkpoints.len() && measured.iter().all(|m| m.len() == members)
        };
        if measured.len() != tracks.len() || !tracks.iter().zip(&measured).all(fits) {
            return Err(Error::bad_input("The saved run measured other networks", ""));
        }
        tracks.iter_mut().zip(measured).for_each(|(track, measured)| track.measured = measured);
        Ok(())
    }
}
