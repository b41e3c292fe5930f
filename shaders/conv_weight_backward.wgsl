// The gradient of a convolution's weights and bias: a thread sums ROWS x COLS weights of one tap, or
// COLS biases, over one part of the batch, in order.

struct Params {
    batch: u32,
    span: u32,
    input_height: u32,
    input_width: u32,
    input_channels: u32,
    input_stride: u32,
    output_height: u32,
    output_width: u32,
    output_channels: u32,
    output_stride: u32,
    up: u32,
    down: u32,
    bias: u32,
}

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read> d_out: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let m = p.input_channels;
    let n = p.output_channels;
    let columns = (n + COLS - 1u) / COLS;
    let rows = (m + ROWS - 1u) / ROWS;
    let col = id.x % columns * COLS;
    let tap = id.x / columns / rows;
    let row = id.x / columns % rows * ROWS;
    let first = id.y * p.span;
    let last = min(first + p.span, p.batch);
    // Threads at the rim repeat the last channel instead of branching, and drop the result.
    var d_at: array<u32, COLS>;
    for (var j = 0u; j < COLS; j++) {
        d_at[j] = base(1u, id.z) + min(col + j, n - 1u);
    }
    let pixels = p.output_height * p.output_width;
    let part = base(2u, id.z) + id.y * (p.bias + n);
    if tap == 9u && row == 0u {
        var bias: array<f32, COLS>;
        for (var i = first * pixels; i < last * pixels; i++) {
            for (var j = 0u; j < COLS; j++) {
                bias[j] += d_out[d_at[j] + i * p.output_stride];
            }
        }
        for (var j = 0u; j < COLS && col + j < n; j++) {
            out[part + p.bias + col + j] = bias[j];
        }
        // What lies between weights and bias is no parameter, and has no gradient.
        for (var gap = 9u * m * n; gap < p.bias; gap++) {
            out[part + gap] = 0.0;
        }
    }
    if tap >= 9u {
        return;
    }
    var x_at: array<u32, ROWS>;
    for (var i = 0u; i < ROWS; i++) {
        x_at[i] = base(0u, id.z) + min(row + i, m - 1u);
    }
    let input_image = p.input_height * p.input_width * p.input_stride;
    var sum: array<array<f32, COLS>, ROWS>;
    for (var image = first; image < last; image++) {
        for (var oy = 0u; oy < p.output_height; oy++) {
            // What lies before the first pixel wraps around to a large number.
            let iy = (p.down * oy + tap / 3u - 1u) / p.up;
            if iy >= p.input_height {
                continue;
            }
            for (var ox = 0u; ox < p.output_width; ox++) {
                let ix = (p.down * ox + tap % 3u - 1u) / p.up;
                if ix >= p.input_width {
                    continue;
                }
                let x_pixel = image * input_image + (iy * p.input_width + ix) * p.input_stride;
                let d_pixel = (image * pixels + oy * p.output_width + ox) * p.output_stride;
                var ds: array<f32, COLS>;
                for (var j = 0u; j < COLS; j++) {
                    ds[j] = d_out[d_at[j] + d_pixel];
                }
                for (var i = 0u; i < ROWS; i++) {
                    let value = x[x_at[i] + x_pixel];
                    for (var j = 0u; j < COLS; j++) {
                        sum[i][j] += value * ds[j];
                    }
                }
            }
        }
    }
    for (var i = 0u; i < ROWS && row + i < m; i++) {
        for (var j = 0u; j < COLS && col + j < n; j++) {
            out[part + (tap * m + row + i) * n + col + j] = sum[i][j];
        }
    }
}
