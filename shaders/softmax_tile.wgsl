// One tile of a streaming softmax over training images; one thread per noisy image, which is a column.
// State: largest logits, sums of weights, rescalings of earlier sums, sums of
// weight * (logit - largest); p.rows of each.

struct Params { rows: u32, cols: u32, first: u32, sigma_stride: u32, reset: u32 }

const LOWEST = -3.0e38;
const FAINTEST = -50.0;

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> norms: array<f32>;
@group(0) @binding(3) var<storage, read> sigma: array<f32>;
@group(0) @binding(4) var<storage, read> range: array<u32>;
@group(0) @binding(5) var<storage, read_write> s: array<f32>;
@group(0) @binding(6) var<storage, read_write> state: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= p.rows {
        return;
    }
    let r = base(2u, id.z);
    // The part of the tile that belongs to the member's training set.
    let begin = min(max(range[r], p.first) - p.first, p.cols);
    let end = max(min(max(range[r + 1u], p.first) - p.first, p.cols), begin);
    let width = sigma[base(1u, id.z) + id.x * p.sigma_stride];
    let tightness = 1.0 / (width * width);
    let column = base(3u, id.z) + id.x;
    let norm = base(0u, id.z);
    let at = base(4u, id.z) + id.x;
    var before = vec4f(LOWEST, 0.0, 1.0, 0.0);
    if p.reset == 0u {
        before = vec4f(state[at], state[at + p.rows], 1.0, state[at + 3u * p.rows]);
    }
    var top = before.x;
    for (var j = begin; j < end; j++) {
        top = max(top, (s[column + j * p.rows] - 0.5 * norms[norm + j]) * tightness);
    }
    let shift = before.x - top;
    let scale = select(0.0, exp(max(shift, FAINTEST)), before.y > 0.0 && shift >= FAINTEST);
    var sum = 0.0;
    var moment = 0.0;
    for (var j = 0u; j < p.cols; j++) {
        var weight = 0.0;
        if j >= begin && j < end {
            let logit = (s[column + j * p.rows] - 0.5 * norms[norm + j]) * tightness - top;
            if logit >= FAINTEST {
                weight = exp(logit);
                moment += weight * logit;
            }
            sum += weight;
        }
        s[column + j * p.rows] = weight;
    }
    if before.y > 0.0 {
        moment += scale * (before.w + before.y * max(shift, -1e30));
    }
    state[at] = top;
    state[at + p.rows] = scale * before.y + sum;
    state[at + 2u * p.rows] = scale;
    state[at + 3u * p.rows] = moment;
}
