/** What a run over sizes of the training set found (Figure 1), size by size. */
import { divergence, isSound } from "./divergence.js";
import { count, fixed, percent } from "../ui/format.js";
import { DETAIL_SIGMA, LEARNED } from "./verdicts.js";
import { distinct } from "./nearest.js";
import { levelOf, memorized, trained } from "./report.js";

/**
 * @import { Measures, Point } from "../../pkg/hidden_gaussian.js"
 * @import { Report } from "./report.js"
 */

/**
 * @typedef {Report<"transition">} Sweep
 * @typedef {{mean: number, low: number, high: number, diverged: string}} Spread a number over the seeds of one size, and what
 *   became of them
 * @typedef {Spread & {n: number}} SizeSpread
 */

/** The numbers of Figure 1, and how far a repeated run may lie beyond the recorded seeds. */
export const MEASURES = /** @type {const} */ ({
  gl: { label: "GL score", tolerance: 0.05 },
  memorized: { label: "copies", tolerance: 0.1 },
  linearity: { label: "linearity", tolerance: 0.03 },
});

/** The sizes, smallest first. @param {Sweep} sweep */
export const sizes = ({ findings }) => distinct(findings.map(({ n }) => n));

/** The networks that were trained on `n` images, one for each seed. @param {Sweep} sweep @param {number} n */
export const networks = ({ findings }, n) => findings.filter((point) => point.n === n);

/**
 * The mean of one number over the seeds, and the lowest and highest.
 * @param {Point[]} points
 * @param {(point: Point) => number} number
 * @returns {Spread}
 */
export function spread(points, number) {
  const values = points.map(number);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return { mean, low: Math.min(...values), high: Math.max(...values), diverged: divergence(points) };
}

/**
 * One number of each network, by size.
 * @param {Sweep} sweep
 * @param {(point: Point) => number} number
 * @returns {SizeSpread[]}
 */
export function curve(sweep, number) {
  return sizes(sweep).map((n) => ({ n, ...spread(networks(sweep, n), number) }));
}

/** The linearity of a denoiser at one of the report's noise levels. @param {Measures} measures @param {number} level */
export const linearityAt = ({ linearity }, level) => linearity?.[level].cosine.mean ?? NaN;

/**
 * The three curves of Figure 1.
 * @param {Sweep} sweep
 * @param {number} sigma noise level of the linearity
 */
export function curves(sweep, sigma) {
  const level = levelOf(sweep, sigma);
  return {
    gl: curve(sweep, (point) => trained(point).closeness.gl.mean),
    memorized: curve(sweep, (point) => memorized(point).mean),
    linearity: curve(sweep, (point) => linearityAt(trained(point), level)),
  };
}

/**
 * Between which sizes the samples come off the training images: their GL score passes half of that of held-out images.
 * Networks that diverged do not count.
 * @param {Sweep} sweep
 * @returns {{copies: number | undefined, new: number | undefined}} the largest size that copies and the smallest that does not
 */
export function transition(sweep) {
  const sound = { ...sweep, findings: sweep.findings.filter(isSound) };
  const ratio = curve(sound, (point) => trained(point).closeness.gl.mean / point.heldOut.gl.mean);
  const index = ratio.findIndex(({ mean }) => mean > 0.5);
  if (index < 0) return { copies: ratio.at(-1)?.n, new: undefined };
  return { copies: ratio[index - 1]?.n, new: ratio[index].n };
}

/**
 * The largest training set, if its network denoises even its own images worse than the Gaussian denoises new ones: its samples
 * are noise, and not copies for that reason alone.
 * @param {Sweep} sweep
 */
function unlearned(sweep) {
  const level = levelOf(sweep, DETAIL_SIGMA);
  const n = sizes(sweep).at(-1) ?? 0;
  const last = networks(sweep, n).filter(isSound);
  const { mean } = spread(
    last,
    ({ denoisers }) =>
      denoisers.trained.error.train[level].mean / (denoisers.gaussian?.error.heldOut[level].mean ?? NaN),
  );
  return mean > LEARNED ? n : undefined;
}

/** The same as a sentence. @param {Sweep} sweep */
export function transitionSentence(sweep) {
  if (!sweep.final) return "Still in training.";
  const { copies, new: fresh } = transition(sweep);
  if (copies === undefined && fresh === undefined) return "No transition: every network diverged.";
  const among = sweep.findings.every(isSound) ? "" : " among the networks that did not diverge";
  const noisy = fresh === undefined ? undefined : unlearned(sweep);
  if (noisy) {
    return `Too little training to tell: at N\u00a0=\u00a0${count(noisy)} the network denoises worse than the Gaussian.`;
  }
  if (copies === undefined) {
    return `No transition${among}: even at N\u00a0=\u00a0${count(fresh ?? 0)}, samples are not copies.`;
  }
  if (fresh === undefined) return `No transition${among}: even at N\u00a0=\u00a0${count(copies)}, samples are copies.`;
  const criterion = "where the GL score passes half of the held-out line";
  return `Transition${among} between N\u00a0=\u00a0${count(copies)} and ${count(fresh)}, ${criterion}.`;
}

/**
 * Whether a run repeats a recorded one: at each size that both have, each number lies within the range of the recorded
 * seeds, widened by its tolerance.
 * @param {Sweep} run
 * @param {Sweep} recorded
 * @param {number} sigma
 * @returns {{matches: boolean, sentence: string} | undefined} undefined when they have no size in common
 */
export function compare(run, recorded, sigma) {
  if (![...run.findings, ...recorded.findings].every(isSound)) {
    return { matches: false, sentence: "It is not compared with the recorded run, because some networks diverged." };
  }
  const [ours, theirs] = [curves(run, sigma), curves(recorded, sigma)];
  const names = /** @type {(keyof typeof MEASURES)[]} */ (Object.keys(MEASURES));
  const excesses = names.flatMap((name) =>
    ours[name].flatMap((own) => {
      const range = theirs[name].find(({ n }) => n === own.n);
      if (!range) return [];
      const beyond = Math.max(own.mean - range.high, range.low - own.mean, 0);
      return [{ name, own, range, excess: beyond / MEASURES[name].tolerance }];
    }),
  );
  if (excesses.length === 0) return undefined;
  const worst = excesses.reduce((a, b) => (b.excess > a.excess ? b : a));
  if (worst.excess <= 1) {
    const spreads = theirs.gl.some(({ low, high }) => low < high) ? ", within the spread of its seeds" : "";
    return { matches: true, sentence: `It matches the recorded run${spreads}.` };
  }
  const format = worst.name === "memorized" ? percent : fixed;
  return {
    matches: false,
    sentence:
      `It differs from the recorded run, most at N = ${count(worst.own.n)}: ${MEASURES[worst.name].label} ` +
      `${format(worst.own.mean)} instead of ${format(worst.range.mean)}.`,
  };
}
