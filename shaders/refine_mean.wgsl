// The softmax-weighted mean of the ranked candidates, where products are too coarse for their weights;
// one workgroup per row.

struct Params { rows: u32, cols: u32, images: u32, sigma_stride: u32 }

const CANDIDATES = 8u;
const HIGHEST = 3.0e38;
const FAINTEST = -50.0;
const COARSENESS = 4.76837158203125e-7;
const NEGLIGIBLE = 0.01;

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> images: array<f32>;
@group(0) @binding(3) var<storage, read> norms: array<f32>;
@group(0) @binding(4) var<storage, read> sigma: array<f32>;
@group(0) @binding(5) var<storage, read> best: array<f32>;
@group(0) @binding(6) var<storage, read> index: array<u32>;
@group(0) @binding(7) var<storage, read> distances: array<f32>;
@group(0) @binding(8) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(ROW_THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let at_best = base(3u, group.z) + CANDIDATES * group.x;
    let at_index = base(4u, group.z) + CANDIDATES * group.x;
    let at_distance = base(5u, group.z) + CANDIDATES * group.x;
    let width = sigma[base(2u, group.z) + group.x * p.sigma_stride];
    let variance = width * width;
    let nearest = best[at_best];
    let norm = norms[base(1u, group.z) + min(index[at_index], p.images - 1u)];
    let error = COARSENESS * (norm + abs(nearest));
    let reach = nearest + 2.0 * error - FAINTEST * variance;
    let needed = error >= NEGLIGIBLE * variance && best[at_best + 1u] <= reach
        && best[at_best + CANDIDATES - 1u] > reach;
    if !needed {
        return;
    }
    var weights: array<f32, 8>;
    var sum = 0.0;
    for (var k = 0u; k < CANDIDATES; k++) {
        let logit = 0.5 * (distances[at_distance] - distances[at_distance + k]) / variance;
        weights[k] = select(0.0, exp(max(logit, FAINTEST)), logit >= FAINTEST);
        sum += weights[k];
    }
    for (var j = lane; j < p.cols; j += ROW_THREADS) {
        var mean = 0.0;
        for (var k = 0u; k < CANDIDATES; k++) {
            let image = min(index[at_index + k], p.images - 1u);
            mean += weights[k] * images[base(0u, group.z) + image * p.cols + j];
        }
        out[base(6u, group.z) + group.x * p.cols + j] = mean / sum;
    }
}
