// out = silu(n * (1 + g) + b), where n is x, normalized if there are groups. A thread computes WIDE
// channels of a pixel, all in one group.

@group(0) @binding(2) var<storage, read> x: array<Value>;
@group(0) @binding(3) var<storage, read> moments: array<f32>;
@group(0) @binding(4) var<storage, read> film: array<Value>;
@group(0) @binding(5) var<storage, read_write> out: array<Value>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let first = WIDE * id.x;
    if first >= p.images * p.pixels * p.channels {
        return;
    }
    let image = first / (p.pixels * p.channels);
    let channel = first % p.channels;
    var u = x[base(0u, id.z) / WIDE + id.x];
    if p.groups > 0u {
        let group = image * p.groups + channel / (p.channels / p.groups);
        let at = base(1u, id.z) + 2u * group;
        u = (u - moments[at]) * moments[at + 1u];
    }
    if p.has_film == 1u {
        let at = (base(2u, id.z) + image * p.film_stride + channel) / WIDE;
        u = u * (1.0 + film[at]) + film[at + p.channels / WIDE];
    }
    // No overflow on either side.
    let e = exp(-abs(u));
    out[base(3u, id.z) / WIDE + id.x] = u * select(Value(1.0), e, u < Value(0.0)) / (1.0 + e);
}
