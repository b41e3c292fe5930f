/**
 * What an experiment found: the form of recorded files and of live runs alike. The library's types say what each field is;
 * recorded files leave out what no figure draws.
 */
import { nearestStop } from "./nearest.js";

/** @import { Config, DenoiserId, ExperimentName, FindingsOf, Point, Recipe, Shape } from "../../pkg/hidden_gaussian.js" */

/** @typedef {"quick" | "main" | "faithful" | "cifar-quick" | "cifar"} Preset */

/**
 * The report of an experiment, or of any.
 * @template {ExperimentName} [E=any]
 * @typedef {object} Report
 * @property {2} format
 * @property {E} experiment
 * @property {string} version
 * @property {"cpu" | "gpu"} engine
 * @property {string | null} adapter
 * @property {Shape} shape
 * @property {Recipe} data
 * @property {number} seconds
 * @property {boolean} final false for a preview: fewer samples and noise levels
 * @property {number[]} sigmas
 * @property {Config<E>} config
 * @property {FindingsOf[E]} findings
 * @property {string[]} [sheets] the files that a recorded run has its pictures in (see sheets.js)
 * @property {{command: string, date: string, device: string, commit: string | null}} [record] how a recorded run was made
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

/** Where in a report's lists the noise level nearest to `sigma` stands. @param {{sigmas: number[]}} report @param {number} sigma */
export const levelOf = ({ sigmas }, sigma) => sigmas.indexOf(nearestStop(sigmas, sigma));

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
