//! A call of a kernel's CPU twin.

use std::mem::take;

use super::MAX_BINDINGS;

/// A binding as a CPU twin sees it: the recorded extent of one member's buffer.
#[derive(Debug, Default)]
pub enum Slot<'a> {
    /// A binding that is absent or was already taken.
    #[default]
    Empty,
    /// A binding to read.
    Read(&'a [f32]),
    /// A binding to read and write.
    Write(&'a mut [f32]),
}

/// One call of a CPU twin.
#[derive(Debug)]
pub struct Call<'a> {
    params: &'a [u32],
    slots: [Slot<'a>; MAX_BINDINGS],
    threads: usize,
}

impl<'a> Call<'a> {
    pub(crate) const fn new(
        params: &'a [u32],
        slots: [Slot<'a>; MAX_BINDINGS],
        threads: usize,
    ) -> Self {
        Self { params, slots, threads }
    }

    /// How many threads to use for this many multiply-adds: several if the work is long and there are fewer
    /// members than cores.
    pub(crate) const fn threads(&self, work: usize) -> usize {
        if work < PARALLEL { 1 } else { self.threads }
    }

    /// Returns the parameter struct.
    pub(crate) fn params<P: bytemuck::Pod>(&self) -> P {
        bytemuck::pod_read_unaligned(bytemuck::cast_slice(&self.params[..size_of::<P>() / 4]))
    }

    /// Returns the binding to read at `slot`.
    pub(crate) fn read(&self, slot: usize) -> &'a [f32] {
        match self.slots[slot] {
            Slot::Read(data) => data,
            _ => &[],
        }
    }

    /// Returns the binding to read at `slot`, as integers.
    pub(crate) fn read_u32(&self, slot: usize) -> &'a [u32] {
        bytemuck::cast_slice(self.read(slot))
    }

    /// Takes the binding to write at `slot`.
    pub(crate) fn write(&mut self, slot: usize) -> &'a mut [f32] {
        match take(&mut self.slots[slot]) {
            Slot::Write(data) => data,
            _ => &mut [],
        }
    }

    /// Takes the binding to write at `slot`, as integers.
    pub(crate) fn write_u32(&mut self, slot: usize) -> &'a mut [u32] {
        bytemuck::cast_slice_mut(self.write(slot))
    }
}

/// Multiply-adds from which several threads pay off: one thread takes about fifty microseconds for them,
/// and waking another takes ten or more.
const PARALLEL: usize = 1 << 21;
