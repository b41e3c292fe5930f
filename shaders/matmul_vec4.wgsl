// C = f(A B): QUADS_Y x QUADS_X blocks of 4 x 4 outputs to a thread, all in registers, numbers loaded
// and stored four at a time. Extents are multiples of four wherever that runs along them.
//
// The columns of block x are four rows of A, four deep; the columns of block y are four depths of B,
// four columns wide. So y * x has rows of C as its columns.

alias Value = vec4f;
const WIDE = 4u;

@compute @workgroup_size(THREADS_X, THREADS_Y)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let row = 4u * QUADS_Y * id.y;
    let col = 4u * QUADS_X * id.x;
    if row >= p.m || col >= p.n {
        return;
    }
    // Loads past the rim give numbers that nobody uses.
    let a_row = select(p.k, p.m, LAYOUT == 2u) / 4u;
    let b_row = select(p.n, p.k, LAYOUT == 1u) / 4u;
#each i QUADS_Y
    var a_$i = (base(0u, id.z) + a_index(row + 4u * $iu, 0u)) / 4u;
#end
#each j QUADS_X
    var b_$j = (base(1u, id.z) + b_index(0u, col + 4u * $ju)) / 4u;
#end
#each i QUADS_Y
#each j QUADS_X
    var sum_$i_$j = mat4x4f();
#end
#end
    for (var k = 0u; k < p.k; k += 4u) {
#each i QUADS_Y
        var x_$i = mat4x4f(a[a_$i], a[a_$i + a_row], a[a_$i + 2u * a_row], a[a_$i + 3u * a_row]);
#if LAYOUT == 2
        x_$i = transpose(x_$i);
#end
        a_$i += select(1u, 4u * a_row, LAYOUT == 2u);
#end
#each j QUADS_X
        var y_$j = mat4x4f(b[b_$j], b[b_$j + b_row], b[b_$j + 2u * b_row], b[b_$j + 3u * b_row]);
#if LAYOUT == 1
        y_$j = transpose(y_$j);
#end
        b_$j += select(4u * b_row, 1u, LAYOUT == 1u);
#end
#each i QUADS_Y
#each j QUADS_X
        sum_$i_$j += y_$j * x_$i;
#end
#end
    }
#each i QUADS_Y
#each j QUADS_X
#each r 4
    finish(row + 4u * $iu + $ru, col + 4u * $ju, id.z, sum_$i_$j[$r]);
#end
#end
#end
}
