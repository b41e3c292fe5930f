// A sum over the 64 threads of a workgroup, always in the same order.
var<workgroup> row_sums: array<f32, 64>;

// Every thread of the workgroup must call it, and all get the sum.
fn row_sum(value: f32, lane: u32) -> f32 {
    workgroupBarrier();
    row_sums[lane] = value;
    for (var half = 32u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half {
            row_sums[lane] += row_sums[lane + half];
        }
    }
    workgroupBarrier();
    return row_sums[0];
}
