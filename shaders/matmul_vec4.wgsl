// C = f(A B): QUADS_Y x QUADS_X blocks of 4 x 4 outputs per thread, all in registers; numbers are loaded
// and stored four at a time, along extents that are multiples of four.
//
// The columns of block x are four rows of A, four deep; the columns of block y are four depths of B,
// four columns wide. So the columns of y * x are rows of C. SHARERS = 4: four threads share a sum
// (shared/shared_sum.wgsl).

alias Value = vec4f;
const WIDE = 4u;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let thread = lane % COUNT;
    let row = 4u * QUADS_Y * (block_y(group.y) * (THREADS_Y / SHARERS) + thread / THREADS_X);
    let col = 4u * QUADS_X * (group.x * THREADS_X + thread % THREADS_X);
#if SHARERS == 1
    if row >= p.m || col >= p.n {
        return;
    }
#end
    // Loads past the edge give numbers that are not used.
    let k_begin = first_k(group.y) + 4u * (lane / COUNT);
    let k_end = last_k(group.y);
    let a_row = select(p.k, p.m, LAYOUT == 2u) / 4u;
    let b_row = select(p.n, p.k, LAYOUT == 1u) / 4u;
#each i QUADS_Y
    var a_$i = (base(0u, group.z) + a_index(row + 4u * $iu, k_begin)) / 4u;
#end
#each j QUADS_X
    var b_$j = (base(1u, group.z) + b_index(k_begin, col + 4u * $ju)) / 4u;
#end
#each i QUADS_Y
#each j QUADS_X
#each r 4
    var sum_$i_$j_$r = vec4f();
#end
#end
#end
    for (var k = k_begin; k < k_end; k += 4u * SHARERS) {
#each i QUADS_Y
        var x_$i = mat4x4f(a[a_$i], a[a_$i + a_row], a[a_$i + 2u * a_row], a[a_$i + 3u * a_row]);
#if LAYOUT == 2
        x_$i = transpose(x_$i);
#end
        a_$i += SHARERS * select(1u, 4u * a_row, LAYOUT == 2u);
#end
#each j QUADS_X
        var y_$j = mat4x4f(b[b_$j], b[b_$j + b_row], b[b_$j + 2u * b_row], b[b_$j + 3u * b_row]);
#if LAYOUT == 1
        y_$j = transpose(y_$j);
#end
        b_$j += SHARERS * select(4u * b_row, 1u, LAYOUT == 1u);
#end
#each i QUADS_Y
#each j QUADS_X
#each r 4
        sum_$i_$j_$r = product(sum_$i_$j_$r, y_$j, x_$i[$r]);
#end
#end
#end
    }
#each i QUADS_Y
#each j QUADS_X
#if SHARERS == 1
#each r 4
    finish(row + 4u * $iu + $ru, col + 4u * $ju, group.yz, sum_$i_$j_$r);
#end
#end
#if SHARERS == 4
    // All threads come here, those past the edge as well.
    let whole_$i_$j = shared_sum(lane, sum_$i_$j_0, sum_$i_$j_1, sum_$i_$j_2, sum_$i_$j_3);
    finish(row + 4u * $iu + lane / COUNT, col + 4u * $ju, group.yz, whole_$i_$j);
#end
#end
#end
}
