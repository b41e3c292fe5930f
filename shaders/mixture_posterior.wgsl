// The posterior of a mixture of low-rank Gaussians, and the new coordinates; one thread per row.

struct Params { rows: u32, components: u32, rank: u32, full: u32, sigma_stride: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> lambda: array<f32>;
@group(0) @binding(3) var<storage, read> log_weights: array<f32>;
@group(0) @binding(4) var<storage, read> sigma: array<f32>;
@group(0) @binding(5) var<storage, read> distances: array<f32>;
@group(0) @binding(6) var<storage, read_write> z: array<f32>;
@group(0) @binding(7) var<storage, read_write> posterior: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= p.rows {
        return;
    }
    let level = sigma[base(2u, id.z) + id.x * p.sigma_stride];
    let noise = level * level;
    let axes = base(0u, id.z);
    let row = base(4u, id.z) + id.x * p.components * p.rank;
    let result = base(5u, id.z) + id.x * p.components;
    var top = -3.0e38;
    for (var k = 0u; k < p.components; k++) {
        var sum = 0.0;
        var inside = 0.0;
        for (var j = 0u; j < p.rank; j++) {
            let a = z[row + k * p.rank + j];
            let variance = lambda[axes + k * p.rank + j];
            sum += log(1.0 + variance / noise) + a * a / (variance + noise);
            inside += a * a;
        }
        let distance = distances[base(3u, id.z) + id.x * p.components + k];
        let rest = select(max(distance - inside, 0.0), 0.0, p.full == 1u);
        let log_p = log_weights[base(1u, id.z) + k] - 0.5 * (sum + rest / noise);
        posterior[result + k] = log_p;
        top = max(top, log_p);
    }
    var total = 0.0;
    for (var k = 0u; k < p.components; k++) {
        let weight = exp(max(posterior[result + k] - top, -87.0));
        posterior[result + k] = weight;
        total += weight;
    }
    for (var k = 0u; k < p.components; k++) {
        let weight = posterior[result + k] / total;
        posterior[result + k] = weight;
        for (var j = 0u; j < p.rank; j++) {
            let variance = lambda[axes + k * p.rank + j];
            z[row + k * p.rank + j] *= weight * variance / (variance + noise);
        }
    }
}
