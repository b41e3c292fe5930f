// out = c_skip x + c_out out

fn precondition(at: u32, input: f32, s: f32, c_in: f32) {
    let ratio = p.sigma_data * c_in;
    out[at] = ratio * (ratio * input + s * out[at]);
}
