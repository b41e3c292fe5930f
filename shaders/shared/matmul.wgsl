// What the variants of C = f(A B) share: parameters, operands and the epilogue.
// LAYOUT: 0 = A is m x k and B is k x n, 1 = B is stored n x k, 2 = A is stored k x m.
// A variant says what a Value is, and how WIDE: f32 and 1, or vec4f and 4.

struct Params { m: u32, n: u32, k: u32, has_bias: u32, keep: u32, silu: u32, stored: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> a: array<Value>;
@group(0) @binding(3) var<storage, read> b: array<Value>;
@group(0) @binding(4) var<storage, read> bias: array<Value>;
@group(0) @binding(5) var<storage, read> rescale: array<f32>;
@group(0) @binding(6) var<storage, read_write> c: array<Value>;

// Where element (row, k) of A lies.
fn a_index(row: u32, k: u32) -> u32 {
    return select(row * p.k + k, k * p.m + row, LAYOUT == 2u);
}

// Where element (k, col) of B lies.
fn b_index(k: u32, col: u32) -> u32 {
    return select(k * p.n + col, col * p.k + k, LAYOUT == 1u);
}

// Turns sums into results, unless they lie past the rim. Every tile repeats this for each of its
// outputs, so it selects where it could branch: that compiles in a fraction of the time.
fn finish(row: u32, col: u32, member: u32, sum: Value) {
    let at = (base(4u, member) + row * p.n + col) / WIDE;
    let scale = select(1.0, rescale[base(3u, member) + 4u * row + 2u], p.keep == 2u);
    var value = sum + select(Value(), c[at] * scale, p.keep != 0u);
    value += select(Value(), bias[(base(2u, member) + col) / WIDE], p.has_bias == 1u);
    value = select(value, value / (1.0 + exp(-value)), p.silu == 1u);
    if row < p.m && col < p.n {
        c[at] = value;
    }
}
