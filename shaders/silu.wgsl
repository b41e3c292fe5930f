// out = x / (1 + exp(-x))

struct Params { len: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x < p.len {
        let value = x[base(0u, id.z) + id.x];
        out[base(1u, id.z) + id.x] = value * sigmoid(value);
    }
}
