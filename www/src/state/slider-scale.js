/** Where the values of a range stand on its slider. */

/** @import { Range } from "./parameter-kinds.js" */

/**
 * Position of a value on its slider, from 0 to 1.
 * @param {Range} range
 * @param {number} value
 */
export function toFraction({ min, max, scale }, value) {
  return scale === "log" ? Math.log(value / min) / Math.log(max / min) : (value - min) / (max - min);
}

/**
 * The value at a slider position from 0 to 1: three digits on a log scale, whole on a linear one.
 * @param {Range} range
 * @param {number} fraction
 */
export function fromFraction({ min, max, scale }, fraction) {
  if (scale === "linear") return Math.round(min + fraction * (max - min));
  return Math.min(max, Math.max(min, Number((min * (max / min) ** fraction).toPrecision(3))));
}
