// Both halves of EDM's preconditioning: out = precondition(...), element by element, which a kernel defines.

struct Params { rows: u32, cols: u32, sigma_stride: u32, sigma_data: f32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> sigma: array<f32>;
@group(0) @binding(3) var<storage, read> x: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= p.rows * p.cols {
        return;
    }
    let s = sigma[base(0u, id.z) + id.x / p.cols * p.sigma_stride];
    let c_in = inverseSqrt(s * s + p.sigma_data * p.sigma_data);
    precondition(base(2u, id.z) + id.x, x[base(1u, id.z) + id.x], s, c_in);
}
