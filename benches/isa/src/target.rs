//! A GPU with its compiler, and what was compiled for it.

use std::collections::HashMap;
use std::rc::Rc;

use anyhow::{Context, Result};

use crate::assembly::Assembly;
use crate::model::{self, Cost, Gpu};
use crate::radv::{Compiler, Statistics};
use crate::shader::Shader;
use crate::step::Dispatch;
use crate::trips;

/// What came out of the compiler.
pub struct Compiled {
    /// What it was made of.
    pub shader: Rc<Shader>,
    /// What the compiler says about it.
    pub statistics: Statistics,
    /// What it is.
    pub assembly: Assembly,
}

/// See the module.
pub struct Target {
    /// The GPU.
    pub gpu: Gpu,
    compiler: Compiler,
    compiled: HashMap<Rc<str>, Rc<Compiled>>,
}

impl Target {
    /// One that has compiled nothing yet.
    pub fn new(gpu: Gpu) -> Result<Self> {
        Ok(Self { gpu, compiler: Compiler::new(gpu.family)?, compiled: HashMap::new() })
    }

    /// The compiled shader of `dispatch`.
    pub fn compile(&mut self, dispatch: &Dispatch, shaders: &mut Shaders) -> Result<Rc<Compiled>> {
        if let Some(known) = self.compiled.get(&dispatch.wgsl) {
            return Ok(Rc::clone(known));
        }
        let shader = shaders.read(dispatch)?;
        let statistics = self.compiler.compile(&shader).with_context(|| dispatch.kernel.clone())?;
        let assembly = Assembly::parse(&statistics.assembly);
        let compiled = Rc::new(Compiled { shader, statistics, assembly });
        self.compiled.insert(Rc::clone(&dispatch.wgsl), Rc::clone(&compiled));
        Ok(compiled)
    }

    /// What `dispatch` would cost.
    pub fn cost(&mut self, dispatch: &Dispatch, shaders: &mut Shaders) -> Result<Cost> {
        let compiled = self.compile(dispatch, shaders)?;
        let Compiled { shader, statistics, assembly } = &*compiled;
        let loops = shaders.loops(dispatch)?;
        let threads = shader.workgroup.iter().product();
        let Dispatch { workgroups, bytes, .. } = *dispatch;
        Ok(model::cost(&self.gpu, statistics, assembly, &loops, workgroups, threads, bytes))
    }
}

/// What the loops of a dispatch hang on.
type Circumstances = (Rc<str>, [u32; 3], Vec<((u32, u32), Vec<u8>)>);

/// Shaders that were read, and the loops of dispatches: the same for all GPUs.
#[derive(Default)]
pub struct Shaders {
    read: HashMap<Rc<str>, Rc<Shader>>,
    loops: HashMap<Circumstances, Rc<[trips::Loop]>>,
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

#[cfg(test)]
mod tests {
    use hidden_gaussian::compute::{Profile, Program};
    use hidden_gaussian::kernels::matmul::{Layout, Matmul, Tile};

    use super::*;
    use crate::model::GPUS;
    use crate::step::{self, Network};

    #[test]
    #[ignore = "needs Mesa's RADV driver"]
    fn no_kernel_spills() {
        let mut kernels = step::kernels().unwrap();
        for tile in Tile::CANDIDATES {
            for network in Network::ALL {
                kernels.extend(step::packed(network, tile).unwrap());
            }
        }
        let mut shaders = Shaders::default();
        let mut spilling = Vec::new();
        for gpu in GPUS {
            let mut target = Target::new(gpu).unwrap();
            for dispatch in &kernels {
                let compiled = target.compile(dispatch, &mut shaders).unwrap();
                let spilled = compiled.statistics.spilled();
                if spilled > 0 {
                    let Dispatch { kernel, constants, .. } = dispatch;
                    spilling.push(format!("{}: {spilled} of {kernel} {constants:?}", gpu.family));
                }
            }
        }
        assert!(spilling.is_empty(), "registers are spilled on\n{}", spilling.join("\n"));
    }

    #[test]
    #[ignore = "needs Mesa's RADV driver"]
    fn every_loop_of_our_steps_is_counted() {
        let mut shaders = Shaders::default();
        let mut target = Target::new(GPUS[2]).unwrap();
        for tile in Tile::CANDIDATES {
            for network in Network::ALL {
                for dispatch in network.step(tile).unwrap() {
                    let cost = target.cost(&dispatch, &mut shaders).unwrap();
                    assert!(cost.loops_matched, "{} of {}", dispatch.kernel, network.name());
                }
            }
        }
    }

    /// The disassembly times the iterations of its loops gives the multiply-adds that there are: the first
    /// of four may be a product and a sum.
    #[test]
    #[ignore = "needs Mesa's RADV driver"]
    fn a_matrix_multiply_has_its_multiply_adds() {
        let shape @ [m, n, k] = [256, 512, 128];
        let mut shaders = Shaders::default();
        let mut targets: Vec<_> = GPUS.map(|gpu| Target::new(gpu).unwrap()).into();
        for tile in Tile::CANDIDATES {
            for layout in [Layout::Nn, Layout::Nt, Layout::Tn] {
                let mut program = Program::new(1, Profile { tile, ..Profile::default() }).unwrap();
                let [a, b, c] = [m * k, k * n, m * n].map(|len| program.buffer("", len).unwrap());
                let matmul = Matmul::new(layout, a, b, c, shape);
                let routine = program.routine("multiply", |p| matmul.record(p)).unwrap();
                let dispatch = step::dispatch(&program, &program.stages(routine)[0]);
                for target in &mut targets {
                    let counted = target.cost(&dispatch, &mut shaders).unwrap().multiply_adds;
                    let share = counted / (m * n * k) as f64;
                    assert!((0.74..1.01).contains(&share), "{tile:?}, {layout:?}: {share}");
                }
            }
        }
    }
}
