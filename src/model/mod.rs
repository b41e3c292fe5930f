//! Networks `F_θ`: their parameters, and their forward and backward passes as stages.
//!
//! All parameters of a member lie in one flat buffer, and their gradients in another of the same
//! layout. So the optimizer, the moving average and the gradient norm are one stage each, whatever
//! the network. A network takes its buffers when it is placed: the training step and the sampler
//! place the same network twice, with the live weights and with their moving average, and neither
//! touches the other's activations.

pub mod mlp;
pub mod unet;

use std::fmt::Debug;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::compute::{Buffer, Program, View, elements};
use crate::error::{Error, Result};
use crate::kernels::matmul::{Activation, Layout, Matmul};
use crate::kernels::noise_features::FEATURES;
use crate::kernels::{
    Film, PARAMETER_ALIGN, Sigma, column_sums, noise_features, silu, silu_backward,
};
use crate::rng::{Stream, fill_normals};
use crate::shape::Shape;
use unet::{Head, Norm};

/// The kind of a network, and its size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Architecture {
    /// A residual multilayer perceptron.
    Mlp {
        /// Hidden units.
        width: usize,
        /// Residual blocks.
        depth: usize,
    },
    /// A convolutional U-Net.
    #[serde(rename = "unet")]
    UNet {
        /// Shape of the images.
        shape: Shape,
        /// Channels at the finest resolution.
        width: usize,
        /// Number of resolutions.
        levels: usize,
        /// Normalization before each activation.
        norm: Norm,
        /// Activation before the last convolution.
        #[serde(default, skip_serializing_if = "Head::is_default")]
        head: Head,
    },
}

impl Architecture {
    /// Hidden units, or channels at the finest resolution.
    #[must_use]
    pub const fn width(&self) -> usize {
        match *self {
            Self::Mlp { width, .. } | Self::UNet { width, .. } => width,
        }
    }

    /// Returns the same architecture with another width.
    #[must_use]
    pub const fn with_width(&self, width: usize) -> Self {
        match *self {
            Self::Mlp { depth, .. } => Self::Mlp { width, depth },
            Self::UNet { shape, levels, norm, head, .. } => {
                Self::UNet { shape, width, levels, norm, head }
            }
        }
    }

    /// Creates the network for images of `dim` numbers.
    pub fn network(&self, dim: usize) -> Result<Arc<dyn Network>> {
        match *self {
            Self::Mlp { width, depth } => Ok(Arc::new(mlp::Mlp::new(dim, width, depth)?)),
            Self::UNet { shape, .. } if shape.dim() != dim => Err(Error::bad_input(
                format!(
                    "The U-Net takes images of {} values, but the images have {dim}",
                    shape.dim()
                ),
                "Set the network's shape to that of the images",
            )),
            Self::UNet { shape, width, levels, norm, head } => {
                Ok(Arc::new(unet::UNet::new(shape, width, levels, norm, head)?))
            }
        }
    }
}

/// A network `F_θ(c_in x, σ)` that maps an image to an image (see [`Edm`](crate::kernels::Edm)).
pub trait Network: Debug + Send + Sync {
    /// Number of values in an image.
    fn dim(&self) -> usize;

    /// The parameters and their layout.
    fn parameters(&self) -> &Parameters;

    /// Reserves buffers for the forward pass of `rows` images with the weights at `weights`.
    fn place(
        &self,
        program: &mut Program,
        rows: usize,
        weights: View,
    ) -> Result<Box<dyn PlacedNetwork>>;

    /// Reserves buffers for the forward pass, and for the backward pass to `gradients`.
    fn place_training(
        &self,
        program: &mut Program,
        rows: usize,
        weights: View,
        gradients: View,
    ) -> Result<Box<dyn PlacedTraining>>;
}

/// A network placed in a program.
pub trait PlacedNetwork {
    /// Records `out = F(x; σ)`, where `x` is already scaled by `c_in`.
    ///
    /// Both one noise level for all rows and one per row are accepted; with one for all, the embedding is
    /// computed only once.
    fn forward(&self, program: &mut Program, x: View, sigma: Sigma, out: View) -> Result<()>;
}

/// A network placed in a program for training.
pub trait PlacedTraining: PlacedNetwork {
    /// Records the backward pass of the preceding forward pass, from the same `x`, with one noise level per
    /// row. It overwrites every gradient instead of adding to it. `d_out` may be used as scratch
    /// space.
    fn backward(&self, program: &mut Program, x: View, d_out: View) -> Result<()>;

    /// The shape of the images, if the network works on images that are folded
    /// ([`space_to_depth`](crate::kernels::space_to_depth)): then the stages before and after it can read and
    /// write them so.
    fn fold(&self) -> Option<Shape> {
        None
    }

    /// The forward pass from folded images to a folded output, if the network folds them.
    fn forward_folded(
        &self,
        program: &mut Program,
        x: View,
        sigma: Sigma,
        out: View,
    ) -> Result<()> {
        self.forward(program, x, sigma, out)
    }

