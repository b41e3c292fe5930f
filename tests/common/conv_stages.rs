//! Convolutions, the stages around them and the U-Net on both engines, on shapes that no tile
//! divides.

use super::stages::Failures;
use super::{noise_levels, random, weights};
use hidden_gaussian::compute::{Engine, Program, View};
use hidden_gaussian::data::Shape;
use hidden_gaussian::kernels::Film;
use hidden_gaussian::kernels::conv::{Channels, Conv, Scale};
use hidden_gaussian::kernels::group_film_silu::{self, Affine};
use hidden_gaussian::kernels::group_moments::{self, Groups};
use hidden_gaussian::kernels::matmul::Tile;
use hidden_gaussian::kernels::{
    Sigma, conv_weight_backward, film_backward, group_film_silu_backward, group_norm_backward,
    space_to_depth,
};
use hidden_gaussian::model::Architecture;
use hidden_gaussian::model::unet::{Head, Norm};

const SIDES: [usize; 4] = [1, 2, 5, 8];
const CHANNELS: [usize; 4] = [1, 3, 7, 16];
const BATCHES: [usize; 3] = [1, 3, 65];

/// All passes of a convolution whose channels lie between other channels.
async fn compare_convolution(
    gpu: &Engine,
    failures: &mut Failures,
    conv: Conv,
    around: [usize; 2],
) {
    let [before, behind] = around;
    let [inputs, outputs] = conv.channels.map(|channels| before + channels + behind);
    let inner = |view: View, stride| Channels { view: view.at(before), stride };
    let pixels = |[height, width]: [usize; 2]| conv.batch * height * width;
    let (x, y) = (pixels(conv.size) * inputs, pixels(conv.output_size()) * outputs);
    let parameters = conv.parameters();
    let lens = [x, parameters, y, y, x, y, x, parameters];
    let data = lens.map(|len| random(len as u32, 2 * len));
    let record = |p: &mut Program, v: &[View]| {
        let [x, d_add, d_x] = [v[0], v[4], v[6]].map(|view| inner(view, inputs));
        let [add, d_out, out] = [v[2], v[3], v[5]].map(|view| inner(view, outputs));
        conv.record(p, x, v[1], Some(add), out)?;
        conv.record_backward_input(p, d_out, v[1], Some(d_add), d_x)?;
        let parts = conv_weight_backward::scratch(p, &conv);
        let parts = p.buffer("parts", parts)?;
        conv_weight_backward::record(p, &conv, x, d_out, parts.into(), v[7])
    };
    failures.compare(format!("{conv:?}"), gpu, 2, &data, &lens, record).await;
}

/// The passes with an activation, with and without scales and shifts.
async fn compare_activated(gpu: &Engine, failures: &mut Failures, conv: Conv, around: [usize; 2]) {
    let [before, behind] = around;
    let [inputs, outputs] = conv.channels.map(|channels| before + channels + behind);
    let inner = |view: View, stride| Channels { view: view.at(before), stride };
    let pixels = |[height, width]: [usize; 2]| conv.batch * height * width;
    let (x, y) = (pixels(conv.size) * inputs, pixels(conv.output_size()) * outputs);
    let parameters = conv.parameters();
    let stride = 2 * conv.channels[0].max(conv.channels[1]) + 4;
    let film = conv.batch * stride;
    let [behind, d_behind] = [y, x].map(|len| len.next_multiple_of(4));
    let lens = [x, parameters, y, y, film, 2 * behind, 2 * d_behind, 2 * behind, 2 * d_behind];
    let data = lens.map(|len| random(len as u32, 2 * len));
    let record = |p: &mut Program, v: &[View]| {
        let [x, add, d_out] = [(v[0], inputs), (v[2], outputs), (v[3], outputs)]
            .map(|(view, stride)| inner(view, stride));
        let outs = [[v[5], v[6]], [v[7], v[8]]];
        for (film, [out, d_x]) in
            [None, Some(Film { view: v[4].at(4), stride })].into_iter().zip(outs)
        {
            let (out, d_x) = (inner(out, outputs), inner(d_x, inputs));
            conv.record_with_silu(p, x, v[1], Some(add), out, film, behind)?;
            let keep = film.is_none();
            conv.record_backward_through_silu(p, d_out, v[1], x, d_x, film, d_behind, keep)?;
        }
        Ok(())
    };
    failures.compare(format!("{conv:?} with activations"), gpu, 2, &data, &lens, record).await;
}

const SCALES: [Scale; 3] = [Scale::Same, Scale::Half, Scale::Double];

/// The scales alternate over sizes and batches: all combinations would take over a minute.
pub async fn convolutions_on_odd_shapes(gpu: &Engine) {
    let mut failures = Failures::default();
    let shapes = SIDES.iter().enumerate().flat_map(|(i, height)| {
        SIDES.iter().enumerate().map(move |(j, width)| (i, j, [*height, *width]))
    });
    for (i, j, size) in shapes {
        for (k, batch) in BATCHES.into_iter().enumerate() {
            let l = (i + 2 * j + k) % SCALES.len();
            let channels = [CHANNELS[(i + k) % 4], CHANNELS[(j + l) % 4]];
            let conv = Conv { batch, size, channels, scale: SCALES[l] };
            compare_convolution(gpu, &mut failures, conv, [2, 1]).await;
            if batch == 3 {
                compare_activated(gpu, &mut failures, conv, [2, 1]).await;
            }
        }
    }
}

