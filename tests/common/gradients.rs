//! Central differences of a forward pass against its backward pass, on the CPU engine.
//!
//! One table lists all failures. The differences are accurate to about 1e-3 of the largest
//! gradient of a tensor; the tolerance of 1e-2 catches a wrong sign, a missing term, a missing
//! factor and a transposed weight.

use super::{noise_levels, random, weights};
use hidden_gaussian::Result;
use hidden_gaussian::compute::{Buffer, Engine, Loaded, Program, Routine};
use hidden_gaussian::kernels::Sigma;
use hidden_gaussian::model::{Architecture, Parameters};

const TOLERANCE: f64 = 1e-2;
const STEP: f32 = 1e-2;
/// Coordinates that are tested per tensor.
const PROBES: usize = 24;

/// The failures.
#[derive(Default)]
pub struct Table(pub Vec<String>);

impl Drop for Table {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let head = "tensor: element, backward pass, central difference";
            assert!(self.0.is_empty(), "\n{head}\n{}", self.0.join("\n"));
        }
    }
}

/// A forward and a backward pass of `Σ weight · out`.
pub struct Passes {
    loaded: Loaded,
    forward: Routine,
    backward: Routine,
    out: Buffer,
    weight: Vec<f32>,
}

impl Passes {
    /// Creates both passes. `record` is told whether to record the backward pass too, which starts with the
    /// gradient `weight` in `d_out`, if given.
    pub fn new(
        mut program: Program,
        out: Buffer,
        d_out: Option<Buffer>,
        record: impl Fn(&mut Program, bool) -> Result<()>,
    ) -> Self {
        let forward = program.routine("forward", |p| record(p, false)).unwrap();
        let backward = program.routine("backward", |p| record(p, true)).unwrap();
        let mut loaded = pollster::block_on(Engine::cpu().load(program)).unwrap();
        let weight = match d_out {
            Some(_) => random(99, out.len()),
            None => vec![1.0; out.len()],
        };
        if let Some(d_out) = d_out {
            loaded.upload(d_out, &weight).unwrap();
        }
        Self { loaded, forward, backward, out, weight }
    }

    pub fn value(&mut self) -> f64 {
        self.loaded.run(self.forward, 1).unwrap();
        let out: Vec<f32> = pollster::block_on(self.loaded.read(self.out)).unwrap();
        out.iter().zip(&self.weight).map(|(o, w)| f64::from(*o) * f64::from(*w)).sum()
    }

    /// Compares the gradients of parts `(name, offset, len)` of `x`.
    pub fn check(
        &mut self,
        table: &mut Table,
        case: &str,
        x: Buffer,
        d_x: Buffer,
        parts: &[(String, usize, usize)],
    ) {
        self.loaded.run(self.backward, 1).unwrap();
        let gradient: Vec<f32> = pollster::block_on(self.loaded.read(d_x)).unwrap();
        let start: Vec<f32> = pollster::block_on(self.loaded.read(x)).unwrap();
        for (part, offset, len) in parts {
            let stride = len.div_ceil(PROBES);
            let probes: Vec<usize> = (0..*len).step_by(stride).map(|i| offset + i).collect();
            let differences: Vec<f64> = probes
                .iter()
                .map(|&at| {
                    let mut at_shift = |shift: f32| {
                        self.loaded.upload_part(x, 0, at, &[start[at] + shift]).unwrap();
                        self.value()
                    };
                    let difference = (at_shift(STEP) - at_shift(-STEP)) / f64::from(2.0 * STEP);
                    self.loaded.upload_part(x, 0, at, &[start[at]]).unwrap();
                    difference
                })
                .collect();
            let scale = differences.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
            if scale == 0.0 {
                table.0.push(format!("{case} {part}: no gradient at all"));
            }
            for (at, difference) in probes.iter().zip(differences) {
                let ours = f64::from(gradient[*at]);
                if ours.is_nan() || (ours - difference).abs() > TOLERANCE * scale {
                    let at = at - offset;
                    table.0.push(format!("{case} {part}: {at}, {ours:.5}, {difference:.5}"));
                }
            }
        }
    }
}

pub fn whole(buffer: Buffer) -> Vec<(String, usize, usize)> {
    vec![("input".into(), 0, buffer.len())]
}

pub fn program() -> Program {
    Engine::cpu().program(1).unwrap()
}

pub fn tensors(parameters: &Parameters) -> Vec<(String, usize, usize)> {
    parameters.list().iter().map(|p| (p.name.clone(), p.offset, p.len())).collect()
}

/// Compares the gradients of all parameters of a network.
pub fn check_network(table: &mut Table, architecture: &Architecture, dim: usize, rows: usize) {
    let network = architecture.network(dim).unwrap();
    let parameters = network.parameters();
    let mut p = program();
    let x = p.buffer_with("x", random(1, rows * dim)).unwrap();
    let sigma = p.buffer_with("sigma", noise_levels(rows)).unwrap();
    let w = p.buffer_with("weights", weights(parameters)).unwrap();
    // The previous content of a gradient buffer must not matter.
    let d_w = p.buffer_with("gradients", random(6, parameters.buffer_len())).unwrap();
    let [out, d_out] = [(); 2].map(|()| p.buffer("out", rows * dim).unwrap());
    let placed = network.place_training(&mut p, rows, w.into(), d_w.into()).unwrap();
    Passes::new(p, out, Some(d_out), |p, backward| {
        placed.forward(p, x.into(), Sigma::per_row(sigma), out.into())?;
        if backward { placed.backward(p, x.into(), d_out.into()) } else { Ok(()) }
    })
    .check(table, &format!("{architecture:?}"), w, d_w, &tensors(parameters));
}
