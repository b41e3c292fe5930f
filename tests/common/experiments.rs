//! What must hold for every experiment on either engine.

use std::time::Duration;

use hidden_gaussian::compute::Engine;
use hidden_gaussian::data::Split;
use hidden_gaussian::data::faces::faces;
use hidden_gaussian::experiment::any::{AnyRun, by_name};
use hidden_gaussian::experiment::{Detail, Preset, Progress};
use serde_json::{Value, json};

pub fn split() -> Split {
    faces(3, 64, 6).unwrap().split(3, 20).unwrap()
}

/// A preset made so small that it ends in a moment.
pub fn tiny(experiment: &str, split: &Split) -> Value {
    let mut config = by_name(experiment).unwrap().preset(Preset::Quick, split.shape(), 5).unwrap();
    config["sizes"] = json!([2, 5, 20]);
    for path in ["/train", "/trainLong", "/others/0"] {
        if let Some(train) = config.pointer_mut(path) {
            train["architecture"] = json!({"kind": "mlp", "width": 12, "depth": 1});
            train["steps"] = json!(24);
            train["batch"] = json!(5);
        }
    }
    if let Some(schedule) = config.get_mut("schedule") {
        *schedule = json!({"first": 3, "perDoubling": 1});
    }
    if experiment == "emergence" {
        config["widths"] = json!([8, 20]);
        config["widthSizes"] = json!([5]);
        config["checkpoints"] = json!([4, 16]);
    }
    let evaluation = &mut config["evaluation"];
    evaluation["samples"] = json!(26);
    evaluation["images"] = json!(25);
    evaluation["samplerSteps"] = json!(4);
    evaluation["sigmas"] = json!([1.0, 0.4, 0.2]);
    if !evaluation["distillation"].is_null() {
        evaluation["distillation"]["batches"] = json!(1);
    }
    config
}

pub async fn start(engine: &Engine, experiment: &str, split: &Split) -> Box<dyn AnyRun> {
    let config = tiny(experiment, split);
    by_name(experiment).unwrap().start(engine, split, config).await.unwrap()
}

/// Trains for at most `slices` more slices.
pub async fn advance(run: &mut dyn AnyRun, slices: usize) -> Progress {
    let mut progress = run.advance(Duration::ZERO).await.unwrap();
    for _ in 1..slices {
        if progress.is_done() {
            break;
        }
        progress = run.advance(Duration::ZERO).await.unwrap();
    }
    progress
}

/// A report without the fields that differ between runs.
pub async fn report(run: &mut dyn AnyRun, detail: Detail) -> Value {
    let mut report = serde_json::to_value(&*run.report(detail).await.unwrap()).unwrap();
    assert!(report["seconds"].take().as_f64().unwrap() > 0.0);
    report
}

/// A run that is saved midway and restored into a new run ends at the same bits as one that never stopped;
/// measuring does not change it.
pub async fn a_restored_experiment_goes_on(engine: &Engine) {
    let split = split();
    for experiment in ["transition", "emergence", "clocks", "modes"] {
        let mut straight = start(engine, experiment, &split).await;
        assert!(advance(&mut *straight, usize::MAX).await.is_done());
        let expected = report(&mut *straight, Detail::Full).await;
        assert_eq!(expected["final"], json!(true));

        let mut paused = start(engine, experiment, &split).await;
        // Three ensembles of 24 steps; by then all of them are past their first checkpoint.
        let before = advance(&mut *paused, if experiment == "emergence" { 30 } else { 9 }).await;
        assert!(!before.is_done());
        let preview = report(&mut *paused, Detail::Preview).await;
        assert_eq!((&preview["final"], &preview["sigmas"]), (&json!(false), &json!([1.0, 0.4])));
        let saved = paused.snapshot().await.unwrap();
        drop(paused);

        let mut resumed = start(engine, experiment, &split).await;
        advance(&mut *resumed, 2).await;
        resumed.restore(&saved).unwrap();
        assert_eq!(report(&mut *resumed, Detail::Preview).await, preview, "{experiment}");
        assert_eq!(advance(&mut *resumed, 1).await.step, before.step + 1);
        advance(&mut *resumed, usize::MAX).await;
        assert_eq!(report(&mut *resumed, Detail::Full).await, expected, "{experiment}");
    }
}

