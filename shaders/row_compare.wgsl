// For each row: |a|^2, |b|^2, a.b, |a - b|^2. With pick_stride > 0, `pick` gives the row of b.

struct Params { rows: u32, cols: u32, pick_stride: u32, b_rows: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> a: array<f32>;
@group(0) @binding(3) var<storage, read> b: array<f32>;
@group(0) @binding(4) var<storage, read> pick: array<u32>;
@group(0) @binding(5) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= p.rows {
        return;
    }
    var row = id.x;
    if p.pick_stride > 0u {
        row = pick[base(2u, id.z) + id.x * p.pick_stride];
    }
    let a_first = base(0u, id.z) + id.x * p.cols;
    let b_first = base(1u, id.z) + min(row, p.b_rows - 1u) * p.cols;
    var sums = vec4f();
    for (var j = 0u; j < p.cols; j++) {
        let u = a[a_first + j];
        let v = b[b_first + j];
        sums += vec4f(u * u, v * v, u * v, (u - v) * (u - v));
    }
    let at = base(3u, id.z) + 4u * id.x;
    out[at] = sums.x;
    out[at + 1u] = sums.y;
    out[at + 2u] = sums.z;
    out[at + 3u] = sums.w;
}
