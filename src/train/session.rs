//! A training run: recorded, loaded, stepped, saved and resumed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Checkpoint, Config, Optimizer};
use crate::compute::{Buffer, Control, Engine, Loaded, Profile, Program, Routine, elements};
use crate::data::TrainingSets;
use crate::denoiser::Trained;
use crate::error::{Error, Result};
use crate::kernels::finish_step::{STEP_STATE, TRAINING_CLOCK};
use crate::kernels::{
    Edm, Fold, Sigma, adam, batch_draw, batch_noise, denoising_loss, finish_step, noise, sgd,
    square_sums,
};
use crate::model::Network;
use crate::platform::{Instant, SINGLE_THREADED};

/// The buffers that a training step changes: all that a checkpoint must hold.
#[derive(Debug, Clone, Copy)]
struct State {
    weights: Buffer,
    average: Buffer,
    momentum: Buffer,
    variance: Buffer,
    clock: Buffer,
}

/// A recorded training run, to which other routines can be added before it is loaded: a sampler or
/// a metric that uses [`Plan::denoiser`] runs on the live weights.
#[derive(Debug)]
pub struct Plan {
    /// The recorded program.
    pub program: Program,
    config: Config,
    sets: TrainingSets,
    network: Arc<dyn Network>,
    state: State,
    step: Step,
}

/// One training step, as a whole and in two parts. The first part can be abandoned, since it changes
/// nothing that a checkpoint holds; the second is short.
#[derive(Debug, Clone, Copy)]
struct Step {
    whole: Routine,
    gradients: Routine,
    update: Routine,
}

impl Plan {
    /// Records the training step of an ensemble: member `i` learns set `i` of `sets` with seed `i`
    /// of `config`.
    pub fn new(engine: &Engine, config: Config, sets: &TrainingSets) -> Result<Self> {
        Self::with_profile(engine.profile(), config, sets)
    }

    /// Records the training step for an engine with the given profile, which need not exist here.
    #[doc(hidden)]
    pub fn with_profile(profile: Profile, config: Config, sets: &TrainingSets) -> Result<Self> {
        config.check()?;
        let members = sets.ranges().len();
        if config.seeds.len() != members {
            return Err(Error::bad_input(
                format!("There are {} seeds for {members} training sets", config.seeds.len()),
                "Give each member one seed and one training set",
            ));
        }
        let network = config.architecture.network(sets.dim())?;
        let mut program = Program::new(members, profile)?;
        let p = &mut program;
        let parameters = network.parameters();
        let len = parameters.buffer_len();
        let clocks = config.seeds.iter().flat_map(|&seed| {
            let mut words = [0; TRAINING_CLOCK];
            words[..noise::CLOCK].copy_from_slice(&noise::clock(seed, 0));
            words.map(f32::from_bits)
        });
        let state = State {
            weights: p.buffer("weights", len)?,
            average: p.buffer("averaged weights", len)?,
            momentum: p.buffer("momentum", len)?,
            variance: p.buffer("variance", len)?,
            clock: p.buffer_with("clock", clocks.collect())?,
        };
        let step = record_step(p, &config, sets, &*network, state)?;
        let initial: Vec<f32> =
            config.seeds.iter().flat_map(|&seed| parameters.initial(seed)).collect();
        let initial: Arc<[f32]> = initial.into();
        p.begin_with(state.weights, Arc::clone(&initial))?;
        p.begin_with(state.average, initial)?;
        Ok(Self { program, config, sets: sets.clone(), network, state, step })
    }

    /// The network with the moving average of its weights, which is sampled from and measured.
    #[must_use]
    pub fn denoiser(&self) -> Trained {
        let edm = Edm { sigma_data: self.config.sigma_data };
        Trained::live(Arc::clone(&self.network), edm, self.state.average, self.program.members())
    }

    /// Number of parameters that each member learns.
    #[must_use]
    pub fn parameter_count(&self) -> usize {
        self.network.parameters().count()
    }

    /// Loads the program, ready to step.
    pub async fn load(self, engine: &Engine) -> Result<Session> {
        let Self { program, config, sets, network, state, step } = self;
        let loaded = engine.load(program).await?;
        let (speed, step_seconds) = (Speed::default(), None);
        let routines = step;
        Ok(Session { loaded, config, sets, network, state, routines, step: 0, speed, step_seconds })
    }
}

