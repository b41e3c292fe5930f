// 3x3 convolution (ADJOINT = 0) or its input gradient (ADJOINT = 1) as an implicit matrix multiply:
// a thread computes COLS channels of one pixel of ROWS images, which meet the border at the same taps.

struct Params {
    batch: u32,
    source_height: u32,
    source_width: u32,
    source_channels: u32,
    source_stride: u32,
    target_height: u32,
    target_width: u32,
    target_channels: u32,
    target_stride: u32,
    add_stride: u32,
    has_add: u32,
    up: u32,
    down: u32,
    bias: u32,
    adjoint: u32,
}

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> source: array<f32>;
@group(0) @binding(3) var<storage, read> parameters: array<f32>;
@group(0) @binding(4) var<storage, read> addend: array<f32>;
@group(0) @binding(5) var<storage, read_write> out: array<f32>;

// The source pixel that tap `k` links to pixel `at` of an axis, or one past any axis.
// What lies before the first pixel wraps around to a large number.
fn linked(at: u32, k: u32, d: u32) -> u32 {
    if ADJOINT == 1u {
        let q = p.up * at + d + 1u - k;
        return select(q / p.down, 0xffffffffu, q % p.down != 0u);
    }
    return (p.down * at + k - 1u) / p.up;
}

@compute @workgroup_size(THREADS_X, THREADS_Y)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let blocks = (p.target_channels + COLS - 1u) / COLS;
    let pixel = id.x / blocks;
    let col = id.x % blocks * COLS;
    let image = id.y * ROWS;
    let pixels = p.target_height * p.target_width;
    if pixel >= pixels || image >= p.batch {
        return;
    }
    let y = pixel / p.target_width;
    let x = pixel % p.target_width;
    // Threads at the rim repeat the last image or channel instead of branching, and drop the result.
    var a_at: array<u32, ROWS>;
    var w_at: array<u32, COLS>;
    let k = p.source_channels;
    let n = p.target_channels;
    let source_image = p.source_height * p.source_width * p.source_stride;
    for (var i = 0u; i < ROWS; i++) {
        a_at[i] = base(0u, id.z) + min(image + i, p.batch - 1u) * source_image;
    }
    for (var j = 0u; j < COLS; j++) {
        let q = min(col + j, n - 1u);
        w_at[j] = base(1u, id.z) + select(q, q * k, ADJOINT == 1u);
    }
    let w_step = select(n, 1u, ADJOINT == 1u);
    let copies = select(1u, p.up, ADJOINT == 1u);
    var sum: array<array<f32, COLS>, ROWS>;
    for (var ky = 0u; ky < 3u * copies; ky++) {
        let sy = linked(y, ky / copies, ky % copies);
        if sy >= p.source_height {
            continue;
        }
        for (var kx = 0u; kx < 3u * copies; kx++) {
            let sx = linked(x, kx / copies, kx % copies);
            if sx >= p.source_width {
                continue;
            }
            let tap = 3u * (ky / copies) + kx / copies;
            let at = (sy * p.source_width + sx) * p.source_stride;
            let w = tap * k * n;
            for (var c = 0u; c < k; c++) {
                var ws: array<f32, COLS>;
                for (var j = 0u; j < COLS; j++) {
                    ws[j] = parameters[w_at[j] + w + c * w_step];
                }
                for (var i = 0u; i < ROWS; i++) {
                    let value = source[a_at[i] + at + c];
                    for (var j = 0u; j < COLS; j++) {
                        sum[i][j] += value * ws[j];
                    }
                }
            }
        }
    }
    for (var i = 0u; i < ROWS; i++) {
        if image + i >= p.batch {
            break;
        }
        let row = (image + i) * pixels + pixel;
        for (var j = 0u; j < COLS; j++) {
            let q = col + j;
            if q >= n {
                break;
            }
            var value = sum[i][j];
            if ADJOINT == 0u {
                value += parameters[base(1u, id.z) + p.bias + q];
            }
            if p.has_add == 1u {
                value += addend[base(2u, id.z) + row * p.add_stride + q];
            }
            out[base(3u, id.z) + row * p.target_stride + q] = value;
        }
    }
}
