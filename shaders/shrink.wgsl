// z[i, j] *= lambda_j / (lambda_j + sigma_i^2)

struct Params { rows: u32, cols: u32, sigma_stride: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> lambda: array<f32>;
@group(0) @binding(3) var<storage, read> sigma: array<f32>;
@group(0) @binding(4) var<storage, read_write> z: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= p.rows * p.cols {
        return;
    }
    let l = lambda[base(0u, id.z) + id.x % p.cols];
    let s = sigma[base(1u, id.z) + id.x / p.cols * p.sigma_stride];
    z[base(2u, id.z) + id.x] *= select(0.0, l / (l + s * s), l > 0.0);
}
