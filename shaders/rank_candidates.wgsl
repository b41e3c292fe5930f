// Exact squared distances of a row to its candidates, sorted; one workgroup per row.

struct Params { rows: u32, cols: u32, images: u32 }

const CANDIDATES = 8u;
const HIGHEST = 3.0e38;

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read> images: array<f32>;
@group(0) @binding(4) var<storage, read> best: array<f32>;
@group(0) @binding(5) var<storage, read_write> index: array<u32>;
@group(0) @binding(6) var<storage, read_write> distances: array<f32>;

@compute @workgroup_size(ROW_THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let x_first = base(0u, group.z) + group.x * p.cols;
    let at = base(3u, group.z) + CANDIDATES * group.x;
    let at_distance = base(4u, group.z) + CANDIDATES * group.x;
    var values: array<f32, 8>;
    var numbers: array<u32, 8>;
    for (var k = 0u; k < CANDIDATES; k++) {
        var number = min(index[at + k], p.images - 1u);
        let y_first = base(1u, group.z) + number * p.cols;
        var part = 0.0;
        for (var j = lane; j < p.cols; j += ROW_THREADS) {
            let difference = x[x_first + j] - images[y_first + j];
            part += difference * difference;
        }
        var value = row_sum(part, lane);
        // The partial sums are read before the next candidate overwrites them.
        workgroupBarrier();
        if best[base(2u, group.z) + CANDIDATES * group.x + k] >= HIGHEST {
            value = HIGHEST;
        }
        values[k] = HIGHEST;
        numbers[k] = number;
        for (var l = 0u; l < k; l++) {
            if value < values[l] {
                let v = values[l];
                let n = numbers[l];
                values[l] = value;
                numbers[l] = number;
                value = v;
                number = n;
            }
        }
        values[k] = value;
        numbers[k] = number;
    }
    if lane == 0u {
        for (var k = 0u; k < CANDIDATES; k++) {
            index[at + k] = numbers[k];
            distances[at_distance + k] = values[k];
        }
    }
}