    /// The backward pass of [`Self::forward_folded`].
    fn backward_folded(&self, program: &mut Program, x: View, d_out: View) -> Result<()> {
        self.backward(program, x, d_out)
    }
}

/// One tensor of the flat buffer.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// A name such as `block.0.weight`.
    pub name: String,
    /// Row-major shape.
    pub shape: Vec<usize>,
    /// Offset of the first element in the flat buffer.
    pub offset: usize,
    /// Standard deviation of the initial values; 0 gives zeros.
    pub deviation: f32,
}

impl Parameter {
    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the tensor has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// All parameters of a network, in the order of the flat buffer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameters {
    list: Vec<Parameter>,
    /// The length in 64 bits, even where addresses have 32, so that no width wraps around.
    len: u64,
}

/// Most parameters of a network: a hundred times those of the largest preset. With everything that
/// training keeps beside them they take half a gigabyte.
pub const MAX_PARAMETERS: u64 = 1 << 24;

/// Most values of an image that a network takes.
pub const MAX_DIM: usize = 1 << 16;

fn check_dim(dim: usize) -> Result<()> {
    if dim > MAX_DIM {
        let hint = "Use smaller images";
        return Err(Error::limit("Values per image", dim as u64, MAX_DIM as u64, hint));
    }
    Ok(())
}

impl Parameters {
    /// Tensors begin at multiples of this, so that kernels can load vectors. The gaps stay zero.
    pub(crate) const ALIGN: usize = PARAMETER_ALIGN;

    /// Appends a tensor with normal initial values and returns its offset. It allocates nothing and accepts
    /// any size; [`check`](Self::check) refuses sizes that no network has.
    pub fn declare(&mut self, name: impl Into<String>, shape: &[usize], deviation: f32) -> usize {
        let offset = self.len as usize;
        let elements = shape.iter().fold(1_u64, |product, &n| product.saturating_mul(n as u64));
        let end = self.len.saturating_add(elements);
        self.len = end.checked_next_multiple_of(Self::ALIGN as u64).unwrap_or(u64::MAX);
        let (name, shape) = (name.into(), shape.to_vec());
        self.list.push(Parameter { name, shape, offset, deviation });
        offset
    }

    /// Refuses more than [`MAX_PARAMETERS`]; every network's constructor ends with it.
    pub fn check(self) -> Result<Self> {
        if self.len > MAX_PARAMETERS {
            let hint = "Choose a narrower network or one of fewer layers";
            return Err(Error::limit("Parameters of the network", self.len, MAX_PARAMETERS, hint));
        }
        Ok(self)
    }

    /// Length of the flat buffer.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        self.len as usize
    }

    /// Number of learned parameters, without the gaps.
    #[must_use]
    pub fn count(&self) -> usize {
        self.list.iter().map(Parameter::len).sum()
    }

    /// The tensors in the order of the flat buffer.
    #[must_use]
    pub fn list(&self) -> &[Parameter] {
        &self.list
    }

    /// Initial values of the flat buffer under `seed`.
    #[must_use]
    pub fn initial(&self, seed: u64) -> Vec<f32> {
        let mut flat = vec![0.0; self.buffer_len()];
        for (index, parameter) in self.list.iter().enumerate() {
            let values = &mut flat[parameter.offset..parameter.offset + parameter.len()];
            if parameter.deviation != 0.0 {
                fill_normals(seed, Stream::Weights, index as u32, values);
                values.iter_mut().for_each(|value| *value *= parameter.deviation);
            }
        }
        flat
    }
}

/// A dense layer `y = x W + b` among the parameters; `W` is stored `inputs × outputs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dense {
    inputs: usize,
    outputs: usize,
    weight: usize,
    bias: usize,
}

impl Dense {
    /// Declares `<name>.weight`, normal with deviation `gain / √inputs`, and `<name>.bias`, zero.
    pub fn declare(
        parameters: &mut Parameters,
        name: &str,
        [inputs, outputs]: [usize; 2],
        gain: f32,
    ) -> Self {
        let deviation = gain / (inputs as f32).sqrt();
        let weight = parameters.declare(format!("{name}.weight"), &[inputs, outputs], deviation);
        let bias = parameters.declare(format!("{name}.bias"), &[outputs], 0.0);
        Self { inputs, outputs, weight, bias }
    }

    /// Creates `out = x W + b` for `rows` rows, to be recorded, perhaps with an activation or a sum.
    pub fn forward(
        self,
        weights: View,
        x: impl Into<View>,
        out: impl Into<View>,
        rows: usize,
    ) -> Matmul {
        let shape = [rows, self.outputs, self.inputs];
        Matmul::new(Layout::Nn, x, weights.at(self.weight), out, shape).bias(weights.at(self.bias))
    }

