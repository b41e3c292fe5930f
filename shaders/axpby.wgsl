// out = alpha x + beta y, where y is repeated after `period` elements

struct Params { len: u32, period: u32, alpha: f32, beta: f32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read> y: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x < p.len {
        out[base(2u, id.z) + id.x] =
            p.alpha * x[base(0u, id.z) + id.x] + p.beta * y[base(1u, id.z) + id.x % p.period];
    }
}
