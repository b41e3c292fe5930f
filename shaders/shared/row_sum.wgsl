// A sum over the ROW_THREADS threads of a workgroup, always in the same order. Two steps: barriers cost
// more than additions.
const ROW_PARTS = select(2u, 8u, ROW_THREADS == 64u);
var<workgroup> row_values: array<f32, ROW_THREADS>;
var<workgroup> row_parts: array<f32, ROW_PARTS>;

// Every thread of the workgroup must call it, and each gets the sum.
fn row_sum(value: f32, lane: u32) -> f32 {
    row_values[lane] = value;
    workgroupBarrier();
    if lane < ROW_PARTS {
        var part = 0.0;
        for (var i = lane; i < ROW_THREADS; i += ROW_PARTS) {
            part += row_values[i];
        }
        row_parts[lane] = part;
    }
    workgroupBarrier();
    var sum = 0.0;
    for (var i = 0u; i < ROW_PARTS; i++) {
        sum += row_parts[i];
    }
    return sum;
}
