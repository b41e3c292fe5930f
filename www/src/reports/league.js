/** The reports of Section V: the league of theories, and the edge of memorization. */
import { count, fixed, list, percent, sentences, significant } from "../ui/format.js";
import { denoiser, THEORIES } from "./denoisers.js";
import { loadRun } from "./recorded.js";
import { levelOf } from "./report.js";

/**
 * @import { DenoiserId, Estimate, Shape, Status } from "../../pkg/hidden_gaussian.js"
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
/** By how many standard errors a denoiser must beat D_G: with so many theories and noise levels, two would happen by chance. */
const STANDARD_ERRORS = 3;
/** Images are a mixture where several Gaussians save so much of the squared error, and are not where they save no more than that. */
const [MIXED_GAIN, SINGLE_GAIN] = [0.05, 0.02];
/** Two distances are about the same when they differ by no more than this part. */
const ALIKE_REACH = 0.1;

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

/** What is left unexplained, in a sentence: more than everything, where the prediction is worse than none. @param {number} share */
export const shareText = (share) => (share > 1 ? "more than all of it" : percent(share));

/** The same in a cell of a table. @param {number} share */
export const shareCell = (share) => (share > 1 ? "> 100\u202f%" : percent(share));

/**
 * How far one denoiser looks, in words that go before the other.
 * @param {number} reach
 * @param {number} other
 */
export function reachText(reach, other) {
  const more = reach / other - 1;
  if (Math.abs(more) <= ALIKE_REACH) return "about as far as";
  return `${percent(Math.abs(more))} ${more > 0 ? "farther" : "less far"} than`;
}

/** How many numbers an image has. @param {Pick<Shape, "width" | "height" | "channels">} shape */
export const valuesIn = ({ width, height, channels }) => width * height * channels;

/**
 * Whether the window of LS holds the whole image, wherever in it the window stands. Then LS is D_M.
 * @param {Pick<Theory, "id" | "windows">} theory
 * @param {number} level
 * @param {Pick<Shape, "width" | "height">} shape
 */
export const seesAll = ({ id, windows = [] }, level, { width, height }) =>
  id === "ls" && windows[level] >= 2 * Math.max(width, height) - 1;

/** The noise levels at which a denoiser clearly beats D_G, as places in the list. @param {Estimate[]} error relative to D_G's */
export const winsOf = (error) =>
  error.flatMap(({ mean, standardError }, level) => (mean + STANDARD_ERRORS * standardError < 1 ? level : []));

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
 * @param {Pick<Shape, "width" | "height">} shape
 */
export function leadsSentence(sigmas, theories, shape) {
  const leads = Object.entries(LEVELS).flatMap(([noise, wanted]) => {
    const at = levelOf({ sigmas }, wanted);
    const sigma = sigmas[at];
    if (!(Math.max(sigma / wanted, wanted / sigma) <= NEAR)) return [];
    // LS that sees the whole image has no merit of its own.
    const apart = theories.filter((theory) => !seesAll(theory, at, shape));
    const first = leader(apart, ({ prediction }) => missed(prediction[at]));
    return { noise, sigma, name: nameOf(first), r2: first.prediction[at].r2.mean };
  });
  const found = leads.filter(({ r2 }) => r2 > 0);
  const lost = leads.filter(({ r2 }) => !(r2 > 0)).map(({ sigma }) => sigma);
  const none = lost.length > 0 ? `At ${levelsText(lost)}, no theory predicts it: every R² is below zero.` : "";
  return sentences(foundSentence(found), found.length > 0 ? none : none.replace(" it:", " the network:"));
}

/** @param {{noise: string, sigma: number, name: string, r2: number}[]} leads */
function foundSentence(leads) {
  if (leads.length === 0) return "";
  const [{ name }] = leads;
  const [r2s, sigmas] = [leads.map(({ r2 }) => fixed(r2, 3)), leads.map(({ sigma }) => significant(sigma))];
  if (leads.length > 1 && leads.every((lead) => lead.name === name)) {
    return (
      `${name[0].toUpperCase()}${name.slice(1)} predicts best at ${list(leads.map(({ noise }) => noise))} noise: ` +
      `R²\u00a0=\u00a0${list(r2s)} at σ\u00a0=\u00a0${list(sigmas)}.`
    );
  }
  const parts = leads.map((lead, i) => `at σ\u00a0=\u00a0${sigmas[i]} by ${lead.name} (R²\u00a0=\u00a0${r2s[i]})`);
  return `The network is best predicted ${list(parts)}.`;
}

