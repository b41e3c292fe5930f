// 3x3 convolution (ADJOINT = 0) or its input gradient (ADJOINT = 1) as an implicit matrix multiply:
// a thread computes 4 QUADS_X channels of one pixel of 4 QUADS_Y images, which meet the border at the
// same taps. STEP source channels are multiplied at a time: 4, or 1 if 4 does not divide them. UNROLL such steps
// are loaded before the first is computed, so that a thread waits less often.
// WIDE = 4 if channels and views are such that four channels can be loaded and stored at once, else 1.
// SHARERS = 4: four threads share the channels of a sum (shared/shared_sum.wgsl).
// SILU = 1: silu(result * (1 + g) + b) is stored behind the result; with ADJOINT = 1, the result is multiplied by
// the derivative of that activation, whose argument comes from `addend`.

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
    film_stride: u32,
    has_film: u32,
    silu: u32,
    behind: u32,
    keep: u32,
}

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> source: array<Value>;
@group(0) @binding(3) var<storage, read> parameters: array<Value>;
@group(0) @binding(4) var<storage, read> addend: array<Value>;
@group(0) @binding(5) var<storage, read> film: array<Value>;
@group(0) @binding(6) var<storage, read_write> out: array<Value>;

// The source pixel that tap `k` links to pixel `at` of an axis, or one past any axis.
// Positions before the first pixel wrap around to large numbers.
// `up` and `down` are 1 or 2: shifting is faster than dividing.
fn linked(at: u32, k: u32, d: u32) -> u32 {
    if ADJOINT == 1u {
        let q = p.up * at + d + 1u - k;
        return select(q >> (p.down - 1u), 0xffffffffu, (q & (p.down - 1u)) != 0u);
    }
    return (p.down * at + k - 1u) >> (p.up - 1u);
}

const LANES = vec4u(0u, 1u, 2u, 3u);

#if WIDE == 4
fn load(at: u32) -> vec4f {
    return source[at / 4u];
}

// The weights of four target channels, whose first ones are at `at`; source channels are columns.
fn panel(at: vec4u) -> mat4x4f {
    if ADJOINT == 1u {
        let rows = at / 4u;
        return transpose(
            mat4x4f(parameters[rows.x], parameters[rows.y], parameters[rows.z], parameters[rows.w])
        );
    }
    let first = at.x / 4u;
    let step = p.target_channels / 4u;
    return mat4x4f(
        parameters[first],
        parameters[first + step],
        parameters[first + 2u * step],
        parameters[first + 3u * step],
    );
}

fn finish(member: u32, image: u32, pixel: u32, col: u32, sums: vec4f) {
    if image < p.batch && col < p.target_channels {
        finish_value(member, image, pixel, col, sums);
    }
}
#end
#if WIDE == 1
fn load(at: u32) -> vec4f {
    if STEP == 1u {
        return vec4f(source[at], 0.0, 0.0, 0.0);
    }
    return vec4f(source[at], source[at + 1u], source[at + 2u], source[at + 3u]);
}

fn weights(at: vec4u) -> vec4f {
    return vec4f(parameters[at.x], parameters[at.y], parameters[at.z], parameters[at.w]);
}

fn panel(at: vec4u) -> mat4x4f {
    let step = select(p.target_channels, 1u, ADJOINT == 1u);
    if STEP == 1u {
        return mat4x4f(weights(at), vec4f(), vec4f(), vec4f());
    }
    return mat4x4f(weights(at), weights(at + step), weights(at + 2u * step), weights(at + 3u * step));
}

fn finish(member: u32, image: u32, pixel: u32, col: u32, sums: vec4f) {
    for (var j = 0u; j < 4u && image < p.batch && col + j < p.target_channels; j++) {
        finish_value(member, image, pixel, col + j, sums[j]);
    }
}
#end

// Scale and shift of the activation's argument.
fn modulation(member: u32, image: u32, col: u32) -> array<Value, 2> {
    if p.has_film == 0u {
        return array<Value, 2>(Value(1.0), Value(0.0));
    }
    let at = (base(3u, member) + image * p.film_stride + col) / WIDE;
    return array<Value, 2>(1.0 + film[at], film[at + p.target_channels / WIDE]);
}

