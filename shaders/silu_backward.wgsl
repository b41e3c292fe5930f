// d *= derivative of silu at x

struct Params { len: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> d: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x < p.len {
        d[base(1u, id.z) + id.x] *= silu_slope(x[base(0u, id.z) + id.x]);
    }
}
