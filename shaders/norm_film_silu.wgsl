// out = silu(n (1 + scale) + shift), n = h / rms(h); one workgroup per row.

struct Params { rows: u32, cols: u32, film_stride: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> h: array<f32>;
@group(0) @binding(3) var<storage, read> film: array<f32>;
@group(0) @binding(4) var<storage, read_write> normed: array<f32>;
@group(0) @binding(5) var<storage, read_write> inverse_rms: array<f32>;
@group(0) @binding(6) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(ROW_THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let row = group.x * p.cols;
    let h_first = base(0u, group.z) + row;
    var squares = 0.0;
    for (var j = lane; j < p.cols; j += ROW_THREADS) {
        let value = h[h_first + j];
        squares += value * value;
    }
    let inverse = inverseSqrt(row_sum(squares, lane) / f32(p.cols) + 1e-6);
    let film_first = base(1u, group.z) + group.x * p.film_stride;
    for (var j = lane; j < p.cols; j += ROW_THREADS) {
        let n = h[h_first + j] * inverse;
        let u = n * (1.0 + film[film_first + j]) + film[film_first + p.cols + j];
        normed[base(2u, group.z) + row + j] = n;
        out[base(4u, group.z) + row + j] = u * sigmoid(u);
    }
    if lane == 0u {
        inverse_rms[base(3u, group.z) + group.x] = inverse;
    }
}
