//! A program on a GPU: pipelines, bind groups and buffers are created once; running the program only
//! encodes dispatches.

use std::collections::VecDeque;
use std::ops::{Deref, Range};
use std::time::Duration;

use wgpu::BufferUsages;

use super::READ_DEADLINE;
use super::completion::Completion;
use super::control::Control;
use super::gpu::{Gpu, OwnBuffer, Pipeline, gpu_error};
use super::pack::{Pack, packs};
use super::program::{Buffer, Program, Routine, Scope};
use super::readback::{self, Ticket};
use super::simulation::Simulation;
use super::submit_size::SubmitSize;
use crate::error::{Error, ErrorKind, Result};
use crate::platform::{Instant, SINGLE_THREADED};

/// Uniform bindings start at multiples of this many words: WebGPU's portable alignment.
const UNIFORM_WORDS: usize = 64;

/// Submits in flight while work is bounded. In a page, replies take long, so the device gets the next
/// submit before the last one is confirmed.
const IN_FLIGHT: usize = if SINGLE_THREADED { 2 } else { 1 };

/// A pack of stages, ready to dispatch.
#[derive(Debug)]
struct Dispatch {
    pipeline: wgpu::ComputePipeline,
    bind_group: wgpu::BindGroup,
    workgroups: [u32; 3],
}

/// A routine, ready to run.
#[derive(Debug)]
struct LoadedRoutine {
    stages: Vec<Dispatch>,
    /// The parameters, which the bind groups refer to.
    _uniforms: OwnBuffer,
}

/// A program with its buffers on a GPU.
#[derive(Debug)]
pub struct GpuProgram {
    gpu: Gpu,
    program: Program,
    control: Control,
    buffers: Vec<OwnBuffer>,
    routines: Vec<LoadedRoutine>,
    completion: Completion,
    submit_size: SubmitSize,
    /// How long the device takes to confirm an empty submit: up to 100 ms in some browsers.
    latency: Option<Duration>,
    /// What was submitted since the last confirmation: the routine (`None` if several), the number of
    /// dispatches, and the time.
    unheard: Option<(Option<usize>, usize, Instant)>,
}

impl GpuProgram {
    /// Loads `program`. If a driver rejects packs of stages, each stage gets a shader of its own.
    pub(super) async fn new(gpu: &Gpu, mut program: Program, control: Control) -> Result<Self> {
        if program.profile().packs {
            match Self::load(gpu, program.clone(), control.clone()).await {
                Err(error) if error.kind == ErrorKind::Gpu => program.unpack(),
                loaded => return loaded,
            }
        }
        Self::load(gpu, program, control).await
    }

    async fn load(gpu: &Gpu, program: Program, control: Control) -> Result<Self> {
        gpu.faults.check()?;
        let validation = gpu.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let memory = gpu.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = gpu.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let buffers = program.buffers().iter().map(|info| {
            let size = 4 * (info.buffer.len() * copies(&program, info.buffer)) as u64;
            let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
            OwnBuffer::new(&gpu.device, &info.name, size, usage)
        });
        let buffers: Vec<_> = buffers.collect();
        // Compiling takes most of the time.
        let packs = program.routines().map(|(_, stages)| packs(stages, program.profile()));
        let packs: Vec<_> = packs.collect();
        for pack in packs.iter().flatten() {
            control.check()?;
            gpu.pipeline(pack);
        }
        let routines = program
            .routines()
            .zip(&packs)
            .map(|((name, _), packs)| routine(gpu, &program, &buffers, name, packs));
        let routines: Vec<_> = routines.collect();
        let completion = Completion::new(&gpu.device, &gpu.completion);
        let submit_size = SubmitSize::new(routines.len());
        // Pop all scopes before waiting for any: other tasks may push theirs meanwhile.
        let popped = [internal.pop(), memory.pop(), validation.pop()];
        let mut result = Ok(());
        for error in popped {
            if let Some(error) = error.await {
                result = result.and(Err(gpu_error(&error)));
            }
        }
        if result.is_err() {
            gpu.forget_pipelines(packs.iter().flatten());
        }
        gpu.faults.explain(&gpu.device, result).await?;
        Ok(Self {
            gpu: gpu.clone(),
            program,
            control,
            buffers,
            routines,
            completion,
            submit_size,
            latency: None,
            unheard: None,
        })
    }

    pub(super) const fn program(&self) -> &Program {
        &self.program
    }

    pub(super) const fn control(&self) -> &Control {
        &self.control
    }

