// sum + m v. A GPU adds the dot products of a matrix product in instructions of their own, so it gets a chain
// of multiply-adds. In software the product takes a tenth less time.
fn product(sum: vec4f, m: mat4x4f, v: vec4f) -> vec4f {
#if HARDWARE == 1
    return sum + m[0] * v.x + m[1] * v.y + m[2] * v.z + m[3] * v.w;
#end
#if HARDWARE == 0
    return sum + m * v;
#end
}
