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
mod target;
mod trips;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use anyhow::Result;
use hidden_gaussian::kernels::matmul::Tile;

use self::model::{Bound, Cost, GPUS, Gpu};
use self::radv::Statistics;
use self::step::{Captured, Dispatch, Network};
use self::target::{Shaders, Target};

/// The GPU whose steps are looked at in detail.
const DETAILED: &str = "NAVI21";

fn main() -> Result<()> {
    let capture = std::env::args_os().nth(1).map(PathBuf::from);
    let captured = capture.map(|path| Captured::read(&path)).transpose()?.unwrap_or_default();
    let mut shaders = Shaders::default();
    let mut targets = GPUS.into_iter().map(Target::new).collect::<Result<Vec<_>>>()?;
    print_kernels(&mut targets, &mut shaders)?;
    print_assumptions();
    let mut others: HashMap<String, Vec<(String, Vec<Dispatch>)>> = HashMap::new();
    for step in captured {
        let of = others.entry(step.preset.clone()).or_default();
        of.push((step.library().to_owned(), step.dispatches()));
    }
    for network in Network::ALL {
        let others = others.remove(network.name()).unwrap_or_default();
        print_step(&mut targets, &mut shaders, network, others)?;
    }
    Ok(())
}

/// A table of all kernels for each GPU.
fn print_kernels(targets: &mut [Target], shaders: &mut Shaders) -> Result<()> {
    let kernels = step::kernels()?;
    let labels = labels(&kernels);
    for target in targets {
        let Gpu { family, card, .. } = target.gpu;
        println!(
            "\n{family} ({card}): registers, spilled ones among them, bytes of workgroup memory, waves on a"
        );
        println!(
            "SIMD, instructions, multiply-adds per instruction of the inner loop, inverse throughput"
        );
        let head =
            ["VGPRs", "SGPRs", "spilled", "LDS", "waves", "instr.", "inner loop", "inv. tput."];
        let [vgprs, sgprs, spilled, lds, waves, instructions, inner, inverse] = head;
        println!(
            "{:<64}{vgprs:>6}{sgprs:>6}{spilled:>8}{lds:>6}{waves:>6}{instructions:>7}{inner:>16}{inverse:>10}",
            ""
        );
        for (dispatch, label) in kernels.iter().zip(&labels) {
            let compiled = target.compile(dispatch, shaders)?;
            let Statistics { vgprs, sgprs, lds, waves, instructions, .. } = &compiled.statistics;
            let Statistics { inverse_throughput, .. } = &compiled.statistics;
            let spilled = compiled.statistics.spilled();
            let inner = compiled.assembly.densest_loop().map(|(multiply_adds, instructions)| {
                let share = f64::from(multiply_adds) / instructions as f64;
                format!("{multiply_adds}/{instructions} = {share:.2}")
            });
            let inner = inner.unwrap_or_default();
            println!(
                "{label:<64}{vgprs:>6}{sgprs:>6}{spilled:>8}{lds:>6}{waves:>6}{instructions:>7}{inner:>16}{inverse_throughput:>10}"
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
        let has_rows = constants.iter().any(|(name, _)| name == "ROWS");
        let telling = constants
            .iter()
            // Rows and columns say it already.
            .filter(|(name, _)| !(has_rows && name.starts_with("QUADS")))
            .filter(|(name, _)| values[&(kernel.as_str(), name.as_str())].len() > 1)
            .map(|(name, value)| {
                format!(" {} {value}", name.to_lowercase().replace("threads_", ""))
            });
        kernel.clone() + &telling.collect::<String>()
    };
    kernels.iter().map(label).collect()
}

fn print_assumptions() {
    println!(
        "\nThe model of a step: the sum over its dispatches of {} µs and the longest of",
        model::DISPATCH / 1e3
    );
    println!(
        "  - what keeps a unit busiest: vector and scalar instructions, loads from the cache, workgroup memory;"
    );
    let [load, workgroup, scalar] = model::LATENCY;
    println!(
        "  - how long a wave alone takes (a load {load} cycles, workgroup memory {workgroup}, a scalar load {scalar}), for as"
    );
    println!("    many rounds as its waves need;");
    println!("  - all bytes that are bound, at the bandwidth of the GPU's memory.");
    println!(
        "Loops run as often as in the first thread of the middle workgroup. All waves do the same, at the full clock."
    );
    for Gpu { family, card, units, simds, lanes, clock, bandwidth, cache } in GPUS {
        println!(
            "  {family:<10}{card:<12}{units:>3} units of {simds} SIMDs of {lanes} lanes, {clock} GHz, {bandwidth} GB/s, {cache} bytes per cycle from a unit's cache"
        );
    }
}

/// What a step costs on a GPU.
#[derive(Default)]
struct StepCost {
    dispatches: usize,
    /// Nanoseconds of computing.
    time: f64,
    /// Dispatches with loops that were not found in the shader.
    unmatched: usize,
    kernels: BTreeMap<String, KernelCost>,
    /// Each dispatch by itself.
    each: Vec<Cost>,
}

/// What all dispatches of a kernel cost.
#[derive(Default)]
struct KernelCost {
    dispatches: usize,
    time: f64,
    multiply_add_time: f64,
    bounds: HashMap<Bound, f64>,
}

impl StepCost {
    fn new(target: &mut Target, shaders: &mut Shaders, step: &[Dispatch]) -> Result<Self> {
        let mut sum = Self { dispatches: step::dispatches(step), ..Self::default() };
        for dispatch in step {
            let cost = target.cost(dispatch, shaders)?;
            sum.time += cost.time;
            sum.unmatched += usize::from(!cost.loops_matched);
            let kernel = sum.kernels.entry(dispatch.kernel.clone()).or_default();
            kernel.dispatches += 1;
            kernel.time += cost.time;
            kernel.multiply_add_time += cost.multiply_add_time;
            *kernel.bounds.entry(cost.bound).or_default() += cost.time;
            sum.each.push(cost);
        }
        Ok(sum)
    }

    /// Nanoseconds with what every dispatch costs besides.
    fn total(&self) -> f64 {
        self.time + model::DISPATCH * self.dispatches as f64
    }
}

/// A table of a network's step on all GPUs, ours and others', and one of its kernels on one.
fn print_step(
    targets: &mut [Target],
    shaders: &mut Shaders,
    network: Network,
    others: Vec<(String, Vec<Dispatch>)>,
) -> Result<()> {
    println!("\n{}: {}", network.name(), network.about());
    println!("µs of computing; µs with dispatches; and how many times the best of ours that is");
    let head: String = targets.iter().map(|target| format!("{:>24}", target.gpu.family)).collect();
    println!("{:<30}{:>11}{head}", "", "dispatches");
    let mut steps = Vec::new();
    for tile in Tile::CANDIDATES {
        let Tile { rows, cols, threads_x, threads_y, depth } = tile;
        let memory = if depth > 0 { format!(", {depth} deep") } else { String::new() };
        let who = format!("ours, {rows}×{cols} on {threads_x}×{threads_y}{memory}");
        steps.push((who, network.step(tile)?));
    }
    let ours = steps.len();
    steps.extend(others);
    let mut costs: Vec<Vec<StepCost>> = Vec::new();
    for (_, step) in &steps {
        let each = targets.iter_mut().map(|target| StepCost::new(target, shaders, step));
        costs.push(each.collect::<Result<_>>()?);
    }
    let best = |of: usize| {
        let totals = costs[..ours].iter().map(|costs| costs[of].total());
        totals.fold(f64::INFINITY, f64::min)
    };
    for ((who, step), costs) in steps.iter().zip(&costs) {
        let cells = costs.iter().enumerate().map(|(of, cost)| {
            let [time, total] = [cost.time, cost.total()].map(|time| 1e-3 * time);
            format!("{time:>9.0}{total:>8.0}{:>5.1} ×", cost.total() / best(of))
        });
        let unmatched: usize = costs.iter().map(|cost| cost.unmatched).sum();
        let note = if unmatched > 0 {
            format!("  ({unmatched} times the number of iterations is the compiler's guess)")
        } else {
            String::new()
        };
        let dispatches = step::dispatches(step);
        println!("{who:<30}{dispatches:>11}{}{note}", cells.collect::<String>());
    }
    let detailed = targets.iter().position(|target| target.gpu.family == DETAILED);
    let Some(detailed) = detailed else { return Ok(()) };
    let fastest = (0..ours)
        .min_by(|&a, &b| costs[a][detailed].total().total_cmp(&costs[b][detailed].total()));
    if let Some(fastest) = fastest {
        println!(
            "{DETAILED}, {}: µs, share of the multiply-add peak, held back by",
            steps[fastest].0
        );
        let cost = &costs[fastest][detailed];
        print_kernel_costs(cost);
        println!("The longest of them, one by one");
        print_longest(&steps[fastest].1, &cost.each);
    }
    Ok(())
}

/// Dispatches that are shown one by one.
const LONGEST: usize = 12;

fn print_longest(step: &[Dispatch], costs: &[Cost]) {
    let mut longest: Vec<_> = step.iter().zip(costs).collect();
    longest.sort_by(|a, b| b.1.time.total_cmp(&a.1.time));
    for (Dispatch { kernel, workgroups: [x, y, z], .. }, cost) in longest.iter().take(LONGEST) {
        let share = 100.0 * cost.multiply_add_time / cost.time;
        let workgroups = format!("{x}×{y}×{z}");
        println!(
            "  {kernel:<28}{workgroups:>11}{:>9.1}{share:>6.1} %  {}",
            1e-3 * cost.time,
            cost.bound.name()
        );
    }
}

fn print_kernel_costs(cost: &StepCost) {
    let mut kernels: Vec<_> = cost.kernels.iter().collect();
    kernels.sort_by(|a, b| b.1.time.total_cmp(&a.1.time));
    for (name, KernelCost { dispatches, time, multiply_add_time, bounds }) in kernels {
        let mut bounds: Vec<_> = bounds.iter().collect();
        bounds.sort_by(|a, b| b.1.total_cmp(a.1));
        let percent = |part: f64| 100.0 * part / time;
        let bounds =
            bounds.iter().map(|(bound, part)| format!("{} {:.0} %", bound.name(), percent(**part)));
        let bounds = bounds.collect::<Vec<_>>().join(", ");
        println!(
            "  {name:<28}{dispatches:>11}{:>9.1}{:>6.1} %  {bounds}",
            1e-3 * time,
            percent(*multiply_add_time)
        );
    }
}