    pub(super) fn write(
        &self,
        buffer: Buffer,
        member: usize,
        offset: usize,
        words: &[u32],
    ) -> Result<()> {
        self.gpu.faults.check()?;
        let target = self.handle(buffer)?;
        let start = 4 * (member * buffer.len() + offset) as u64;
        self.gpu.queue.write_buffer(target, start, bytemuck::cast_slice(words));
        Ok(())
    }

    fn handle(&self, buffer: Buffer) -> Result<&wgpu::Buffer> {
        let found = self.buffers.get(buffer.id);
        found.map(Deref::deref).ok_or_else(|| Error::internal("No such buffer in this program"))
    }

    /// Submits a routine `times` times, in pieces whose length is bounded as far as it is known.
    pub(super) fn run(&mut self, routine: Routine, times: u32) -> Result<()> {
        let piece = self.submit_size.dispatches(self.known(routine)?, self.control.slice());
        let stages = self.routines[routine.0].stages.len();
        let mut left = times as usize;
        while left > 0 && stages > 0 {
            let whole = (piece / stages).clamp(1, left);
            // A pass is cut into several pieces only if it is too long, and then `whole` is 1.
            for first in (0..stages).step_by(piece.max(1)) {
                self.submit(routine, first..stages.min(first + piece.max(1)), whole);
            }
            left -= whole;
        }
        Ok(())
    }

    /// Runs a routine and waits for it. Every piece is measured, which bounds the next one; between pieces the
    /// work can be cancelled, and other tasks of a page run.
    pub(super) async fn run_bounded(&mut self, routine: Routine, times: u32) -> Result<()> {
        let known = self.known(routine)?;
        let stages = self.routines[known].stages.len();
        self.measure_latency().await?;
        let mut on_their_way = VecDeque::new();
        let mut heard = Instant::now();
        let mut done = 0;
        let all = stages * times as usize;
        while done < all || !on_their_way.is_empty() {
            if done < all && on_their_way.len() < IN_FLIGHT {
                self.control.check()?;
                let first = done % stages;
                let piece = self.submit_size.dispatches(known, self.control.slice());
                // Either whole passes or a part of one.
                let (range, times) = match (piece / stages).min((all - done) / stages) {
                    whole if first == 0 && whole > 0 => (0..stages, whole),
                    _ => (first..stages.min(first + piece), 1),
                };
                let dispatches = range.len() * times;
                self.submit(routine, range, times);
                on_their_way.push_back((dispatches, Instant::now(), self.ask()));
                done += dispatches;
                continue;
            }
            let Some((dispatches, since, ticket)) = on_their_way.pop_front() else { break };
            self.answer(ticket).await?;
            let now = Instant::now();
            let took = now.duration_since(since.max(heard));
            self.submit_size.record(
                known,
                dispatches,
                took.saturating_sub(self.latency.unwrap_or_default()),
            );
            heard = now;
        }
        self.unheard = None;
        self.control.check()
    }

    /// The duration of the longest piece that was waited for, and its dispatches.
    pub(super) const fn longest_piece(&self) -> (Duration, usize) {
        self.submit_size.longest
    }

    pub(super) const fn forget_longest_piece(&mut self) {
        self.submit_size.longest = (Duration::ZERO, 0);
    }

    async fn measure_latency(&mut self) -> Result<()> {
        if self.latency.is_none() {
            // Finish earlier submits first, so that they are not measured too.
            self.finish(READ_DEADLINE).await?;
            let mut waits = [Duration::ZERO; 3];
            for wait in &mut waits {
                let start = Instant::now();
                let ticket = self.ask();
                self.answer(ticket).await?;
                *wait = start.elapsed();
            }
            waits.sort_unstable();
            self.latency = Some(waits[1]);
        }
        Ok(())
    }

    fn known(&self, routine: Routine) -> Result<usize> {
        self.gpu.faults.check()?;
        let known = (routine.0 < self.routines.len()).then_some(routine.0);
        known.ok_or_else(|| Error::internal("No such routine in this program"))
    }

    /// Submits some stages of a routine, `times` times.
    fn submit(&mut self, routine: Routine, range: Range<usize>, times: usize) {
        let dispatches = range.len() * times;
        let stages = &self.routines[routine.0].stages[range];
        let Simulation { delays, lost_submit, .. } = self.gpu.simulation;
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let number = {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for stage in (0..times).flat_map(|_| stages) {
                pass.set_pipeline(&stage.pipeline);
                pass.set_bind_group(0, &stage.bind_group, &[]);
                let [x, y, z] = stage.workgroups;
                for _ in 0..=delays {
                    pass.dispatch_workgroups(x, y, z);
                }
            }
            self.completion.end(&mut pass)
        };
        let commands = encoder.finish();
        if lost_submit == Some(number) {
            // Not dropped: Mesa's driver in software (22.3) corrupts the heap when it frees commands that were
            // recorded and never executed.
            std::mem::forget(commands);
        } else {
            self.gpu.queue.submit([commands]);
        }
        self.unheard = match self.unheard {
            None => Some((Some(routine.0), dispatches, Instant::now())),
            Some((of, sum, since)) => {
                Some((of.filter(|&of| of == routine.0), sum + dispatches, since))
            }
        };
    }

