// out = x + sigma n (or sigma n), n standard normal; one thread draws four.

struct Params { rows: u32, cols: u32, stream: u32, sigma_stride: u32, has_x: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> clock: array<u32>;
@group(0) @binding(3) var<storage, read> sigma: array<f32>;
@group(0) @binding(4) var<storage, read> x: array<f32>;
@group(0) @binding(5) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let len = p.rows * p.cols;
    if 4u * id.x >= len {
        return;
    }
    let c = base(0u, id.z);
    let draws = normals(philox(vec4u(id.x, clock[c + 2u], p.stream, 0u), vec2u(clock[c], clock[c + 1u])));
    for (var j = 0u; j < 4u; j++) {
        let at = 4u * id.x + j;
        if at >= len {
            break;
        }
        var value = sigma[base(1u, id.z) + at / p.cols * p.sigma_stride] * draws[j];
        if p.has_x == 1u {
            value += x[base(2u, id.z) + at];
        }
        out[base(3u, id.z) + at] = value;
    }
}
