// Raw Philox words: counter and key in, four words out.

struct Params { count: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> input: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= p.count {
        return;
    }
    let i = base(0u, id.z) + 6u * id.x;
    let words = philox(vec4u(input[i], input[i + 1u], input[i + 2u], input[i + 3u]), vec2u(input[i + 4u], input[i + 5u]));
    for (var j = 0u; j < 4u; j++) {
        out[base(1u, id.z) + 4u * id.x + j] = words[j];
    }
}
