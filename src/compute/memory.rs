//! Memory of the CPU engine.
//!
//! Vectors that straddle two cache lines take longer to load, and an allocator leaves the alignment to
//! chance.

use std::ops::{Deref, DerefMut};

/// Numbers that start at a cache line.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    lines: Vec<Line>,
    len: usize,
}

#[derive(Debug, Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(64))]
struct Line([f32; 16]);

impl Memory {
    pub(super) const EMPTY: Self = Self { lines: Vec::new(), len: 0 };

    pub(crate) fn zeros(len: usize) -> Self {
        Self { lines: bytemuck::zeroed_vec(len.div_ceil(16)), len }
    }

    /// Makes room for `len` numbers of unspecified value.
    pub(crate) fn reserve(&mut self, len: usize) {
        if self.len < len {
            *self = Self::zeros(len);
        }
    }
}

impl Deref for Memory {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }
}

impl DerefMut for Memory {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}
