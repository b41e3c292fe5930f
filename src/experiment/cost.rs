//! The work of networks in floating-point operations, counting matrix multiplies and convolutions.
//! It determines how a sweep is cut, so only its proportions need to be right.

use super::evaluation::EvalConfig;
use crate::denoiser::DISTILLATION_ROWS;
use crate::error::Result;
use crate::model::Architecture;
use crate::sampler::Method;
use crate::train;

/// Multiply-adds of a forward pass of one image.
fn multiply_adds(architecture: &Architecture, dim: usize) -> Result<f64> {
    let network = architecture.network(dim)?;
    // In a convolution, every weight is used at every output pixel.
    let pixels = |name: &str| match architecture {
        Architecture::Mlp { .. } => 1,
        Architecture::UNet { shape, levels, .. } => {
            let mut words = name.split('.');
            let level: usize = match (words.next(), words.next().and_then(|n| n.parse().ok())) {
                (Some("embedding" | "film"), _) => return 1,
                (Some("bottom"), _) => levels - 1,
                (Some("down"), Some(level)) if words.next() == Some("half") => level + 1,
                (_, level) => level.unwrap_or(0),
            };
            (shape.height >> (level + 1)) * (shape.width >> (level + 1))
        }
    };
    let weights = network.parameters().list().iter().filter(|p| p.shape.len() > 1);
    Ok(weights.map(|p| (p.len() * pixels(&p.name)) as f64).sum())
}

/// Training one network: the backward pass multiplies twice as much as the forward pass.
fn training(train: &train::Config, dim: usize) -> Result<f64> {
    let images = f64::from(train.steps) * train.batch as f64;
    Ok(6.0 * images * multiply_adds(&train.architecture, dim)?)
}

/// Evaluating a network with `n` training images once, beside the denoisers that `config` names.
fn evaluation(
    config: &EvalConfig,
    architecture: &Architecture,
    n: usize,
    dim: usize,
) -> Result<f64> {
    let each_step = match config.method {
        Method::Euler => 1,
        Method::Heun => 2,
    };
    // Held-out images and training images; and for the linearity, two images and their sum.
    let denoised =
        config.samples * config.sampler_steps * each_step + 5 * config.images * config.sigmas.len();
    let mut network = denoised as f64;
    if let Some(distillation) = &config.distillation {
        let levels = config.sampler_steps + config.sigmas.len();
        network += f64::from(distillation.batches) * (DISTILLATION_ROWS * levels) as f64;
    }
    let (n, d) = (n as f64, dim as f64);
    let rows = config.denoisers.iter().filter_map(|id| id.entry());
    let exact = denoised as f64 * rows.map(|entry| entry.multiply_adds(n, d)).sum::<f64>();
    // The covariance of the training images and its eigenvectors.
    let fit = n * d * d + 10.0 * d * d * d;
    let nearest = config.samples as f64 * n * d;
    Ok(2.0 * (network * multiply_adds(architecture, dim)? + exact + fit + nearest))
}

/// Networks with these numbers of training images, each trained and then evaluated this many times.
pub(super) fn networks(
    sizes: &[usize],
    train: &train::Config,
    config: &EvalConfig,
    evaluations: usize,
    dim: usize,
) -> Result<f64> {
    let training = training(train, dim)?;
    let times = evaluations as f64;
    let each = |&n| Ok(training + times * evaluation(config, &train.architecture, n, dim)?);
    sizes.iter().map(each).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    /// The counts agree with those of the benchmarks.
    #[test]
    fn multiply_adds_of_the_presets() {
        let shape = Shape { height: 16, width: 16, channels: 1 };
        let count = |config: train::Config, dim| multiply_adds(&config.architecture, dim).unwrap();
        assert_eq!(count(train::Config::quick(vec![]), 144), 180_224.0);
        assert_eq!(count(train::Config::main(vec![]), 144), 505_856.0);
        assert_eq!(count(train::Config::faithful(shape, vec![]), 256), 1_816_576.0);
    }
}