/**
 * Whether a theory that memorizes windows is a better denoiser than D_G.
 * @param {number[]} sigmas
 * @param {Theory[]} theories
 * @param {Pick<Shape, "width" | "height">} shape
 */
export function windowsSentence(sigmas, theories, shape) {
  const winners = theories.flatMap((theory) => {
    if (theory.windows === undefined && theory.threshold === undefined) return [];
    const wins = winsOf(theory.error).filter((level) => !seesAll(theory, level, shape));
    const least = Math.min(...wins.map((level) => theory.error[level].mean));
    const at = levelsText(wins.map((level) => sigmas[level]));
    return wins.length === 0
      ? []
      : `${nameOf(theory)} (at ${at}, with ${wins.length > 1 ? "as little as " : ""}${fixed(least)} times the Gaussian’s squared error)`;
  });
  const verb = winners.length > 1 ? "beat" : "beats";
  return `${winners.length > 0 ? list(winners) : "none"} ${verb} the Gaussian denoiser by more than three standard errors.`;
}

/**
 * Where the network is the better denoiser.
 * @param {number[]} sigmas of its wins
 * @param {boolean} complete whether D_G has images enough for all directions. Otherwise the network may win by those that D_G lacks
 */
export function networkSentence(sigmas, complete) {
  if (sigmas.length === 0) return "By the same measure, the network itself does not beat it at any noise level.";
  const learned = complete ? ": there it has learned more than mean and covariance" : "";
  return `By the same measure, the network itself beats it at ${levelsText(sigmas)}${learned}.`;
}

/** Noise levels, from high to low. @param {number[]} sigmas */
const levelsText = (sigmas) =>
  `σ\u00a0=\u00a0${list(sigmas.toSorted((a, b) => b - a).map((sigma) => significant(sigma)))}`;

/**
 * What the best mixture of each data set gains over one Gaussian.
 * @typedef {{images: string, k: number, gain: number}} Gain `k`: its number of Gaussians; `gain`: the part of the squared error that
 *   it saves
 */

/** @param {Gain[]} gains */
export function mixturesSentence(gains) {
  const better = gains.filter(({ k }) => k > 1).sort((a, b) => b.gain - a.gain);
  const [first, ...others] = better.map(
    ({ images, k, gain }, i) =>
      `${percent(gain)} less${i === 0 ? " squared error" : ""} on ${images} (K\u00a0=\u00a0${count(k)})`,
  );
  const none = gains.filter(({ k }) => k === 1).map(({ images }) => images);
  return sentences(
    first ? `Compared with one Gaussian, the best mixture has ${list([first, ...others])}.` : "",
    none.length > 0 ? `On ${list(none)}, no mixture does better${first ? "" : " than one Gaussian"}.` : "",
  );
}

/**
 * Whether some images are mixtures and the others are not.
 * @param {Gain[]} gains
 * @param {string[]} mixed the images that should be
 */
export const mixturesHelp = (gains, mixed) =>
  gains.every(({ images, gain }) => (mixed.includes(images) ? gain >= MIXED_GAIN : gain <= SINGLE_GAIN));

/**
 * The theories that this league did without: the library leaves out those that would take hours on images of this size.
 * @param {Theory[]} theories
 */
export function absentSentence(theories) {
  const absent = THEORIES.filter(({ id }) => !theories.some((theory) => theory.id === id));
  if (absent.length === 0) return "";
  return `Not shown: ${list(absent.map(({ symbol }) => symbol))}, which would take hours on images of this size.`;
}

/**
 * A theory's free parameter in a few letters, at a noise level.
 * @param {Pick<Theory, "id" | "windows" | "threshold" | "components">} theory
 * @param {number} level
 * @param {Pick<Shape, "width" | "height">} shape
 */
export function settingAt(theory, level, shape) {
  const { windows, threshold, components } = theory;
  if (windows) return `P = ${windows[level]}${seesAll(theory, level, shape) ? ", whole image" : ""}`;
  if (threshold !== undefined) return `τ = ${threshold}`;
  return components === undefined ? "" : `K = ${components}`;
}
