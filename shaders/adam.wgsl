// Adam, and the weights' moving average; WIDE weights to a thread.

struct Params { len: u32, beta1: f32, beta2: f32, epsilon: f32 }

#if WIDE == 1
alias Value = f32;
#end
#if WIDE == 4
alias Value = vec4f;
#end

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> pace: array<f32>;
@group(0) @binding(3) var<storage, read> gradients: array<Value>;
@group(0) @binding(4) var<storage, read_write> weights: array<Value>;
@group(0) @binding(5) var<storage, read_write> momentum: array<Value>;
@group(0) @binding(6) var<storage, read_write> variance: array<Value>;
@group(0) @binding(7) var<storage, read_write> average: array<Value>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let o = base(0u, id.z);
    if WIDE * id.x >= p.len || pace[o] == 0.0 {
        return;
    }
    let w_at = base(2u, id.z) / WIDE + id.x;
    let m_at = base(3u, id.z) / WIDE + id.x;
    let v_at = base(4u, id.z) / WIDE + id.x;
    let a_at = base(5u, id.z) / WIDE + id.x;
    let g = pace[o + 3u] * gradients[base(1u, id.z) / WIDE + id.x];
    let m = p.beta1 * momentum[m_at] + (1.0 - p.beta1) * g;
    let v = p.beta2 * variance[v_at] + (1.0 - p.beta2) * g * g;
    let w = weights[w_at] - pace[o + 1u] * m / (sqrt(pace[o + 2u] * v) + p.epsilon);
    let a = average[a_at];
    weights[w_at] = w;
    momentum[m_at] = m;
    variance[v_at] = v;
    average[a_at] = a + pace[o + 4u] * (w - a);
}
