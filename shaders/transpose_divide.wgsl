// out[i, j] = x[j, i] / by[i]

struct Params { rows: u32, cols: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> by: array<f32>;
@group(0) @binding(3) var<storage, read> x: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x < p.rows * p.cols {
        let i = id.x / p.cols;
        let j = id.x % p.cols;
        out[base(2u, id.z) + id.x] = x[base(1u, id.z) + j * p.rows + i] / by[base(0u, id.z) + i];
    }
}
