//! The backward passes of convolutions, of the stages around them and of the U-Net against central
//! differences of their forward passes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use common::gradients::{Passes, Table, check_network, program, whole};
use common::{noise_levels, random, relative_error, run, weights};
use hidden_gaussian::compute::{Engine, Profile, Program};
use hidden_gaussian::data::Shape;
use hidden_gaussian::kernels::Film;
use hidden_gaussian::kernels::conv::{Channels, Conv, Scale};
use hidden_gaussian::kernels::group_film_silu::{self, Affine};
use hidden_gaussian::kernels::group_moments::{self, Groups};
use hidden_gaussian::kernels::matmul::Tile;
use hidden_gaussian::kernels::{
    Sigma, conv_weight_backward, group_film_silu_backward, group_norm_backward, space_to_depth,
};
use hidden_gaussian::model::Architecture;
use hidden_gaussian::model::unet::{Head, Norm};

const SCALES: [Scale; 3] = [Scale::Same, Scale::Half, Scale::Double];

#[test]
fn convolutions() {
    let mut table = Table::default();
    for (size, channels, batch) in [
        ([5, 8], [3, 7], 4),
        ([1, 2], [1, 19], 1),
        ([8, 4], [16, 4], 7),
        ([2, 1], [9, 33], 2),
        ([9, 7], [11, 67], 13),
    ] {
        for scale in SCALES {
            let conv = Conv { batch, size, channels, scale };
            let [inputs, outputs] = channels;
            let [height, width] = conv.output_size();
            let mut p = program();
            let x = p.buffer_with("x", random(1, batch * size[0] * size[1] * inputs)).unwrap();
            let w = p.buffer_with("weights", random(2, conv.parameters())).unwrap();
            let out = p.buffer("out", batch * height * width * outputs).unwrap();
            let [d_out, d_x, d_w] =
                [out, x, w].map(|like| p.buffer("gradient", like.len()).unwrap());
            let parts = conv_weight_backward::scratch(&p, &conv);
            let parts = p.buffer("parts", parts).unwrap();
            let mut passes = Passes::new(p, out, Some(d_out), |p, backward| {
                let (x, out) = (Channels::all(x, inputs), Channels::all(out, outputs));
                conv.record(p, x, w.into(), None, out)?;
                if !backward {
                    return Ok(());
                }
                let (d_out, d_x) = (Channels::all(d_out, outputs), Channels::all(d_x, inputs));
                conv.record_backward_input(p, d_out, w.into(), None, d_x)?;
                conv_weight_backward::record(p, &conv, x, d_out, parts.into(), d_w.into())
            });
            let case = format!("{conv:?}");
            passes.check(&mut table, &case, x, d_x, &whole(x));
            let bias = ("bias".to_owned(), conv.bias(), outputs);
            let parts = [("weights".to_owned(), 0, conv.weights()), bias];
            passes.check(&mut table, &case, w, d_w, &parts);
        }
    }
}

#[test]
fn norm_film_and_activation() {
    let mut table = Table::default();
    for (norm, has_film) in [(false, false), (false, true), (true, false), (true, true)] {
        for (channels, count) in [(8, 2), (3, 1), (12, 3)] {
            let groups = Groups { images: 3, pixels: 6, channels, groups: count };
            // Two blocks' worth of columns, the second one used: offsets and strides are tested too.
            let stride = 4 * channels;
            let mut p = program();
            let x = p.buffer_with("x", random(1, groups.len())).unwrap();
            let film = p.buffer_with("film", random(2, groups.images * stride)).unwrap();
            let moments = p.buffer("moments", groups.moments()).unwrap();
            let out = p.buffer("out", groups.len()).unwrap();
            let [d_out, d_film, d_x] =
                [out, film, x].map(|like| p.buffer("gradient", like.len()).unwrap());
            let mut passes = Passes::new(p, out, Some(d_out), |p, backward| {
                let columns = |buffer: hidden_gaussian::compute::Buffer| Film {
                    view: buffer.at(2 * channels),
                    stride,
                };
                let used = has_film.then_some(columns(film));
                let affine = Affine { moments: norm.then_some(moments.into()), film: used };
                group_moments::record(p, x.into(), moments.into(), groups)?;
                group_film_silu::record(p, x.into(), affine, out.into(), groups)?;
                if !backward {
                    return Ok(());
                }
                let (x, d_out, d_x, d_film) = (x.into(), d_out.into(), d_x.into(), columns(d_film));
                group_film_silu_backward::record(p, x, affine, d_out, d_film, d_x, false, groups)?;
                if norm {
                    group_norm_backward::record(p, x, affine, d_film, d_x, groups)?;
                }
                Ok(())
            });
            let case = format!("{groups:?} norm {norm} film {has_film}");
            passes.check(&mut table, &case, x, d_x, &whole(x));
            if has_film {
                let parts: Vec<_> = (0..groups.images)
                    .flat_map(|image| {
                        let at = image * stride + 2 * channels;
                        let shift = (format!("shift {image}"), at + channels, channels);
                        [(format!("scale {image}"), at, channels), shift]
                    })
                    .collect();
                passes.check(&mut table, &case, film, d_film, &parts);
            }
        }
    }
}

