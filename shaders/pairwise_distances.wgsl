// ‖x - y‖² of every row of x and every row of y; one thread per pair.

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= p.rows * p.points {
        return;
    }
    let a = base(0u, id.z) + id.x / p.points * p.cols;
    let b = base(1u, id.z) + id.x % p.points * p.cols;
    var sum = 0.0;
    for (var j = 0u; j < p.cols; j++) {
        let d = x[a + j] - y[b + j];
        sum += d * d;
    }
    out[base(2u, id.z) + id.x] = sum;
}
