/** The denoisers: the library's table, with how each is drawn in every figure. The colours stand in denoisers.css. */
import DENOISER_TABLE from "../tables/denoisers.json" with { type: "json" };

/** @import { DenoiserId } from "../../pkg/hidden_gaussian.js" */

/**
 * @typedef {object} Style
 * @property {string} short what it is called in a chart
 * @property {string} colour
 * @property {string} [dash]
 * @property {"circle" | "diamond2" | "hexagon" | "square2" | "star" | "triangle"} marker
 * @property {boolean} [hollow] whether its markers are only outlined
 */

/** @type {Record<DenoiserId, Style>} */
const STYLES = {
  trained: { short: "Network", colour: "var(--d-theta)", marker: "circle" },
  linear: { short: "Linear", colour: "var(--d-l)", dash: "2 3", marker: "diamond2" },
  gaussian: { short: "Gaussian", colour: "var(--d-g)", dash: "6 3", marker: "circle", hollow: true },
  empirical: { short: "Memorizing", colour: "var(--d-m)", marker: "square2" },
  ls: { short: "Local", colour: "var(--d-ls)", dash: "8 2", marker: "triangle" },
  els: { short: "Equivariant local", colour: "var(--d-els)", dash: "1 3", marker: "triangle", hollow: true },
  "pca-locality": { short: "PCA-locality", colour: "var(--d-pca)", dash: "8 2 2 2", marker: "star" },
  mixture: { short: "Mixture", colour: "var(--d-mixture)", dash: "3 2", marker: "hexagon" },
};

/** All of them, in the order of the table. */
export const TABLE = DENOISER_TABLE.map((row) => {
  const id = /** @type {DenoiserId} */ (row.id);
  return { ...row, id, ...STYLES[id] };
});

/** Those of the paper, which Sections I to IV show. */
export const DENOISERS = TABLE.filter(({ equation }) => equation !== null);

/** Those of them that are fitted to the training images alone. */
export const FITTED = DENOISERS.filter(({ needs }) => needs === "fit");

/** Those that are fitted to the training images alone, with the theories that came after the paper. */
export const THEORIES = TABLE.filter(({ needs }) => needs === "fit");

/**
 * Those that the lab puts beside its networks: the paper's, with one of the theories or all.
 * @param {string} choice
 */
export const besides = (choice) =>
  THEORIES.filter(({ id, equation }) => equation !== null || id === choice || choice === "all");

/** One of them, for a figure that is about it. @param {DenoiserId} id */
export const denoiser = (id) => TABLE[TABLE.findIndex((row) => row.id === id)];

/** Those in the table that `measured` has something of. @param {Partial<Record<DenoiserId, unknown>>} measured */
export const among = (measured) => TABLE.filter(({ id }) => measured[id] !== undefined);
