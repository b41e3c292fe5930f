// x[i, j] /= by[i * stride]

struct Params { rows: u32, cols: u32, by_stride: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> by: array<f32>;
@group(0) @binding(3) var<storage, read_write> x: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x < p.rows * p.cols {
        x[base(1u, id.z) + id.x] /= by[base(0u, id.z) + id.x / p.cols * p.by_stride];
    }
}
