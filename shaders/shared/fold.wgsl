// Where element `at` of an image lies once each 2x2 pixels have become one: `piece` numbers, two pixels, stay
// together, and a row has `blocks` of them. With one block per row, everything stays in its place.
fn folded(at: u32, blocks: u32, piece: u32) -> u32 {
    let row = at / (blocks * piece);
    let block = at / piece % blocks;
    return ((row / 2u * blocks + block) * 2u + row % 2u) * piece + at % piece;
}
