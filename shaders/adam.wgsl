// Adam, and the weights' moving average.

struct Params { len: u32, beta1: f32, beta2: f32, epsilon: f32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> pace: array<f32>;
@group(0) @binding(3) var<storage, read> gradients: array<f32>;
@group(0) @binding(4) var<storage, read_write> weights: array<f32>;
@group(0) @binding(5) var<storage, read_write> momentum: array<f32>;
@group(0) @binding(6) var<storage, read_write> variance: array<f32>;
@group(0) @binding(7) var<storage, read_write> average: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let o = base(0u, id.z);
    if id.x >= p.len || pace[o] == 0.0 {
        return;
    }
    let g = pace[o + 3u] * gradients[base(1u, id.z) + id.x];
    let m = p.beta1 * momentum[base(3u, id.z) + id.x] + (1.0 - p.beta1) * g;
    let v = p.beta2 * variance[base(4u, id.z) + id.x] + (1.0 - p.beta2) * g * g;
    let w = weights[base(2u, id.z) + id.x] - pace[o + 1u] * m / (sqrt(pace[o + 2u] * v) + p.epsilon);
    let a = average[base(5u, id.z) + id.x];
    weights[base(2u, id.z) + id.x] = w;
    momentum[base(3u, id.z) + id.x] = m;
    variance[base(4u, id.z) + id.x] = v;
    average[base(5u, id.z) + id.x] = a + pace[o + 4u] * (w - a);
}
