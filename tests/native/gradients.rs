//! Every backward pass against central differences of its forward pass, on the CPU engine.
//!
//! One table lists all failures. The differences are accurate to about 1e-3 of the largest
//! gradient of a tensor; the tolerance of 1e-2 catches a wrong sign, a missing term, a missing
//! factor and a transposed weight.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use common::gradients::{Passes, Table, check_network, program, tensors, whole};
use common::{noise_levels, random, weights};
use hidden_gaussian::compute::Engine;
use hidden_gaussian::kernels::Film;
use hidden_gaussian::kernels::norm_film_silu::Kept;
use hidden_gaussian::kernels::{
    Fold, Sigma, denoising_loss, norm_film_silu, norm_film_silu_backward, silu, silu_backward,
};
use hidden_gaussian::model::{Architecture, Dense, Modulation, Parameters};

#[test]
fn activations() {
    let mut table = Table::default();
    let mut p = program();
    let len = 37;
    let x = p.buffer_with("x", random(1, len).iter().map(|v| 3.0 * v).collect()).unwrap();
    let out = p.buffer("out", len).unwrap();
    let d = p.buffer("d", len).unwrap();
    Passes::new(p, out, Some(d), |p, backward| {
        silu::record(p, x.into(), out.into(), len)?;
        if backward { silu_backward::record(p, x.into(), d.into(), len) } else { Ok(()) }
    })
    .check(&mut table, "silu", x, d, &whole(x));
}

#[test]
fn norm_film_and_activation() {
    let mut table = Table::default();
    let [rows, cols] = [5, 19];
    // Two blocks' worth of columns, the second one used: offsets and strides are tested too.
    let [stride, column] = [4 * cols, 2 * cols];
    for part in ["h", "film"] {
        let mut p = program();
        let h = p.buffer_with("h", random(1, rows * cols)).unwrap();
        let film = p.buffer_with("film", random(2, rows * stride)).unwrap();
        let normed = p.buffer("normed", rows * cols).unwrap();
        let inverse_rms = p.buffer("inverse", rows).unwrap();
        let out = p.buffer("out", rows * cols).unwrap();
        let d_out = p.buffer("d_out", rows * cols).unwrap();
        let d_film = p.buffer("d_film", rows * stride).unwrap();
        let d_h = p.buffer("d_h", rows * cols).unwrap();
        let kept = Kept { normed: normed.into(), inverse_rms: inverse_rms.into() };
        let mut passes = Passes::new(p, out, Some(d_out), |p, backward| {
            let film = Film { view: film.at(column), stride };
            let shape = [rows, cols];
            norm_film_silu::record(p, h.into(), film, kept, out.into(), shape)?;
            if !backward {
                return Ok(());
            }
            let d_film = d_film.at(column);
            norm_film_silu_backward::record(p, kept, film, d_out.into(), d_film, d_h.into(), shape)
        });
        if part == "h" {
            passes.check(&mut table, "norm_film_silu", h, d_h, &whole(h));
        } else {
            let parts: Vec<_> = (0..rows)
                .flat_map(|row| {
                    let at = row * stride + column;
                    [(format!("scale {row}"), at, cols), (format!("shift {row}"), at + cols, cols)]
                })
                .collect();
            passes.check(&mut table, "norm_film_silu", film, d_film, &parts);
        }
    }
}

#[test]
fn loss() {
    let mut table = Table::default();
    let [rows, cols] = [3, 21];
    let mut p = program();
    let f = p.buffer_with("f", random(1, rows * cols)).unwrap();
    let expected = p.buffer_with("expected", random(2, rows * cols)).unwrap();
    let d = p.buffer("d", rows * cols).unwrap();
    let losses = p.buffer("losses", rows).unwrap();
    Passes::new(p, losses, None, |p, _| {
        let views = [f, expected, d, losses].map(Into::into);
        denoising_loss::record(p, views, [rows, cols], Fold::none(cols))
    })
    .check(&mut table, "denoising_loss", f, d, &whole(f));
}

