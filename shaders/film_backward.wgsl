// The gradients of scales and shifts: sums over the pixels of an image of d * x and of d. A thread sums WIDE
// channels.

struct Params { images: u32, pixels: u32, channels: u32, stride: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> x: array<Value>;
@group(0) @binding(3) var<storage, read> d: array<Value>;
@group(0) @binding(4) var<storage, read_write> out: array<Value>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let blocks = p.channels / WIDE;
    if id.x >= p.images * blocks {
        return;
    }
    let image = id.x / blocks;
    let block = id.x % blocks;
    let first = image * p.pixels * blocks + block;
    let x_at = base(0u, id.z) / WIDE + first;
    let d_at = base(1u, id.z) / WIDE + first;
    var d_scale = Value();
    var d_shift = Value();
    // Four pixels are loaded at a time: there are few threads, and each would wait for every load.
    let fours = p.pixels / 4u * 4u;
    for (var i = 0u; i < fours; i += 4u) {
#each j 4
        let d_$j = d[d_at + (i + $ju) * blocks];
        let x_$j = x[x_at + (i + $ju) * blocks];
#end
#each j 4
        d_scale += d_$j * x_$j;
        d_shift += d_$j;
#end
    }
    for (var i = fours; i < p.pixels; i++) {
        let value = d[d_at + i * blocks];
        d_scale += value * x[x_at + i * blocks];
        d_shift += value;
    }
    let at = (base(2u, id.z) + image * p.stride) / WIDE + block;
    out[at] = d_scale;
    out[at + blocks] = d_shift;
}
