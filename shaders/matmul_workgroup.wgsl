// C = f(A B): a workgroup computes a block of C. It copies DEPTH columns of A and rows of B at a time
// to its own memory, and each thread adds up ROWS x COLS outputs from there. Any shape.

alias Value = f32;
const WIDE = 1u;

const BLOCK_ROWS = ROWS * THREADS_Y;
const BLOCK_COLS = COLS * THREADS_X;
// One element of padding spreads a column over all memory banks.
const A_STRIDE = BLOCK_ROWS + 1u;
const B_STRIDE = BLOCK_COLS + 1u;

// Element (i, k) of A's tile lies at k * A_STRIDE + i, element (k, j) of B's at B_TILE + k * B_STRIDE + j.
const B_TILE = DEPTH * A_STRIDE;
var<workgroup> workgroup_memory: array<f32, WORKGROUP_WORDS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let y = lane / THREADS_X;
    let x = lane % THREADS_X;
    let row = block_y(group.y) * BLOCK_ROWS;
    let col = group.x * BLOCK_COLS;
    let a_base = base(0u, group.z);
    let b_base = base(1u, group.z);
#each i ROWS
#each j COLS
    var sum_$i_$j = 0.0;
#end
#end
    let k_end = last_k(group.y);
    for (var k = first_k(group.y); k < k_end; k += DEPTH) {
        // Neighbouring threads load neighbouring elements, whichever way the operand is stored.
        for (var e = lane; e < DEPTH * BLOCK_ROWS; e += THREADS) {
            let i = select(e / DEPTH, e % BLOCK_ROWS, LAYOUT == 2u);
            let d = select(e % DEPTH, e / BLOCK_ROWS, LAYOUT == 2u);
            var value = 0.0;
            if row + i < p.m && k + d < k_end {
                value = a[a_base + a_index(row + i, k + d)];
            }
            workgroup_memory[d * A_STRIDE + i] = value;
        }
        for (var e = lane; e < DEPTH * BLOCK_COLS; e += THREADS) {
            let j = select(e % BLOCK_COLS, e / DEPTH, LAYOUT == 1u);
            let d = select(e / BLOCK_COLS, e % DEPTH, LAYOUT == 1u);
            var value = 0.0;
            if col + j < p.n && k + d < k_end {
                value = b[b_base + b_index(k + d, col + j)];
            }
            workgroup_memory[B_TILE + d * B_STRIDE + j] = value;
        }
        workgroupBarrier();
        // A thread's rows and columns lie THREADS_Y and THREADS_X apart: no two threads of a
        // subgroup ask one memory bank for different numbers, and C is written in long runs.
        for (var d = 0u; d < DEPTH; d++) {
#each i ROWS
            let x_$i = workgroup_memory[d * A_STRIDE + y + $iu * THREADS_Y];
#end
#each j COLS
            let y_$j = workgroup_memory[B_TILE + d * B_STRIDE + x + $ju * THREADS_X];
#end
#each i ROWS
#each j COLS
            sum_$i_$j += x_$i * y_$j;
#end
#end
        }
        workgroupBarrier();
    }
#each i ROWS
#each j COLS
    finish(row + y + $iu * THREADS_Y, col + x + $ju * THREADS_X, group.yz, sum_$i_$j);
#end
#end
}
