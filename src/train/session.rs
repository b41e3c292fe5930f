//! A training run: recorded, loaded, stepped, saved and resumed.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Checkpoint, Config};
use crate::compute::{Buffer, Control, Engine, Loaded, Profile, Program, Routine, elements};
use crate::data::TrainingSets;
use crate::denoiser::Trained;
use crate::error::{Error, Result};
use crate::kernels::finish_step::{STEP_STATE, TRAINING_CLOCK};
use crate::kernels::{
    Edm, Sigma, adam, batch_draw, batch_noise, denoising_loss, finish_step, noise, square_sums,
};
use crate::model::Network;
use crate::platform::{Instant, SINGLE_THREADED};

/// What a training step changes: all that a checkpoint has to hold.
#[derive(Debug, Clone, Copy)]
struct State {
    weights: Buffer,
    average: Buffer,
    momentum: Buffer,
    variance: Buffer,
    clock: Buffer,
}

/// A recorded training run, to which other routines may be added before it is loaded: a sampler or
/// a metric that uses [`Plan::denoiser`] runs on the live weights.
#[derive(Debug)]
pub struct Plan {
    /// The program.
    pub program: Program,
    config: Config,
    sets: TrainingSets,
    network: Arc<dyn Network>,
    state: State,
    step: Step,
}

/// One training step, whole and in two parts: the first can be given up, as nothing that a
/// checkpoint holds has changed before the second, which is short.
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

    /// The same for an engine that is not here.
    #[doc(hidden)]
    pub fn with_profile(profile: Profile, config: Config, sets: &TrainingSets) -> Result<Self> {
        config.check()?;
        let members = sets.ranges().len();
        if config.seeds.len() != members {
            return Err(Error::bad_input(
                format!("{} seeds for {members} training sets", config.seeds.len()),
                "Give each member one of each",
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

    /// The network with the moving average of its weights: what is sampled from and measured.
    #[must_use]
    pub fn denoiser(&self) -> Trained {
        let edm = Edm { sigma_data: self.config.sigma_data };
        Trained::live(Arc::clone(&self.network), edm, self.state.average, self.program.members())
    }

    /// Numbers that each member learns.
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

/// Records one step: draw, forward, loss, backward, update.
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
    let gradients_of_step = program.routine("gradients", |p| {
        let edm = Edm { sigma_data: config.sigma_data };
        let levels = [config.log_sigma_mean, config.log_sigma_deviation];
        batch_draw::record(p, [clock, range, index, sigma].map(Into::into), levels, rows)?;
        let batch = [clock, pool, index, sigma, x, target].map(Into::into);
        batch_noise::record(p, edm, batch, [rows, dim, images])?;
        placed.forward(p, x.into(), Sigma::per_row(sigma), f.into())?;
        denoising_loss::record(p, [f, target, d_f, losses].map(Into::into), [rows, dim])?;
        placed.backward(p, x.into(), d_f.into())?;
        square_sums::record(p, gradients.into(), squares.into(), len)
    })?;
    let update = program.routine("update", |p| {
        let views = [squares, losses, clock, step_state].map(Into::into);
        finish_step::record(p, config.schedule(), views, [chunks, rows])?;
        let views = [step_state, gradients, weights, momentum, variance, average].map(Into::into);
        adam::record(p, views, len)
    })?;
    let whole = program.join("train", &[gradients_of_step, update])?;
    Ok(Step { whole, gradients: gradients_of_step, update })
}

/// Whether a member learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Status {
    /// It learns.
    Learning,
    /// Its loss or gradient blew up at this step; its weights stay what they were before.
    Diverged {
        /// Steps it had done.
        step: u32,
    },
}

impl Status {
    /// Steps that a member has learned from, of `done` that its ensemble has done.
    #[must_use]
    pub const fn steps(self, done: u32) -> u32 {
        match self {
            Self::Learning => done,
            Self::Diverged { step } => step,
        }
    }

    /// Whether it has diverged.
    #[must_use]
    pub const fn is_diverged(self) -> bool {
        matches!(self, Self::Diverged { .. })
    }
}

/// How a member is doing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberProgress {
    /// Mean loss of the steps since the last report, if there were any.
    pub loss: Option<f32>,
    /// Norm of the last gradient, before it was clipped.
    pub gradient_norm: f32,
    /// Whether it still learns.
    pub status: Status,
}

/// How a run is doing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Steps done.
    pub step: u32,
    /// Steps of the whole run.
    pub total: u32,
    /// Recent speed, while it was running; 0 before the first step.
    pub steps_per_second: f64,
    /// Time to the end at this speed, if it is known.
    pub seconds_left: Option<f64>,
    /// The members.
    pub members: Vec<MemberProgress>,
}

