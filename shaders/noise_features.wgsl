// 16 frequencies of ln sigma: cosines, then sines; one thread per row and frequency.

struct Params { rows: u32, sigma_stride: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> sigma: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= p.rows * 16u {
        return;
    }
    let row = id.x / 16u;
    let j = id.x % 16u;
    // 2^(j / 3 - 1), exactly as in the CPU twin.
    let root = select(select(1.587401, 1.2599211, j % 3u == 1u), 1.0, j % 3u == 0u);
    let frequency = 0.5 * f32(1u << (j / 3u)) * root;
    let turn = rng_ln(sigma[base(0u, id.z) + row * p.sigma_stride]) * (1.0 / 16.0) * frequency;
    let wave = cos_sin_turn(turn - floor(turn));
    let at = base(1u, id.z) + row * 32u + j;
    out[at] = wave.x;
    out[at + 16u] = wave.y;
}
