// C = f(A B): ROWS x COLS outputs to a thread, held in registers.
// LAYOUT: 0 = A is m x k and B is k x n, 1 = B is stored n x k, 2 = A is stored k x m.

struct Params { m: u32, n: u32, k: u32, has_bias: u32, keep: u32, silu: u32, stored: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> a: array<f32>;
@group(0) @binding(3) var<storage, read> b: array<f32>;
@group(0) @binding(4) var<storage, read> bias: array<f32>;
@group(0) @binding(5) var<storage, read> rescale: array<f32>;
@group(0) @binding(6) var<storage, read_write> c: array<f32>;

@compute @workgroup_size(THREADS_X, THREADS_Y)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let row = id.y * ROWS;
    let col = id.x * COLS;
    if row >= p.m || col >= p.n {
        return;
    }
    // Threads at the rim repeat the last row or column instead of branching, and drop the result.
    var a_at: array<u32, ROWS>;
    var b_at: array<u32, COLS>;
    let a_step = select(1u, p.m, LAYOUT == 2u);
    let b_step = select(p.n, 1u, LAYOUT == 1u);
    for (var i = 0u; i < ROWS; i++) {
        let r = min(row + i, p.m - 1u);
        a_at[i] = base(0u, id.z) + select(r * p.k, r, LAYOUT == 2u);
    }
    for (var j = 0u; j < COLS; j++) {
        let q = min(col + j, p.n - 1u);
        b_at[j] = base(1u, id.z) + select(q, q * p.k, LAYOUT == 1u);
    }
    var sum: array<array<f32, COLS>, ROWS>;
    for (var k = 0u; k < p.k; k++) {
        var bs: array<f32, COLS>;
        for (var j = 0u; j < COLS; j++) {
            bs[j] = b[b_at[j] + k * b_step];
        }
        for (var i = 0u; i < ROWS; i++) {
            let value = a[a_at[i] + k * a_step];
            for (var j = 0u; j < COLS; j++) {
                sum[i][j] += value * bs[j];
            }
        }
    }
    for (var i = 0u; i < ROWS; i++) {
        let r = row + i;
        if r >= p.m {
            break;
        }
        for (var j = 0u; j < COLS; j++) {
            let q = col + j;
            if q >= p.n {
                break;
            }
            let at = base(4u, id.z) + r * p.n + q;
            var value = sum[i][j];
            if p.keep == 1u {
                value += c[at];
            } else if p.keep == 2u {
                value += c[at] * rescale[base(3u, id.z) + 4u * r + 2u];
            }
            if p.has_bias == 1u {
                value += bias[base(2u, id.z) + q];
            }
            if p.silu == 1u {
                value = value / (1.0 + exp(-value));
            }
            c[at] = value;
        }
    }
}
