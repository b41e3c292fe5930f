// Backward pass of group_film_silu, with the moments as constants; one thread per channel and image.

@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read> moments: array<f32>;
@group(0) @binding(4) var<storage, read> film: array<f32>;
@group(0) @binding(5) var<storage, read> d_out: array<f32>;
@group(0) @binding(6) var<storage, read_write> d_film: array<f32>;
@group(0) @binding(7) var<storage, read_write> d_x: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= p.images * p.channels {
        return;
    }
    let image = id.x / p.channels;
    let channel = id.x % p.channels;
    var mean = 0.0;
    var inverse = 1.0;
    if p.groups > 0u {
        let group = image * p.groups + channel / (p.channels / p.groups);
        let at = base(1u, id.z) + 2u * group;
        mean = moments[at];
        inverse = moments[at + 1u];
    }
    var gain = 1.0;
    var shift = 0.0;
    if p.has_film == 1u {
        let at = base(2u, id.z) + image * p.film_stride + channel;
        gain += film[at];
        shift = film[at + p.channels];
    }
    var d_gain = 0.0;
    var d_shift = 0.0;
    let first = image * p.pixels * p.channels + channel;
    for (var i = 0u; i < p.pixels; i++) {
        let at = first + i * p.channels;
        let n = (x[base(0u, id.z) + at] - mean) * inverse;
        let d = d_out[base(3u, id.z) + at] * silu_slope(n * gain + shift);
        d_gain += d * n;
        d_shift += d;
        var sum = d * gain * inverse;
        if p.keep == 1u {
            sum += d_x[base(5u, id.z) + at];
        }
        d_x[base(5u, id.z) + at] = sum;
    }
    let at = base(4u, id.z) + image * p.d_film_stride + channel;
    d_film[at] = d_gain;
    d_film[at + p.channels] = d_shift;
}
