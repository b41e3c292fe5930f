// One tile of a search for the nearest training images; one thread per query image, which is a column.

struct Params { rows: u32, cols: u32, first: u32, reset: u32 }

const CANDIDATES = 8u;

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
    let at = base(3u, id.z) + CANDIDATES * id.x;
    let at_index = base(4u, id.z) + CANDIDATES * id.x;
    let column = base(2u, id.z) + id.x;
    let norm = base(0u, id.z);
    var values: array<f32, 8>;
    var images: array<u32, 8>;
    for (var k = 0u; k < CANDIDATES; k++) {
        values[k] = 3.0e38;
        images[k] = range[r];
        if p.reset == 0u {
            values[k] = best[at + k];
            images[k] = index[at_index + k];
        }
    }
    let begin = min(max(range[r], p.first) - p.first, p.cols);
    let end = min(max(range[r + 1u], p.first) - p.first, p.cols);
    for (var j = begin; j < end; j++) {
        var value = 0.5 * norms[norm + j] - s[column + j * p.rows];
        if !(value < values[CANDIDATES - 1u]) {
            continue;
        }
        var image = p.first + j;
        for (var k = 0u; k < CANDIDATES; k++) {
            if value < values[k] {
                let v = values[k];
                let i = images[k];
                values[k] = value;
                images[k] = image;
                value = v;
                image = i;
            }
        }
    }
    for (var k = 0u; k < CANDIDATES; k++) {
        best[at + k] = values[k];
        index[at_index + k] = images[k];
    }
}
