/**
 * The data sets that the page offers besides the reader's own, and where each comes from.
 * A set without a file is drawn by the engine itself, so that the first picture waits for no download.
 *
 * @typedef {object} DataSet
 * @property {number} size pixels a side
 * @property {number} pool how many images are drawn, training and held-out together; for a file, all that it has
 * @property {string} [file] relative to the page
 */

/** @import { DataName } from "./parameters.js" */

/** @type {Record<Exclude<DataName, "own">, DataSet>} */
export const DATA_SETS = {
  // An eighth is held out, which leaves 4,096 for training.
  faces: { size: 16, pool: 4682 },
  patches: { size: 16, pool: 0, file: "data/patches.bin" },
  fashion: { size: 28, pool: 0, file: "data/fashion.bin" },
  mnist: { size: 28, pool: 0, file: "data/mnist.bin" },
};

/**
 * Whether the page itself has the images of this name.
 * @param {string} name
 * @returns {name is keyof typeof DATA_SETS}
 */
export const isPageSet = (name) => Object.hasOwn(DATA_SETS, name);

/** The images of runs that start here: what the quick presets train on, and enough held out to fit D_L. */
export const QUICK_FACES = { set: "faces", size: 12, seed: 1, count: 1524, heldOut: 500 };
