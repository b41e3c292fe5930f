// out[j] = sum over i of x[i, j]. A thread computes WIDE columns; SHARERS threads share the rows of a column.

struct Params { rows: u32, cols: u32 }

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> x: array<Value>;
@group(0) @binding(3) var<storage, read_write> out: array<Value>;

const COLUMNS = 64u / SHARERS;

#if SHARED == 1
var<workgroup> sums: array<Value, 64>;
#end

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let columns = p.cols / WIDE;
    let column = group.x * COLUMNS + lane % COLUMNS;
    let first = base(0u, group.z) / WIDE + column;
    var sum = Value();
    if column < columns {
        var i = lane / COLUMNS;
        // Four rows are loaded at a time, since a thread waits for every load.
        for (; i + 3u * SHARERS < p.rows; i += 4u * SHARERS) {
#each j 4
            let x_$j = x[first + (i + $ju * SHARERS) * columns];
#end
#each j 4
            sum += x_$j;
#end
        }
        for (; i < p.rows; i += SHARERS) {
            sum += x[first + i * columns];
        }
    }
#if SHARED == 1
    sums[lane] = sum;
    workgroupBarrier();
    for (var i = 1u; i < SHARERS; i++) {
        if lane < COLUMNS {
            sum += sums[lane + i * COLUMNS];
        }
    }
#end
    if lane < COLUMNS && column < columns {
        out[base(1u, group.z) / WIDE + column] = sum;
    }
}
