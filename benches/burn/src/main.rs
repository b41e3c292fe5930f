//! Burn on the CPU (its backend Flex), or with the feature and the argument `wgpu` on a GPU: training steps of
//! the presets, and matrix multiplies.
//!
//! It takes turns beside other programs, for `cargo xtask bench`: it reads lines of a row's name and seconds,
//! and prints the best rate in that time, steps per second of a preset or GFLOP/s of a matrix multiply.
//! `RAYON_NUM_THREADS` sets the threads. The networks and settings are those of `benches/peers/steps.py`.

use std::collections::BTreeMap;
use std::f32::consts::PI;
use std::io::stdin;
use std::time::Instant;

use burn::module::{ModuleVisitor, Param};
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::{Linear, LinearConfig, PaddingConfig2d};
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer};
use burn::prelude::*;
use burn::tensor::Distribution;
use burn::tensor::activation::silu;

const IMAGES: usize = 256;
const FEATURES: usize = 32;
const EMBEDDING: usize = 64;
const SIGMA_DATA: f32 = 0.5;
const LOG_MEAN: f32 = -0.6;
const WARM_UP: f64 = 100.0;
const EMA_LIMIT: f32 = 0.99;

/// What a preset trains, and how.
#[derive(Clone, Copy)]
struct Preset {
    name: &'static str,
    kind: Kind,
    size: usize,
    channels: usize,
    width: usize,
    batch: usize,
    rate: f64,
}

#[derive(Clone, Copy)]
enum Kind {
    Mlp {
        depth: usize,
    },
    /// With `silu` there is one before the last convolution.
    UNet {
        levels: usize,
        silu: bool,
    },
}

const MLP: Preset = Preset {
    name: "quick",
    kind: Kind::Mlp { depth: 2 },
    size: 12,
    channels: 1,
    width: 192,
    batch: 32,
    rate: 4e-3,
};
const UNET: Preset = Preset {
    name: "faithful",
    kind: Kind::UNet { levels: 2, silu: false },
    size: 16,
    channels: 1,
    width: 16,
    batch: 64,
    rate: 2e-3,
};
const COLOUR: Preset = Preset {
    name: "cifar-quick",
    kind: Kind::UNet { levels: 3, silu: true },
    size: 32,
    channels: 3,
    ..UNET
};
const PRESETS: [Preset; 5] = [
    MLP,
    Preset { name: "main", width: 384, batch: 64, ..MLP },
    UNET,
    COLOUR,
    Preset { name: "cifar", width: 32, ..COLOUR },
];

/// The matrices and the convolutions of a network, in the order of the forward pass.
#[derive(Module, Debug)]
struct Network {
    embed: Linear,
    film: Linear,
    linear: Vec<Linear>,
    conv: Vec<Conv2d>,
}

impl Preset {
    fn dim(&self) -> usize {
        self.size * self.size * self.channels
    }

    fn network(&self, device: &Device) -> Network {
        let (mut linear, mut conv) = (Vec::new(), Vec::new());
        let dense = |inputs, outputs| LinearConfig::new(inputs, outputs).init(device);
        let film = match self.kind {
            Kind::Mlp { depth } => {
                linear.push(dense(self.dim(), self.width));
                linear.extend((0..depth).map(|_| dense(self.width, self.width)));
                linear.push(dense(self.width, self.dim()));
                2 * self.width * depth
            }
            Kind::UNet { levels, .. } => {
                let wide = |level: usize| self.width << level;
                let bottom = levels - 1;
                let mut add = |inputs, outputs, side: usize, stride| {
                    let config = Conv2dConfig::new([inputs, outputs], [side; 2]);
                    let pad = side / 2;
                    let padding = PaddingConfig2d::Explicit(pad, pad, pad, pad);
                    conv.push(config.with_stride([stride; 2]).with_padding(padding).init(device));
                };
                add(4 * self.channels, self.width, 3, 1);
                for level in 0..bottom {
                    add(wide(level), wide(level), 3, 1);
                    add(wide(level), wide(level), 3, 1);
                    add(wide(level), wide(level + 1), 3, 2);
                }
                for _ in 0..4 {
                    add(wide(bottom), wide(bottom), 3, 1);
                }
                for level in (0..bottom).rev() {
                    add(wide(level + 1), wide(level), 3, 1);
                    add(2 * wide(level), wide(level), 3, 1);
                    add(wide(level), wide(level), 3, 1);
                    add(2 * wide(level), wide(level), 1, 1);
                }
                add(self.width, 4 * self.channels, 3, 1);
                4 * (0..levels).map(wide).sum::<usize>()
            }
        };
        let (embed, film) = (dense(FEATURES, EMBEDDING), dense(EMBEDDING, film));
        Network { embed, film, linear, conv }
    }
}

