//! The preconditioning of EDM (Karras et al. 2022, table 1):
//!
//! `D(x; σ) = c_skip(σ) x + c_out(σ) F(c_in(σ) x; σ)`.
//!
//! The loss `λ(σ) ‖D(y + σ n) - y‖²` with `λ = 1 / c_out²` is then `‖F - t‖²` for the target
//!
//! `t = (y - c_skip (y + σ n)) / c_out = (σ y - σ_data² n) / (σ_data √(σ² + σ_data²))`,
//!
//! which, like the network's input, has unit variance at every noise level. The right-hand form
//! loses no digits at small `σ`.

use serde::{Deserialize, Serialize};

/// The coefficients, for data of a given standard deviation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Edm {
    /// Standard deviation of the images' numbers.
    pub sigma_data: f32,
}

impl Edm {
    /// `1 / √(σ² + σ_data²)`.
    #[must_use]
    pub fn c_in(self, sigma: f32) -> f32 {
        1.0 / (sigma * sigma + self.sigma_data * self.sigma_data).sqrt()
    }

    /// `σ_data² / (σ² + σ_data²)`.
    #[must_use]
    pub fn c_skip(self, sigma: f32) -> f32 {
        (self.sigma_data * self.c_in(sigma)).powi(2)
    }

    /// `σ σ_data / √(σ² + σ_data²)`.
    #[must_use]
    pub fn c_out(self, sigma: f32) -> f32 {
        sigma * self.sigma_data * self.c_in(sigma)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_is_the_denoiser_turned_around() {
        let edm = Edm { sigma_data: 0.5 };
        let (y, n) = (0.7_f32, -1.3_f32);
        for sigma in [0.02, 0.3, 1.0, 8.0] {
            let c = edm.c_in(sigma);
            let target = (sigma * y - 0.25 * n) * c / 0.5;
            let denoised = edm.c_skip(sigma) * (y + sigma * n) + edm.c_out(sigma) * target;
            assert!((denoised - y).abs() < 1e-6, "{sigma}: {denoised}");
        }
    }
}