#[test]
fn whole_networks() {
    let mut table = Table::default();
    for (height, image_width, channels, width, levels, norm, head) in [
        (8, 4, 1, 4, 2, Norm::None, Head::Linear),
        (4, 8, 3, 3, 2, Norm::Group, Head::Silu),
        (8, 8, 1, 4, 3, Norm::Group, Head::Linear),
        (16, 8, 3, 2, 3, Norm::None, Head::Silu),
    ] {
        let rows = 3;
        let shape = Shape { height, width: image_width, channels };
        let architecture = Architecture::UNet { shape, width, levels, norm, head };
        check_network(&mut table, &architecture, shape.dim(), rows);
    }
}

/// The largest images that are imported train within the limits that every adapter has, with each tile.
#[test]
fn large_images_in_colour_can_be_recorded() {
    let shape = Shape { height: 64, width: 64, channels: 3 };
    let (width, levels, norm, head) = (32, 3, Norm::None, Head::Silu);
    let architecture = Architecture::UNet { shape, width, levels, norm, head };
    let network = architecture.network(shape.dim()).unwrap();
    let (rows, count) = (64, network.parameters().buffer_len());
    let len = rows * shape.dim();
    for tile in [Tile::REFERENCE, Tile::SOFTWARE].into_iter().chain(Tile::CANDIDATES) {
        let mut p = Program::new(1, Profile { tile, ..Profile::default() }).unwrap();
        let [x, out, d_out] = ["x", "out", "gradient"].map(|name| p.buffer(name, len).unwrap());
        let sigma = p.buffer("sigma", rows).unwrap();
        let [w, d_w] = ["weights", "gradients"].map(|name| p.buffer(name, count).unwrap());
        let placed = network.place_training(&mut p, rows, w.into(), d_w.into()).unwrap();
        let pass = p.routine("pass", |p| {
            placed.forward(p, x.into(), Sigma::per_row(sigma), out.into())?;
            placed.backward(p, x.into(), d_out.into())
        });
        assert!(pass.is_ok(), "{tile:?}: {:?}", pass.err());
    }
}

/// Every image of a batch has its own result, whatever tile it falls into: a batch of one gives the same
/// bits as the image among others.
#[test]
fn images_do_not_depend_on_their_batch() {
    let conv = |batch| Conv { batch, size: [6, 5], channels: [13, 21], scale: Scale::Same };
    let (one, all) = (conv(1), conv(23));
    let [x_len, y_len] = [30 * 13, 30 * 21];
    let (x, y) = (random(1, 23 * x_len), random(2, 23 * y_len));
    let w = random(3, one.parameters());
    let passes = |conv: Conv, x: &[f32], y: &[f32]| {
        let lens = [x.len(), y.len(), w.len(), y.len(), x.len()];
        let data = [x.to_vec(), y.to_vec(), w.clone()];
        let mut results = pollster::block_on(run(&Engine::cpu(), 1, &data, &lens, |p, v| {
            let [x, d_x] = [v[0], v[4]].map(|view| Channels::all(view, 13));
            let [y, out] = [v[1], v[3]].map(|view| Channels::all(view, 21));
            conv.record(p, x, v[2], Some(y), out)?;
            conv.record_backward_input(p, y, v[2], None, d_x)
        }));
        [results.swap_remove(3), results.swap_remove(3)]
    };
    let [out, d_x] = passes(all, &x, &y);
    for (i, (x, y)) in x.chunks(x_len).zip(y.chunks(y_len)).enumerate() {
        let [one_out, one_d_x] = passes(one, x, y);
        assert!(one_out == out[i * y_len..][..y_len], "image {i}");
        assert!(one_d_x == d_x[i * x_len..][..x_len], "the gradient of image {i}");
    }
}