    /// Asks how far the device has got; the reply comes when everything submitted before is done.
    fn ask(&self) -> Ticket {
        readback::ask(&self.gpu, None, &self.completion)
    }

    async fn answer(&self, ticket: Ticket) -> Result<Vec<u32>> {
        let words = ticket.answer(&self.gpu, READ_DEADLINE).await;
        self.gpu.faults.explain(&self.gpu.device, words).await
    }

    /// Waits until everything submitted is done.
    pub(super) async fn finish(&mut self, deadline: Duration) -> Result<()> {
        // Reading a few bytes waits for everything before it: the only wait that both wgpu's native backends
        // and browsers honour.
        self.wait(None, deadline).await.map(drop)
    }

    pub(super) async fn read(&mut self, buffer: Buffer, deadline: Duration) -> Result<Vec<u32>> {
        self.wait(Some(buffer), deadline).await
    }

    async fn wait(&mut self, buffer: Option<Buffer>, deadline: Duration) -> Result<Vec<u32>> {
        self.gpu.faults.check()?;
        let source = buffer.map(|buffer| self.handle(buffer)).transpose()?;
        let ticket = readback::ask(&self.gpu, source, &self.completion);
        let words = ticket.answer(&self.gpu, deadline).await;
        let words = self.gpu.faults.explain(&self.gpu.device, words).await?;
        if let Some((Some(routine), dispatches, since)) = self.unheard.take() {
            let took = since.elapsed().saturating_sub(self.latency.unwrap_or_default());
            self.submit_size.record_at_most(routine, dispatches, took);
        }
        Ok(words)
    }
}

fn copies(program: &Program, buffer: Buffer) -> usize {
    if buffer.scope() == Scope::Member { program.members() } else { 1 }
}

/// Creates bind groups for the packs of a routine, with their uniforms side by side in one buffer. If not
/// all members fit one dispatch, the members of one dispatch run the whole routine before the next ones.
fn routine(
    gpu: &Gpu,
    program: &Program,
    buffers: &[OwnBuffer],
    name: &str,
    packs: &[Pack<'_>],
) -> LoadedRoutine {
    let (members, at_once) = (program.members(), program.profile().members_at_once.max(1));
    let groups = (0..members).step_by(at_once);
    let plan: Vec<(usize, &Pack<'_>)> =
        groups.flat_map(|first| packs.iter().map(move |pack| (first, pack))).collect();
    let (mut words, mut ranges): (Vec<u32>, _) = (Vec::new(), Vec::new());
    for contents in plan.iter().flat_map(|(first, pack)| pack.uniforms(*first)) {
        let begin = words.len();
        words.extend(contents);
        words.resize(words.len().next_multiple_of(UNIFORM_WORDS), 0);
        ranges.push(begin..words.len());
    }
    let usage = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
    let size = 4 * words.len().max(UNIFORM_WORDS) as u64;
    let uniforms = OwnBuffer::new(&gpu.device, name, size, usage);
    gpu.queue.write_buffer(&uniforms, 0, bytemuck::cast_slice(&words));
    let mut ranges = ranges.into_iter();
    let dispatch = |&(first, pack): &(usize, &Pack<'_>)| {
        let Pipeline { layout, pipeline, .. } = gpu.pipeline(pack);
        let uniform = ranges.by_ref().take(pack.uniform_buffers()).map(|range| {
            wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: &uniforms,
                offset: 4 * range.start as u64,
                size: std::num::NonZeroU64::new(4 * range.len() as u64),
            })
        });
        let bound = pack.buffers();
        let storage = bound.iter().map(|(id, _)| buffers[*id].as_entire_binding());
        let entries: Vec<_> = uniform
            .chain(storage)
            .enumerate()
            .map(|(binding, resource)| wgpu::BindGroupEntry { binding: binding as u32, resource })
            .collect();
        let bind_group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(&pack.name()),
            layout: &layout,
            entries: &entries,
        });
        let [x, y] = match &pack.stages[..] {
            [stage] => stage.workgroups,
            _ => [pack.workgroups() as u32, 1],
        };
        let z = at_once.min(members - first) as u32;
        Dispatch { pipeline, bind_group, workgroups: [x, y, z] }
    };
    let stages = plan.iter().map(dispatch).collect();
    LoadedRoutine { stages, _uniforms: uniforms }
}
