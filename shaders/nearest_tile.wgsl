// One tile of a search for the two nearest training images; one thread to a row.

struct Params { rows: u32, cols: u32, first: u32, reset: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> norms: array<f32>;
@group(0) @binding(3) var<storage, read> range: array<u32>;
@group(0) @binding(4) var<storage, read> s: array<f32>;
@group(0) @binding(5) var<storage, read_write> best: array<f32>;
@group(0) @binding(6) var<storage, read_write> index: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= p.rows {
        return;
    }
    let r = base(1u, id.z);
    let at = base(3u, id.z) + 2u * id.x;
    let at_index = base(4u, id.z) + 2u * id.x;
    let row = base(2u, id.z) + id.x * p.cols;
    let norm = base(0u, id.z);
    var value = vec2f(3.0e38);
    var image = vec2u(range[r]);
    if p.reset == 0u {
        value = vec2f(best[at], best[at + 1u]);
        image = vec2u(index[at_index], index[at_index + 1u]);
    }
    for (var j = 0u; j < p.cols; j++) {
        let i = p.first + j;
        let v = 0.5 * norms[norm + j] - s[row + j];
        if v >= value.y || i < range[r] || i >= range[r + 1u] {
            continue;
        }
        if v < value.x {
            value = vec2f(v, value.x);
            image = vec2u(i, image.x);
        } else {
            value.y = v;
            image.y = i;
        }
    }
    best[at] = value.x;
    best[at + 1u] = value.y;
    index[at_index] = image.x;
    index[at_index + 1u] = image.y;
}
