// Shared by the variants of C = f(A B): parameters, operands and the epilogue.
// LAYOUT: 0 = A is m x k and B is k x n, 1 = B is stored n x k, 2 = A is stored k x m.
// A variant defines Value and WIDE: f32 and 1, or vec4f and 4.

// Workgroups are flat, and threads find their row and column by division: some drivers compute whole
// tiles wrong in workgroups of two dimensions.
const THREADS = THREADS_X * THREADS_Y;

struct Params { m: u32, n: u32, k: u32, has_bias: u32, keep: u32, silu: u32, stored: u32, span: u32, blocks: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> a: array<Value>;
@group(0) @binding(3) var<storage, read> b: array<Value>;
@group(0) @binding(4) var<storage, read> bias: array<Value>;
@group(0) @binding(5) var<storage, read> rescale: array<Value>;
@group(0) @binding(6) var<storage, read_write> c: array<Value>;

// For a long sum with a small result, SPLIT = 1: the sum is cut into parts of p.span terms, each
// with p.blocks rows of workgroups and a result of its own.
#if SPLIT == 0
fn block_y(y: u32) -> u32 {
    return y;
}

fn first_k(y: u32) -> u32 {
    return 0u;
}

fn last_k(y: u32) -> u32 {
    return p.k;
}

fn part(y: u32) -> u32 {
    return 0u;
}
#end
#if SPLIT == 1
fn block_y(y: u32) -> u32 {
    return y % p.blocks;
}

fn part(y: u32) -> u32 {
    return y / p.blocks;
}

fn first_k(y: u32) -> u32 {
    return part(y) * p.span;
}

fn last_k(y: u32) -> u32 {
    return min(p.k, (part(y) + 1u) * p.span);
}
#end

// Where element (row, k) of A lies.
fn a_index(row: u32, k: u32) -> u32 {
    return select(row * p.k + k, k * p.m + row, LAYOUT == 2u);
}

// Where element (k, col) of B lies.
fn b_index(k: u32, col: u32) -> u32 {
    return select(k * p.n + col, col * p.k + k, LAYOUT == 1u);
}

// Turns sums into results, unless they lie past the edge. It mentions only what it must load: where k is
// small, most of the time is spent here.
// `group` is the workgroup's y and the member.
fn finish(row: u32, col: u32, group: vec2u, sum: Value) {
    let member = group.y;
    let at = (base(4u, member) + (part(group.x) * p.m + row) * p.n + col) / WIDE;
    var value = sum;
#if KEEP == 1
    value += c[at];
#end
#if KEEP == 2
    value += c[at] * rescale[(base(3u, member) + col) / WIDE];
#end
#if BIAS == 1
    value += bias[(base(2u, member) + col) / WIDE];
#end
#if SILU == 1
    // Clamped, since the exponential would overflow.
    value /= 1.0 + exp(min(-value, Value(80.0)));
#end
    if row < p.m && col < p.n {
        c[at] = value;
    }
}
