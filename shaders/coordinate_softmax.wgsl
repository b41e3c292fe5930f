// One tile of a streaming softmax with its own weights for every coordinate; one thread per coordinate.
// State: largest logit, sum of weights.

struct Params { rows: u32, images: u32, cols: u32, first: u32, sigma_stride: u32, reset: u32 }

const LOWEST = -3.0e38;
const FAINTEST = -50.0;

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> s: array<f32>;
@group(0) @binding(3) var<storage, read> images: array<f32>;
@group(0) @binding(4) var<storage, read> sigma: array<f32>;
@group(0) @binding(5) var<storage, read> range: array<u32>;
@group(0) @binding(6) var<storage, read_write> state: array<f32>;
@group(0) @binding(7) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= p.rows * p.cols {
        return;
    }
    let m = id.x % p.cols;
    let row = id.x / p.cols;
    let r = base(3u, id.z);
    let begin = min(max(range[r], p.first) - p.first, p.images);
    let end = max(min(max(range[r + 1u], p.first) - p.first, p.images), begin);
    let level = sigma[base(2u, id.z) + row * p.sigma_stride];
    let tightness = 0.5 / (level * level);
    let distances = base(0u, id.z) + row * p.images * p.cols + m;
    let values = base(1u, id.z) + m;
    let at = base(4u, id.z) + 2u * id.x;
    let result = base(5u, id.z) + id.x;
    var before = LOWEST;
    var sum = 0.0;
    var mean = 0.0;
    if p.reset == 0u {
        before = state[at];
        sum = state[at + 1u];
        mean = out[result];
    }
    var top = before;
    for (var n = begin; n < end; n++) {
        top = max(top, -s[distances + n * p.cols] * tightness);
    }
    let fading = before - top;
    let scale = select(0.0, exp(max(fading, FAINTEST)), fading >= FAINTEST);
    sum *= scale;
    mean *= scale;
    for (var n = begin; n < end; n++) {
        let logit = -s[distances + n * p.cols] * tightness - top;
        if logit >= FAINTEST {
            let weight = exp(logit);
            sum += weight;
            mean += weight * images[values + n * p.cols];
        }
    }
    state[at] = top;
    state[at + 1u] = sum;
    out[result] = mean;
}
