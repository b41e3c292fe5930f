// C = f(A B): ROWS x COLS outputs per thread, any shape. With one output it is the plain kernel
// that the others are measured against.

alias Value = f32;
const WIDE = 1u;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let row = (block_y(group.y) * THREADS_Y + lane / THREADS_X) * ROWS;
    let col = (group.x * THREADS_X + lane % THREADS_X) * COLS;
    if row >= p.m || col >= p.n {
        return;
    }
    // Loads past the edge give numbers that are not used.
    let k_begin = first_k(group.y);
    let k_end = last_k(group.y);
    let a_step = select(1u, p.m, LAYOUT == 2u);
    let b_step = select(p.n, 1u, LAYOUT == 1u);
#each i ROWS
    var a_$i = base(0u, group.z) + a_index(row + $iu, k_begin);
#end
#each j COLS
    var b_$j = base(1u, group.z) + b_index(k_begin, col + $ju);
#end
#each i ROWS
#each j COLS
    var sum_$i_$j = 0.0;
#end
#end
    for (var k = k_begin; k < k_end; k++) {
#each i ROWS
        let x_$i = a[a_$i];
        a_$i += a_step;
#end
#each j COLS
        let y_$j = b[b_$j];
        b_$j += b_step;
#end
#each i ROWS
#each j COLS
        sum_$i_$j += x_$i * y_$j;
#end
#end
    }
#each i ROWS
#each j COLS
    finish(row + $iu, col + $ju, group.yz, sum_$i_$j);
#end
#end
}
