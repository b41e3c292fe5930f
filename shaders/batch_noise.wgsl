// Network input and target of each row of a batch; the input may be folded (shared/fold.wgsl).

struct Params { rows: u32, cols: u32, stream: u32, images: u32, sigma_data: f32, blocks: u32, piece: u32 }

@group(0) @binding(3) var<storage, read> pool: array<f32>;
@group(0) @binding(4) var<storage, read> index: array<u32>;
@group(0) @binding(5) var<storage, read> sigma: array<f32>;
@group(0) @binding(6) var<storage, read_write> x: array<f32>;
@group(0) @binding(7) var<storage, read_write> out: array<f32>;

fn use_draw(at: u32, n: f32, member: u32) {
    let row = at / p.cols;
    let image = min(index[base(2u, member) + row], p.images - 1u);
    let y = pool[base(1u, member) + image * p.cols + at % p.cols];
    let s = sigma[base(3u, member) + row];
    let c_in = inverseSqrt(s * s + p.sigma_data * p.sigma_data);
    x[base(4u, member) + row * p.cols + folded(at % p.cols, p.blocks, p.piece)] = c_in * (y + s * n);
    out[base(5u, member) + at] = c_in * (s / p.sigma_data * y - p.sigma_data * n);
}
