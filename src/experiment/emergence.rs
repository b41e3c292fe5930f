//! Figure 3: with few training images, small networks and young networks find the Gaussian
//! structure, too; only large ones that train for long memorize.
//!
//! Networks of different widths are different programs. They take turns, so that all of them are
//! done at about the same time.

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::portrait::Look;
use super::references::References;
use super::run::to_json;
use super::study::{Member, Point, Study};
use super::{Detail, Experiment, Preset, Progress, cut};
use crate::compute::Engine;
use crate::data::{Shape, Split};
use crate::error::{Error, Result};
use crate::json::from_json;
use crate::model::Architecture;
use crate::train::{self, Session};

/// What to train and what to look at.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Config {
    /// Sizes of the training sets of the network that trains for long.
    pub sizes: Vec<usize>,
    /// How it is trained.
    pub train_long: train::Config,
    /// Widths of the other networks.
    pub widths: Vec<usize>,
    /// Sizes of their training sets.
    pub width_sizes: Vec<usize>,
    /// How they are trained.
    pub train: train::Config,
    /// Seed of all networks.
    pub seed: u64,
    /// Steps at which they are looked at; and when they are done.
    pub checkpoints: Vec<u32>,
    /// How they are looked at.
    pub look: Look,
}

from_json!(Config { sizes, train_long, widths, width_sizes, train, seed, checkpoints, look });

/// One network at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sitting {
    /// Its architecture.
    pub architecture: Architecture,
    /// Its figures.
    #[serde(flatten)]
    pub point: Point,
}

/// What Figure 3 shows: [`Sitting`]s, as JSON, which [`read`] takes apart. They stay what they were
/// when they were seen, also in a run that was saved and restored.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Findings {
    /// Networks of each width, for each size of training set, at each checkpoint.
    pub over_width: Vec<Box<RawValue>>,
    /// The network that trains for long, for each size of training set, at each checkpoint.
    pub over_time: Vec<Box<RawValue>>,
}

/// The sittings themselves.
pub fn read(sittings: &[Box<RawValue>]) -> Result<Vec<Sitting>> {
    let texts = sittings.iter().map(|sitting| sitting.get());
    texts.map(|text| serde_json::from_str(text).map_err(|error| unreadable(&error))).collect()
}

fn unreadable(error: &serde_json::Error) -> Error {
    Error::bad_input(format!("What was seen can't be read: {error}"), "")
}

/// A [`Sitting`] as JSON, in both details.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Seen {
    glance: Box<RawValue>,
    full: Box<RawValue>,
}

impl Seen {
    fn new(mut sitting: Sitting, look: &Look) -> Result<Self> {
        let raw = |sitting: &Sitting| to_raw_value(sitting).map_err(|error| unreadable(&error));
        let full = raw(&sitting)?;
        let sigmas = look.glance().sigmas;
        let levels: Vec<usize> = sigmas.iter().filter_map(|&sigma| look.level(sigma)).collect();
        sitting.point.keep(&levels);
        Ok(Self { glance: raw(&sitting)?, full })
    }
}

/// The experiment.
#[derive(Debug)]
pub struct Emergence {
    config: Config,
    /// The networks that train for long, if there are any.
    long: Vec<Ensemble>,
    /// One ensemble for each width.
    widths: Vec<Ensemble>,
    references: References,
}

/// Networks of one width, when they are looked at, and what was seen.
#[derive(Debug)]
struct Ensemble {
    study: Study,
    checkpoints: Vec<u32>,
    /// By checkpoint, then by member.
    seen: Vec<Vec<Seen>>,
    seconds_left: Option<f64>,
}

impl Ensemble {
    async fn new(
        engine: &Engine,
        split: &Split,
        sizes: &[usize],
        train: &train::Config,
        config: &Config,
    ) -> Result<Self> {
        let study = Study::new(engine, split, &members(sizes, config), train, &config.look).await?;
        let mut checkpoints = config.checkpoints.clone();
        checkpoints.retain(|&step| step < train.steps);
        checkpoints.push(train.steps);
        checkpoints.sort_unstable();
        checkpoints.dedup();
        Ok(Self { study, checkpoints, seen: Vec::new(), seconds_left: None })
    }

