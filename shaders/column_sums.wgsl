// out[j] = sum over i of x[i, j], rows in order.

struct Params { rows: u32, cols: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= p.cols {
        return;
    }
    let first = base(0u, id.z) + id.x;
    var sum = 0.0;
    for (var i = 0u; i < p.rows; i++) {
        sum += x[first + i * p.cols];
    }
    out[base(1u, id.z) + id.x] = sum;
}