// Turns sums into WIDE results.
fn finish_value(member: u32, image: u32, pixel: u32, col: u32, sums: Value) {
    let row = image * p.target_height * p.target_width + pixel;
    let at = (base(4u, member) + row * p.target_stride + col) / WIDE;
    let add_at = (base(2u, member) + row * p.add_stride + col) / WIDE;
    var value = sums;
#if SILU == 1
#if ADJOINT == 1
    let affine = modulation(member, image, col);
    let u = addend[add_at] * affine[0] + affine[1];
    // No overflow on either side.
    let e = exp(-abs(u));
    let s = select(Value(1.0), e, u < Value(0.0)) / (1.0 + e);
    value *= s * (1.0 + u * (1.0 - s));
    if p.has_film == 1u {
        out[at + p.behind / WIDE] = value;
        value *= affine[0];
    }
    if p.keep == 1u {
        value += out[at];
    }
#end
#end
    if ADJOINT == 0u {
        value += parameters[(base(1u, member) + p.bias + col) / WIDE];
    }
    if p.has_add == 1u {
        value += addend[add_at];
    }
    out[at] = value;
#if SILU == 1
#if ADJOINT == 0
    let affine = modulation(member, image, col);
    let u = value * affine[0] + affine[1];
    let e = exp(-abs(u));
    out[at + p.behind / WIDE] = u * select(Value(1.0), e, u < Value(0.0)) / (1.0 + e);
#end
#end
}

// Flat, as in shared/matmul.wgsl.
const THREADS = THREADS_X * THREADS_Y;

@compute @workgroup_size(THREADS_X * THREADS_Y)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let blocks = (p.target_channels + 4u * QUADS_X - 1u) / (4u * QUADS_X);
    let thread = lane % COUNT;
    let at_x = group.x * THREADS_X + thread % THREADS_X;
    let pixel = at_x / blocks;
    let col = at_x % blocks * 4u * QUADS_X;
    let image = (group.y * (THREADS_Y / SHARERS) + thread / THREADS_X) * 4u * QUADS_Y;
    let has_pixel = pixel < p.target_height * p.target_width;
#if SHARERS == 1
    if !has_pixel || image >= p.batch {
        return;
    }
#end
    let y = pixel / p.target_width;
    let x = pixel % p.target_width;
    let k = p.source_channels;
    let n = p.target_channels;
    // Threads beyond the edge repeat the last image or channel instead of branching, and drop the result.
    let size = p.source_height * p.source_width * p.source_stride;
    let step = select(1u, k, ADJOINT == 1u);
    let w_step = select(n, 1u, ADJOINT == 1u);
#each i QUADS_Y
    let images_$i = base(0u, group.z) + min(image + 4u * $iu + LANES, vec4u(p.batch - 1u)) * size;
#end
#each j QUADS_X
    let cols_$j = base(1u, group.z) + min(col + 4u * $ju + LANES, vec4u(n - 1u)) * step;
#end
    // Images are columns, channels are rows.
#each i QUADS_Y
#each j QUADS_X
#each r 4
    var sum_$i_$j_$r = vec4f();
#end
#end
#end
    let copies = select(0u, p.up - 1u, ADJOINT == 1u);
    for (var ky = 0u; ky < 3u << copies; ky++) {
        let sy = linked(y, ky >> copies, ky & copies);
        if sy >= p.source_height {
            continue;
        }
        for (var kx = 0u; kx < 3u << copies; kx++) {
            let sx = linked(x, kx >> copies, kx & copies);
            if sx >= p.source_width {
                continue;
            }
            let tap = 3u * (ky >> copies) + (kx >> copies);
            let at = (sy * p.source_width + sx) * p.source_stride;
            for (var c = lane / COUNT * STEP * UNROLL; c < k; c += SHARERS * STEP * UNROLL) {
#each s UNROLL
                let w_$s = tap * k * n + (c + $su * STEP) * w_step;
#each j QUADS_X
                let w_$s_$j = panel(cols_$j + w_$s);
#end
#each i QUADS_Y
                let at_$s_$i = images_$i + at + c + $su * STEP;
                let x_$s_$i =
                    mat4x4f(load(at_$s_$i.x), load(at_$s_$i.y), load(at_$s_$i.z), load(at_$s_$i.w));
#end
#end
#each s UNROLL
#each i QUADS_Y
#each j QUADS_X
#each r 4
                sum_$i_$j_$r = product(sum_$i_$j_$r, w_$s_$j, x_$s_$i[$r]);
#end
#end
#end
#end
            }
        }
    }
#each i QUADS_Y
#each j QUADS_X
#if SHARERS == 1
#each r 4
    finish(group.z, image + 4u * $iu + $ru, pixel, col + 4u * $ju, sum_$i_$j_$r);
#end
#end
#if SHARERS == 4
    // All threads come here, those without a pixel as well.
    let whole_$i_$j = shared_sum(lane, sum_$i_$j_0, sum_$i_$j_1, sum_$i_$j_2, sum_$i_$j_3);
    if has_pixel {
        finish(group.z, image + 4u * $iu + lane / COUNT, pixel, col + 4u * $ju, whole_$i_$j);
    }
#end
#end
#end
}
