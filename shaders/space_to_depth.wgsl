// Turns each 2x2 pixels into one pixel of four times the channels, or back; one thread per element.

struct Params { images: u32, height: u32, width: u32, channels: u32, inverse: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= p.images * p.height * p.width * p.channels {
        return;
    }
    // Images have an even number of rows, so all of them together are as one.
    let depth = folded(id.x, p.width / 2u, 2u * p.channels);
    if p.inverse == 1u {
        out[base(1u, id.z) + id.x] = x[base(0u, id.z) + depth];
    } else {
        out[base(1u, id.z) + depth] = x[base(0u, id.z) + id.x];
    }
}
