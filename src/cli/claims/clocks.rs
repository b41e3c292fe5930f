//! Claims of later papers about networks over their training, compared with measurements.

use hidden_gaussian::Result;
use hidden_gaussian::experiment::Preset;
use hidden_gaussian::experiment::clocks::{Clocks, Course, Laws};
use hidden_gaussian::experiment::modes::{self, Modes};
use hidden_gaussian::experiment::random_features::{RandomFeatures, Setting};
use hidden_gaussian::model::Architecture;

use super::super::clocks::RATIOS;
use super::{Bench, Claims, at_least, at_most, between};

const CLOCKS: &str = "Two clocks (Bonnaire et al. 2025): τ_mem grows as N";
const STEADY: &str = "Two clocks (Bonnaire et al. 2025): τ_gen does not depend on N";
const FEATURES: &str = "Two clocks in the random-features model (Bonnaire et al. 2025)";
const MODES: &str = "Modes in order (Wang & Pehlevan 2025): an MLP depends more on λ than a U-Net";

/// Runs the experiments with the quick presets and adds their claims.
pub(super) fn add(bench: &Bench<'_>, claims: &mut Claims) -> Result<()> {
    let (courses, _) = bench.run::<Clocks>(Preset::Quick)?;
    for courses in courses.chunk_by(Course::same_training) {
        let name = courses[0].network.optimizer.name();
        let laws = Laws::of(&courses.iter().collect::<Vec<_>>());
        let exponent = laws.memorized.map_or(f64::NAN, |law| law.exponent);
        let what = format!("exponent of N, MLP 192, {name}");
        claims.add(CLOCKS, what, exponent, between(0.8, 1.2));
        let steps = courses.iter().filter_map(|course| Some(course.times.before_copies()?.step));
        let (low, high) =
            steps.fold((f64::INFINITY, 0.0_f64), |(low, high), s| (low.min(s), high.max(s)));
        let what = format!("latest over earliest τ_gen, MLP 192, {name}");
        claims.add(STEADY, what, high / low, at_most(2.0));
    }
    let setting = Setting::default();
    let model = RandomFeatures::new(setting)?;
    let solve = |&ratio: &usize| model.curves(ratio * setting.dim);
    let solved = RATIOS.iter().map(solve).collect::<Result<Vec<_>>>()?;
    let [first, second, .., last] = &*solved else { return Ok(()) };
    let ratio = last.generalized / first.generalized;
    claims.add(FEATURES, "τ_gen, 384 over 48 images", ratio, between(0.5, 2.0));
    let ratio = second.memorized / first.memorized;
    claims.add(FEATURES, "τ_mem, 96 over 48 images", ratio, between(1.5, 2.6));

    let (courses, _) = bench.run::<Modes>(Preset::Quick)?;
    let exponent = |unet: bool| {
        let is = |c: &&modes::Course| {
            matches!(c.network.architecture, Architecture::UNet { .. }) == unet
        };
        let law = courses.iter().find(is).and_then(|course| course.laws()[0]);
        law.map_or(f64::NAN, |law| -law.exponent)
    };
    claims.add(
        MODES,
        "exponent of 1/λ, MLP 192, axes that gain variance",
        exponent(false),
        at_least(0.3),
    );
    claims.add(
        MODES,
        "exponent of 1/λ, MLP 192 minus U-Net of 16 channels",
        exponent(false) - exponent(true),
        at_least(0.2),
    );
    Ok(())
}
