// The gradient of a convolution's weights and bias: a thread sums ROWS x COLS weights of one tap, or
// COLS biases, over one part of the batch, in order. ROWS and COLS are 4 or 8, and everything is
// written out: not every compiler unrolls loops and keeps arrays in registers.
// WIDE = 4 if channels and views are such that four channels can be loaded and stored at once, else 1.

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

#if WIDE == 1
alias Value = f32;
#end
#if WIDE == 4
alias Value = vec4f;
#end

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> x: array<Value>;
@group(0) @binding(3) var<storage, read> d_out: array<Value>;
@group(0) @binding(4) var<storage, read_write> out: array<Value>;

const LANES = vec4u(0u, 1u, 2u, 3u);

#if WIDE == 4
fn load_x(at: vec4u) -> vec4f {
    return x[at.x / 4u];
}

fn load_d_out(at: vec4u) -> vec4f {
    return d_out[at.x / 4u];
}

fn write_row(at: u32, col: u32, sums: vec4f) {
    if col < p.output_channels {
        out[(at + col) / 4u] = sums;
    }
}
#end
#if WIDE == 1
fn load_x(at: vec4u) -> vec4f {
    return vec4f(x[at.x], x[at.y], x[at.z], x[at.w]);
}

fn load_d_out(at: vec4u) -> vec4f {
    return vec4f(d_out[at.x], d_out[at.y], d_out[at.z], d_out[at.w]);
}

fn write_row(at: u32, col: u32, sums: vec4f) {
    for (var j = 0u; j < 4u && col + j < p.output_channels; j++) {
        out[at + col + j] = sums[j];
    }
}
#end

// Four input channels, from `at` on, of four images, which are rows.
fn rows_of_x(at: vec4u, images: vec4u) -> mat4x4f {
    return transpose(mat4x4f(
        load_x(at + images.x),
        load_x(at + images.y),
        load_x(at + images.z),
        load_x(at + images.w),
    ));
}

// Four output channels, from `at` on, of four images, which are columns, times `counts`.
fn columns_of_d_out(at: vec4u, images: vec4u, counts: vec4f) -> mat4x4f {
    return mat4x4f(
        load_d_out(at + images.x) * counts.x,
        load_d_out(at + images.y) * counts.y,
        load_d_out(at + images.z) * counts.z,
        load_d_out(at + images.w) * counts.w,
    );
}

fn write_block(at: u32, row: u32, col: u32, sums: mat4x4f) {
    for (var i = 0u; i < 4u && row + i < p.input_channels; i++) {
        write_row(at + (row + i) * p.output_channels, col, sums[i]);
    }
}

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
    let pixels = p.output_height * p.output_width;
    let part = base(2u, id.z) + id.y * (p.bias + n);
    // Threads at the rim repeat the last channel instead of branching, and drop the result.
    let d_left = base(1u, id.z) + min(col + LANES, vec4u(n - 1u));
    let d_right = base(1u, id.z) + min(col + 4u + LANES, vec4u(n - 1u));
    if tap == 9u && row == 0u {
        var left = vec4f();
        var right = vec4f();
        for (var i = first * pixels; i < last * pixels; i++) {
            left += load_d_out(d_left + i * p.output_stride);
            if COLS == 8u {
                right += load_d_out(d_right + i * p.output_stride);
            }
        }
        write_row(part + p.bias, col, left);
        if COLS == 8u {
            write_row(part + p.bias, col + 4u, right);
        }
#if WIDE == 1
        // What lies between weights and bias is no parameter, and has no gradient.
        for (var gap = 9u * m * n; gap < p.bias; gap++) {
            out[part + gap] = 0.0;
        }
#end
    }
    if tap >= 9u {
        return;
    }
    let x_top = base(0u, id.z) + min(row + LANES, vec4u(m - 1u));
    let x_bottom = base(0u, id.z) + min(row + 4u + LANES, vec4u(m - 1u));
    let input_image = p.input_height * p.input_width * p.input_stride;
    var top_left = mat4x4f();
    var top_right = mat4x4f();
    var bottom_left = mat4x4f();
    var bottom_right = mat4x4f();
    // Four images at a time meet the border at the same taps. Past the last one, none counts.
    for (var image = first; image < last; image += 4u) {
        let counts = vec4f(image + LANES < vec4u(last));
        let images = min(image + LANES, vec4u(last - 1u));
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
                let x_pixels = images * input_image + (iy * p.input_width + ix) * p.input_stride;
                let d_pixels = (images * pixels + oy * p.output_width + ox) * p.output_stride;
                let top = rows_of_x(x_top, x_pixels);
                let left = columns_of_d_out(d_left, d_pixels, counts);
                top_left += left * top;
#if COLS == 8
                let right = columns_of_d_out(d_right, d_pixels, counts);
                top_right += right * top;
#end
#if ROWS == 8
                let bottom = rows_of_x(x_bottom, x_pixels);
                bottom_left += left * bottom;
#if COLS == 8
                bottom_right += right * bottom;
#end
#end
            }
        }
    }
    let at = part + tap * m * n;
    write_block(at, row, col, top_left);
    if COLS == 8u {
        write_block(at, row, col + 4u, top_right);
    }
    if ROWS == 8u {
        write_block(at, row + 4u, col, bottom_left);
    }
    if ROWS == 8u && COLS == 8u {
        write_block(at, row + 4u, col + 4u, bottom_right);
    }
}
