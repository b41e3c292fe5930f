//! Figure 1 on CIFAR-10 in colour. The bands were set from an independent implementation, with one seed.

use std::fs;
use std::path::Path;
use std::time::Duration;

use hidden_gaussian::denoiser::DenoiserId;
use hidden_gaussian::experiment::ensemble::Point;
use hidden_gaussian::experiment::evaluation::EvalConfig;
use hidden_gaussian::experiment::run::check_format;
use hidden_gaussian::experiment::transition::{Config, Transition};
use hidden_gaussian::experiment::{Experiment, Preset};
use hidden_gaussian::{Error, Result, serial};
use serde_json::Value;

use super::super::checkpoint::default_folder;
use super::super::data::Source;
use super::super::file_error;
use super::super::record::leave_out;
use super::super::run_to_end::run_or_resume;
use super::{
    BETTER, Bench, CLOSE, Claims, GENERALIZES, LINEAR, MEMORIZES, at_least, at_most, between,
    linearity, mean, to_gaussian,
};

/// The recorded run of Figure 1 on CIFAR-10.
const RECORDED: &str = "transition-cifar-cifar10";

/// How far a curve over the training-set size may move against its trend: two standard errors of the memorized
/// fraction.
const NOISE: f64 = 0.02;

impl Bench<'_> {
    /// Runs Figure 1 with the preset `cifar`, which takes a quarter of an hour on two cores, or reads its report.
    pub(super) fn cifar(&self, claims: &mut Claims, recorded: Option<&Path>) -> Result<()> {
        let (points, evaluation) = match recorded {
            Some(path) => read(path)?,
            None => {
                let source = Source::new("cifar10", self.common.source.seed);
                let shape = source.dataset(Preset::Cifar, 1)?.shape();
                let config = Transition::preset(Preset::Cifar, shape, source.seed);
                let images = Transition::images(&config);
                let split = source.split(&source.dataset(Preset::Cifar, images)?)?;
                let path = default_folder()?.join(format!("reproduce-{RECORDED}.run"));
                let place = (path.as_path(), Duration::from_secs(180));
                let report = run_or_resume::<Transition>(self.engine, &split, config, place)?;
                (report.findings, report.config.evaluation)
            }
        };
        claims.cifar(&points, &evaluation)
    }
}

impl Claims {
    fn cifar(&mut self, points: &[Point], evaluation: &EvalConfig) -> Result<()> {
        let what = |what: &str, n: usize| format!("{what}, U-Net on CIFAR-10, N = {n}");
        let copies = |n| mean(points, n, |p| Ok(p.trained()?.closeness.memorized.mean));
        let gl = |n| mean(points, n, |p| Ok(p.trained()?.closeness.gl.mean));
        let cosine = |n| mean(points, n, |p| Ok(to_gaussian(p)?.cosine.mean));
        let lin = |n, sigma: f32| {
            let level = evaluation.level(sigma)?;
            mean(points, n, |point| linearity(point, level))
        };
        let few = 64;
        self.add(MEMORIZES, what("copies", few), copies(few)?, at_least(0.85));
        self.add(MEMORIZES, what("GL score", few), gl(few)?, at_most(0.25));
        self.add(MEMORIZES, what("cos(θ, G)", few), cosine(few)?, at_most(0.6));
        self.add(LINEAR, what("linearity at σ = 1", few), lin(few, 1.0)?, at_most(0.88));
        let many = 16_384;
        self.add(GENERALIZES, what("copies", many), copies(many)?, at_most(0.02));
        let of_gaussian = |of: &dyn Fn(DenoiserId, &Point) -> Result<f64>| {
            let ratio = |p: &Point| Ok(of(DenoiserId::TRAINED, p)? / of(DenoiserId::GAUSSIAN, p)?);
            mean(points, many, ratio)
        };
        let ratio = of_gaussian(&|id, point| Ok(point.of(id)?.closeness.gl.mean))?;
        self.add(GENERALIZES, what("GL score, of D_G's", many), ratio, between(0.93, 1.07));
        self.add(LINEAR, what("linearity at σ = 3", many), lin(many, 3.0)?, at_least(0.955));
        self.add(LINEAR, what("linearity at σ = 1", many), lin(many, 1.0)?, at_least(0.97));
        self.add(CLOSE, what("cos(θ, G)", many), cosine(many)?, at_least(0.9));
        for (sigma, most) in [(1.0, 0.97), (0.4, 0.95)] {
            let level = evaluation.level(sigma)?;
            let ratio = of_gaussian(&|id, point| Ok(point.of(id)?.error.held_out[level].mean))?;
            let text = format!("error at σ = {sigma}, of D_G's");
            self.add(BETTER, what(&text, many), ratio, at_most(most));
        }

        let mut sizes: Vec<usize> = points.iter().map(|point| point.member.n).collect();
        sizes.retain(|&n| n <= many);
        sizes.sort_unstable();
        sizes.dedup();
        // The largest step against the trend, from one size to the next.
        let against = |sign: f64, of: &dyn Fn(usize) -> Result<f64>| {
            let values = sizes.iter().map(|&n| of(n)).collect::<Result<Vec<f64>>>()?;
            let steps = values.windows(2).map(|pair| sign * (pair[0] - pair[1]));
            Ok(steps.fold(0.0, f64::max))
        };
        let trends: [(&'static str, &str, f64); 3] = [
            (GENERALIZES, "largest rise of the copies with N", against(-1.0, &copies)?),
            (
                LINEAR,
                "largest fall of the linearity at σ = 1 with N",
                against(1.0, &|n| lin(n, 1.0))?,
            ),
            (CLOSE, "largest fall of cos(θ, G) with N", against(1.0, &cosine)?),
        ];
        for (claim, text, value) in trends {
            self.add(claim, format!("{text}, U-Net on CIFAR-10"), value, at_most(NOISE));
        }
        Ok(())
    }
}

/// Reads the networks of a report: a file, or the recorded one in a folder.
fn read(path: &Path) -> Result<(Vec<Point>, EvalConfig)> {
    let file = if path.is_dir() { path.join(format!("{RECORDED}.json")) } else { path.to_owned() };
    let text = fs::read(&file).map_err(|error| file_error(&file, &error))?;
    let mut report: Value =
        serde_json::from_slice(&text).map_err(|error| file_error(&file, &error))?;
    check_format(&report)?;
    if report["experiment"] != Transition::NAME || report["data"]["set"] != "cifar10" {
        return Err(Error::bad_input(
            format!("{} is not a report of Figure 1 on CIFAR-10", file.display()),
            format!("Pass {RECORDED}.json, or the folder that has it"),
        ));
    }
    // The pictures of recorded runs are in other files.
    leave_out(&mut report["findings"], &["samples", "nearest"]);
    let config: Config = serial::read(report["config"].take())?;
    Ok((serial::read(report["findings"].take())?, config.evaluation))
}