    /// The share of its steps that is done.
    fn done(&self) -> f64 {
        let session = self.study.session();
        f64::from(session.steps_done()) / f64::from(session.config().steps)
    }

    /// Trains for about `slice`, or to the next checkpoint, and looks there.
    async fn advance(
        &mut self,
        slice: Duration,
        references: &mut References,
    ) -> Result<train::Report> {
        let next = self.checkpoints.get(self.seen.len()).copied();
        let report = self.study.advance_to(next.unwrap_or(u32::MAX), slice).await?;
        self.seconds_left = report.seconds_left;
        self.see(references).await?;
        Ok(report)
    }

    /// Looks, if it stands at the next checkpoint: it has just come there, or a look that had begun
    /// there was interrupted.
    async fn see(&mut self, references: &mut References) -> Result<()> {
        let step = self.study.session().steps_done();
        if self.checkpoints.get(self.seen.len()) == Some(&step) {
            let sittings = self.look(references, Detail::Full).await?;
            let look = self.study.look();
            let seen = sittings.into_iter().map(|sitting| Seen::new(sitting, look));
            self.seen.push(seen.collect::<Result<_>>()?);
        }
        Ok(())
    }

    /// The networks as they are now.
    async fn look(&mut self, references: &mut References, detail: Detail) -> Result<Vec<Sitting>> {
        let points = self.study.points(references, detail).await?;
        let architecture = &self.study.session().config().architecture;
        let sitting = |point| Sitting { architecture: architecture.clone(), point };
        Ok(points.into_iter().map(sitting).collect())
    }

    /// All that was seen, network by network. A glance also shows the networks as they are now.
    async fn findings(
        &mut self,
        references: &mut References,
        detail: Detail,
    ) -> Result<Vec<Box<RawValue>>> {
        self.see(references).await?;
        let mut now = Vec::new();
        if detail == Detail::Glance && self.seen.len() < self.checkpoints.len() {
            now = self.look(references, detail).await?;
        }
        let mut findings = Vec::new();
        for member in 0..self.study.sets().ranges().len() {
            let course = self.seen.iter().filter_map(|seen| seen.get(member));
            findings.extend(course.map(|seen| match detail {
                Detail::Glance => seen.glance.clone(),
                Detail::Full => seen.full.clone(),
            }));
            if let Some(sitting) = now.get(member) {
                findings.push(to_raw_value(sitting).map_err(|error| unreadable(&error))?);
            }
        }
        Ok(findings)
    }
}

/// The members of an ensemble.
fn members(sizes: &[usize], config: &Config) -> Vec<Member> {
    sizes.iter().map(|&n| Member { first: 0, n, seed: config.seed }).collect()
}

impl Experiment for Emergence {
    type Config = Config;
    type Findings = Findings;
    const NAME: &'static str = "emergence";

    fn preset(preset: Preset, shape: Shape, seed: u64) -> Config {
        let train = preset.train(shape, Vec::new());
        // Time is to be the only thing that changes, so the learning rate does not.
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
        // There is one more look for each moment, so each is briefer.
        let look = Look { sigmas: vec![1.0, 0.4, 0.15], shown: 6, ..preset.look(seed) };
        Config {
            sizes,
            train_long: train::Config { steps, ..long },
            widths,
            width_sizes,
            train,
            seed,
            checkpoints: (0..).map(|i| 50 << i).take_while(|&step| step <= steps).collect(),
            look,
        }
    }

    fn images(config: &Config) -> usize {
        config.sizes.iter().chain(&config.width_sizes).copied().max().unwrap_or(0)
    }

    fn look(config: &Config) -> &Look {
        &config.look
    }

