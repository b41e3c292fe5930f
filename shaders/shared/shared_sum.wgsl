// With SHARERS = 4, the threads i, i + COUNT, i + 2 COUNT and i + 3 COUNT of a workgroup of 4 COUNT threads share sums:
// each adds up every fourth term. Then `shared_sum` returns, to the j-th of them, row j of four rows of whole sums.

// Threads that find a sum each.
const COUNT = THREADS / SHARERS;

#if SHARERS == 4
var<workgroup> workgroup_memory: array<f32, WORKGROUP_WORDS>;

fn leave(lane: u32, row: u32, sum: vec4f) {
#each i 4
    workgroup_memory[(4u * row + $iu) * THREADS + lane] = sum[$i];
#end
}

fn shared_sum(lane: u32, sum_0: vec4f, sum_1: vec4f, sum_2: vec4f, sum_3: vec4f) -> vec4f {
    // The last sum has been read.
    workgroupBarrier();
#each r 4
    leave(lane, $ru, sum_$r);
#end
    workgroupBarrier();
    let at = 4u * (lane / COUNT) * THREADS + lane % COUNT;
    var sum = vec4f();
#each j 4
    sum += vec4f(
        workgroup_memory[at + $ju * COUNT],
        workgroup_memory[at + $ju * COUNT + THREADS],
        workgroup_memory[at + $ju * COUNT + 2u * THREADS],
        workgroup_memory[at + $ju * COUNT + 3u * THREADS],
    );
#end
    return sum;
}
#end