    /// Records the gradients of `W` and `b` from those of the layer's output.
    pub fn backward(
        self,
        program: &mut Program,
        gradients: View,
        x: impl Into<View>,
        d_out: impl Into<View>,
        rows: usize,
    ) -> Result<()> {
        let d_out = d_out.into();
        let shape = [self.inputs, self.outputs, rows];
        let product = Matmul::new(Layout::Tn, x, d_out, gradients.at(self.weight), shape);
        let parts = product.parts(program);
        if parts > 1 {
            let weights = self.inputs * self.outputs;
            let scratch = program.buffer("parts of a gradient", parts * weights)?;
            Matmul { c: scratch.into(), ..product }.record_in(program, parts)?;
            column_sums::record(program, scratch.into(), product.c, [parts, weights])?;
        } else {
            product.record(program)?;
        }
        column_sums::record(program, d_out, gradients.at(self.bias), [rows, self.outputs])
    }

    /// Creates `d_x = d_out Wᵀ`, to be recorded.
    pub fn backward_input(
        self,
        weights: View,
        d_out: impl Into<View>,
        d_x: impl Into<View>,
        rows: usize,
    ) -> Matmul {
        let shape = [rows, self.inputs, self.outputs];
        Matmul::new(Layout::Nt, d_out, weights.at(self.weight), d_x, shape)
    }
}

/// Units of the noise embedding.
const EMBEDDING: usize = 64;

/// Initial size of the modulation, relative to a plain layer.
const MODULATION_GAIN: f32 = 0.3;

/// How a network learns its noise level: waves of `ln σ`, a dense layer with SiLU, and a dense layer to
/// every scale and shift that the network's blocks use (FiLM).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modulation {
    embed: Dense,
    film: Dense,
}

impl Modulation {
    /// Declares an embedding with `outputs` scales and shifts for all blocks together.
    pub fn declare(parameters: &mut Parameters, outputs: usize) -> Self {
        Self {
            embed: Dense::declare(parameters, "embedding", [FEATURES, EMBEDDING], 1.0),
            film: Dense::declare(parameters, "film", [EMBEDDING, outputs], MODULATION_GAIN),
        }
    }

    /// Reserves buffers for `rows` noise levels.
    pub fn place(
        self,
        program: &mut Program,
        rows: usize,
        weights: View,
    ) -> Result<PlacedModulation> {
        Ok(PlacedModulation {
            layers: self,
            rows,
            weights,
            features: program.buffer("noise features", elements([rows, FEATURES]))?,
            linear: program.buffer("embedding before SiLU", elements([rows, EMBEDDING]))?,
            embedding: program.buffer("embedding", elements([rows, EMBEDDING]))?,
            d_embedding: program
                .buffer("gradient of the embedding", elements([rows, EMBEDDING]))?,
            out: program.buffer("scales and shifts", elements([rows, self.film.outputs]))?,
        })
    }
}

/// A [`Modulation`] placed in a program.
#[derive(Debug, Clone, Copy)]
pub struct PlacedModulation {
    layers: Modulation,
    rows: usize,
    weights: View,
    features: Buffer,
    linear: Buffer,
    embedding: Buffer,
    d_embedding: Buffer,
    out: Buffer,
}

impl PlacedModulation {
    /// Records the scales and shifts of `sigma`.
    pub fn forward(&self, program: &mut Program, sigma: Sigma) -> Result<Film> {
        let Modulation { embed, film } = self.layers;
        let rows = if sigma.per_row { self.rows } else { 1 };
        noise_features::record(program, sigma, self.features.into(), rows)?;
        if sigma.per_row {
            // Training needs the values before the activation.
            embed.forward(self.weights, self.features, self.linear, rows).record(program)?;
            silu::record(program, self.linear.into(), self.embedding.into(), rows * EMBEDDING)?;
        } else {
            let embed = embed.forward(self.weights, self.features, self.embedding, rows);
            embed.activation(Activation::Silu).record(program)?;
        }
        film.forward(self.weights, self.embedding, self.out, rows).record(program)?;
        let stride = if sigma.per_row { film.outputs } else { 0 };
        Ok(Film { view: self.out.into(), stride })
    }

    /// The scales and shifts of a forward pass with one noise level per row.
    #[must_use]
    pub fn film(&self) -> Film {
        Film { view: self.out.into(), stride: self.layers.film.outputs }
    }

    /// Records the gradients from `d_film`, the gradients of all scales and shifts per row.
    pub fn backward(&self, program: &mut Program, gradients: View, d_film: View) -> Result<()> {
        let Modulation { embed, film } = self.layers;
        let (rows, d_embedding) = (self.rows, self.d_embedding.into());
        film.backward(program, gradients, self.embedding, d_film, rows)?;
        film.backward_input(self.weights, d_film, d_embedding, rows).record(program)?;
        silu_backward::record(program, self.linear.into(), d_embedding, rows * EMBEDDING)?;
        embed.backward(program, gradients, self.features, d_embedding, rows)
    }
}