/// With these sizes, four channels are loaded at once.
pub async fn convolutions_on_multiples_of_four(gpu: &Engine) {
    let mut failures = Failures::default();
    for (i, scale) in SCALES.into_iter().enumerate() {
        for (j, channels) in [[4, 12], [16, 4], [12, 20]].into_iter().enumerate() {
            let conv = Conv { batch: BATCHES[(i + j) % 3], size: [5, 3], channels, scale };
            compare_convolution(gpu, &mut failures, conv, [4, 8]).await;
            if i == j {
                compare_activated(gpu, &mut failures, conv, [4, 8]).await;
            }
        }
    }
}

/// The variants that a GPU in hardware gets: several loads at a time, and sums that are cut into bands or shared by
/// several threads.
pub async fn convolutions_for_hardware(gpu: &Engine) {
    let Some(device) = gpu.as_gpu() else { return };
    let gpu = Engine::on(device.clone().with_tile(Tile::default()));
    let mut failures = Failures::default();
    let channels = [[16, 24], [8, 4], [24, 16], [32, 68], [19, 33], [64, 40]];
    for (i, channels) in channels.into_iter().enumerate() {
        let conv = Conv { batch: 15 + i % 2, size: [7, 4], channels, scale: SCALES[i % 3] };
        compare_convolution(&gpu, &mut failures, conv, [4, 8]).await;
        compare_activated(&gpu, &mut failures, conv, [4, 8]).await;
    }
}

pub async fn image_stages_on_odd_shapes(gpu: &Engine) {
    let mut failures = Failures::default();
    for (i, channels) in CHANNELS.into_iter().enumerate() {
        for images in BATCHES {
            let pixels = SIDES[(i + 1) % 4] * SIDES[(i + 2) % 4];
            let count = if channels == 16 { 4 } else { 1 };
            let groups = Groups { images, pixels, channels, groups: count };
            let (len, stride) = (groups.len(), 2 * channels + 5);
            let lens =
                [len, images * stride, len, groups.moments(), len, images * stride, len, len];
            let data = lens.map(|len| random(len as u32, 2 * len));
            for norm in [false, true] {
                for film in [false, true] {
                    let case = format!("{groups:?} norm {norm} film {film}");
                    let record = |p: &mut Program, v: &[View]| {
                        let moments = norm.then_some(v[3]);
                        let film = film.then_some(Film { view: v[1].at(5), stride });
                        let affine = Affine { moments, film };
                        let d_film = Film { view: v[5].at(5), stride };
                        group_moments::record(p, v[0], v[3], groups)?;
                        group_film_silu::record(p, v[0], affine, v[4], groups)?;
                        for (keep, d_x) in [(false, v[6]), (true, v[7])] {
                            group_film_silu_backward::record(
                                p, v[0], affine, v[2], d_film, d_x, keep, groups,
                            )?;
                            if norm {
                                group_norm_backward::record(p, v[0], affine, d_film, d_x, groups)?;
                            }
                        }
                        Ok(())
                    };
                    failures.compare(case, gpu, 2, &data, &lens, record).await;
                }
            }
            let data = [random(1, 2 * len), random(2, 2 * len)];
            let lens = [len, len, images * stride];
            failures
                .compare(format!("film_backward {groups:?}"), gpu, 2, &data, &lens, |p, v| {
                    let d_film = Film { view: v[2].at(4), stride };
                    film_backward::record(p, v[0], v[1], d_film, groups)
                })
                .await;
            let shape = Shape { height: 2 * SIDES[i], width: 2 * SIDES[(i + 1) % 4], channels };
            let len = images * shape.dim();
            let case = format!("space_to_depth {shape:?}");
            let data = [random(1, 2 * len)];
            failures
                .compare(case, gpu, 2, &data, &[len; 3], |p, v| {
                    space_to_depth::record(p, v[0], v[1], images, shape)?;
                    space_to_depth::record_inverse(p, v[0], v[2], images, shape)
                })
                .await;
        }
    }
}

pub async fn unet_passes_on_odd_shapes(gpu: &Engine) {
    let mut failures = Failures::default();
    for (size, channels, width, levels, rows, norm, head) in [
        ([8, 12], 1, 5, 2, 7, Norm::None, Head::Linear),
        ([16, 8], 3, 4, 3, 3, Norm::Group, Head::Silu),
        ([8, 24], 3, 6, 3, 5, Norm::None, Head::Silu),
        ([16, 16], 3, 16, 3, 17, Norm::None, Head::Silu),
    ] {
        let [height, image_width] = size;
        let shape = Shape { height, width: image_width, channels };
        let architecture = Architecture::UNet { shape, width, levels, norm, head };
        let network = architecture.network(shape.dim()).unwrap();
        let parameters = network.parameters();
        let (len, count) = (rows * shape.dim(), parameters.buffer_len());
        let lens = [len, rows, count, len, len, count, len];
        let data = [random(1, 2 * len), noise_levels(rows), weights(parameters), random(2, len)];
        let record = |p: &mut Program, v: &[View]| {
            let [x, sigma, weights, d_out, out, gradients, shared] = v[..] else { unreachable!() };
            let placed = network.place_training(p, rows, weights, gradients)?;
            placed.forward(p, x, Sigma::per_row(sigma), out)?;
            placed.backward(p, x, d_out)?;
            network.place(p, rows, weights)?.forward(p, x, Sigma::shared(sigma), shared)
        };
        failures.compare(format!("{architecture:?}"), gpu, 2, &data, &lens, record).await;
    }
}
