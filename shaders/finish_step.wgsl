// Ends a training step: checks it, computes the scales of the update and advances the clock.
// One workgroup per member.

struct Params {
    chunks: u32,
    rows: u32,
    rate: f32,
    floor: f32,
    warm_up: f32,
    total: f32,
    clip: f32,
    blow_up: f32,
    ema_limit: f32,
    log_beta1: f32,
    log_beta2: f32,
}

@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> squares: array<f32>;
@group(0) @binding(3) var<storage, read> losses: array<f32>;
@group(0) @binding(4) var<storage, read_write> clock: array<u32>;
@group(0) @binding(5) var<storage, read_write> out: array<f32>;

// Checks bits: a compiler may assume that no float is NaN.
fn finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}

@compute @workgroup_size(ROW_THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    var part = 0.0;
    for (var j = lane; j < p.chunks; j += ROW_THREADS) {
        part += squares[base(0u, group.z) + j];
    }
    let square = row_sum(part, lane);
    part = 0.0;
    for (var j = lane; j < p.rows; j += ROW_THREADS) {
        part += losses[base(1u, group.z) + j];
    }
    let loss = row_sum(part, lane);
    if lane > 0u {
        return;
    }
    let c = base(2u, group.z);
    let o = base(3u, group.z);
    if clock[c + 3u] != 0u {
        out[o] = 0.0;
        return;
    }
    let norm = sqrt(square);
    clock[c + 6u] = bitcast<u32>(loss);
    clock[c + 7u] = bitcast<u32>(norm);
    if !finite(square) || !finite(loss) || loss > p.blow_up {
        clock[c + 3u] = 1u;
        out[o] = 0.0;
        return;
    }
    clock[c + 4u] = bitcast<u32>(bitcast<f32>(clock[c + 4u]) + loss);
    clock[c + 5u] += 1u;
    let step = f32(clock[c + 2u]);
    clock[c + 2u] += 1u;
    let fall = (1.0 - p.floor) * cos_sin_turn(0.25 * min(step / p.total, 1.0)).x + p.floor;
    let rate = p.rate * min((step + 1.0) / p.warm_up, 1.0) * fall;
    out[o] = 1.0;
    out[o + 1u] = rate / (1.0 - exp((step + 1.0) * p.log_beta1));
    out[o + 2u] = 1.0 / (1.0 - exp((step + 1.0) * p.log_beta2));
    out[o + 3u] = min(1.0, p.clip / max(norm, 1e-30));
    out[o + 4u] = 1.0 - min(p.ema_limit, (1.0 + step) / (10.0 + step));
}
