//! The compute core: a [`Program`] is recorded once and run by either [`Engine`].

mod call;
mod completion;
mod control;
mod cpu;
mod faults;
pub(crate) mod gemm;
mod gpu;
mod gpu_program;
pub(crate) mod memory;
mod pack;
mod program;
mod readback;
pub(crate) mod simd;
mod simulation;
mod submit_size;
mod template;
mod tile;

pub use call::{Call, Slot};
pub use control::Control;
pub use cpu::CpuProgram;
pub use gpu::Gpu;
pub use gpu_program::GpuProgram;
pub use program::{
    Access, Binding, Buffer, BufferInfo, Kernel, MAX_BINDINGS, MAX_PARAMS, Profile, Program,
    Routine, Scope, Stage, View,
};

#[doc(hidden)]
pub use pack::{Pack, packs};
pub(crate) use program::elements;
#[doc(hidden)]
pub use simulation::Simulation;
pub use tile::Tile;

use std::time::Duration;

use crate::error::{Error, Result};
use crate::platform;

/// How long a readback may take before the device is considered hung.
pub const READ_DEADLINE: Duration = Duration::from_secs(60);

/// Where programs run.
///
/// Clones share the device. An engine [with a control](Self::with_control) passes the control to every
/// program that it loads.
#[derive(Debug, Clone)]
pub struct Engine {
    device: Device,
    control: Option<Control>,
}

#[derive(Debug, Clone)]
enum Device {
    /// This processor: SIMD natively and in WebAssembly.
    Cpu,
    /// A GPU through wgpu: WebGPU in a browser, Vulkan, Metal or DX12 natively.
    Gpu(Gpu),
}

impl Engine {
    /// Creates the CPU engine.
    #[must_use]
    pub const fn cpu() -> Self {
        Self { device: Device::Cpu, control: None }
    }

    /// Creates an engine on `gpu`.
    #[must_use]
    pub const fn on(gpu: Gpu) -> Self {
        Self { device: Device::Gpu(gpu), control: None }
    }

    /// Returns the same engine with `control`, which pauses and cancels its work.
    #[must_use]
    pub fn with_control(&self, control: &Control) -> Self {
        Self { device: self.device.clone(), control: Some(control.clone()) }
    }

    /// The GPU of a GPU engine.
    #[must_use]
    pub const fn as_gpu(&self) -> Option<&Gpu> {
        match &self.device {
            Device::Cpu => None,
            Device::Gpu(gpu) => Some(gpu),
        }
    }

    /// The name of a GPU engine's GPU.
    #[must_use]
    pub fn adapter(&self) -> Option<String> {
        self.as_gpu().map(Gpu::adapter)
    }

    /// The kind of the engine: `"cpu"` or `"gpu"`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self.device {
            Device::Cpu => "cpu",
            Device::Gpu(_) => "gpu",
        }
    }

    /// The limits of the engine.
    #[must_use]
    pub fn profile(&self) -> Profile {
        match &self.device {
            Device::Cpu => Profile {
                max_buffer_bytes: 1 << 30,
                max_total_bytes: platform::MAX_MEMORY,
                parts: 1,
                ..Profile::default()
            },
            Device::Gpu(gpu) => gpu.profile(),
        }
    }

    /// Creates an empty program for this engine.
    pub fn program(&self, members: usize) -> Result<Program> {
        Program::new(members, self.profile())
    }

    /// Loads a program: allocates the buffers, pipelines and bind groups that it needs to run.
    pub async fn load(&self, mut program: Program) -> Result<Loaded> {
        let control = self.control.clone().unwrap_or_default();
        control.check()?;
        let contents = program.take_contents();
        let mut loaded = match &self.device {
            Device::Cpu => Loaded::Cpu(CpuProgram::new(program, control)),
            Device::Gpu(gpu) => {
                Loaded::Gpu(Box::pin(GpuProgram::new(gpu, program, control)).await?)
            }
        };
        for (buffer, data) in contents {
            loaded.upload(buffer, &data)?;
        }
        Ok(loaded)
    }

    /// Lets other tasks run during work outside programs; fails if the engine's work was cancelled.
    pub async fn yield_now(&self) -> Result<()> {
        match &self.control {
            Some(control) => control.yield_now().await,
            None => {
                platform::yield_now().await;
                Ok(())
            }
        }
    }
}

/// A program with its buffers on an engine.
#[derive(Debug)]
pub enum Loaded {
    /// In this process's memory.
    Cpu(CpuProgram),
    /// In the GPU's memory.
    Gpu(GpuProgram),
}

impl Loaded {
    /// The recorded program.
    #[must_use]
    pub const fn program(&self) -> &Program {
        match self {
            Self::Cpu(cpu) => cpu.program(),
            Self::Gpu(gpu) => gpu.program(),
        }
    }

    /// What pauses and cancels this program: the engine's control, or its own.
    #[must_use]
    pub const fn control(&self) -> &Control {
        match self {
            Self::Cpu(cpu) => cpu.control(),
            Self::Gpu(gpu) => gpu.control(),
        }
    }

