// out = silu(n * (1 + g) + b), one element to a thread; n is x, normalized if there are groups.

struct Params {
    images: u32,
    pixels: u32,
    channels: u32,
    groups: u32,
    film_stride: u32,
    has_film: u32,
}

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read> moments: array<f32>;
@group(0) @binding(4) var<storage, read> film: array<f32>;
@group(0) @binding(5) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= p.images * p.pixels * p.channels {
        return;
    }
    let image = id.x / (p.pixels * p.channels);
    let channel = id.x % p.channels;
    var u = x[base(0u, id.z) + id.x];
    if p.groups > 0u {
        let group = image * p.groups + channel / (p.channels / p.groups);
        let at = base(1u, id.z) + 2u * group;
        u = (u - moments[at]) * moments[at + 1u];
    }
    if p.has_film == 1u {
        let at = base(2u, id.z) + image * p.film_stride + channel;
        u = u * (1.0 + film[at]) + film[at + p.channels];
    }
    out[base(3u, id.z) + id.x] = u * sigmoid(u);
}
