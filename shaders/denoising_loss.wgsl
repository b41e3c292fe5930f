// d = 2 (f - target) / (rows cols), and the row's contribution to the mean square; one workgroup per
// row. `f` and `d` may be folded (shared/fold.wgsl).

struct Params { rows: u32, cols: u32, blocks: u32, piece: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> f: array<f32>;
@group(0) @binding(3) var<storage, read> expected: array<f32>;
@group(0) @binding(4) var<storage, read_write> d: array<f32>;
@group(0) @binding(5) var<storage, read_write> losses: array<f32>;

@compute @workgroup_size(ROW_THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let row = group.x * p.cols;
    let scale = 1.0 / f32(p.rows * p.cols);
    var squares = 0.0;
    for (var j = lane; j < p.cols; j += ROW_THREADS) {
        let at = row + folded(j, p.blocks, p.piece);
        let error = f[base(0u, group.z) + at] - expected[base(1u, group.z) + row + j];
        d[base(2u, group.z) + at] = 2.0 * scale * error;
        squares += error * error;
    }
    let sum = row_sum(squares, lane);
    if lane == 0u {
        losses[base(3u, group.z) + group.x] = scale * sum;
    }
}