    /// Writes a whole buffer. Data for one member goes to every member; otherwise `data` holds all members
    /// in order.
    pub fn upload<T: bytemuck::Pod>(&mut self, buffer: Buffer, data: &[T]) -> Result<()> {
        let words = words(buffer, data)?;
        let copies = if buffer.scope() == Scope::Member { self.program().members() } else { 1 };
        if words.len() == buffer.len() {
            (0..copies).try_for_each(|member| self.write(buffer, member, 0, words))
        } else if words.len() == buffer.len() * copies {
            words
                .chunks_exact(buffer.len())
                .enumerate()
                .try_for_each(|(member, chunk)| self.write(buffer, member, 0, chunk))
        } else {
            Err(Error::internal(format!(
                "Upload of {} elements to a buffer of {} × {copies}",
                words.len(),
                buffer.len()
            )))
        }
    }

    /// Writes a part of one member's copy of a buffer, from element `offset` on.
    pub fn upload_part<T: bytemuck::Pod>(
        &mut self,
        buffer: Buffer,
        member: usize,
        offset: usize,
        data: &[T],
    ) -> Result<()> {
        let words = words(buffer, data)?;
        let copies = if buffer.scope() == Scope::Member { self.program().members() } else { 1 };
        if member >= copies || offset.checked_add(words.len()).is_none_or(|end| end > buffer.len())
        {
            return Err(Error::internal("Upload outside the buffer"));
        }
        self.write(buffer, member, offset, words)
    }

    fn write(&mut self, buffer: Buffer, member: usize, offset: usize, words: &[u32]) -> Result<()> {
        match self {
            Self::Cpu(cpu) => cpu.write(buffer, member, offset, words),
            Self::Gpu(gpu) => gpu.write(buffer, member, offset, words),
        }
    }

    /// Runs a routine `times` times without interruption, unless it is already cancelled. On the GPU this
    /// submits and returns; the next call that waits reports errors that the device finds later.
    pub fn run(&mut self, routine: Routine, times: u32) -> Result<()> {
        self.control().check()?;
        self.run_to_end(routine, times)
    }

    /// Runs a routine even if it was cancelled.
    pub(crate) fn run_to_end(&mut self, routine: Routine, times: u32) -> Result<()> {
        match self {
            Self::Cpu(cpu) => {
                cpu.run(routine, times);
                Ok(())
            }
            Self::Gpu(gpu) => gpu.run(routine, times),
        }
    }

    /// Runs a routine that may take long: it can be cancelled between stages, and a page's other tasks run in
    /// between. The GPU gets it in pieces of [`Control`]'s time slice. After a cancel, members may have
    /// reached different stages.
    pub async fn run_cooperative(&mut self, routine: Routine, times: u32) -> Result<()> {
        self.control().check()?;
        match self {
            #[cfg(target_arch = "wasm32")]
            Self::Cpu(cpu) => cpu.run_cooperative(routine, times).await,
            #[cfg(not(target_arch = "wasm32"))]
            Self::Cpu(cpu) => cpu.run_interruptible(routine, times),
            // Boxed, so that not every caller's future contains it.
            Self::Gpu(gpu) => Box::pin(gpu.run_bounded(routine, times)).await,
        }
    }

    /// The longest piece that the GPU got at a time and that was waited for, and its dispatches.
    #[doc(hidden)]
    #[must_use]
    pub const fn longest_piece(&self) -> Option<(Duration, usize)> {
        match self {
            Self::Cpu(_) => None,
            Self::Gpu(gpu) => Some(gpu.longest_piece()),
        }
    }

    /// Resets [`Self::longest_piece`].
    #[doc(hidden)]
    pub fn forget_longest_piece(&mut self) {
        if let Self::Gpu(gpu) = self {
            gpu.forget_longest_piece();
        }
    }

    /// Waits until all submitted work is done.
    pub async fn finish(&mut self) -> Result<()> {
        match self {
            Self::Cpu(_) => Ok(()),
            Self::Gpu(gpu) => gpu.finish(READ_DEADLINE).await,
        }
    }

    /// Reads a whole buffer: all members in order.
    pub async fn read<T: bytemuck::Pod>(&mut self, buffer: Buffer) -> Result<Vec<T>> {
        self.read_within(buffer, READ_DEADLINE).await
    }

    /// Reads a whole buffer with a deadline other than [`READ_DEADLINE`].
    pub async fn read_within<T: bytemuck::Pod>(
        &mut self,
        buffer: Buffer,
        deadline: Duration,
    ) -> Result<Vec<T>> {
        if size_of::<T>() != 4 {
            return Err(Error::internal("Buffers hold 32-bit elements"));
        }
        let words = match self {
            Self::Cpu(cpu) => cpu.read(buffer)?,
            // Boxed, so that not every caller's future contains it.
            Self::Gpu(gpu) => Box::pin(gpu.read(buffer, deadline)).await?,
        };
        Ok(bytemuck::allocation::cast_vec(words))
    }
}

fn words<T: bytemuck::Pod>(buffer: Buffer, data: &[T]) -> Result<&[u32]> {
    bytemuck::try_cast_slice(data).map_err(|error| {
        Error::internal(format!(
            "Upload to buffer {} is not of 32-bit elements: {error}",
            buffer.id
        ))
    })
}
