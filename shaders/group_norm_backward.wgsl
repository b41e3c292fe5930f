// d_x -= (mean(d_n) + n * mean(d_n * n)) / deviation; one thread per group and image.

@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read> moments: array<f32>;
@group(0) @binding(4) var<storage, read> film: array<f32>;
@group(0) @binding(5) var<storage, read> d_film: array<f32>;
@group(0) @binding(6) var<storage, read_write> d_x: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= p.images * p.groups {
        return;
    }
    let size = p.channels / p.groups;
    let image = id.x / p.groups;
    let first = id.x % p.groups * size;
    var d_n = 0.0;
    var d_n_n = 0.0;
    for (var c = first; c < first + size; c++) {
        var gain = 1.0;
        if p.has_film == 1u {
            gain += film[base(2u, id.z) + image * p.film_stride + c];
        }
        let at = base(3u, id.z) + image * p.d_film_stride + c;
        d_n_n += gain * d_film[at];
        d_n += gain * d_film[at + p.channels];
    }
    let count = f32(p.pixels * size);
    d_n /= count;
    d_n_n /= count;
    let mean = moments[base(1u, id.z) + 2u * id.x];
    let inverse = moments[base(1u, id.z) + 2u * id.x + 1u];
    for (var i = 0u; i < p.pixels; i++) {
        for (var c = first; c < first + size; c++) {
            let at = (image * p.pixels + i) * p.channels + c;
            let n = (x[base(0u, id.z) + at] - mean) * inverse;
            d_x[base(4u, id.z) + at] -= (d_n + n * d_n_n) * inverse;
        }
    }
}
