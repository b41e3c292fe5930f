// One tile of a streaming softmax over windows of training images; one workgroup per noisy image.
// State of a pixel: largest logit, to base 2, and sum of weights. The threads share one candidate's distances.

struct Params {
    rows: u32,
    height: u32,
    width: u32,
    channels: u32,
    images: u32,
    first: u32,
    shifts: u32,
    thresholds: u32,
    sigma_stride: u32,
    reset: u32,
}

const LOWEST = -3.0e38;
const FAINTEST = -72.0;
const LOG2_E = 1.44269504;
const THREADS = 64u;
const MAX_PIXELS = 1024u;

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read> images: array<f32>;
@group(0) @binding(4) var<storage, read> sigma: array<f32>;
@group(0) @binding(5) var<storage, read> range: array<u32>;
@group(0) @binding(6) var<storage, read> thresholds: array<f32>;
@group(0) @binding(7) var<storage, read_write> state: array<f32>;
@group(0) @binding(8) var<storage, read_write> out: array<f32>;

var<workgroup> squares: array<f32, MAX_PIXELS>;
var<workgroup> sums: array<f32, MAX_PIXELS>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
    let pixels = p.height * p.width;
    let dim = pixels * p.channels;
    let row = base(0u, group.z) + group.x * dim;
    let result = base(6u, group.z) + group.x * dim;
    let at = base(5u, group.z) + 2u * group.x * pixels;
    let level = sigma[base(2u, group.z) + group.x * p.sigma_stride];
    let tightness = 0.5 * LOG2_E / (level * level);
    let r = base(3u, group.z);
    let begin = min(max(range[r], p.first) - p.first, p.images);
    let end = max(min(max(range[r + 1u], p.first) - p.first, p.images), begin);
    var radius = 0u;
    let limits = base(4u, group.z);
    for (var i = 0u; i < p.thresholds; i++) {
        radius += select(0u, 1u, level >= thresholds[limits + i]);
    }
    // A window larger than the image covers all of it, and no pixel twice.
    let wraps = p.shifts > 1u;
    let down = min(radius, select(p.height - 1u, (p.height - 1u) / 2u, wraps));
    let across = min(radius, select(p.width - 1u, (p.width - 1u) / 2u, wraps));
    if p.reset == 1u {
        for (var m = thread; m < pixels; m += THREADS) {
            state[at + 2u * m] = LOWEST;
            state[at + 2u * m + 1u] = 0.0;
            for (var c = 0u; c < p.channels; c++) {
                out[result + m * p.channels + c] = 0.0;
            }
        }
    }
    for (var image = begin; image < end; image++) {
        let y = base(1u, group.z) + image * dim;
        for (var shift = 0u; shift < p.shifts; shift++) {
            let dy = shift / p.width;
            let dx = shift % p.width;
            for (var m = thread; m < pixels; m += THREADS) {
                let source = ((m / p.width + dy) % p.height) * p.width + (m % p.width + dx) % p.width;
                var square = 0.0;
                for (var c = 0u; c < p.channels; c++) {
                    let d = x[row + m * p.channels + c] - images[y + source * p.channels + c];
                    square += d * d;
                }
                squares[m] = square;
            }
            workgroupBarrier();
            for (var m = thread; m < pixels; m += THREADS) {
                let line = m - m % p.width;
                let j = m % p.width;
                var sum = 0.0;
                if wraps {
                    for (var k = 0u; k <= 2u * across; k++) {
                        sum += squares[line + (j + p.width + k - across) % p.width];
                    }
                } else {
                    let last = min(j + across, p.width - 1u);
                    for (var k = max(j, across) - across; k <= last; k++) {
                        sum += squares[line + k];
                    }
                }
                sums[m] = sum;
            }
            workgroupBarrier();
            for (var m = thread; m < pixels; m += THREADS) {
                let i = m / p.width;
                let j = m % p.width;
                var distance = 0.0;
                if wraps {
                    for (var k = 0u; k <= 2u * down; k++) {
                        distance += sums[((i + p.height + k - down) % p.height) * p.width + j];
                    }
                } else {
                    let last = min(i + down, p.height - 1u);
                    for (var k = max(i, down) - down; k <= last; k++) {
                        distance += sums[k * p.width + j];
                    }
                }
                let logit = -distance * tightness;
                let before = state[at + 2u * m];
                let top = max(before, logit);
                let fading = before - top;
                let scale = select(0.0, exp2(max(fading, FAINTEST)), fading >= FAINTEST);
                let fall = logit - top;
                let weight = select(0.0, exp2(max(fall, FAINTEST)), fall >= FAINTEST);
                state[at + 2u * m] = top;
                state[at + 2u * m + 1u] = scale * state[at + 2u * m + 1u] + weight;
                let source = ((i + dy) % p.height) * p.width + (j + dx) % p.width;
                for (var c = 0u; c < p.channels; c++) {
                    let place = result + m * p.channels + c;
                    out[place] = scale * out[place] + weight * images[y + source * p.channels + c];
                }
            }
            // The next distances are written only after all threads have read these.
            workgroupBarrier();
        }
    }
}
