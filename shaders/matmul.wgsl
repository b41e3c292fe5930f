// C = f(A B): ROWS x COLS outputs to a thread, any shape. With one output it is the plain kernel
// that the others are measured against.

alias Value = f32;
const WIDE = 1u;

@compute @workgroup_size(THREADS_X, THREADS_Y)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let row = id.y * ROWS;
    let col = id.x * COLS;
    if row >= p.m || col >= p.n {
        return;
    }
    // Loads past the rim give numbers that nobody uses.
    let a_step = select(1u, p.m, LAYOUT == 2u);
    let b_step = select(p.n, 1u, LAYOUT == 1u);
#each i ROWS
    var a_$i = base(0u, id.z) + a_index(row + $iu, 0u);
#end
#each j COLS
    var b_$j = base(1u, id.z) + b_index(0u, col + $ju);
#end
#each i ROWS
#each j COLS
    var sum_$i_$j = 0.0;
#end
#end
    for (var k = 0u; k < p.k; k++) {
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
    finish(row + $iu, col + $ju, id.z, sum_$i_$j);
#end
#end
}
