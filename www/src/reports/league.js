/** The reports of Section V: the league of theories, and the edge of memorization. */
import { fixed, list, significant } from "../ui/format.js";
import { denoiser, THEORIES } from "./denoisers.js";
import { loadRun } from "./recorded.js";
import { levelOf } from "./report.js";

/**
 * @import { DenoiserId, Estimate, Status } from "../../pkg/hidden_gaussian.js"
 * @import { Report } from "./report.js"
 */

/**
 * @typedef {{r2: Estimate, pearson: Estimate}} Prediction
 *
 * @typedef {object} Scores how a theory does with one setting; lists run over the noise levels
 * @property {number[]} [windows] pixels on a side
 * @property {number} [threshold]
 * @property {number} [components]
 * @property {Prediction[]} prediction of the network's denoised images
 * @property {Estimate[]} error squared, relative to the Gaussian's
 *
 * @typedef {Scores & {
 *   id: DenoiserId,
 *   uncalibrated?: Scores,
 *   samplesPrediction: Prediction,
 *   samplesCosine: Estimate,
 *   samples: string,
 * }} Theory
 *
 * @typedef {{picture: string, reach: number, cosine: number}} Field
 *
 * @typedef {object} Standing a network and the theories beside it
 * @property {number} n
 * @property {number} parameters
 * @property {{kind: "mlp" | "unet", width: number}} architecture
 * @property {number} step
 * @property {Status} status
 * @property {{memorized: Estimate}} closeness
 * @property {Estimate[]} error
 * @property {string} samples
 * @property {string} nearest
 * @property {Estimate[]} entropy
 * @property {Theory[]} theories
 * @property {Scores[]} mixtures
 * @property {{sigma: number, pixel: [number, number], fields: Partial<Record<DenoiserId, Field>>}[]} sensitivity
 *
 * @typedef {object} Edge
 * @property {number} n
 * @property {number} predicted
 * @property {number | null} measured
 * @property {Estimate[]} entropy
 * @property {number[]} predictedEntropy
 * @property {number[]} largestWeight
 * @property {number[]} windows
 *
 * @typedef {Omit<Report, "findings"> & {findings: Standing[]}} LeagueReport
 * @typedef {Omit<Report, "findings"> & {findings: Edge[]}} EdgeReport
 */

/** The noise levels that sentences are about. */
const LEVELS = { high: 3, medium: 1, low: 0.15 };
/** By how large a factor a level that was measured may differ from one of these. */
const NEAR = 1.5;

/** @param {string} run such as main-faces @returns {Promise<LeagueReport>} */
export const loadLeague = (run) => loadRun(`league-${run}`);

/** @param {string} run such as main-faces @returns {Promise<EdgeReport>} */
export const loadEdge = (run) => loadRun(`edge-${run}`);

/** The network of few or of many training images. @param {LeagueReport} report @param {"few" | "many"} which */
export function standingOf({ findings }, which) {
  const sorted = findings.toSorted((a, b) => a.n - b.n);
  return sorted[which === "few" ? 0 : sorted.length - 1];
}

/** What R² leaves unexplained. @param {Prediction} prediction */
export const missed = ({ r2 }) => 1 - r2.mean;

/**
 * What a theory leaves unexplained over all noise levels: a geometric mean, since the shares differ by orders of magnitude.
 * @param {Scores} scores
 */
export const unexplained = ({ prediction }) =>
  Math.exp(mean(prediction.map((level) => Math.log(Math.max(missed(level), 1e-9)))));

/** The theories, the best predictor of the network first. @param {Standing} standing */
export const ranked = ({ theories }) => theories.toSorted((a, b) => unexplained(a) - unexplained(b));

/** The theory that leads at a noise level, by what `cost` says of it. @param {Theory[]} theories @param {(theory: Theory) => number} cost */
export const leader = (theories, cost) => theories.reduce((best, one) => (cost(one) < cost(best) ? one : best));

/** @param {number[]} values */
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Where the level stands at which theories are told apart. @param {{sigmas: number[]}} report */
export const middleOf = (report) => levelOf(report, LEVELS.medium);

/** What a theory is called in a sentence. @param {Theory} theory */
export function nameOf({ id }) {
  const { label } = denoiser(id);
  if (/^[A-Z]{2}/.test(label)) return label;
  // Gauss keeps his capital.
  return `the ${label.startsWith("Gauss") ? label : label[0].toLowerCase() + label.slice(1)}`;
}

/**
 * Which theory predicts best at high, medium and low noise, as far as that was measured.
 * @param {number[]} sigmas
 * @param {Theory[]} theories
 */
export function leadsSentence(sigmas, theories) {
  const leads = Object.entries(LEVELS).flatMap(([noise, wanted]) => {
    const at = levelOf({ sigmas }, wanted);
    const sigma = sigmas[at];
    if (!(Math.max(sigma / wanted, wanted / sigma) <= NEAR)) return [];
    const first = leader(theories, ({ prediction }) => missed(prediction[at]));
    return { noise, sigma: significant(sigma), name: nameOf(first), r2: fixed(first.prediction[at].r2.mean, 3) };
  });
  if (leads.length === 0) return "";
  const { name } = leads[0];
  if (leads.every((lead) => lead.name === name)) {
    return (
      `${name[0].toUpperCase()}${name.slice(1)} predicts best at ${list(leads.map(({ noise }) => noise))} noise: ` +
      `R²\u00a0=\u00a0${list(leads.map(({ r2 }) => r2))} at σ\u00a0=\u00a0${list(leads.map(({ sigma }) => sigma))}.`
    );
  }
  const parts = leads.map((lead) => `at σ\u00a0=\u00a0${lead.sigma} by ${lead.name} (R²\u00a0=\u00a0${lead.r2})`);
  return `The network is best predicted ${list(parts)}.`;
}

/**
 * The theories that this league did without: the library leaves out those that would take hours on images of this size.
 * @param {Theory[]} theories
 */
export function absentSentence(theories) {
  const absent = THEORIES.filter(({ id }) => !theories.some((theory) => theory.id === id));
  if (absent.length === 0) return "";
  return `Not shown: ${list(absent.map(({ symbol }) => symbol))}, which would take hours on images of this size.`;
}

/** A theory's free parameter in a few letters, at a noise level. @param {Scores} scores @param {number} level */
export function settingAt({ windows, threshold, components }, level) {
  if (windows) return `P = ${windows[level]}`;
  if (threshold !== undefined) return `τ = ${threshold}`;
  return components === undefined ? "" : `K = ${components}`;
}
