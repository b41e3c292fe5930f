// The loop over elements with a standard normal each; one thread draws four. A kernel defines Params, with
// `rows`, `cols` and `stream`, and `use_draw`, which turns the normal of element `at` into a result.

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> clock: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let len = p.rows * p.cols;
    if 4u * id.x >= len {
        return;
    }
    let c = base(0u, id.z);
    let draws = normals(philox(vec4u(id.x, clock[c + 2u], p.stream, 0u), vec2u(clock[c], clock[c + 1u])));
    for (var j = 0u; j < 4u; j++) {
        let at = 4u * id.x + j;
        if at >= len {
            break;
        }
        use_draw(at, draws[j], id.z);
    }
}
