//! The theories of Section V, natively: the time that each takes as a multiple of D_M's, on the same images in
//! the same run.
//!
//! `cargo bench --bench theories`. `RAYON_NUM_THREADS` sets the threads. The images are faces of 16 × 16 pixels.
#![cfg_attr(target_arch = "wasm32", no_main)]
#![cfg(not(target_arch = "wasm32"))]

#[expect(dead_code, reason = "other benches use the rest")]
mod cases;

use hidden_gaussian::Result;
use hidden_gaussian::denoiser::DenoiserId;
use pollster::block_on;

fn main() -> Result<()> {
    println!("{:<16}{:>8}{:>8}{:>12}{:>12}", "theory", "N", "images", "seconds", "of D_M's");
    for (n, rows, only) in [(8192, 64, Some(DenoiserId::LS)), (1024, 16, None)] {
        let seconds = block_on(cases::theories(n, rows, only))?;
        let memorizing = seconds.iter().find(|(name, _)| *name == DenoiserId::EMPIRICAL.name());
        for &(name, time) in &seconds {
            let ratio = memorizing.map_or(f64::NAN, |(_, of)| time / of);
            println!("{name:<16}{n:>8}{rows:>8}{time:>12.4}{ratio:>12.2}");
        }
    }
    Ok(())
}
