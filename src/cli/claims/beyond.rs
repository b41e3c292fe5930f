//! The claims of Section V, compared with measurements. Bands are those of the publications where they print
//! numbers, and otherwise express what their words imply; none was set from a run of this program.

use hidden_gaussian::denoiser::DenoiserId;
use hidden_gaussian::experiment::league::{League, Scores, Standing, Theory};
use hidden_gaussian::experiment::{Experiment, Preset};
use hidden_gaussian::{Error, Result};

use super::super::data::Source;
use super::super::league::measure_edge;
use super::super::run_to_end::run_to_end;
use super::{Bench, Claims, at_least, at_most, between, clocks};

/// Runs the experiments and adds their claims.
pub(super) fn add(bench: &Bench<'_>, claims: &mut Claims) -> Result<()> {
    edge(bench, claims)?;
    league(bench, claims)?;
    clocks::add(bench, claims)
}

const EDGE: &str = "σ_c follows from the covariance (Hunt, Kamb & Ganguli 2026, arXiv:2607.08041)";
const LOCAL: &str =
    "Windows predict a network better than D_M (Kamb & Ganguli 2025, arXiv:2412.20292)";
const PCA: &str =
    "PCA-locality denoises about as well as D_G (Lukoianov et al. 2025, arXiv:2509.09672)";
const MIXTURE: &str =
    "Mixtures help digits more than photographs (Wang & Vastola 2024, arXiv:2412.09726)";

/// Tests where D_M begins to memorize.
fn edge(bench: &Bench<'_>, claims: &mut Claims) -> Result<()> {
    for data in ["faces", "fashion", "mnist"] {
        let source = Source::new(data, bench.common.source.seed);
        let (edges, _) = measure_edge(Preset::Main, &source, bench.engine)?;
        for edge in edges.iter().filter(|edge| [64, 1024].contains(&edge.n)) {
            let ratio = edge.measured.map_or(f64::NAN, |measured| measured / edge.predicted);
            let what = format!("measured over predicted σ_c, {data}, N = {}", edge.n);
            claims.add(EDGE, what, ratio, between(1.0, 1.4));
        }
    }
    Ok(())
}

/// Tests how well the theories predict small networks on faces and digits.
fn league(bench: &Bench<'_>, claims: &mut Claims) -> Result<()> {
    let mut gains = Vec::new();
    for data in ["faces", "mnist"] {
        let (standing, middle) = standing(bench, data)?;
        let what = |what: &str| format!("{what}, {data}, MLP 192, N = {}", standing.member.n);
        let unexplained = |id| Ok(theory(&standing, id)?.unexplained());
        let empirical: f64 = unexplained(DenoiserId::EMPIRICAL)?;
        for id in [DenoiserId::LS, DenoiserId::ELS] {
            let ratio = unexplained(id)? / empirical;
            let text = format!("unexplained by {id}, of that by D_M");
            claims.add(LOCAL, what(&text), ratio, at_most(0.5));
        }
        let error = theory(&standing, DenoiserId::PCA_LOCALITY)?.scores.error[middle].mean;
        claims.add(PCA, what("error at σ = 1, of D_G's"), error, between(0.95, 1.08));
        let errors = standing.mixtures.iter().map(|scores: &Scores| scores.error[middle].mean);
        gains.push(1.0 - errors.fold(f64::INFINITY, f64::min));
    }
    let ratio = gains[1] / gains[0].max(0.005);
    let what = "gain by the best mixture at σ = 1, mnist over faces";
    claims.add(MIXTURE, what, ratio, at_least(2.0));
    Ok(())
}

/// Compares a small network on a data set with the theories, and returns the index of σ = 1.
fn standing(bench: &Bench<'_>, data: &str) -> Result<(Standing, usize)> {
    let preset = Preset::Quick;
    let source = Source::new(data, bench.common.source.seed);
    let shape = source.dataset(preset, 1)?.shape();
    let mut config = League::preset(preset, shape, bench.common.source.seed);
    (config.sizes, config.sensitivity) = (vec![1024], Vec::new());
    let split = source.split(&source.dataset(preset, League::images(&config))?)?;
    let report = run_to_end::<League>(bench.engine, &split, config)?;
    let middle = report.config.evaluation.level(1.0)?;
    let first = report.findings.into_iter().next();
    Ok((first.ok_or_else(|| Error::internal("No network was trained"))?, middle))
}

fn theory(standing: &Standing, id: DenoiserId) -> Result<&Theory> {
    let found = standing.theories.iter().find(|theory| theory.id == id);
    found.ok_or_else(|| Error::internal(format!("“{id}” was not measured")))
}