/// The same input gives the same bits, in placement for inference and for training.
#[test]
fn passes_are_deterministic() {
    let shape = Shape { height: 16, width: 16, channels: 1 };
    let (norm, head) = (Norm::Group, Head::Silu);
    let architecture = Architecture::UNet { shape, width: 16, levels: 2, norm, head };
    let network = architecture.network(shape.dim()).unwrap();
    let parameters = network.parameters();
    let (rows, count) = (7, parameters.buffer_len());
    let len = rows * shape.dim();
    let data = [random(1, len), noise_levels(rows), weights(parameters), random(2, len)];
    let lens = [len, rows, count, len, len, count, len];
    let pass = || {
        pollster::block_on(run(&Engine::cpu(), 2, &data, &lens, |p, v| {
            let placed = network.place_training(p, rows, v[2], v[5])?;
            placed.forward(p, v[0], Sigma::per_row(v[1]), v[4])?;
            placed.backward(p, v[0], v[3])?;
            network.place(p, rows, v[2])?.forward(p, v[0], Sigma::per_row(v[1]), v[6])
        }))
    };
    let (first, second) = (pass(), pass());
    assert_eq!(first, second);
    assert_eq!(first[4], first[6]);
    let (gradients, other) = first[5].split_at(count);
    assert_eq!(gradients, other);
}

/// Convolution against its definition, in f64.
#[test]
fn convolution_is_its_definition() {
    let [batch, height, width, inputs, outputs] = [2, 3, 5, 4, 6];
    for scale in SCALES {
        let conv = Conv { batch, size: [height, width], channels: [inputs, outputs], scale };
        let [out_height, out_width] = conv.output_size();
        let (x, w) = (random(1, batch * height * width * inputs), random(2, conv.parameters()));
        let lens = [x.len(), w.len(), batch * out_height * out_width * outputs];
        let result =
            pollster::block_on(run(&Engine::cpu(), 1, &[x.clone(), w.clone()], &lens, |p, v| {
                conv.record(
                    p,
                    Channels::all(v[0], inputs),
                    v[1],
                    None,
                    Channels::all(v[2], outputs),
                )
            }));
        // The value of the padded, perhaps enlarged, input.
        let at = |image: usize, y: isize, x_: isize, c: usize| {
            let enlarge = if scale == Scale::Double { 2 } else { 1 };
            let inside = |v: isize, len: usize| v >= 0 && v < enlarge * len as isize;
            if !inside(y, height) || !inside(x_, width) {
                return 0.0;
            }
            let pixel = (y / enlarge) as usize * width + (x_ / enlarge) as usize;
            f64::from(x[(image * height * width + pixel) * inputs + c])
        };
        let step = if scale == Scale::Half { 2 } else { 1 };
        let mut expected = Vec::new();
        for i in 0..lens[2] {
            let (o, pixel) = (i % outputs, i / outputs);
            let (column, row) = (pixel % out_width, pixel / out_width % out_height);
            let mut sum = f64::from(w[conv.bias() + o]);
            for tap in 0..9 {
                let y = (step * row + tap / 3) as isize - 1;
                let x_ = (step * column + tap % 3) as isize - 1;
                for c in 0..inputs {
                    let weight = f64::from(w[(tap * inputs + c) * outputs + o]);
                    sum += weight * at(pixel / out_width / out_height, y, x_, c);
                }
            }
            expected.push(sum as f32);
        }
        assert!(relative_error(&result[2], &expected) < 1e-6, "{scale:?}");
    }
}

#[test]
fn space_to_depth_gathers_blocks() {
    let shape = Shape { height: 2, width: 4, channels: 1 };
    let x: Vec<f32> = (0..8).map(|i| i as f32).collect();
    let out =
        pollster::block_on(run(&Engine::cpu(), 1, std::slice::from_ref(&x), &[8; 3], |p, v| {
            space_to_depth::record(p, v[0], v[1], 1, shape)?;
            space_to_depth::record_inverse(p, v[1], v[2], 1, shape)
        }));
    assert_eq!(out[1], [0.0, 1.0, 4.0, 5.0, 2.0, 3.0, 6.0, 7.0]);
    assert_eq!(out[2], x);
}
