// C = f(A B): ROWS x COLS outputs to a thread, any shape. With one output it is the plain kernel
// that the others are measured against.

@group(0) @binding(2) var<storage, read> a: array<f32>;
@group(0) @binding(3) var<storage, read> b: array<f32>;

@compute @workgroup_size(THREADS_X, THREADS_Y)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let row = id.y * ROWS;
    let col = id.x * COLS;
    if row >= p.m || col >= p.n {
        return;
    }
    // Threads at the rim repeat the last row or column instead of branching, and drop the result.
    let a_step = select(1u, p.m, LAYOUT == 2u);
    let b_step = select(p.n, 1u, LAYOUT == 1u);
#each i ROWS
    var a_$i = base(0u, id.z) + a_index(min(row + $iu, p.m - 1u), 0u);
#end
#each j COLS
    var b_$j = base(1u, id.z) + b_index(0u, min(col + $ju, p.n - 1u));
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
    var sums = array<f32, ROWS * COLS>(
#each i ROWS
#each j COLS
        sum_$i_$j,
#end
#end
    );
    for (var i = 0u; i < ROWS * COLS; i++) {
        let r = row + i / COLS;
        let q = col + i % COLS;
        if r < p.m && q < p.n {
            finish(r, q, id.z, sums[i]);
        }
    }
}
