// One step of dx/dsigma = (x - D) / sigma: Euler, or Heun's correction of it.

struct Params { len: u32, heun: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> sigma: array<f32>;
@group(0) @binding(3) var<storage, read> x0: array<f32>;
@group(0) @binding(4) var<storage, read> d0: array<f32>;
@group(0) @binding(5) var<storage, read> x1: array<f32>;
@group(0) @binding(6) var<storage, read> d1: array<f32>;
@group(0) @binding(7) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= p.len {
        return;
    }
    let s0 = sigma[base(0u, id.z)];
    let s1 = sigma[base(0u, id.z) + 1u];
    let h = s1 - s0;
    let x = x0[base(1u, id.z) + id.x];
    let slope = (x - d0[base(2u, id.z) + id.x]) / s0;
    var value = x + h * slope;
    if p.heun == 1u {
        let corrected = (x1[base(3u, id.z) + id.x] - d1[base(4u, id.z) + id.x]) / s1;
        value = x + 0.5 * h * (slope + corrected);
    }
    out[base(5u, id.z) + id.x] = value;
}
