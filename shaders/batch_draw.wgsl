// Image and noise level of each row of a batch; one thread per row.

struct Params { rows: u32, index_stream: u32, sigma_stream: u32, log_mean: f32, log_deviation: f32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> clock: array<u32>;
@group(0) @binding(3) var<storage, read> range: array<u32>;
@group(0) @binding(4) var<storage, read_write> index: array<u32>;
@group(0) @binding(5) var<storage, read_write> sigma: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= p.rows {
        return;
    }
    let c = base(0u, id.z);
    let key = vec2u(clock[c], clock[c + 1u]);
    let first = range[base(1u, id.z)];
    let count = range[base(1u, id.z) + 1u] - first;
    let pick = philox(vec4u(id.x, clock[c + 2u], p.index_stream, 0u), key);
    index[base(2u, id.z) + id.x] = first + below(pick.x, count);
    let level = philox(vec4u(id.x, clock[c + 2u], p.sigma_stream, 0u), key);
    let normal = normal_pair(level.x, level.y).x;
    sigma[base(3u, id.z) + id.x] = exp(p.log_mean + p.log_deviation * normal);
}