impl Network {
    fn forward(&self, preset: &Preset, x: Tensor<2>, features: Tensor<2>) -> Tensor<2> {
        let film = self.film.forward(silu(self.embed.forward(features)));
        match preset.kind {
            Kind::Mlp { depth } => self.mlp(depth, preset.width, x, film),
            Kind::UNet { levels, silu } => self.unet(preset, levels, silu, x, film),
        }
    }

    fn mlp(&self, depth: usize, width: usize, x: Tensor<2>, film: Tensor<2>) -> Tensor<2> {
        let mut h = self.linear[0].forward(x);
        for i in 0..depth {
            let scale = film.clone().narrow(1, 2 * width * i, width);
            let shift = film.clone().narrow(1, 2 * width * i + width, width);
            let rms = h.clone().square().mean_dim(1).add_scalar(1e-6).sqrt();
            let normed = h.clone().div(rms);
            let active = silu(normed.mul(scale.add_scalar(1.0)).add(shift));
            h = h.add(self.linear[1 + i].forward(active));
        }
        self.linear[1 + depth].forward(h)
    }

    fn unet(
        &self,
        preset: &Preset,
        levels: usize,
        head: bool,
        x: Tensor<2>,
        film: Tensor<2>,
    ) -> Tensor<2> {
        let Preset { size, channels, batch, .. } = *preset;
        let half = size / 2;
        let film: Tensor<4> = film.unsqueeze_dims(&[2, 3]);
        let mut column = 0;
        let mut layers = self.conv.iter();
        let mut conv = |x: Tensor<4>| match layers.next() {
            Some(layer) => layer.forward(x),
            None => x,
        };
        let mut modulate = |x: Tensor<4>| {
            let [_, width, _, _] = x.dims();
            let scale = film.clone().narrow(1, column, width);
            let shift = film.clone().narrow(1, column + width, width);
            column += 2 * width;
            silu(x.mul(scale.add_scalar(1.0)).add(shift))
        };
        let mut h =
            conv(
                x.reshape([batch, half, 2, half, 2, channels])
                    .permute([0, 2, 4, 5, 1, 3])
                    .reshape([batch, 4 * channels, half, half]),
            );
        let mut beside = Vec::new();
        for _ in 0..levels - 1 {
            let active = modulate(conv(silu(h.clone())));
            h = conv(active).add(h);
            beside.push(h.clone());
            h = conv(h);
        }
        for _ in 0..2 {
            let active = modulate(conv(silu(h.clone())));
            h = conv(active).add(h);
        }
        while let Some(finer) = beside.pop() {
            let [batch, width, height, columns] = h.dims();
            let doubled = h
                .reshape([batch, width, height, 1, columns, 1])
                .expand([batch, width, height, 2, columns, 2])
                .reshape([batch, width, 2 * height, 2 * columns]);
            let coarser = conv(doubled);
            let both = Tensor::cat(vec![coarser, finer], 1);
            let active = modulate(conv(silu(both.clone())));
            let main = conv(active);
            h = main.add(conv(both));
        }
        conv(if head { silu(h) } else { h })
            .reshape([batch, 2, 2, channels, half, half])
            .permute([0, 4, 1, 5, 2, 3])
            .reshape([batch, preset.dim()])
    }
}

/// Moving averages of all weights, each as one row.
#[derive(Default)]
struct Averages {
    rows: Vec<Tensor<1>>,
    at: usize,
    share: f32,
}

impl ModuleVisitor for Averages {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let weights = param.val().inner();
        let len = weights.dims().iter().product::<usize>();
        let weights: Tensor<1> = weights.reshape([len]);
        match self.rows.get_mut(self.at) {
            Some(row) => *row = row.clone().add(weights.sub(row.clone()).mul_scalar(self.share)),
            None => self.rows.push(weights),
        }
        self.at += 1;
    }
}

struct Training {
    preset: Preset,
    /// Tensors on `plain` are not followed by the automatic differentiation.
    plain: Device,
    network: Option<Network>,
    optimizer: ModuleOptimizer,
    averages: Averages,
    pool: Tensor<2>,
    frequencies: Tensor<2>,
    count: u32,
}

impl Training {
    fn new(preset: Preset, plain: &Device) -> Self {
        let network = preset.network(&plain.clone().autodiff());
        let adam = AdamConfig::new().with_beta_1(0.9).with_beta_2(0.99).with_epsilon(1e-8);
        let deviation = Distribution::Normal(0.0, f64::from(SIGMA_DATA));
        let frequencies: Vec<f32> =
            (0..FEATURES / 2).map(|j| 2_f32.powf(j as f32 / 3.0 - 1.0) * PI / 8.0).collect();
        Self {
            preset,
            plain: plain.clone(),
            network: Some(network),
            optimizer: adam.init(),
            averages: Averages::default(),
            pool: Tensor::random([IMAGES, preset.dim()], deviation, plain),
            frequencies: Tensor::<1>::from_data(frequencies.as_slice(), plain)
                .reshape([1, FEATURES / 2]),
            count: 0,
        }
    }

