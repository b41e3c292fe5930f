//! What Mesa's compiler for AMD GPUs makes of the shaders, and how long a training step would take on GPUs
//! that are not here.
//!
//! `cargo xtask bench --isa`, which also captures the shaders of jax-js and TensorFlow.js. By itself:
//! `cargo run --package isa -- [the file of captured steps]`.

mod assembly;
mod model;
mod radv;
mod shader;
mod step;
mod trips;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::{Context, Result};
use hidden_gaussian::kernels::matmul::Tile;

use self::assembly::Assembly;
use self::model::{Bound, Cost, GPUS, Gpu};
use self::radv::{Compiler, Statistics};
use self::shader::Shader;
use self::step::{Captured, Dispatch, Network};

/// What came out of the compiler.
struct Compiled {
    shader: Rc<Shader>,
    statistics: Statistics,
    assembly: Assembly,
}

/// A GPU, its compiler, and what that has compiled.
struct Target {
    gpu: Gpu,
    compiler: Compiler,
    compiled: HashMap<Rc<str>, Rc<Compiled>>,
}

impl Target {
    fn new(gpu: Gpu) -> Result<Self> {
        Ok(Self { gpu, compiler: Compiler::new(gpu.family)?, compiled: HashMap::new() })
    }

    fn compile(&mut self, dispatch: &Dispatch, shaders: &mut Shaders) -> Result<Rc<Compiled>> {
        if let Some(known) = self.compiled.get(&dispatch.wgsl) {
            return Ok(Rc::clone(known));
        }
        let shader = shaders.read(dispatch)?;
        let statistics = self.compiler.compile(&shader)?;
        let assembly = Assembly::parse(&statistics.assembly);
        let compiled = Rc::new(Compiled { shader, statistics, assembly });
        self.compiled.insert(Rc::clone(&dispatch.wgsl), Rc::clone(&compiled));
        Ok(compiled)
    }

    fn cost(&mut self, dispatch: &Dispatch, shaders: &mut Shaders) -> Result<Cost> {
        let compiled = self.compile(dispatch, shaders)?;
        let Compiled { shader, statistics, assembly } = &*compiled;
        let loops = shaders.loops(dispatch)?;
        let threads = shader.workgroup.iter().product();
        let Dispatch { workgroups, bytes, .. } = *dispatch;
        Ok(model::cost(&self.gpu, statistics, assembly, &loops, workgroups, threads, bytes))
    }
}

/// Shaders that were read, and the loops of dispatches: the same for all GPUs.
#[derive(Default)]
struct Shaders {
    read: HashMap<Rc<str>, Rc<Shader>>,
    loops: HashMap<(Rc<str>, [u32; 3], Vec<((u32, u32), Vec<u8>)>), Rc<[trips::Loop]>>,
}

impl Shaders {
    fn read(&mut self, dispatch: &Dispatch) -> Result<Rc<Shader>> {
        if let Some(known) = self.read.get(&dispatch.wgsl) {
            return Ok(Rc::clone(known));
        }
        let shader = Shader::new(&dispatch.wgsl).with_context(|| dispatch.kernel.clone())?;
        let shader = Rc::new(shader);
        self.read.insert(Rc::clone(&dispatch.wgsl), Rc::clone(&shader));
        Ok(shader)
    }

    fn loops(&mut self, dispatch: &Dispatch) -> Result<Rc<[trips::Loop]>> {
        let mut uniforms: Vec<_> = dispatch.uniforms.clone().into_iter().collect();
        uniforms.sort();
        let key = (Rc::clone(&dispatch.wgsl), dispatch.workgroups, uniforms);
        if let Some(known) = self.loops.get(&key) {
            return Ok(Rc::clone(known));
        }
        let shader = self.read(dispatch)?;
        let loops: Rc<[_]> =
            trips::count(&shader.module, dispatch.workgroups, &dispatch.uniforms)?.into();
        self.loops.insert(key, Rc::clone(&loops));
        Ok(loops)
    }
}

fn main() -> Result<()> {
    if !radv::is_installed() {
        anyhow::bail!("Mesa's RADV driver is not installed: it is in Debian's mesa-vulkan-drivers");
    }
    let capture = std::env::args_os().nth(1).map(PathBuf::from);
    let captured = capture.map(|path| Captured::read(&path)).transpose()?.unwrap_or_default();
    let mut shaders = Shaders::default();
    let mut targets = GPUS.into_iter().map(Target::new).collect::<Result<Vec<_>>>()?;
    print_kernels(&mut targets, &mut shaders)?;
    print_steps(&mut targets, &mut shaders, captured)
}

/// A table of all kernels for each GPU.
fn print_kernels(targets: &mut [Target], shaders: &mut Shaders) -> Result<()> {
    let kernels = step::kernels()?;
    let labels = labels(&kernels);
    for target in targets {
        println!("\n{} ({}): what the compiler makes of the kernels", target.gpu.family, target.gpu.card);
        println!(
            "{:<58}{:>6}{:>6}{:>8}{:>7}{:>7}{:>8}{:>14}{:>12}",
            "", "VGPRs", "SGPRs", "spilled", "LDS", "waves", "instr.", "mad/instr.", "inv. thr."
        );
        for (dispatch, label) in kernels.iter().zip(&labels) {
            let compiled = target.compile(dispatch, shaders)?;
            let Statistics { vgprs, sgprs, spills, lds, waves, instructions, inverse_throughput, .. } =
                &compiled.statistics;
            let dense = compiled.assembly.densest_loop().map(|(multiply_adds, instructions)| {
                format!("{multiply_adds}/{instructions}")
            });
            let dense = dense.unwrap_or_default();
            println!(
                "{label:<58}{vgprs:>6}{sgprs:>6}{spills:>8}{lds:>7}{waves:>7}{instructions:>8}{dense:>14}{inverse_throughput:>12}"
            );
        }
    }
    Ok(())
}

