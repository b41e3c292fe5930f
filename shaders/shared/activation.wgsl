// Twin of kernels::matmul::sigmoid: no overflow on either side.
fn sigmoid(x: f32) -> f32 {
    let e = exp(-abs(x));
    let s = 1.0 / (1.0 + e);
    return select(s, e * s, x < 0.0);
}

// Derivative of x * sigmoid(x).
fn silu_slope(x: f32) -> f32 {
    let s = sigmoid(x);
    return s * (1.0 + x * (1.0 - s));
}
