// Adam, and the weights' moving average; EACH times WIDE weights to a thread.

struct Params { len: u32, beta1: f32, beta2: f32, epsilon: f32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> step_state: array<f32>;
@group(0) @binding(3) var<storage, read> gradients: array<Value>;
@group(0) @binding(4) var<storage, read_write> weights: array<Value>;
@group(0) @binding(5) var<storage, read_write> momentum: array<Value>;
@group(0) @binding(6) var<storage, read_write> variance: array<Value>;
@group(0) @binding(7) var<storage, read_write> average: array<Value>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let o = base(0u, group.z);
    if step_state[o] == 0.0 {
        return;
    }
    let rate = step_state[o + 1u];
    let inverse_variance = step_state[o + 2u];
    let scale = step_state[o + 3u];
    let share = step_state[o + 4u];
    let g_at = base(1u, group.z) / WIDE;
    let w_at = base(2u, group.z) / WIDE;
    let m_at = base(3u, group.z) / WIDE;
    let v_at = base(4u, group.z) / WIDE;
    let a_at = base(5u, group.z) / WIDE;
    let end = min((group.x + 1u) * 64u * EACH, p.len / WIDE);
    for (var i = group.x * 64u * EACH + lane; i < end; i += 64u) {
        let g = scale * gradients[g_at + i];
        let m = p.beta1 * momentum[m_at + i] + (1.0 - p.beta1) * g;
        let v = p.beta2 * variance[v_at + i] + (1.0 - p.beta2) * g * g;
        let w = weights[w_at + i] - rate * m / (sqrt(inverse_variance * v) + p.epsilon);
        let a = average[a_at + i];
        weights[w_at + i] = w;
        momentum[m_at + i] = m;
        variance[v_at + i] = v;
        average[a_at + i] = a + share * (w - a);
    }
}
