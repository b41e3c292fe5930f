// Philox4x32-10 and the numbers drawn from it. Twin of src/rng.rs: same words, same polynomials.

// Low and high word of a 32 x 32 bit product.
fn widening(a: u32, b: u32) -> vec2u {
    let al = a & 0xffffu;
    let ah = a >> 16u;
    let bl = b & 0xffffu;
    let bh = b >> 16u;
    let ll = al * bl;
    let lh = al * bh;
    let hl = ah * bl;
    let middle = (ll >> 16u) + (lh & 0xffffu) + (hl & 0xffffu);
    return vec2u(a * b, ah * bh + (lh >> 16u) + (hl >> 16u) + (middle >> 16u));
}

fn philox(counter: vec4u, seed: vec2u) -> vec4u {
    var c = counter;
    var k = seed;
    for (var round = 0u; round < 10u; round++) {
        if round > 0u {
            k += vec2u(0x9E3779B9u, 0xBB67AE85u);
        }
        let p0 = widening(0xD2511F53u, c.x);
        let p1 = widening(0xCD9E8D57u, c.z);
        c = vec4u(p1.y ^ c.y ^ k.x, p1.x, p0.y ^ c.w ^ k.y, p0.x);
    }
    return c;
}

// Uniform in [0, 1) with 24 bits.
fn unit(bits: u32) -> f32 {
    return f32(bits >> 8u) * (1.0 / 16777216.0);
}

// Integer in 0..n by the high half of a product.
fn below(bits: u32, n: u32) -> u32 {
    return widening(bits, n).y;
}

fn rng_ln(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    var exponent = f32(i32(bits >> 23u) - 126);
    var m = bitcast<f32>((bits & 0x007fffffu) | 0x3f000000u);
    if m < 0.70710677 {
        exponent -= 1.0;
        m += m;
    }
    m -= 1.0;
    let z = m * m;
    var y = 7.0376836e-2;
    y = y * m - 1.151461e-1;
    y = y * m + 1.1676999e-1;
    y = y * m - 1.2420141e-1;
    y = y * m + 1.4249323e-1;
    y = y * m - 1.6668058e-1;
    y = y * m + 2.0000715e-1;
    y = y * m - 2.4999994e-1;
    y = y * m + 3.3333331e-1;
    y = y * m * z - 0.5 * z - 2.1219444e-4 * exponent;
    return m + y + 0.6933594 * exponent;
}

// Cosine and sine of `turn` whole turns, `turn` in [0, 1).
fn cos_sin_turn(turn: f32) -> vec2f {
    let quarter = floor(turn * 4.0 + 0.5);
    let r = (turn * 4.0 - quarter) * 1.5707964;
    let z = r * r;
    let s = ((-1.9515296e-4 * z + 8.332161e-3) * z - 1.6666655e-1) * z * r + r;
    let c = ((2.4433157e-5 * z - 1.3887316e-3) * z + 4.1666646e-2) * z * z - 0.5 * z + 1.0;
    switch u32(quarter) & 3u {
        case 0u: { return vec2f(c, s); }
        case 1u: { return vec2f(-s, c); }
        case 2u: { return vec2f(-c, -s); }
        default: { return vec2f(s, -c); }
    }
}

// Two standard normals (Box-Muller).
fn normal_pair(a: u32, b: u32) -> vec2f {
    let u = f32((a >> 8u) + 1u) * (1.0 / 16777216.0);
    return sqrt(-2.0 * rng_ln(u)) * cos_sin_turn(unit(b));
}

fn normals(bits: vec4u) -> vec4f {
    return vec4f(normal_pair(bits.x, bits.y), normal_pair(bits.z, bits.w));
}