/// A preview is a report like the full one, with fewer of the same samples.
pub async fn a_preview_is_a_small_report(engine: &Engine) {
    let split = split();
    let mut run = start(engine, "gaussian-bias", &split).await;
    advance(&mut *run, usize::MAX).await;
    let preview = report(&mut *run, Detail::Preview).await;
    let full = report(&mut *run, Detail::Full).await;
    assert_eq!(preview["data"], full["data"]);
    let [of_preview, of_full] = [&preview, &full].map(|report| &report["findings"][2]);
    assert_eq!((&of_preview["n"], &of_preview["step"]), (&json!(20), &json!(24)));
    for (id, measures) in of_preview["denoisers"].as_object().unwrap() {
        assert_eq!(measures["samples"], of_full["denoisers"][id]["samples"], "{id}");
    }
    let trained =
        |report: &Value, path: &str| report["denoisers"]["trained"].pointer(path).cloned();
    assert_eq!(trained(of_preview, "/closeness/gl/count"), Some(json!(24)));
    assert_eq!(trained(of_full, "/closeness/gl/count"), Some(json!(26)));
    let ids = |map: &Value| map.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for (report, denoisers, levels) in [(of_preview, 3, 2), (of_full, 4, 3)] {
        assert_eq!(report["paths"].as_object().unwrap().len(), denoisers);
        assert_eq!(ids(&report["paths"]), ids(&report["denoisers"]));
        assert_eq!(trained(report, "/linearity").unwrap().as_array().unwrap().len(), levels);
        let difference = trained(report, "/against/gaussian/difference/train").unwrap();
        assert_eq!(difference.as_array().unwrap().len(), levels);
    }
    // D_L is distilled only for the full report; it is compared with all that follow in the table.
    assert!(of_preview["denoisers"].get("linear").is_none());
    let linear = &of_full["denoisers"]["linear"];
    assert_eq!(ids(&linear["against"]), ["empirical", "gaussian"]);
    assert!(linear.get("linearity").is_none());
    assert_eq!(of_full["denoisers"]["empirical"]["against"], json!({}));
    for of_linear in ["alignment", "filters"] {
        assert!(of_preview[of_linear].is_null() && !of_full[of_linear].is_null(), "{of_linear}");
    }
}

/// A run that began on the CPU continues on `engine`.
pub async fn an_experiment_changes_engines(engine: &Engine) {
    let split = split();
    let mut begun = start(&Engine::cpu(), "emergence", &split).await;
    let before = advance(&mut *begun, 30).await;
    let saved = begun.snapshot().await.unwrap();
    let mut here = start(engine, "emergence", &split).await;
    here.restore(&saved).unwrap();
    assert_eq!(advance(&mut *here, 1).await.step, before.step + 1);
    advance(&mut *here, usize::MAX).await;
    advance(&mut *begun, usize::MAX).await;
    let ends = [report(&mut *here, Detail::Full).await, report(&mut *begun, Detail::Full).await];
    let [here, there] = ends.each_ref().map(|report| &report["findings"]["overTime"]);
    let (here, there) = (here.as_array().unwrap(), there.as_array().unwrap());
    assert_eq!((here.len(), there.len()), (9, 9));
    for (here, there) in here.iter().zip(there) {
        assert_eq!((&here["n"], &here["step"]), (&there["n"], &there["step"]));
        let [here, there] = [here, there].map(|point| {
            point["denoisers"]["trained"]["closeness"]["gl"]["mean"].as_f64().unwrap()
        });
        assert!((here - there).abs() < 0.02 * there, "{here} {there}");
    }
}
