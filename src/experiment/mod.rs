//! What the figures show: configuration in, numbers and images out.

pub mod exact;
pub mod portrait;
pub mod study;
