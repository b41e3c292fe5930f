//! Tests that need a GPU. A plain `cargo test` reports them as ignored; `cargo xtask test` runs them,
//! and then a test that finds no adapter fails.

mod broken;
mod closed_forms;
mod conv;
mod faults;
mod training;
mod vs_cpu;