    fn step(&mut self) {
        let Some(network) = self.network.take() else { return };
        let (preset, device) = (self.preset, &self.plain);
        let normal = Distribution::Normal(0.0, 1.0);
        let any = Distribution::Uniform(0.0, IMAGES as f64);
        let index = Tensor::<1, Int>::random([preset.batch], any, device);
        let y = self.pool.clone().select(0, index);
        let log_sigma = Tensor::<2>::random([preset.batch, 1], normal, device).add_scalar(LOG_MEAN);
        let sigma = log_sigma.clone().exp();
        let noise = Tensor::<2>::random([preset.batch, preset.dim()], normal, device);
        let c_in = sigma.clone().square().add_scalar(SIGMA_DATA * SIGMA_DATA).sqrt().recip();
        let target = sigma.clone().mul_scalar(1.0 / SIGMA_DATA).mul(y.clone());
        let target = c_in.clone().mul(target.sub(noise.clone().mul_scalar(SIGMA_DATA)));
        let angle = log_sigma.mul(self.frequencies.clone());
        let features = Tensor::cat(vec![angle.clone().cos(), angle.sin()], 1);
        let x = c_in.mul(y.add(sigma.mul(noise)));

        let out = network.forward(&preset, x.autodiff(), features.autodiff());
        let loss = out.sub(target.autodiff()).square().mean();
        let gradients = GradientsParams::from_grads(loss.backward(), &network);
        let rate = preset.rate * (f64::from(self.count + 1) / WARM_UP).min(1.0);
        let network = self.optimizer.step(rate, network, gradients);

        let share = 1.0 - (1.0 + self.count as f32) / (10.0 + self.count as f32);
        self.averages.share = share.max(1.0 - EMA_LIMIT);
        self.averages.at = 0;
        network.visit(&mut self.averages);
        self.network = Some(network);
        self.count += 1;
    }
}

/// What takes a turn.
enum Contestant {
    Training(Box<Training>),
    Multiply(Tensor<2>),
}

impl Contestant {
    fn enter(name: &str, device: &Device) -> Option<Self> {
        if let Some(size) = name.strip_prefix("matmul-").and_then(|size| size.parse::<usize>().ok())
        {
            let normal = Distribution::Normal(0.0, 1.0);
            return Some(Self::Multiply(Tensor::<2>::random([size, size], normal, device)));
        }
        let preset = PRESETS.into_iter().find(|preset| preset.name == name)?;
        let mut training = Training::new(preset, device);
        (0..3).for_each(|_| training.step());
        Some(Self::Training(Box::new(training)))
    }

    /// Does the work, waits for it, and returns its size in the unit of the row.
    fn work(&mut self, count: u32, device: &Device) -> f64 {
        let mut unit = f64::from(count);
        for _ in 0..count {
            match self {
                Self::Training(training) => training.step(),
                Self::Multiply(a) => {
                    let [size, _] = a.dims();
                    unit = f64::from(count) * 2e-9 * (size as f64).powi(3);
                    drop(a.clone().matmul(a.clone()));
                }
            }
        }
        if let Err(error) = device.sync() {
            eprintln!("{error:?}");
        }
        unit
    }

    fn rate(&mut self, seconds: f64, device: &Device) -> f64 {
        let (mut best, mut count, start) = (0.0_f64, 1, Instant::now());
        while start.elapsed().as_secs_f64() < seconds {
            let now = Instant::now();
            let done = self.work(count, device);
            let elapsed = now.elapsed().as_secs_f64();
            best = best.max(done / elapsed);
            if elapsed < 0.02 {
                count *= 2;
            }
        }
        best
    }
}

fn device() -> Device {
    #[cfg(feature = "wgpu")]
    if std::env::args().any(|arg| arg == "wgpu") {
        return Device::wgpu(Default::default());
    }
    Device::flex()
}

fn main() {
    let device = device();
    let mut entered = BTreeMap::new();
    for line in stdin().lines().map_while(Result::ok) {
        let (name, seconds) = line.split_once(' ').unwrap_or((&line, ""));
        let seconds = seconds.parse().unwrap_or(1.0);
        let contestant =
            entered.entry(name.to_owned()).or_insert_with(|| Contestant::enter(name, &device));
        let rate = contestant.as_mut().map_or(f64::NAN, |it| it.rate(seconds, &device));
        println!("{rate}");
    }
}