/// A kernel's name, and those of its constants that tell its variants apart.
fn labels(kernels: &[Dispatch]) -> Vec<String> {
    let mut values: BTreeMap<(&str, &str), BTreeSet<u32>> = BTreeMap::new();
    for Dispatch { kernel, constants, .. } in kernels {
        for (name, value) in constants {
            values.entry((kernel, name)).or_default().insert(*value);
        }
    }
    let label = |Dispatch { kernel, constants, .. }: &Dispatch| {
        let telling = constants
            .iter()
            .filter(|(name, _)| values[&(kernel.as_str(), name.as_str())].len() > 1)
            .map(|(name, value)| format!(" {}{value}", name.to_lowercase()));
        kernel.clone() + &telling.collect::<String>()
    };
    kernels.iter().map(label).collect()
}

/// What a step costs on a GPU.
#[derive(Default)]
struct StepCost {
    dispatches: usize,
    /// Nanoseconds of computing.
    time: f64,
    unmatched: usize,
    kernels: BTreeMap<String, KernelCost>,
}

#[derive(Default)]
struct KernelCost {
    dispatches: usize,
    time: f64,
    multiply_add_time: f64,
    bounds: HashMap<Bound, f64>,
}

impl StepCost {
    fn new(target: &mut Target, shaders: &mut Shaders, step: &[Dispatch]) -> Result<Self> {
        let mut sum = Self { dispatches: step.len(), ..Self::default() };
        for dispatch in step {
            let cost = target.cost(dispatch, shaders)?;
            sum.time += cost.time;
            sum.unmatched += usize::from(!cost.loops_matched);
            let kernel = sum.kernels.entry(dispatch.kernel.clone()).or_default();
            kernel.dispatches += 1;
            kernel.time += cost.time;
            kernel.multiply_add_time += cost.multiply_add_time;
            *kernel.bounds.entry(cost.bound).or_default() += cost.time;
        }
        Ok(sum)
    }

    /// Nanoseconds with what every dispatch costs besides.
    fn total(&self) -> f64 {
        self.time + model::DISPATCH * self.dispatches as f64
    }
}

fn print_steps(
    targets: &mut [Target],
    shaders: &mut Shaders,
    captured: Vec<Captured>,
) -> Result<()> {
    let mut others: HashMap<String, Vec<(String, Vec<Dispatch>)>> = HashMap::new();
    for step in captured {
        let of = others.entry(step.preset.clone()).or_default();
        of.push((step.who.clone(), step.dispatches()));
    }
    println!("\nA training step: µs of computing, and with 24 µs for each dispatch");
    for network in Network::ALL {
        println!("\n{}: {}", network.name(), network.about());
        let mut steps = Vec::new();
        for tile in Tile::CANDIDATES {
            let Tile { rows, cols, threads_x, threads_y, depth } = tile;
            let memory = if depth > 0 { format!(", depth {depth}") } else { String::new() };
            let who = format!("ours, {rows}×{cols} on {threads_x}×{threads_y}{memory}");
            steps.push((who, network.step(tile)?));
        }
        steps.extend(others.remove(network.name()).unwrap_or_default());
        let head: String = targets.iter().map(|target| format!("{:>20}", target.gpu.family)).collect();
        println!("{:<32}{:>11}{head}", "", "dispatches");
        for (who, step) in &steps {
            let mut cells = String::new();
            let mut unmatched = 0;
            for target in targets.iter_mut() {
                let cost = StepCost::new(target, shaders, step)?;
                unmatched += cost.unmatched;
                cells += &format!("{:>10.0}{:>10.0}", 1e-3 * cost.time, 1e-3 * cost.total());
            }
            println!("{who:<32}{:>11}{cells}   {unmatched}", step.len());
        }
        for target in targets.iter_mut().filter(|target| target.gpu.family == "NAVI21") {
            for (who, step) in steps.iter().take(2) {
                let cost = StepCost::new(target, shaders, step)?;
                println!("\n  {} of {who}: dispatches, µs, share of the multiply-add peak, held back by", target.gpu.family);
                let mut kernels: Vec<_> = cost.kernels.iter().collect();
                kernels.sort_by(|a, b| b.1.time.total_cmp(&a.1.time));
                for (name, kernel) in kernels.iter().take(8) {
                    let mut bounds: Vec<_> = kernel.bounds.iter().collect();
                    bounds.sort_by(|a, b| b.1.total_cmp(a.1));
                    let bounds: Vec<_> = bounds
                        .iter()
                        .map(|(bound, time)| {
                            format!("{} {:.0} %", bound.name(), 100.0 * *time / kernel.time)
                        })
                        .collect();
                    println!(
                        "  {name:<32}{:>6}{:>10.1}{:>7.0} %  {}",
                        kernel.dispatches,
                        1e-3 * kernel.time,
                        100.0 * kernel.multiply_add_time / kernel.time,
                        bounds.join(", ")
                    );
                }
            }
        }
    }
    Ok(())
}
