// out = x + sigma n (or sigma n), n standard normal.

struct Params { rows: u32, cols: u32, stream: u32, sigma_stride: u32, has_x: u32 }

@group(0) @binding(3) var<storage, read> sigma: array<f32>;
@group(0) @binding(4) var<storage, read> x: array<f32>;
@group(0) @binding(5) var<storage, read_write> out: array<f32>;

fn use_draw(at: u32, n: f32, member: u32) {
    var value = sigma[base(1u, member) + at / p.cols * p.sigma_stride] * n;
    if p.has_x == 1u {
        value += x[base(2u, member) + at];
    }
    out[base(3u, member) + at] = value;
}