#[test]
fn linear_layer() {
    let mut table = Table::default();
    let [rows, inputs, outputs] = [7, 5, 3];
    let mut parameters = Parameters::default();
    let layer = Dense::declare(&mut parameters, "layer", [inputs, outputs], 1.0);
    let build = || {
        let mut p = program();
        let x = p.buffer_with("x", random(1, rows * inputs)).unwrap();
        let w = p.buffer_with("weights", random(2, parameters.buffer_len())).unwrap();
        let out = p.buffer("out", rows * outputs).unwrap();
        let d_out = p.buffer("d_out", rows * outputs).unwrap();
        let d_x = p.buffer("d_x", rows * inputs).unwrap();
        let d_w = p.buffer("gradients", parameters.buffer_len()).unwrap();
        let passes = Passes::new(p, out, Some(d_out), |p, backward| {
            layer.forward(w.into(), x, out, rows).record(p)?;
            if !backward {
                return Ok(());
            }
            layer.backward(p, d_w.into(), x, d_out, rows)?;
            layer.backward_input(w.into(), d_out, d_x, rows).record(p)
        });
        (passes, [x, d_x, w, d_w])
    };
    let (mut passes, [x, d_x, w, d_w]) = build();
    passes.check(&mut table, "linear", x, d_x, &whole(x));
    passes.check(&mut table, "linear", w, d_w, &tensors(&parameters));
}

#[test]
fn noise_embedding() {
    let mut table = Table::default();
    let [rows, outputs] = [6, 10];
    let mut parameters = Parameters::default();
    let modulation = Modulation::declare(&mut parameters, outputs);
    let mut p = program();
    let sigma = p.buffer_with("sigma", noise_levels(rows)).unwrap();
    let w = p.buffer_with("weights", weights(&parameters)).unwrap();
    let d_w = p.buffer("gradients", parameters.buffer_len()).unwrap();
    let d_film = p.buffer("d_film", rows * outputs).unwrap();
    let placed = modulation.place(&mut p, rows, w.into()).unwrap();
    let out = placed.film().view.buffer;
    Passes::new(p, out, Some(d_film), |p, backward| {
        placed.forward(p, Sigma::per_row(sigma))?;
        if backward { placed.backward(p, d_w.into(), d_film.into()) } else { Ok(()) }
    })
    .check(&mut table, "modulation", w, d_w, &tensors(&parameters));
}

#[test]
fn whole_networks() {
    let mut table = Table::default();
    for (dim, rows, architecture) in [
        (9, 5, Architecture::Mlp { width: 13, depth: 2 }),
        (16, 4, Architecture::Mlp { width: 8, depth: 3 }),
    ] {
        check_network(&mut table, &architecture, dim, rows);
    }
}

/// Placement for inference gives the same output as placement for training, and one noise level for all rows
/// gives the same as that level in each row.
#[test]
fn placements_agree() {
    let [dim, rows] = [9, 5];
    let network = Architecture::Mlp { width: 13, depth: 2 }.network(dim).unwrap();
    let parameters = network.parameters();
    let mut p = program();
    let x = p.buffer_with("x", random(1, rows * dim)).unwrap();
    let sigma = p.buffer_with("sigma", vec![0.7; rows]).unwrap();
    let w = p.buffer_with("weights", weights(parameters)).unwrap();
    let d_w = p.buffer("gradients", parameters.buffer_len()).unwrap();
    let outs = [(); 3].map(|()| p.buffer("out", rows * dim).unwrap());
    let training = network.place_training(&mut p, rows, w.into(), d_w.into()).unwrap();
    let sampling = network.place(&mut p, rows, w.into()).unwrap();
    let routine = p
        .routine("all", |p| {
            let x = x.into();
            training.forward(p, x, Sigma::per_row(sigma), outs[0].into())?;
            sampling.forward(p, x, Sigma::per_row(sigma), outs[1].into())?;
            sampling.forward(p, x, Sigma::shared(sigma), outs[2].into())
        })
        .unwrap();
    let mut loaded = pollster::block_on(Engine::cpu().load(p)).unwrap();
    loaded.run(routine, 1).unwrap();
    let [a, b, c] = outs.map(|out| pollster::block_on(loaded.read::<f32>(out)).unwrap());
    assert_eq!(a, b);
    assert!(common::relative_error(&c, &a) < 1e-5);
}