/// Records one step: draw, forward pass, loss, backward pass, update.
fn record_step(
    program: &mut Program,
    config: &Config,
    sets: &TrainingSets,
    network: &dyn Network,
    state: State,
) -> Result<Step> {
    let State { weights, average, momentum, variance, clock } = state;
    let (rows, dim) = (config.batch, sets.dim());
    let len = weights.len();
    let chunks = square_sums::chunks(len);
    let images = sets.pool().len() / dim;
    let pool = program.constant("images", sets.pool())?;
    let range = program.buffer_with("training set", sets.range_words())?;
    let index = program.buffer("batch images", rows)?;
    let sigma = program.buffer("batch noise levels", rows)?;
    let values = elements([rows, dim]);
    let x = program.buffer("batch", values)?;
    let target = program.buffer("target", values)?;
    let f = program.buffer("network output", values)?;
    let d_f = program.buffer("gradient of the output", values)?;
    let losses = program.buffer("losses", rows)?;
    let gradients = program.buffer("gradients", len)?;
    let squares = program.buffer("squared gradients", chunks)?;
    let step_state = program.buffer("step", STEP_STATE)?;
    let placed = network.place_training(program, rows, weights.into(), gradients.into())?;
    let fold = placed.fold().map_or(Fold::none(dim), Fold::of);
    let gradients_of_step = program.routine("gradients", |p| {
        let edm = Edm { sigma_data: config.sigma_data };
        let levels = [config.log_sigma_mean, config.log_sigma_deviation];
        batch_draw::record(p, [clock, range, index, sigma].map(Into::into), levels, rows)?;
        let batch = [clock, pool, index, sigma, x, target].map(Into::into);
        batch_noise::record(p, edm, batch, [rows, dim, images], fold)?;
        placed.forward_folded(p, x.into(), Sigma::per_row(sigma), f.into())?;
        let loss = [f, target, d_f, losses].map(Into::into);
        denoising_loss::record(p, loss, [rows, dim], fold)?;
        placed.backward_folded(p, x.into(), d_f.into())?;
        square_sums::record(p, gradients.into(), squares.into(), len)
    })?;
    let update = program.routine("update", |p| {
        let views = [squares, losses, clock, step_state].map(Into::into);
        finish_step::record(p, config.schedule(), views, [chunks, rows])?;
        match config.optimizer {
            Optimizer::Adam => {
                let views = [step_state, gradients, weights, momentum, variance, average];
                adam::record(p, views.map(Into::into), len)
            }
            Optimizer::Sgd { momentum: keep } => {
                let views = [step_state, gradients, weights, momentum, average];
                sgd::record(p, keep, views.map(Into::into), len)
            }
        }
    })?;
    let whole = program.join("train", &[gradients_of_step, update])?;
    Ok(Step { whole, gradients: gradients_of_step, update })
}

/// Whether a member is still learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Status {
    /// The member is learning.
    Learning,
    /// The member's loss or gradient blew up; it keeps the weights from before.
    Diverged {
        /// Steps that it had done.
        step: u32,
    },
}

impl Status {
    /// Steps that a member has learned from, out of `done` steps of its ensemble.
    #[must_use]
    pub const fn steps(self, done: u32) -> u32 {
        match self {
            Self::Learning => done,
            Self::Diverged { step } => step,
        }
    }

    /// Whether the member has diverged.
    #[must_use]
    pub const fn is_diverged(self) -> bool {
        matches!(self, Self::Diverged { .. })
    }
}

/// Training progress of a member.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberProgress {
    /// Mean loss of the steps since the last report, if there were any.
    pub loss: Option<f32>,
    /// Norm of the last gradient before clipping.
    pub gradient_norm: f32,
    /// Whether the member is still learning.
    pub status: Status,
}

/// Training progress of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Steps done so far.
    pub step: u32,
    /// Steps of the whole run.
    pub total: u32,
    /// Recent speed, not counting pauses; 0 before the first step.
    pub steps_per_second: f64,
    /// Seconds to the end at this speed, if known.
    pub seconds_left: Option<f64>,
    /// Progress of each member.
    pub members: Vec<MemberProgress>,
}

/// Steps and the time they took. A GPU keeps working after `step` returns, so only a readback ends a
/// measurement; the time between a report and the next step is a pause and does not count.
#[derive(Debug, Default)]
struct Speed {
    since: Option<Instant>,
    steps: u32,
    per_second: f64,
}

