/**
 * Power laws y ∝ xᵃ, fitted and resampled as the library does (`src/experiment/power_law.rs`), so that numbers agree.
 */
import { signed } from "../ui/format.js";

/**
 * @typedef {{x: number, y: number, draws?: readonly (number | null)[]}} Measured `draws`: y in each resample of what it was
 *   measured from
 * @typedef {{exponent: number, low: number, high: number, scale: number, count: number}} PowerLaw `low`, `high`: the 95 %
 *   bootstrap interval of the exponent; `scale`: y at x = 1
 */

/** Resamples of a bootstrap. */
const DRAWS = 100;
/** The fewest points that measure an exponent: a line goes through any two, and says nothing of how well. */
export const FEWEST = 3;

/**
 * Fit points by least squares between logarithms; undefined with too few, or with one x only.
 * @param {readonly Measured[]} points
 * @returns {PowerLaw | undefined}
 */
export function powerLaw(points) {
  if (points.length < FEWEST) return undefined;
  const fit = line(points.map(({ x, y }) => [Math.log(x), Math.log(y)]));
  if (!fit) return undefined;
  const exponents = Array.from({ length: DRAWS }, (_, draw) => {
    const resample = points.map((_, i) => {
      const { x, y, draws } = points[pick(draw, i, points.length)];
      const value = draws && draw < draws.length ? draws[draw] : y;
      return /** @type {[number, number]} */ ([Math.log(x), value === null ? NaN : Math.log(value)]);
    });
    return line(resample)?.slope ?? NaN;
  });
  const [low, high] = middle(exponents) ?? [fit.slope, fit.slope];
  return { exponent: fit.slope, low, high, scale: Math.exp(fit.intercept), count: points.length };
}

/** An exponent with its interval. @param {Pick<PowerLaw, "exponent" | "low" | "high"> | undefined} law */
export const exponentText = (law) =>
  law ? `${signed(law.exponent)} (${signed(law.low)} to ${signed(law.high)})` : "–";

/**
 * Which of `count` points resample `draw` has in place `i`.
 * @param {number} draw
 * @param {number} i
 * @param {number} count
 */
function pick(draw, i, count) {
  let hash = Math.imul(draw, 0x9e3779b1) ^ Math.imul(i, 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39);
  return ((hash ^ (hash >>> 15)) >>> 0) % Math.max(1, count);
}

/** The least-squares line through points that are finite. @param {[number, number][]} points */
function line(points) {
  const finite = points.filter((point) => point.every(Number.isFinite));
  const mean = (/** @type {0 | 1} */ of) => finite.reduce((sum, point) => sum + point[of], 0) / finite.length;
  const [xMean, yMean] = [mean(0), mean(1)];
  const xx = finite.reduce((sum, [x]) => sum + (x - xMean) ** 2, 0);
  const xy = finite.reduce((sum, [x, y]) => sum + (x - xMean) * (y - yMean), 0);
  return xx > 1e-12 ? { slope: xy / xx, intercept: yMean - (xy / xx) * xMean } : undefined;
}

/** The middle 95 % of values. @param {number[]} values @returns {[number, number] | undefined} */
function middle(values) {
  const finite = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (finite.length === 0) return undefined;
  const at = (/** @type {number} */ part) => finite[Math.round(part * (finite.length - 1))];
  return [at(0.025), at(0.975)];
}
