/**
 * What an experiment found: the form of recorded files and of live runs alike, as `src/experiment/` writes it.
 * Recorded files leave out what no figure draws.
 *
 * @typedef {{mean: number, standardError: number, count: number}} Estimate
 * @typedef {{gl: Estimate, glSquared: Estimate, memorized: Estimate}} Closeness to the training images
 * @typedef {{cosine: Estimate, nmse: Estimate, correctedCosine: Estimate, correctedNmse: Estimate}} Linearity
 * @typedef {{heldOut: Estimate[], train: Estimate[]}} BySet one entry per noise level
 * @typedef {{cosine: Estimate, distance: Estimate, difference: BySet}} Comparison of samples from the same noise, and of scores
 *
 * @typedef {{name: "learning"} | {name: "diverged", step: number}} Status of a network: one that diverged has its weights from
 *   before that step
 *
 * @typedef {object} Measures what was measured of one denoiser; lists run over the report’s `sigmas`
 * @property {Closeness} closeness
 * @property {Linearity[]} [linearity]
 * @property {BySet} error
 * @property {Partial<Record<DenoiserId, Comparison>>} against the denoisers after it in the table
 * @property {string} [samples] images as base64, see `decodeImages`
 * @property {string} [nearest] the training image nearest to each
 *
 * @typedef {Record<"trained" | "gaussian" | "empirical", Measures> & Partial<Record<DenoiserId, Measures>>} ByDenoiser
 *
 * @typedef {object} Point one network at one moment, and the denoisers that stand beside it
 * @property {number} first first training image
 * @property {number} n number of training images
 * @property {number} seed
 * @property {Record<string, unknown>} architecture
 * @property {number} parameters
 * @property {number} step
 * @property {number} epochs
 * @property {Status} status
 * @property {Closeness} heldOut what a perfect generator would score
 * @property {ByDenoiser} denoisers
 *
 * @typedef {{denoised: string[], samples: string, nearest: string}} Path `denoised`: images for each of the sampler’s noise levels
 * @typedef {{sigma: number, matrix: number[][], overlap: number}} Alignment
 * @typedef {{sigma: number, pixels: [number, number][], rows: Partial<Record<DenoiserId, string>>}} Filters some rows of W_σ, and the
 *   pixels that they make
 * @typedef {object} OfPaths
 * @property {Alignment[] | null} alignment null in a preview, which has no D_L
 * @property {Filters[] | null} filters likewise
 * @property {string} axes principal axes as images
 * @property {number[]} pathSigmas
 * @property {Partial<Record<DenoiserId, Path>>} paths
 * @typedef {Point & OfPaths} Bias
 *
 * @typedef {{n: number, cosine: Estimate, cosineOtherNoise: Estimate, networks: [Point, Point]}} Agreement two networks that share no
 *   training image; `n`: the number of training images of each
 *
 * @typedef {{
 *   transition: Point[],
 *   "gaussian-bias": Bias[],
 *   emergence: {overWidth: Point[], overTime: Point[]},
 *   "strong-generalization": Agreement[],
 * }} Findings
 * @typedef {keyof Findings} ExperimentName
 * @typedef {"quick" | "main" | "faithful"} Preset
 *
 * @typedef {{set: string, size: number, seed: number, count: number, heldOut: number}} DataRecipe how to make the same images again
 */

/** @import { DenoiserId } from "./denoisers.js" */

/**
 * @template {ExperimentName} [E=any]
 * @typedef {object} Report
 * @property {2} format
 * @property {E} experiment
 * @property {string} version
 * @property {"cpu" | "gpu"} engine
 * @property {string | null} adapter
 * @property {{height: number, width: number, channels: number}} shape
 * @property {DataRecipe} data
 * @property {number} seconds
 * @property {boolean} final false for a preview: fewer samples and noise levels
 * @property {number[]} sigmas
 * @property {any} config
 * @property {Findings[E]} findings
 * @property {{command: string, date: string, device: string, commit: string}} [record] how a recorded run was made
 */

/** The format of reports that this page reads and writes. */
export const FORMAT = 2;

/**
 * A report from its JSON, which has no NaN: an estimate that is not a number is null there, and would count as 0. Other
 * fields are null because there is nothing.
 * @param {string} json
 * @returns {Report}
 */
export function parseReport(json) {
  const report = JSON.parse(json, (_, value) => {
    if (value === null || typeof value !== "object" || !("standardError" in value)) return value;
    return { ...value, mean: value.mean ?? NaN, standardError: value.standardError ?? NaN };
  });
  checkFormat(report);
  return report;
}

/** Refuse a report of another format. @param {{format?: unknown, version?: string}} report */
export function checkFormat({ format, version = "0.1.0" }) {
  if (format === FORMAT) return;
  throw {
    kind: "BadInput",
    message: `This report was saved by version ${version}, in a format that this version does not read`,
    hint: "Open it with that version, or run it again.",
  };
}

/** What was measured of the network. @param {Point} point */
export const trained = ({ denoisers }) => denoisers.trained;

/** The fraction of the network's samples that are copies. @param {Point} point */
export const memorized = ({ denoisers }) => denoisers.trained.closeness.memorized;

/**
 * How alike the network's samples and those of another denoiser from the same noise are, if that was measured.
 * @param {Point} point
 * @param {DenoiserId} id
 */
export const cosineWith = ({ denoisers }, id) => denoisers.trained.against[id]?.cosine;
