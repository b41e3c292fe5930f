// (x - y)² of every row of x and every row of y; one thread per element.

struct Params { rows: u32, images: u32, cols: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read> y: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let at = id.x;
    if at >= p.rows * p.images * p.cols {
        return;
    }
    let j = at % p.cols;
    let n = at / p.cols % p.images;
    let i = at / (p.cols * p.images);
    let d = x[base(0u, id.z) + i * p.cols + j] - y[base(1u, id.z) + n * p.cols + j];
    out[base(2u, id.z) + at] = d * d;
}
