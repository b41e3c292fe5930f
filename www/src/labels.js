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
