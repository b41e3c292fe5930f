//! Reads a disassembly: blocks, loops, and what each instruction keeps busy.

use std::collections::HashMap;
use std::ops::Range;

/// What an instruction keeps busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// The vector unit, with so many multiply-adds of a thread.
    MultiplyAdd(u32),
    /// The vector unit.
    Vector,
    /// The vector unit at a quarter of its rate: reciprocals, exponentials, products of integers.
    SlowVector,
    /// The scalar unit.
    Scalar,
    /// The scalar cache.
    ScalarLoad,
    /// The vector cache, with so many bytes of a thread.
    Load(u32),
    /// The same in the other direction.
    Store(u32),
    /// Workgroup memory, with so many bytes of a thread.
    Workgroup(u32),
    /// Waits until at most so many loads, and so many accesses of workgroup memory and scalar loads, are
    /// under way.
    Wait {
        /// Loads.
        loads: Option<usize>,
        /// The others.
        others: Option<usize>,
    },
    /// Waits for the other waves of the workgroup.
    Barrier,
    /// Nothing but the time to issue it.
    Nothing,
}

/// A loop: from its first block to the last that jumps back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// Blocks.
    pub blocks: Range<usize>,
    /// Loops around it.
    pub depth: usize,
}

/// A disassembly.
#[derive(Debug, Default)]
pub struct Assembly {
    /// Instructions without branches between them.
    pub blocks: Vec<Vec<Work>>,
    /// In the order of their first blocks.
    pub loops: Vec<Loop>,
}

impl Assembly {
    /// Reads what RADV prints.
    pub fn parse(text: &str) -> Self {
        let mut blocks: Vec<Vec<Work>> = Vec::new();
        let mut labels = HashMap::new();
        let mut back: HashMap<usize, usize> = HashMap::new();
        for line in text.lines() {
            let line = line.split(';').next().unwrap_or_default().trim();
            if let Some(label) = line.strip_suffix(':') {
                labels.insert(label.to_owned(), blocks.len());
                blocks.push(Vec::new());
                continue;
            }
            let mut words = line.split_ascii_whitespace();
            let Some(name) = words.next() else { continue };
            if blocks.is_empty() {
                blocks.push(Vec::new());
            }
            let current = blocks.len() - 1;
            if name.starts_with("s_branch") || name.starts_with("s_cbranch") {
                // A label that is not known yet lies ahead.
                if let Some(&target) = words.next().and_then(|label| labels.get(label)) {
                    back.insert(target, current);
                }
            }
            blocks[current].push(work(name, line));
        }
        let mut ranges: Vec<_> = back.into_iter().map(|(first, last)| first..last + 1).collect();
        ranges.sort_by_key(|range| range.start);
        let around = |inner: &Range<usize>| {
            ranges
                .iter()
                .filter(|outer| outer.start < inner.start && outer.end >= inner.end)
                .count()
        };
        let loops =
            ranges.iter().map(|blocks| Loop { blocks: blocks.clone(), depth: around(blocks) });
        Self { loops: loops.collect(), blocks }
    }

    /// The innermost loop around a block.
    pub fn loop_of(&self, block: usize) -> Option<usize> {
        self.loops.iter().rposition(|one| one.blocks.contains(&block))
    }

    /// The instructions of a loop that are in no loop within it.
    pub fn own_work(&self, which: usize) -> impl Iterator<Item = Work> {
        let blocks = self.loops[which].blocks.clone();
        blocks
            .filter(move |&block| self.loop_of(block) == Some(which))
            .flat_map(|block| self.blocks[block].iter().copied())
    }

    /// Multiply-adds and instructions of the loop that has most multiply-adds for an instruction, if a
    /// loop has any.
    pub fn densest_loop(&self) -> Option<(u32, usize)> {
        let loops = (0..self.loops.len()).map(|which| {
            let own: Vec<_> = self.own_work(which).collect();
            let multiply_adds = own.iter().map(|work| work.multiply_adds()).sum::<u32>();
            (multiply_adds, own.len())
        });
        // A loop of two instructions that adds up a few partial sums is not what the kernel lives in.
        loops.filter(|(multiply_adds, _)| *multiply_adds > 0).max_by_key(|(count, _)| *count)
    }
}

