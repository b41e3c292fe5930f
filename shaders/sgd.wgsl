// Stochastic gradient descent with momentum; `scales.x` is the learning rate.

struct Params { len: u32, momentum: f32 }

@group(0) @binding(6) var<storage, read_write> velocity: array<Value>;

fn update(at: vec2u, w: Value, g: Value, scales: vec2f) -> Value {
    let v = p.momentum * velocity[at.x] + g;
    velocity[at.x] = v;
    return w - scales.x * v;
}
