/** Labels beside curves, instead of a legend. */

/** Pixels from one line of small text to the next. */
const LINE = 13;

/**
 * Where labels go that are to stand beside these values: as near as they can without touching each other.
 * @param {number[]} values
 * @param {readonly [number, number]} domain of the axis
 * @param {number} height of the axis in pixels
 * @returns {number[]} places on the axis
 */
export function labelPlaces(values, [low, high], height) {
  const gap = (LINE * (high - low)) / height;
  const order = values.map((_, i) => i).sort((a, b) => values[a] - values[b]);
  /** Labels that touch stand as one block around the middle of their values. @type {{members: number[], middle: number}[]} */
  const blocks = [];
  for (const i of order) {
    let block = { members: [i], middle: values[i] };
    for (let last = blocks.at(-1); last && top(last, gap) + gap > bottom(block, gap); last = blocks.at(-1)) {
      blocks.pop();
      const members = [...last.members, ...block.members];
      block = { members, middle: members.reduce((sum, member) => sum + values[member], 0) / members.length };
    }
    blocks.push(block);
  }
  const places = [...values];
  for (const block of blocks) block.members.forEach((member, i) => (places[member] = bottom(block, gap) + i * gap));
  return places;
}

/** @param {{members: number[], middle: number}} block @param {number} gap */
const bottom = ({ members, middle }, gap) => middle - ((members.length - 1) / 2) * gap;
/** @param {{members: number[], middle: number}} block @param {number} gap */
const top = ({ members, middle }, gap) => middle + ((members.length - 1) / 2) * gap;

/**
 * Where a curve's label has room: at the point furthest from the other curves, on the side where they are not.
 * @param {number[]} curve
 * @param {number[][]} rivals
 * @param {number} room that a label needs, in units of the curve
 */
export function labelPlace(curve, rivals, room) {
  let best = { at: 1, above: true, score: -Infinity };
  for (let at = 1; at < curve.length - 1; at++) {
    for (const above of [true, false]) {
      const [low, high] = above ? [curve[at], curve[at] + room] : [curve[at] - room, curve[at]];
      // The label’s band must be free of the neighbours, and above the axis; then distance decides.
      const gaps = rivals.flatMap((rival) =>
        [at - 1, at, at + 1].map((i) => Math.max(low - rival[i], rival[i] - high)),
      );
      const score = Math.min(room, low, ...gaps) + 1e-3 * Math.min(...gaps, 1);
      if (score > best.score) best = { at, above, score };
    }
  }
  return best;
}
