// Which inputs each output depends on, from a Wiener filter; one thread per row.

struct Params { cols: u32, soft: u32, threshold: f32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> wiener: array<f32>;
@group(0) @binding(3) var<storage, read_write> weights: array<f32>;

// One over a variance, or 0 if the variance is 0.
fn inverse(variance: f32) -> f32 {
    return select(0.0, 1.0 / max(variance, 1e-12), variance > 1e-12);
}

// The largest ratio of some rows, per thread of the workgroup.
var<workgroup> ratios: array<f32, 64>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) thread: u32) {
    let f = base(0u, id.z);
    // Every workgroup finds the largest ratio of the whole matrix for itself.
    var largest = 0.0;
    for (var i = thread; i < p.cols; i += 64u) {
        let scale = inverse(wiener[f + i * (p.cols + 1u)]);
        for (var m = 0u; m < p.cols; m++) {
            largest = max(largest, abs(wiener[f + i * p.cols + m]) * scale);
        }
    }
    ratios[thread] = largest;
    workgroupBarrier();
    for (var i = 0u; i < 64u; i++) {
        largest = max(largest, ratios[i]);
    }
    let j = id.x;
    if j >= p.cols {
        return;
    }
    let row = f + j * p.cols;
    let result = base(1u, id.z) + j * p.cols;
    let scale = inverse(wiener[row + j]);
    let limit = p.threshold * largest;
    for (var m = 0u; m < p.cols; m++) {
        let size = abs(wiener[row + m]);
        if p.soft == 1u {
            weights[result + m] = size * inverse(wiener[f + m * (p.cols + 1u)]);
        } else {
            weights[result + m] = select(0.0, 1.0, size * scale > 0.0 && size * scale >= limit);
        }
    }
}
