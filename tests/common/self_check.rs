//! The reader's self-check, on any engine.

use hidden_gaussian::compute::Engine;
use hidden_gaussian::self_check::self_check;

pub async fn every_check_holds(engine: &Engine) {
    let checks = self_check(engine).await.unwrap();
    assert!(checks.len() > 8, "{checks:?}");
    let failed: Vec<_> = checks.iter().filter(|check| !check.holds).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}
