//! How long a dispatch would take: a model of a GPU, in which every unit is as fast as its data sheet says
//! and all of them work side by side.

use crate::assembly::{Assembly, Work};
use crate::radv::Statistics;
use crate::trips;

/// A GPU that is not here.
#[derive(Debug, Clone, Copy)]
pub struct Gpu {
    /// What RADV calls its family.
    pub family: &'static str,
    /// A card of that family.
    pub card: &'static str,
    /// Compute units.
    pub units: u32,
    /// SIMDs of a unit.
    pub simds: u32,
    /// Threads that a SIMD computes in a cycle.
    pub lanes: u32,
    /// Cycles per nanosecond.
    pub clock: f64,
    /// Bytes per nanosecond of its memory.
    pub bandwidth: f64,
    /// Bytes per cycle that a unit loads from its cache.
    pub cache: f64,
}

/// The cards that are modelled.
pub const GPUS: [Gpu; 4] = [
    Gpu {
        family: "POLARIS10",
        card: "RX 480",
        units: 36,
        simds: 4,
        lanes: 16,
        clock: 1.266,
        bandwidth: 256.0,
        cache: 64.0,
    },
    Gpu {
        family: "VEGA10",
        card: "RX Vega 64",
        units: 64,
        simds: 4,
        lanes: 16,
        clock: 1.546,
        bandwidth: 484.0,
        cache: 64.0,
    },
    Gpu {
        family: "NAVI21",
        card: "RX 6900 XT",
        units: 80,
        simds: 2,
        lanes: 32,
        clock: 2.25,
        bandwidth: 512.0,
        cache: 128.0,
    },
    Gpu {
        family: "GFX1100",
        card: "RX 7900 XTX",
        units: 96,
        simds: 2,
        lanes: 32,
        clock: 2.5,
        bandwidth: 960.0,
        cache: 128.0,
    },
];

/// Nanoseconds of a dispatch before it computes anything: the least that was published for WebGPU.
pub const DISPATCH: f64 = 24_000.0;

/// Bytes per cycle of a unit's workgroup memory.
const WORKGROUP_MEMORY: f64 = 128.0;

/// Cycles until a load, workgroup memory and a scalar load have arrived.
pub const LATENCY: [f64; 3] = [320.0, 64.0, 60.0];

/// Cycles until all waves of a workgroup have met.
const BARRIER: f64 = 30.0;

/// What holds a dispatch back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bound {
    /// Multiply-adds.
    MultiplyAdd,
    /// Vector instructions, most of which are not multiply-adds.
    Vector,
    /// Scalar instructions.
    Scalar,
    /// The cache of the vector unit.
    Cache,
    /// Workgroup memory.
    Workgroup,
    /// Waves wait for what they have loaded, and there are too few others.
    Latency,
    /// The GPU's memory.
    Memory,
}

impl Bound {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MultiplyAdd => "multiply-adds",
            Self::Vector => "other vector work",
            Self::Scalar => "scalar work",
            Self::Cache => "cache loads",
            Self::Workgroup => "workgroup memory",
            Self::Latency => "latency",
            Self::Memory => "memory",
        }
    }
}

/// The cost of a dispatch.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Nanoseconds of computing.
    pub time: f64,
    /// Nanoseconds that its multiply-adds alone would take, if all SIMDs had the same number.
    pub multiply_add_time: f64,
    /// Multiply-adds of all threads.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "a test holds them against a matrix multiply's")
    )]
    pub multiply_adds: f64,
    /// What holds it back.
    pub bound: Bound,
    /// Whether each loop of the disassembly was found in the shader.
    pub loops_matched: bool,
}

