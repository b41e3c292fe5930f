// What the variants of C = f(A B) share: parameters, results and the epilogue.
// LAYOUT: 0 = A is m x k and B is k x n, 1 = B is stored n x k, 2 = A is stored k x m.

struct Params { m: u32, n: u32, k: u32, has_bias: u32, keep: u32, silu: u32, stored: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(4) var<storage, read> bias: array<f32>;
@group(0) @binding(5) var<storage, read> rescale: array<f32>;
@group(0) @binding(6) var<storage, read_write> c: array<f32>;

// Where element (row, k) of A lies.
fn a_index(row: u32, k: u32) -> u32 {
    return select(row * p.k + k, k * p.m + row, LAYOUT == 2u);
}

// Where element (k, col) of B lies.
fn b_index(k: u32, col: u32) -> u32 {
    return select(k * p.n + col, col * p.k + k, LAYOUT == 1u);
}

// Turns a sum into the result.
fn finish(row: u32, col: u32, member: u32, sum: f32) {
    let at = base(4u, member) + row * p.n + col;
    var value = sum;
    if p.keep == 1u {
        value += c[at];
    } else if p.keep == 2u {
        value += c[at] * rescale[base(3u, member) + 4u * row + 2u];
    }
    if p.has_bias == 1u {
        value += bias[base(2u, member) + col];
    }
    if p.silu == 1u {
        value = value / (1.0 + exp(-value));
    }
    c[at] = value;
}
