// What the variants of C = f(A B) share: parameters, operands and the epilogue.
// LAYOUT: 0 = A is m x k and B is k x n, 1 = B is stored n x k, 2 = A is stored k x m.
// A variant says what a Value is, and how WIDE: f32 and 1, or vec4f and 4.

struct Params { m: u32, n: u32, k: u32, has_bias: u32, keep: u32, silu: u32, stored: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> a: array<Value>;
@group(0) @binding(3) var<storage, read> b: array<Value>;
@group(0) @binding(4) var<storage, read> bias: array<Value>;
@group(0) @binding(5) var<storage, read> rescale: array<Value>;
@group(0) @binding(6) var<storage, read_write> c: array<Value>;

// Where element (row, k) of A lies.
fn a_index(row: u32, k: u32) -> u32 {
    return select(row * p.k + k, k * p.m + row, LAYOUT == 2u);
}

// Where element (k, col) of B lies.
fn b_index(k: u32, col: u32) -> u32 {
    return select(k * p.n + col, col * p.k + k, LAYOUT == 1u);
}

// Turns sums into results, unless they lie past the rim. What it need not load it does not mention:
// where k is small, most of the time goes into this.
fn finish(row: u32, col: u32, member: u32, sum: Value) {
    let at = (base(4u, member) + row * p.n + col) / WIDE;
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
    // Not further, or the exponential overflows.
    value /= 1.0 + exp(min(-value, Value(80.0)));
#end
    if row < p.m && col < p.n {
        c[at] = value;
    }
}
