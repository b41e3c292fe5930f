/** Labels beside curves, instead of a legend. */
import { textScale } from "./chart-scale.js";

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
  const gap = (LINE * textScale() * (high - low)) / height;
  // What is not a number has no place.
  const order = values.flatMap((value, i) => (Number.isNaN(value) ? [] : i)).sort((a, b) => values[a] - values[b]);
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
 * Where a curve's label has room: at the point, and on the side of it, where the curves keep furthest away.
 * @param {number[]} curve
 * @param {number[][]} rivals the other curves
 * @param {number} room that a label needs, in units of the curve
 */
export function labelPlace(curve, rivals, room) {
  let best = { at: Math.min(1, curve.length - 1), above: true, score: -Infinity };
  for (let at = 1; at < curve.length - 1; at++) {
    for (const above of [true, false]) {
      /** How far a curve stays out of the label's way, over its width. @param {number[]} other @param {number} offset */
      const gap = (other, offset) => {
        const [low, high] = above ? [curve[at] + offset, curve[at] + room] : [curve[at] - room, curve[at] - offset];
        return Math.min(
          ...REACH.map((by) => interpolate(other, at + by)).map((value) => Math.max(low - value, value - high)),
        );
      };
      const axis = above ? Infinity : curve[at] - room;
      const score = Math.min(gap(curve, OFF * room), axis, ...rivals.map((rival) => gap(rival, 0)));
      if (score > best.score) best = { at, above, score };
    }
  }
  return best;
}

/** How far a label reaches to both sides, in points of the curve. */
const REACH = [-0.5, -0.25, 0, 0.25, 0.5];
/** Where a label begins: so much of its room lies between it and its own curve. */
const OFF = 0.3;

/** @param {number[]} curve @param {number} at between two points */
function interpolate(curve, at) {
  const before = Math.floor(at);
  const after = Math.min(curve.length - 1, before + 1);
  return curve[before] + (at - before) * (curve[after] - curve[before]);
}
