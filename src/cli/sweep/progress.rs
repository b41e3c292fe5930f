//! The progress of a shard: a bar at a terminal, a line of JSON each minute in a log, and a small file for
//! `sweep status`.

use std::fs;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hidden_gaussian::compute::Engine;
use hidden_gaussian::experiment::sweep::folder::{Folder, write};
use serde::{Deserialize, Serialize};

use super::super::run_to_end::Bar;

/// Time between two lines of the log.
const INTERVAL: Duration = Duration::from_secs(60);

/// A shard that has written nothing for this many seconds is not running any more.
const SILENCE: u64 = 180;

/// A progress report of a shard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line {
    pub(super) shard: usize,
    pub(super) shards: usize,
    pub(super) state: State,
    /// Pieces done, and in total.
    pub(super) pieces: [usize; 2],
    /// Training steps of this piece done, and in total.
    pub(super) steps: [u32; 2],
    /// How long the shard has computed so far, over all attempts.
    pub(super) seconds: f64,
    /// Seconds to the end of this piece's training, if known.
    pub(super) seconds_left: Option<f64>,
    /// The time in seconds since 1970.
    pub(super) time: u64,
    /// A problem that did not end the shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) warning: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum State {
    Running,
    Stopped,
    Done,
}

impl Line {
    /// The last progress report of shard `index`, if there is one.
    pub(super) fn of(folder: &Folder, index: usize) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.progress_path(index)).ok()?).ok()
    }

    /// Whether the shard is running now, according to its report.
    pub(super) fn is_running(&self) -> bool {
        self.state == State::Running && now().saturating_sub(self.time) < SILENCE
    }
}

/// Reports the progress of a shard.
pub(super) struct Progress {
    line: Line,
    path: PathBuf,
    bar: Option<Bar>,
    last: Instant,
    /// When this attempt began, and how long earlier attempts took.
    start: Instant,
    before: f64,
}

impl Progress {
    pub(super) fn new(
        [shard, shards]: [usize; 2],
        pieces: usize,
        seconds: f64,
        path: PathBuf,
        engine: &Engine,
    ) -> Self {
        let line = Line {
            shard,
            shards,
            state: State::Running,
            pieces: [0, pieces],
            steps: [0, 0],
            seconds,
            seconds_left: None,
            time: 0,
            warning: None,
        };
        let terminal = std::io::stderr().is_terminal();
        let bar = terminal.then(|| Bar::new(&format!("shard {shard} of {shards}"), engine));
        let now = Instant::now();
        let mut progress = Self { line, path, bar, last: now, start: now, before: seconds };
        progress.say(State::Running);
        progress
    }

    /// How long the shard has computed so far, over all attempts.
    pub(super) fn seconds(&self) -> f64 {
        self.before + self.start.elapsed().as_secs_f64()
    }

    /// Reports a slice of training.
    pub(super) fn step(&mut self, steps: [u32; 2], seconds_left: Option<f64>) {
        self.line.steps = steps;
        self.line.seconds_left = seconds_left.filter(|left| left.is_finite());
        if let Some(bar) = &self.bar {
            bar.show(steps[0], steps[1], self.line.seconds_left);
        }
        if self.last.elapsed() >= INTERVAL {
            self.say(State::Running);
        }
    }

    /// Reports that piece number `done` begins.
    pub(super) fn piece(&mut self, done: usize) {
        self.line.pieces[0] = done;
        self.line.steps = [0, 0];
        self.line.seconds_left = None;
    }

    /// Reports a problem that does not end the shard.
    pub(super) fn warn(&mut self, warning: String) {
        if self.bar.is_some() {
            eprintln!("{warning}");
        }
        self.line.warning = Some(warning);
        self.say(State::Running);
        self.line.warning = None;
    }

    /// Reports that the shard ends, temporarily or for good.
    pub(super) fn end(&mut self, state: State) {
        if let Some(bar) = self.bar.take() {
            bar.clear();
        }
        self.say(state);
    }

    fn say(&mut self, state: State) {
        self.last = Instant::now();
        self.line.state = state;
        self.line.seconds = (1e3 * self.seconds()).round() / 1e3;
        self.line.time = now();
        let Ok(text) = serde_json::to_string(&self.line) else { return };
        if !std::io::stderr().is_terminal() {
            eprintln!("{text}");
        }
        // Nothing depends on this file: if there is no space for it, the work continues.
        let _ = write(&self.path, text.as_bytes());
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
