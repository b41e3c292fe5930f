// Network input and target of each row of a batch; one thread draws four normals.

struct Params { rows: u32, cols: u32, stream: u32, images: u32, sigma_data: f32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> clock: array<u32>;
@group(0) @binding(3) var<storage, read> pool: array<f32>;
@group(0) @binding(4) var<storage, read> index: array<u32>;
@group(0) @binding(5) var<storage, read> sigma: array<f32>;
@group(0) @binding(6) var<storage, read_write> x: array<f32>;
@group(0) @binding(7) var<storage, read_write> out: array<f32>;

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
        let row = at / p.cols;
        let image = min(index[base(2u, id.z) + row], p.images - 1u);
        let y = pool[base(1u, id.z) + image * p.cols + at % p.cols];
        let s = sigma[base(3u, id.z) + row];
        let c_in = inverseSqrt(s * s + p.sigma_data * p.sigma_data);
        x[base(4u, id.z) + at] = c_in * (y + s * draws[j]);
        out[base(5u, id.z) + at] = c_in * (s / p.sigma_data * y - p.sigma_data * draws[j]);
    }
}