impl Speed {
    fn begin(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    fn end(&mut self) -> f64 {
        if let Some(since) = self.since.take() {
            // No steps, or steps that took no measurable time, give no speed.
            let elapsed = since.elapsed().as_secs_f64();
            if elapsed > 0.0 && self.steps > 0 {
                self.per_second = f64::from(self.steps) / elapsed;
            }
            self.steps = 0;
        }
        self.per_second
    }
}

/// How long training runs without polling its control, in seconds, where members take turns on one thread,
/// in a page's worker. Each turn begins with a cold cache, so turns should be long; a page that cannot wait
/// can terminate the worker.
const MAX_UNPOLLED_IN_TURNS: f64 = 0.2;

/// A training run on an engine. It runs while `step` is called and is paused otherwise; other threads or
/// tasks can pause or cancel it through its [`control`](Self::control). It always stops between two steps
/// of all members, so that it can be saved and resumed.
#[derive(Debug)]
pub struct Session {
    /// The loaded program, for routines that were added to the plan.
    pub loaded: Loaded,
    config: Config,
    sets: TrainingSets,
    network: Arc<dyn Network>,
    state: State,
    routines: Step,
    step: u32,
    speed: Speed,
    /// How long a step takes, if known.
    step_seconds: Option<f64>,
}

impl Session {
    /// Records and loads a run that only trains.
    pub async fn new(engine: &Engine, config: Config, sets: &TrainingSets) -> Result<Self> {
        Plan::new(engine, config, sets)?.load(engine).await
    }

    /// How the networks are trained.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Steps done so far.
    #[must_use]
    pub const fn steps_done(&self) -> u32 {
        self.step
    }

    /// The control that pauses and cancels the run, from any thread or task.
    #[must_use]
    pub fn control(&self) -> Control {
        self.loaded.control().clone()
    }

    /// Runs up to `count` steps, until the run ends or is paused, and returns how many it ran. On the GPU they
    /// are only submitted, and can no longer be stopped.
    pub fn step(&mut self, count: u32) -> Result<u32> {
        // Only the CPU knows here how long they take. In a page nothing can change the control before this
        // returns.
        let in_chunks = !SINGLE_THREADED && matches!(self.loaded, Loaded::Cpu(_));
        let mut done = 0;
        loop {
            let left = self.left(count - done)?;
            let now = if in_chunks { self.chunk(left) } else { left };
            if now == 0 {
                return Ok(done);
            }
            let start = Instant::now();
            self.loaded.run(self.routines.whole, now)?;
            self.count(now);
            if in_chunks {
                self.time(now, start);
            }
            done += now;
        }
    }

    /// Runs one step of the first member on the CPU engine, and adds the time of each stage to that of its kernel.
    #[doc(hidden)]
    pub fn time_step(&mut self, times: &mut BTreeMap<&'static str, Duration>) {
        if let Loaded::Cpu(cpu) = &mut self.loaded {
            cpu.time(self.routines.whole, times);
            self.count(1);
        }
    }

    /// Runs up to `count` steps that may be slow: they can be cancelled midway, even on the GPU, and a page's
    /// other tasks run in between. The future may be dropped.
    pub async fn step_cooperative(&mut self, count: u32) -> Result<u32> {
        let Step { whole, gradients, update } = self.routines;
        let mut done = 0;
        loop {
            let left = self.left(count - done)?;
            let now = self.chunk(left);
            if now == 0 {
                return Ok(done);
            }
            let start = Instant::now();
            if now == 1 {
                self.loaded.run_cooperative(gradients, 1).await?;
                // A cancel after this point still completes the step; a step is never half-applied.
                self.loaded.run_to_end(update, 1)?;
            } else {
                self.loaded.run(whole, now)?;
            }
            // The next call that waits for the device measures the last steps.
            let measured = now < left || matches!(self.loaded, Loaded::Cpu(_));
            // Counted before the wait, which may fail or be dropped: the steps are already submitted.
            self.count(now);
            done += now;
            if measured {
                self.loaded.finish().await?;
                self.time(now, start);
            }
            self.loaded.control().yield_now().await?;
        }
    }

    /// How many of `count` steps remain to be done: none while the run is paused.
    fn left(&mut self, count: u32) -> Result<u32> {
        self.loaded.control().check()?;
        let left = count.min(self.config.steps.saturating_sub(self.step));
        if left == 0 || self.loaded.control().is_paused() {
            return Ok(0);
        }
        self.speed.begin();
        Ok(left)
    }

