// Which inputs each output depends on, from a Wiener filter; one thread per row.

struct Params { cols: u32, soft: u32, threshold: f32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> wiener: array<f32>;
@group(0) @binding(3) var<storage, read_write> weights: array<f32>;

// One over a variance, or 0 if the variance is 0.
fn inverse(variance: f32) -> f32 {
    return select(0.0, 1.0 / max(variance, 1e-12), variance > 1e-12);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let j = id.x;
    if j >= p.cols {
        return;
    }
    let f = base(0u, id.z);
    let row = f + j * p.cols;
    let result = base(1u, id.z) + j * p.cols;
    if p.soft == 1u {
        for (var m = 0u; m < p.cols; m++) {
            weights[result + m] = abs(wiener[row + m]) * inverse(wiener[f + m * (p.cols + 1u)]);
        }
        return;
    }
    var largest = 0.0;
    for (var i = 0u; i < p.cols; i++) {
        let scale = inverse(wiener[f + i * (p.cols + 1u)]);
        for (var m = 0u; m < p.cols; m++) {
            largest = max(largest, abs(wiener[f + i * p.cols + m]) * scale);
        }
    }
    let scale = inverse(wiener[row + j]);
    let limit = p.threshold * largest;
    for (var m = 0u; m < p.cols; m++) {
        let ratio = abs(wiener[row + m]) * scale;
        weights[result + m] = select(0.0, 1.0, ratio > 0.0 && ratio >= limit);
    }
}
