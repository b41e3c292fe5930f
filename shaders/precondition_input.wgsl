// out = x / sqrt(sigma^2 + sigma_data^2)

fn precondition(at: u32, input: f32, s: f32, c_in: f32) {
    out[at] = c_in * input;
}
