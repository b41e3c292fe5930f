// Adam; `scales` are the learning rate and the correction of the variance.

struct Params { len: u32, beta1: f32, beta2: f32, epsilon: f32 }

@group(0) @binding(6) var<storage, read_write> momentum: array<Value>;
@group(0) @binding(7) var<storage, read_write> variance: array<Value>;

fn update(at: vec2u, w: Value, g: Value, scales: vec2f) -> Value {
    let m = p.beta1 * momentum[at.x] + (1.0 - p.beta1) * g;
    let v = p.beta2 * variance[at.y] + (1.0 - p.beta2) * g * g;
    momentum[at.x] = m;
    variance[at.y] = v;
    return w - scales.x * m / (sqrt(scales.y * v) + p.epsilon);
}
