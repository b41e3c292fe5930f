// Mean and inverse standard deviation of each group of channels of each image; one thread per group.

struct Params { images: u32, pixels: u32, channels: u32, groups: u32, epsilon: f32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= p.images * p.groups {
        return;
    }
    let size = p.channels / p.groups;
    let image = id.x / p.groups * p.pixels * p.channels;
    let first = base(0u, id.z) + image + id.x % p.groups * size;
    let count = f32(p.pixels * size);
    var mean = 0.0;
    for (var i = 0u; i < p.pixels; i++) {
        for (var c = 0u; c < size; c++) {
            mean += x[first + i * p.channels + c];
        }
    }
    mean /= count;
    var variance = 0.0;
    for (var i = 0u; i < p.pixels; i++) {
        for (var c = 0u; c < size; c++) {
            let d = x[first + i * p.channels + c] - mean;
            variance += d * d;
        }
    }
    let at = base(1u, id.z) + 2u * id.x;
    out[at] = mean;
    out[at + 1u] = 1.0 / sqrt(variance / count + p.epsilon);
}
