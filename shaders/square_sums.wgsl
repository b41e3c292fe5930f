// Sum of squares of each chunk of 4096 elements; one workgroup to a chunk.

struct Params { len: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let end = min(4096u * (group.x + 1u), p.len);
    var squares = 0.0;
    for (var j = 4096u * group.x + lane; j < end; j += 64u) {
        let value = x[base(0u, group.z) + j];
        squares += value * value;
    }
    let sum = row_sum(squares, lane);
    if lane == 0u {
        out[base(1u, group.z) + group.x] = sum;
    }
}
