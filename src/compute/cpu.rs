//! The CPU engine: one thread per member runs the whole routine.
//!
//! A member's weights and activations fit the cache, nothing is locked, and no barrier stands
//! between stages: members never meet. Where members are fewer than cores, the large stages of one use
//! several; their bits are the same.

use std::collections::BTreeMap;
use std::time::Duration;

use super::call::{Call, Slot};
use super::control::Control;
use super::memory::Memory;
use super::program::{Access, Buffer, MAX_BINDINGS, Program, Routine, Scope, Stage};
use crate::error::{Error, Result};
use crate::platform::Instant;

/// A program with its buffers in memory.
#[derive(Debug)]
pub struct CpuProgram {
    program: Program,
    control: Control,
    /// By buffer id; empty where the buffer belongs to members.
    shared: Vec<Memory>,
    /// By member, then by buffer id; empty where the buffer is shared.
    members: Vec<Vec<Memory>>,
}

impl CpuProgram {
    pub(crate) fn new(program: Program, control: Control) -> Self {
        let allocate = |scope: Scope| -> Vec<Memory> {
            let len = |buffer: Buffer| if buffer.scope() == scope { buffer.len() } else { 0 };
            program.buffers().iter().map(|info| Memory::zeros(len(info.buffer))).collect()
        };
        let shared = allocate(Scope::Shared);
        let members = (0..program.members()).map(|_| allocate(Scope::Member)).collect();
        Self { program, control, shared, members }
    }

    pub(crate) const fn program(&self) -> &Program {
        &self.program
    }

    pub(crate) const fn control(&self) -> &Control {
        &self.control
    }

    fn copies(&self, buffer: Buffer) -> impl Iterator<Item = &Memory> {
        let shared = self.shared.get(buffer.id).filter(|_| buffer.scope() == Scope::Shared);
        let members = self.members.iter().filter_map(move |member| member.get(buffer.id));
        let members = members.filter(move |_| buffer.scope() == Scope::Member);
        shared.into_iter().chain(members)
    }

    pub(crate) fn write(
        &mut self,
        buffer: Buffer,
        member: usize,
        offset: usize,
        words: &[u32],
    ) -> Result<()> {
        let copy = match buffer.scope() {
            Scope::Shared => self.shared.get_mut(buffer.id),
            Scope::Member => self.members.get_mut(member).and_then(|m| m.get_mut(buffer.id)),
        };
        let target = copy.and_then(|copy| copy.get_mut(offset..offset + words.len()));
        let target = target.ok_or_else(|| Error::internal("Upload outside the buffer"))?;
        bytemuck::cast_slice_mut(target).copy_from_slice(words);
        Ok(())
    }

    pub(crate) fn read(&self, buffer: Buffer) -> Result<Vec<u32>> {
        let copies: Vec<&[f32]> = self.copies(buffer).map(|copy| &**copy).collect();
        if copies.iter().all(|copy| copy.is_empty()) {
            return Err(Error::internal("No such buffer in this program"));
        }
        Ok(bytemuck::allocation::cast_vec(copies.concat()))
    }

    pub(crate) fn run(&mut self, routine: Routine, times: u32) {
        self.run_while(routine, times, &|| true);
    }

    /// Runs a routine that can be cancelled between stages.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn run_interruptible(&mut self, routine: Routine, times: u32) -> Result<()> {
        let control = self.control.clone();
        self.run_while(routine, times, &|| !control.is_cancelled());
        control.check()
    }

    /// Runs a routine on the first member, and adds the time of each stage to that of its kernel.
    pub(crate) fn time(&mut self, routine: Routine, times: &mut BTreeMap<&'static str, Duration>) {
        let Self { program, shared, members, .. } = self;
        let Some(member) = members.first_mut() else { return };
        for stage in program.stages(routine) {
            let start = Instant::now();
            run_stage(stage, shared, member, threads());
            *times.entry(stage.kernel.name).or_default() += start.elapsed();
        }
    }

    fn run_while(&mut self, routine: Routine, times: u32, go_on: &(impl Fn() -> bool + Sync)) {
        let Self { program, shared, members, .. } = self;
        // Cores that members leave idle help within a stage.
        let threads = threads().div_ceil(members.len());
        let run = |member: &mut Vec<Memory>| {
            let stages = (0..times).flat_map(|_| program.stages(routine));
            for stage in stages.take_while(|_| go_on()) {
                run_stage(stage, shared, member, threads);
            }
        };
        #[cfg(not(target_arch = "wasm32"))]
        rayon::prelude::ParallelIterator::for_each(
            rayon::prelude::IntoParallelRefMutIterator::par_iter_mut(members),
            run,
        );
        #[cfg(target_arch = "wasm32")]
        members.iter_mut().for_each(run);
    }

    /// Runs a routine, and lets the page's other tasks run between stages.
    #[cfg(target_arch = "wasm32")]
    pub(crate) async fn run_cooperative(&mut self, routine: Routine, times: u32) -> Result<()> {
        let Self { program, control, shared, members } = self;
        for member in members {
            for stage in (0..times).flat_map(|_| program.stages(routine)) {
                run_stage(stage, shared, member, 1);
                control.yield_now().await?;
            }
        }
        Ok(())
    }
}

/// Threads that the engine has.
fn threads() -> usize {
    #[cfg(not(target_arch = "wasm32"))]
    let threads = rayon::current_num_threads();
    #[cfg(target_arch = "wasm32")]
    let threads = 1;
    threads
}

fn run_stage(stage: &Stage, shared: &[Memory], member: &mut [Memory], threads: usize) {
    // Written buffers leave the member while the stage runs, so that the rest can be read.
    let mut written: [Memory; MAX_BINDINGS] = Default::default();
    let access = stage.kernel.bindings.iter().map(|(_, access)| *access);
    for ((binding, access), taken) in stage.bindings.iter().zip(access).zip(&mut written) {
        if access == Access::Write {
            *taken = std::mem::take(&mut member[binding.view.buffer.id]);
        }
    }
    let mut slots: [Slot<'_>; MAX_BINDINGS] = Default::default();
    let access = stage.kernel.bindings.iter().map(|(_, access)| *access);
    let bound = stage.bindings.iter().zip(access).zip(&mut written);
    for (((binding, access), taken), slot) in bound.zip(&mut slots) {
        let range = binding.view.offset..binding.view.offset + binding.extent;
        let id = binding.view.buffer.id;
        *slot = match (access, binding.view.buffer.scope()) {
            (Access::Write, _) => Slot::Write(&mut taken[range]),
            (Access::Read, Scope::Member) => Slot::Read(&member[id][range]),
            (Access::Read, Scope::Shared) => Slot::Read(&shared[id][range]),
        };
    }
    (stage.kernel.cpu)(&mut Call::new(&stage.params, slots, threads));
    let access = stage.kernel.bindings.iter().map(|(_, access)| *access);
    for ((binding, access), taken) in stage.bindings.iter().zip(access).zip(&mut written) {
        if access == Access::Write {
            member[binding.view.buffer.id] = std::mem::take(taken);
        }
    }
}
