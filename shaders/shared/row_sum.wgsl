// A sum over the 64 threads of a workgroup, always in the same order. Two steps of eight: barriers
// cost more than additions.
var<workgroup> row_values: array<f32, 64>;
var<workgroup> row_parts: array<f32, 8>;

// Every thread of the workgroup must call it, and all get the sum.
fn row_sum(value: f32, lane: u32) -> f32 {
    row_values[lane] = value;
    workgroupBarrier();
    if lane < 8u {
        var part = 0.0;
        for (var i = lane; i < 64u; i += 8u) {
            part += row_values[i];
        }
        row_parts[lane] = part;
    }
    workgroupBarrier();
    var sum = 0.0;
    for (var i = 0u; i < 8u; i++) {
        sum += row_parts[i];
    }
    return sum;
}