impl Work {
    /// Multiply-adds of a thread.
    pub const fn multiply_adds(self) -> u32 {
        if let Self::MultiplyAdd(count) = self { count } else { 0 }
    }
}

fn work(name: &str, line: &str) -> Work {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if starts(&["v_pk_fma_f32", "v_dual_"]) {
        let count = line.matches("fma").count() as u32 * if starts(&["v_pk"]) { 2 } else { 1 };
        return if count > 0 { Work::MultiplyAdd(count) } else { Work::Vector };
    }
    if starts(&["v_fma", "v_mac", "v_mad_f", "v_mad_legacy", "v_madak", "v_madmk"]) {
        return Work::MultiplyAdd(1);
    }
    if starts(&["v_exp", "v_log", "v_rcp", "v_rsq", "v_sqrt", "v_sin", "v_cos"])
        || starts(&["v_mul_lo_u32", "v_mul_hi_u32", "v_mul_hi_i32", "v_mad_u64", "v_mad_i64"])
    {
        return Work::SlowVector;
    }
    if starts(&["v_"]) {
        return Work::Vector;
    }
    if starts(&["buffer_load", "global_load", "flat_load", "scratch_load"]) {
        return Work::Load(bytes(name));
    }
    if starts(&["buffer_", "global_", "flat_", "scratch_"]) {
        return Work::Store(bytes(name));
    }
    if starts(&["ds_"]) {
        let pair = if name.contains("2_b") || name.contains("2st64_b") || name.contains("2addr") {
            2
        } else {
            1
        };
        return Work::Workgroup(pair * bytes(name));
    }
    if starts(&["s_load", "s_buffer_load"]) {
        return Work::ScalarLoad;
    }
    if starts(&["s_waitcnt"]) {
        let count = |counter: &str| {
            let (_, rest) = line.split_once(counter)?;
            rest.split(')').next()?.parse().ok()
        };
        return Work::Wait { loads: count("vmcnt("), others: count("lgkmcnt(") };
    }
    if starts(&["s_barrier"]) {
        return Work::Barrier;
    }
    if starts(&[
        "s_branch",
        "s_cbranch",
        "s_nop",
        "s_clause",
        "s_inst_prefetch",
        "s_delay",
        "s_endpgm",
    ]) {
        return Work::Nothing;
    }
    Work::Scalar
}

/// Bytes of a thread that a memory instruction moves, by its name.
fn bytes(name: &str) -> u32 {
    let widths = [("x4", 16), ("x3", 12), ("x2", 8), ("b128", 16), ("b96", 12), ("b64", 8)];
    let found = widths.iter().find(|(ending, _)| name.contains(ending));
    found.map_or(4, |(_, bytes)| *bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
BB0:
\ts_mov_b32 s0, 0                ; be800380
BB7:
\ts_cmp_ge_u32 s0, s1
\ts_cbranch_scc1 BB22
BB10:
\tbuffer_load_dwordx4 v[8:11], v6, s[12:15], 0 offen
\ts_waitcnt vmcnt(0) lgkmcnt(3)
\tv_fmac_f32_e32 v5, v8, v6
\tv_mad_u32_u24 v5, v8, v6, v7
\tds_read2_b64 v[0:3], v1 offset1:4
BB11:
\tv_exp_f32_e32 v1, v1
\ts_cbranch_scc0 BB11
BB15:
\ts_branch BB7
BB22:
\ts_endpgm
";

    #[test]
    fn loops_nest() {
        let assembly = Assembly::parse(TEXT);
        let expected = [Loop { blocks: 1..5, depth: 0 }, Loop { blocks: 3..4, depth: 1 }];
        assert_eq!(assembly.loops, expected);
        assert_eq!(assembly.loop_of(0), None);
        assert_eq!(assembly.loop_of(3), Some(1));
        assert_eq!(assembly.loop_of(4), Some(0));
    }

    #[test]
    fn instructions_are_told_apart() {
        let assembly = Assembly::parse(TEXT);
        let expected = [
            Work::Load(16),
            Work::Wait { loads: Some(0), others: Some(3) },
            Work::MultiplyAdd(1),
            Work::Vector,
            Work::Workgroup(16),
        ];
        assert_eq!(assembly.blocks[2], expected);
        assert_eq!(assembly.densest_loop(), Some((1, 8)));
    }
}
