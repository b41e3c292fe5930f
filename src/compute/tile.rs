//! How a GPU divides a matrix multiply.

use serde::Serialize;

/// How the GPU divides a matrix multiply. A software adapter keeps a large tile in registers and does not
/// benefit from workgroup memory; most GPUs are the other way round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Tile {
    /// Rows per thread.
    pub rows: u32,
    /// Columns per thread.
    pub cols: u32,
    /// Threads of a workgroup along the columns.
    pub threads_x: u32,
    /// Threads of a workgroup along the rows.
    pub threads_y: u32,
    /// How much of the operands along `k` a workgroup copies to its own memory at a time; 0 if each
    /// thread loads for itself.
    pub depth: u32,
}

impl Tile {
    /// One output per thread: the plain kernel that the others are measured against.
    pub const REFERENCE: Self = Self::registers(1, 1, 8, 8);

    /// The best tile on adapters that run on the CPU, where a workgroup is a vector of threads.
    pub const SOFTWARE: Self = Self::registers(16, 16, 4, 1);

    /// The tiles among which tuning chooses on a GPU.
    pub const CANDIDATES: [Self; 3] = [
        Self::registers(4, 4, 8, 8),
        Self::workgroup(8, 8, 8, 8, 16),
        Self::workgroup(4, 4, 16, 16, 16),
    ];

    /// A tile whose threads load their operands themselves.
    #[must_use]
    pub const fn registers(rows: u32, cols: u32, threads_x: u32, threads_y: u32) -> Self {
        Self::workgroup(rows, cols, threads_x, threads_y, 0)
    }

    /// A tile whose workgroup copies `depth` of the operands at a time to its own memory.
    #[must_use]
    pub const fn workgroup(
        rows: u32,
        cols: u32,
        threads_x: u32,
        threads_y: u32,
        depth: u32,
    ) -> Self {
        Self { rows, cols, threads_x, threads_y, depth }
    }

    /// The tile for a result of few columns: if one thread covers them all, the others go below it.
    pub(crate) const fn stacked(self, columns: usize) -> Self {
        if self.depth > 0 || columns > self.cols as usize {
            return self;
        }
        Self { threads_x: 1, threads_y: self.threads_x * self.threads_y, ..self }
    }

    /// Number of threads in a workgroup.
    pub(crate) const fn threads(self) -> u32 {
        self.threads_x * self.threads_y
    }

    /// Rows and columns of the block that a workgroup computes.
    pub(crate) const fn block(self) -> [usize; 2] {
        [(self.rows * self.threads_y) as usize, (self.cols * self.threads_x) as usize]
    }

    /// Number of workgroups along the columns and the rows of an `m × n` result.
    pub(crate) const fn workgroups(self, m: usize, n: usize) -> [usize; 2] {
        let [rows, cols] = self.block();
        [n.div_ceil(cols), m.div_ceil(rows)]
    }
}

impl Default for Tile {
    /// A tile that is good on most adapters.
    fn default() -> Self {
        Self::CANDIDATES[0]
    }
}
