// Parameters of stages on groups of channels. Without a normalization, `groups` is 0.

struct Params {
    images: u32,
    pixels: u32,
    channels: u32,
    groups: u32,
    film_stride: u32,
    has_film: u32,
    d_film_stride: u32,
    keep: u32,
}

@group(0) @binding(1) var<uniform> p: Params;
