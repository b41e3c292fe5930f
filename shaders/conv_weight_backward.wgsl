// The gradient of a convolution's weights and bias: a thread sums 4 QUADS_Y x 4 QUADS_X weights of one
// tap over one part of the batch and some rows of its images, in order. The middle tap meets every pixel, so it also sums the biases.
// WIDE = 4 if channels and views are such that four channels can be loaded and stored at once, else 1.
// EVEN = 1 if every part has a multiple of four images.

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
    bands: u32,
    band: u32,
}

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

fn counted(value: vec4f, count: f32) -> vec4f {
    if EVEN == 1u {
        return value;
    }
    return value * count;
}

// Four output channels, from `at` on, of four images, which are columns, times `counts`.
fn columns_of_d_out(at: vec4u, images: vec4u, counts: vec4f) -> mat4x4f {
    return mat4x4f(
        counted(load_d_out(at + images.x), counts.x),
        counted(load_d_out(at + images.y), counts.y),
        counted(load_d_out(at + images.z), counts.z),
        counted(load_d_out(at + images.w), counts.w),
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
    let columns = (n + 4u * QUADS_X - 1u) / (4u * QUADS_X);
    let rows = (m + 4u * QUADS_Y - 1u) / (4u * QUADS_Y);
    let col = id.x % columns * 4u * QUADS_X;
    let tap = id.x / columns / rows;
    if tap >= 9u {
        return;
    }
    let row = id.x / columns % rows * 4u * QUADS_Y;
    let first = id.y / p.bands * p.span;
    let last = min(first + p.span, p.batch);
    let top = id.y % p.bands * p.band;
    let bottom = min(top + p.band, p.output_height);
    let pixels = p.output_height * p.output_width;
    let part = base(2u, id.z) + id.y * (p.bias + n);
    // Threads beyond the edge repeat the last channel instead of branching, and drop the result.
#each j QUADS_X
    let d_$j = base(1u, id.z) + min(col + 4u * $ju + LANES, vec4u(n - 1u));
#end
#each i QUADS_Y
    let x_$i = base(0u, id.z) + min(row + 4u * $iu + LANES, vec4u(m - 1u));
#end
#each i QUADS_Y
#each j QUADS_X
#each r 4
    var sum_$i_$j_$r = vec4f();
#end
#end
#end
    let input_image = p.input_height * p.input_width * p.input_stride;
    let tap_y = tap / 3u;
    let tap_x = tap % 3u;
    let has_bias = tap == 4u && row == 0u;
#each j QUADS_X
    var bias_$j = vec4f();
#end
    // Four images at a time meet the border at the same taps. Images past the last one do not count.
    for (var image = first; image < last; image += 4u) {
        let counts = vec4f(image + LANES < vec4u(last));
        let images = min(image + LANES, vec4u(last - 1u));
        for (var oy = top; oy < bottom; oy++) {
            // Positions before the first pixel wrap around to large numbers. `up` is 1 or 2: shifting is
            // faster than dividing.
            let iy = (p.down * oy + tap_y - 1u) >> (p.up - 1u);
            if iy >= p.input_height {
                continue;
            }
            for (var ox = 0u; ox < p.output_width; ox++) {
                let ix = (p.down * ox + tap_x - 1u) >> (p.up - 1u);
                if ix >= p.input_width {
                    continue;
                }
                let x_pixels = images * input_image + (iy * p.input_width + ix) * p.input_stride;
                let d_pixels = (images * pixels + oy * p.output_width + ox) * p.output_stride;
#each j QUADS_X
                let columns_$j = columns_of_d_out(d_$j, d_pixels, counts);
                if has_bias {
                    bias_$j += columns_$j * vec4f(1.0);
                }
#end
#each i QUADS_Y
                let rows_$i = rows_of_x(x_$i, x_pixels);
#each j QUADS_X
#each r 4
                sum_$i_$j_$r = product(sum_$i_$j_$r, columns_$j, rows_$i[$r]);
#end
#end
#end
            }
        }
    }
#each i QUADS_Y
#each j QUADS_X
    write_block(
        part + tap * m * n,
        row + 4u * $iu,
        col + 4u * $ju,
        mat4x4f(sum_$i_$j_0, sum_$i_$j_1, sum_$i_$j_2, sum_$i_$j_3),
    );
#end
#end
    if has_bias {
#each j QUADS_X
        write_row(part + p.bias, col + 4u * $ju, bias_$j);
#end
#if WIDE == 1
        // The gap between weights and bias holds no parameters and has no gradient.
        for (var gap = 9u * m * n; gap < p.bias; gap++) {
            out[part + gap] = 0.0;
        }
#end
    }
}
