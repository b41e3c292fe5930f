// The loop over the weights, and their moving average; EACH times WIDE weights per thread. A kernel defines
// Params, with `len`, and `update`, which changes the optimizer's own state and returns the new weights.

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> step_state: array<f32>;
@group(0) @binding(3) var<storage, read> gradients: array<Value>;
@group(0) @binding(4) var<storage, read_write> weights: array<Value>;
@group(0) @binding(5) var<storage, read_write> average: array<Value>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let o = base(0u, group.z);
    if step_state[o] == 0.0 {
        return;
    }
    let scales = vec2f(step_state[o + 1u], step_state[o + 2u]);
    let scale = step_state[o + 3u];
    let share = step_state[o + 4u];
    let g_at = base(1u, group.z) / WIDE;
    let w_at = base(2u, group.z) / WIDE;
    let a_at = base(3u, group.z) / WIDE;
    let state_at = vec2u(base(4u, group.z), base(5u, group.z)) / WIDE;
    let end = min((group.x + 1u) * 64u * EACH, p.len / WIDE);
    for (var i = group.x * 64u * EACH + lane; i < end; i += 64u) {
        let w = update(state_at + i, weights[w_at + i], scale * gradients[g_at + i], scales);
        let a = average[a_at + i];
        weights[w_at + i] = w;
        average[a_at + i] = a + share * (w - a);
    }
}
