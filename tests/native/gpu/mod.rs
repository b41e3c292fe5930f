//! What needs a GPU. Without an adapter these tests pass over themselves, unless `HG_REQUIRE_GPU` is
//! set, as it is in `cargo xtask test`.

mod closed_forms;
mod conv;
mod faults;
mod training;
mod vs_cpu;
