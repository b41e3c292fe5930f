/** Numbers as images that a canvas can draw. */

/**
 * @import { Dataset } from "../../pkg/exact/hidden_gaussian.js"
 * @import { Pictures } from "./protocol.js"
 */

/**
 * Opaque RGBA from values of one channel or three.
 * @param {number} count how many values there are
 * @param {number} channels
 * @param {(index: number) => number} byte the value at this place, from 0 to 255
 */
export function toRgba(count, channels, byte) {
  const rgba = new Uint8ClampedArray((4 * count) / channels).fill(255);
  for (let pixel = 0; 4 * pixel < rgba.length; pixel++) {
    for (let c = 0; c < 3; c++) rgba[4 * pixel + c] = byte(channels * pixel + Math.min(c, channels - 1));
  }
  return rgba;
}

/**
 * Images of a data set, in its own units.
 * @param {Dataset} set
 * @param {Float32Array} values any number of images
 * @returns {Pictures}
 */
export function pictures(set, values) {
  const { width, height } = set.info();
  return { width, height, rgba: /** @type {Uint8ClampedArray<ArrayBuffer>} */ (set.rgba(values)) };
}

/**
 * Weights as images: zero is mid-grey, `scale` white and its negative black.
 * @param {Dataset} set whose images they belong to
 * @param {Float32Array} weights
 * @param {number} scale
 * @returns {Pictures}
 */
export function signedPictures(set, weights, scale) {
  const { width, height, channels } = set.info();
  return { width, height, rgba: toRgba(weights.length, channels, (i) => 127.5 * (1 + weights[i] / scale)) };
}

/**
 * Training images, by their indices.
 * @param {Dataset} set
 * @param {Iterable<number>} indices
 */
export const trainingPictures = (set, indices) => pictures(set, join(Array.from(indices, (i) => set.train(i))));

/** @param {Float32Array[]} parts */
function join(parts) {
  const whole = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

/**
 * Root mean square difference of two images.
 * @param {Float32Array} a
 * @param {Float32Array} b
 */
export const rmse = (a, b) => Math.sqrt(a.reduce((sum, value, i) => sum + (value - b[i]) ** 2, 0) / a.length);

/** The largest {@link rmse} between two of several images. @param {Float32Array[]} images */
export const widestRmse = (images) =>
  Math.max(0, ...images.flatMap((a, i) => images.slice(i + 1).map((b) => rmse(a, b))));
