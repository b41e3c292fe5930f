// Sum of squares of each chunk of 4096 elements; one workgroup per chunk, WIDE elements at a time.

struct Params { len: u32 }

#if WIDE == 1
fn square(value: f32) -> f32 {
    return value * value;
}
#end
#if WIDE == 4
fn square(value: vec4f) -> f32 {
    return dot(value, value);
}
#end

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> x: array<Value>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(ROW_THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let first = base(0u, group.z) / WIDE;
    let end = min(4096u * (group.x + 1u), p.len) / WIDE;
    var squares = 0.0;
    for (var j = 4096u / WIDE * group.x + lane; j < end; j += ROW_THREADS) {
        squares += square(x[first + j]);
    }
    let sum = row_sum(squares, lane);
    if lane == 0u {
        out[base(1u, group.z) + group.x] = sum;
    }
}
