//! Simulated devices for tests: weaker, slower or broken.

/// What to simulate about a device.
#[doc(hidden)]
#[derive(Debug, Clone, Default)]
pub struct Simulation {
    /// Limits that the device must not exceed.
    pub limits: Option<wgpu::Limits>,
    /// Treats a software adapter as hardware, so that its tiles are tuned.
    pub hardware: bool,
    /// Replaces the source of kernels: a function of the kernel's name and source.
    pub rewrite: Option<fn(&str, String) -> String>,
    /// Repeats all work this many more times, to slow the device down.
    pub delays: u32,
    /// Drops this submit of a program, counted from 0.
    pub lost_submit: Option<u32>,
}
