// (x - y)² of every row of x and every row of y; one thread per element.

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let at = id.x;
    if at >= p.rows * p.points * p.cols {
        return;
    }
    let j = at % p.cols;
    let n = at / p.cols % p.points;
    let i = at / (p.cols * p.points);
    let d = x[base(0u, id.z) + i * p.cols + j] - y[base(1u, id.z) + n * p.cols + j];
    out[base(2u, id.z) + at] = d * d;
}