/// Steps and the time they took. A GPU works on after `step` returns, so only a readback ends a
/// measurement; time between a report and the next step is a pause and does not count.
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
            // No step, or one that took no measurable time, says nothing.
            let elapsed = since.elapsed().as_secs_f64();
            if elapsed > 0.0 && self.steps > 0 {
                self.per_second = f64::from(self.steps) / elapsed;
            }
            self.steps = 0;
        }
        self.per_second
    }
}

/// How long training runs without polling its control, in seconds.
const MAX_UNPOLLED: f64 = 0.05;
/// The same where members take turns on one thread, in a page's worker. Each turn begins with a cold
/// cache, so turns should be long; a page that cannot wait can terminate the worker.
const MAX_UNPOLLED_IN_TURNS: f64 = 0.2;

/// A training run on an engine. It runs while `step` is called and pauses while it is not; others
/// may pause or cancel it meanwhile by its [`control`](Self::control). It always stops between two
/// steps of all members, so that what was done can be saved and gone on with.
#[derive(Debug)]
pub struct Session {
    /// The program on its engine, for the routines that were added to the plan.
    pub loaded: Loaded,
    config: Config,
    sets: TrainingSets,
    network: Arc<dyn Network>,
    state: State,
    routines: Step,
    step: u32,
    speed: Speed,
    /// How long a step takes, if it is known.
    step_seconds: Option<f64>,
}

impl Session {
    /// Records and loads a run with nothing but training in it.
    pub async fn new(engine: &Engine, config: Config, sets: &TrainingSets) -> Result<Self> {
        Plan::new(engine, config, sets)?.load(engine).await
    }

    /// How it is trained.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Steps done.
    #[must_use]
    pub const fn steps_done(&self) -> u32 {
        self.step
    }

    /// What pauses and cancels it, from any thread or task.
    #[must_use]
    pub fn control(&self) -> Control {
        self.loaded.control().clone()
    }

    /// Runs `count` steps, or those that are left of the run or until it is paused, and returns how
    /// many. On the GPU they are only submitted, and nothing stops them then.
    pub fn step(&mut self, count: u32) -> Result<u32> {
        // Only on the CPU is it known here how long they take. In a page there is nothing to listen
        // for: nobody else has a say before this returns.
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

    /// The same for steps that may be slow: they can be cancelled on the way, on the GPU too, and a
    /// page's other tasks come in between. It may be dropped.
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
            // Whoever asks next waits for the last ones.
            let measured = now < left || matches!(self.loaded, Loaded::Cpu(_));
            // Counted before the wait, in which this may fail or be dropped: they are on their way.
            self.count(now);
            done += now;
            if measured {
                self.loaded.finish().await?;
                self.time(now, start);
            }
            self.loaded.control().yield_now().await?;
        }
    }

    /// How many of `count` steps are left to do: none while it is paused.
    fn left(&mut self, count: u32) -> Result<u32> {
        self.loaded.control().check()?;
        let left = count.min(self.config.steps.saturating_sub(self.step));
        if left == 0 || self.loaded.control().is_paused() {
            return Ok(0);
        }
        self.speed.begin();
        Ok(left)
    }

    /// How many of `left` steps to do without listening.
    fn chunk(&self, left: u32) -> u32 {
        let in_turns =
            SINGLE_THREADED && matches!(self.loaded, Loaded::Cpu(_)) && self.config.seeds.len() > 1;
        let longest = if in_turns { MAX_UNPOLLED_IN_TURNS } else { MAX_UNPOLLED };
        let fitting = self.step_seconds.map_or(1.0, |each| longest / each);
        left.min((fitting as u32).max(1))
    }

    /// Counts steps that are done, or on their way.
    const fn count(&mut self, steps: u32) {
        self.step += steps;
        self.speed.steps += steps;
    }

    /// Notes how long steps took that were begun at `start` and waited for.
    fn time(&mut self, steps: u32, start: Instant) {
        let each = start.elapsed().as_secs_f64() / f64::from(steps);
        self.step_seconds = Some(each.max(1e-7));
    }

    /// Steps that take about `seconds` at the speed of the last report, at least one: what to ask
    /// for at a time, so that a reader who wants to stop is heard.
    #[must_use]
    pub fn steps_within(&self, seconds: f64) -> u32 {
        (self.speed.per_second * seconds).max(1.0) as u32
    }

    /// Waits for the steps so far and tells how they went.
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

    /// Everything that is needed to go on from here.
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

    /// Whether `checkpoint` comes from this run.
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

    /// Goes back, or on, to `checkpoint`, which must come from the same run.
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

    /// Numbers that each member learns.
    #[must_use]
    pub fn parameter_count(&self) -> usize {
        self.network.parameters().count()
    }
}
