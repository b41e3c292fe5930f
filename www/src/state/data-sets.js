/** The data sets that the page offers besides the reader's own, and where each comes from. */

/** @import { Recipe as DataRecipe } from "../../pkg/hidden_gaussian.js" */

import SET_TABLE from "../tables/data-sets.json" with { type: "json" };

/**
 * @typedef {"faces" | "patches" | "fashion" | "mnist" | "cifar10"} PageSet in the order of the library's table; a test holds the two together
 * @typedef {object} DataSet
 * @property {string} title what it is called
 * @property {number} size pixels per side
 * @property {number} channels numbers per pixel
 * @property {number} pool how many images are drawn, training and held-out together; for a file, all that it has
 * @property {string} [file] relative to the page; without one the engine draws the images, and the first picture waits for no
 *   download
 * @property {number} [heldOut] how many images are held out; by default an eighth
 */

/** What the page decides by itself. Both leave 4,096 images for training. @type {Partial<Record<string, Partial<DataSet>>>} */
const HERE = { faces: { pool: 4682 }, cifar10: { heldOut: 256 } };

export const DATA_SETS = /** @type {Record<PageSet, DataSet>} */ (
  Object.fromEntries(
    SET_TABLE.map(({ name, title, origin, side, channels }) => {
      const file = origin === "drawn" ? undefined : `data/${name}.bin`;
      return [name, { title, size: side, channels, pool: 0, file, ...HERE[name] }];
    }),
  )
);

/** What each is called, in the order of the page. */
export const SET_TITLES = /** @type {[PageSet, DataSet][]} */ (Object.entries(DATA_SETS)).map(
  ([name, { title }]) => /** @type {const} */ ([name, title]),
);

/**
 * Whether the page itself has the images of this name.
 * @param {string} name
 * @returns {name is PageSet}
 */
export const isPageSet = (name) => Object.hasOwn(DATA_SETS, name);

/** Numbers per pixel of the images of this name. @param {string} name */
export const channelsOf = (name) => (isPageSet(name) ? DATA_SETS[name].channels : 1);

/** The seed of the images of recorded runs, and how many of them no network sees: enough to fit D_L. */
export const RECORDED = { seed: 1, heldOut: 500 };

/** The images of runs that start here: what the quick presets train on, as many as the run needs. @type {DataRecipe} */
export const QUICK_FACES = { set: "faces", size: 12, count: 0, ...RECORDED };
