// Gradients of silu(n (1 + scale) + shift), n = h / rms(h); one workgroup per row.
// The gradient of h is added to d_h, which holds that of the residual branch.

struct Params { rows: u32, cols: u32, film_stride: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> normed: array<f32>;
@group(0) @binding(3) var<storage, read> inverse_rms: array<f32>;
@group(0) @binding(4) var<storage, read> film: array<f32>;
@group(0) @binding(5) var<storage, read> d_out: array<f32>;
@group(0) @binding(6) var<storage, read_write> d_film: array<f32>;
@group(0) @binding(7) var<storage, read_write> d_h: array<f32>;

@compute @workgroup_size(ROW_THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let row = group.x * p.cols;
    let n_first = base(0u, group.z) + row;
    let film_first = base(2u, group.z) + group.x * p.film_stride;
    let d_film_first = base(4u, group.z) + group.x * p.film_stride;
    var along = 0.0;
    for (var j = lane; j < p.cols; j += ROW_THREADS) {
        let n = normed[n_first + j];
        let gain = 1.0 + film[film_first + j];
        let d = d_out[base(3u, group.z) + row + j]
            * silu_slope(n * gain + film[film_first + p.cols + j]);
        d_film[d_film_first + j] = d * n;
        d_film[d_film_first + p.cols + j] = d;
        along += d * n * gain;
    }
    let mean = row_sum(along, lane) / f32(p.cols);
    let inverse = inverse_rms[base(1u, group.z) + group.x];
    // Each thread reads back only what it wrote itself.
    for (var j = lane; j < p.cols; j += ROW_THREADS) {
        let d_n = d_film[d_film_first + p.cols + j] * (1.0 + film[film_first + j]);
        d_h[base(5u, group.z) + row + j] += inverse * (d_n - normed[n_first + j] * mean);
    }
}