    /// How many of `left` steps to run without polling the control.
    fn chunk(&self, left: u32) -> u32 {
        let in_turns =
            SINGLE_THREADED && matches!(self.loaded, Loaded::Cpu(_)) && self.config.seeds.len() > 1;
        let slice = self.loaded.control().slice().as_secs_f64();
        let longest = if in_turns { MAX_UNPOLLED_IN_TURNS } else { slice };
        let fitting = self.step_seconds.map_or(1.0, |each| longest / each);
        left.min((fitting as u32).max(1))
    }

    /// Counts steps that are done or submitted.
    const fn count(&mut self, steps: u32) {
        self.step += steps;
        self.speed.steps += steps;
    }

    /// Records how long steps took, from `start` until they were waited for.
    fn time(&mut self, steps: u32, start: Instant) {
        let each = start.elapsed().as_secs_f64() / f64::from(steps);
        self.step_seconds = Some(each.max(1e-7));
    }

    /// How many steps take about `seconds` at the speed of the last report, at least one. To stay responsive,
    /// run that many at a time.
    #[must_use]
    pub fn steps_within(&self, seconds: f64) -> u32 {
        (self.speed.per_second * seconds).max(1.0) as u32
    }

    /// Waits for the steps so far and reports on them.
    pub async fn progress(&mut self) -> Result<Progress> {
        let words: Vec<u32> = self.loaded.read(self.state.clock).await?;
        let mut members = Vec::new();
        for (member, clock) in words.chunks_exact(TRAINING_CLOCK).enumerate() {
            let &[_, _, step, status, sum, count, _, norm] = clock else { continue };
            members.push(MemberProgress {
                loss: (count > 0).then(|| f32::from_bits(sum) / count as f32),
                gradient_norm: f32::from_bits(norm),
                status: if status == 0 { Status::Learning } else { Status::Diverged { step } },
            });
            self.loaded.upload_part(self.state.clock, member, noise::CLOCK, &[0_u32; 2])?;
        }
        let speed = self.speed.end();
        if speed > 0.0 {
            self.step_seconds = Some(1.0 / speed);
        }
        let left = self.config.steps.saturating_sub(self.step);
        Ok(Progress {
            step: self.step,
            total: self.config.steps,
            steps_per_second: speed,
            seconds_left: (speed > 0.0).then(|| f64::from(left) / speed),
            members,
        })
    }

    /// Saves everything that is needed to continue from here.
    pub async fn snapshot(&mut self) -> Result<Checkpoint> {
        let State { weights, average, momentum, variance, clock } = self.state;
        Ok(Checkpoint {
            config: self.config.clone(),
            dim: self.sets.dim(),
            ranges: self.sets.ranges().to_vec(),
            data: self.sets.fingerprint(),
            recipe: None,
            step: self.step,
            weights: self.loaded.read(weights).await?,
            average: self.loaded.read(average).await?,
            momentum: self.loaded.read(momentum).await?,
            variance: self.loaded.read(variance).await?,
            clock: self.loaded.read(clock).await?,
        })
    }

    /// Fails unless `checkpoint` comes from this run.
    pub fn check(&self, checkpoint: &Checkpoint) -> Result<()> {
        let hint = "Start the run that the checkpoint came from";
        if checkpoint.config != self.config {
            return Err(Error::bad_input("The checkpoint has another configuration", hint));
        }
        let sets = &self.sets;
        let same = checkpoint.dim == sets.dim()
            && checkpoint.ranges == sets.ranges()
            && checkpoint.data == sets.fingerprint();
        if !same {
            return Err(Error::bad_input("The checkpoint was trained on other images", hint));
        }
        Ok(())
    }

    /// Returns to the state of `checkpoint`, which must come from the same run.
    pub fn restore(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.check(checkpoint)?;
        let State { weights, average, momentum, variance, clock } = self.state;
        self.loaded.upload(weights, &checkpoint.weights)?;
        self.loaded.upload(average, &checkpoint.average)?;
        self.loaded.upload(momentum, &checkpoint.momentum)?;
        self.loaded.upload(variance, &checkpoint.variance)?;
        self.loaded.upload(clock, &checkpoint.clock)?;
        self.step = checkpoint.step;
        self.speed = Speed::default();
        Ok(())
    }

    /// Number of parameters that each member learns.
    #[must_use]
    pub fn parameter_count(&self) -> usize {
        self.network.parameters().count()
    }
}