    fn shares(config: &Config, parts: usize) -> Vec<Config> {
        // The time of a step grows with the width, at first linearly, then with its square.
        let work = |train: &train::Config, width: usize| {
            let (batch, width) = (train.batch as f64, width as f64);
            f64::from(train.steps) * batch * width * (width + 128.0)
        };
        let long = work(&config.train_long, config.train_long.architecture.width());
        let short = |&width| work(&config.train, width) * config.width_sizes.len() as f64;
        let sizes = config.sizes.len();
        let mut works = vec![long; sizes];
        works.extend(config.widths.iter().map(short));
        let share = |piece: Range<usize>| Config {
            sizes: config.sizes[piece.start.min(sizes)..piece.end.min(sizes)].to_vec(),
            widths: config.widths[piece.start.max(sizes) - sizes..piece.end.max(sizes) - sizes]
                .to_vec(),
            ..config.clone()
        };
        cut(&works, parts).into_iter().map(share).collect()
    }

    async fn new(engine: &Engine, split: &Split, config: Config) -> Result<Self> {
        let (mut long, mut widths, mut all) = (Vec::new(), Vec::new(), Vec::new());
        if !config.sizes.is_empty() {
            all.extend(members(&config.sizes, &config));
            let train = &config.train_long;
            long.push(Ensemble::new(engine, split, &config.sizes, train, &config).await?);
        }
        for &width in &config.widths {
            all.extend(members(&config.width_sizes, &config));
            let architecture = config.train.architecture.with_width(width);
            let train = &train::Config { architecture, ..config.train.clone() };
            widths.push(Ensemble::new(engine, split, &config.width_sizes, train, &config).await?);
        }
        let references = References::new(engine, split, &all, &config.look)?;
        Ok(Self { config, long, widths, references })
    }

    async fn advance(&mut self, slice: Duration) -> Result<Progress> {
        let all = self.long.iter_mut().chain(&mut self.widths);
        let behind = all.min_by(|a, b| a.done().total_cmp(&b.done()));
        let behind = behind.ok_or_else(|| Error::bad_input("There is nothing to train", ""))?;
        let training = behind.advance(slice, &mut self.references).await?;
        let all = || self.long.iter().chain(&self.widths);
        let sessions = || all().map(|ensemble| ensemble.study.session());
        Ok(Progress {
            step: sessions().map(Session::steps_done).fold(0, u32::saturating_add),
            total: sessions().map(|session| session.config().steps).fold(0, u32::saturating_add),
            seconds_left: all().map(|ensemble| ensemble.seconds_left).sum(),
            training,
        })
    }

    async fn findings(&mut self, detail: Detail) -> Result<Findings> {
        let mut findings = Findings { over_width: Vec::new(), over_time: Vec::new() };
        for ensemble in &mut self.widths {
            findings.over_width.extend(ensemble.findings(&mut self.references, detail).await?);
        }
        for ensemble in &mut self.long {
            findings.over_time.extend(ensemble.findings(&mut self.references, detail).await?);
        }
        Ok(findings)
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn sessions(&mut self) -> Vec<&mut Session> {
        let all = self.long.iter_mut().chain(&mut self.widths);
        all.map(|ensemble| ensemble.study.session_mut()).collect()
    }

    fn memory(&self) -> Result<String> {
        let seen: Vec<_> = self.long.iter().chain(&self.widths).map(|e| &e.seen).collect();
        to_json(&seen)
    }

    fn recall(&mut self, memory: &str) -> Result<()> {
        let seen: Vec<Vec<Vec<Seen>>> =
            serde_json::from_str(memory).map_err(|error| unreadable(&error))?;
        let mut all: Vec<_> = self.long.iter_mut().chain(&mut self.widths).collect();
        let fits = |(ensemble, seen): (&&mut Ensemble, &Vec<Vec<Seen>>)| {
            let members = ensemble.study.sets().ranges().len();
            seen.len() <= ensemble.checkpoints.len() && seen.iter().all(|s| s.len() == members)
        };
        if seen.len() != all.len() || !all.iter().zip(&seen).all(fits) {
            return Err(Error::bad_input("The saved run saw other networks", ""));
        }
        all.iter_mut().zip(seen).for_each(|(ensemble, seen)| ensemble.seen = seen);
        Ok(())
    }
}
