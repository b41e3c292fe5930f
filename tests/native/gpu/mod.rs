//! What needs a GPU. A plain `cargo test` reports these tests as ignored; `cargo xtask test` runs them,
//! and then one that finds no adapter fails.

mod closed_forms;
mod conv;
mod faults;
mod training;
mod vs_cpu;
