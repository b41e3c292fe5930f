// Where each storage binding begins for a member; every kernel has this as its first uniform.
struct Views {
    offset: array<vec4u, 2>,
    stride: array<vec4u, 2>,
}

@group(0) @binding(0) var<uniform> views: Views;

// First element of binding `slot` for `member`.
fn base(slot: u32, member: u32) -> u32 {
    return views.offset[slot / 4u][slot % 4u] + member * views.stride[slot / 4u][slot % 4u];
}