/// Models `workgroups` of `threads` each.
pub fn cost(
    gpu: &Gpu,
    statistics: &Statistics,
    assembly: &Assembly,
    loops: &[trips::Loop],
    workgroups: [u32; 3],
    threads: u32,
    bytes: u64,
) -> Cost {
    let (iterations, loops_matched) = match_loops(assembly, loops);
    let wave = f64::from(statistics.wave_size);
    let vector = wave / f64::from(gpu.lanes);
    // Of GCN's four SIMDs one issues in each cycle.
    let issue = if gpu.simds == 4 { 4.0 } else { 1.0 };
    let simds = f64::from(gpu.simds);
    let [mut multiply_adds, mut vectors, mut scalars, mut cache, mut workgroup, mut latency] =
        [0.0; 6];
    for (index, block) in assembly.blocks.iter().enumerate() {
        let times = assembly.loop_of(index).map_or(1.0, |which| iterations[which]);
        for work in block {
            let shared = |bytes: u32, rate: f64| f64::from(bytes) * wave / rate * simds;
            match *work {
                Work::MultiplyAdd(_) => {
                    multiply_adds += times * vector;
                    vectors += times * vector;
                }
                Work::Vector => vectors += times * vector,
                Work::SlowVector => vectors += times * vector * 4.0,
                Work::Scalar | Work::ScalarLoad => scalars += times * issue,
                Work::Load(bytes) | Work::Store(bytes) => cache += times * shared(bytes, gpu.cache),
                Work::Workgroup(bytes) => workgroup += times * shared(bytes, WORKGROUP_MEMORY),
                Work::Wait { .. } | Work::Barrier | Work::Nothing => {}
            }
        }
        latency += times * block_latency(block, vector, issue);
    }
    let vector_bound =
        if multiply_adds > 0.5 * vectors { Bound::MultiplyAdd } else { Bound::Vector };
    let busy = [
        (vectors, vector_bound),
        (scalars, Bound::Scalar),
        (cache, Bound::Cache),
        (workgroup, Bound::Workgroup),
    ];
    let throughput = busy
        .into_iter()
        .fold((0.0, vector_bound), |most, one| if one.0 > most.0 { one } else { most });
    let groups: f64 = workgroups.into_iter().map(f64::from).product();
    let waves = groups * f64::from(threads.div_ceil(statistics.wave_size));
    let all_simds = f64::from(gpu.units * gpu.simds);
    let per_simd = (waves / all_simds).ceil();
    // RADV counts waves of 32 threads where there are such.
    let slots = statistics.waves as f64 / if gpu.lanes == 32 { wave / 32.0 } else { 1.0 };
    let rounds = per_simd / per_simd.min(slots.max(1.0));
    let mut most = (per_simd * throughput.0 / gpu.clock, throughput.1);
    for (time, bound) in [
        (rounds * latency / gpu.clock, Bound::Latency),
        (bytes as f64 / gpu.bandwidth, Bound::Memory),
    ] {
        if time > most.0 {
            most = (time, bound);
        }
    }
    Cost {
        time: most.0,
        multiply_add_time: waves * multiply_adds / all_simds / gpu.clock,
        multiply_adds: waves * wave * multiply_adds / vector,
        bound: most.1,
        loops_matched,
    }
}

/// Cycles of one wave alone.
fn block_latency(block: &[Work], vector: f64, issue: f64) -> f64 {
    let mut now = 0.0;
    let (mut loads, mut others): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    let wait = |queue: &mut Vec<f64>, left: Option<usize>, now: &mut f64| {
        while left.is_some_and(|left| queue.len() > left) {
            *now = queue.remove(0).max(*now);
        }
    };
    for work in block {
        now += match work {
            Work::MultiplyAdd(_) | Work::Vector => vector,
            Work::SlowVector => 4.0 * vector,
            Work::Barrier => BARRIER,
            _ => issue,
        };
        match *work {
            Work::Load(_) => loads.push(now + LATENCY[0]),
            Work::Workgroup(_) => others.push(now + LATENCY[1]),
            Work::ScalarLoad => others.push(now + LATENCY[2]),
            Work::Wait { loads: left, others: left_of_others } => {
                wait(&mut loads, left, &mut now);
                wait(&mut others, left_of_others, &mut now);
            }
            _ => {}
        }
    }
    now
}

/// Iterations of each loop of the disassembly over the whole run, and whether all were found.
///
/// The compiler keeps the order of loops, but writes out some whose ends it knows: the shortest are left
/// out until as many are left as the disassembly has.
fn match_loops(assembly: &Assembly, loops: &[trips::Loop]) -> (Vec<f64>, bool) {
    let mut left: Vec<_> = loops.iter().filter(|one| one.entered > 0).collect();
    let length = |one: &trips::Loop| one.iterations as f64 / one.entered.max(1) as f64;
    while left.len() > assembly.loops.len() {
        let shortest = (0..left.len())
            .min_by(|&a, &b| length(left[a]).total_cmp(&length(left[b])).then(b.cmp(&a)));
        left.remove(shortest.unwrap_or_default());
    }
    let matched = left.len() == assembly.loops.len();
    let found = left.iter().map(|one| one.iterations as f64);
    // What is not found gets what the compiler itself supposes.
    let supposed = assembly.loops[left.len()..].iter().map(|one| 8_f64.powi(1 + one.depth as i32));
    (found.chain(supposed).collect(), matched)
}
