/** Several networks that differ in nothing but their seed, taken as one: means, and the range that they span. */

/** @import { Estimate } from "../../pkg/hidden_gaussian.js" */

/**
 * @typedef {Estimate & {low?: number, high?: number}} Ranged an estimate that may be a mean over seeds, with its lowest and highest
 */

/**
 * What networks of several seeds have in common: every estimate is the mean of theirs, with its range. Everything else, such as
 * pictures, is the first one's; a network that diverged marks them all.
 * @template {object} T
 * @param {T[]} found at least one
 * @returns {T}
 */
export function overSeeds([first, ...others]) {
  return others.length === 0 ? first : combine([first, ...others]);
}

/**
 * @template T
 * @param {T[]} all
 * @returns {T}
 */
function combine(all) {
  const [first] = all;
  if (typeof first !== "object" || first === null) return first;
  if ("standardError" in first) return /** @type {any} */ (meanOf(/** @type {any} */ (all)));
  if ("name" in first && first.name === "learning") {
    return /** @type {any} */ (all.find((status) => /** @type {any} */ (status).name !== "learning") ?? first);
  }
  /** @param {string | number} key */
  const common = (key) => {
    const values = all.map((one) => /** @type {any} */ (one)[key]);
    // What a recorded run keeps of one seed only, such as pictures.
    return values.every((value) => typeof value === typeof values[0] && value !== null) ? combine(values) : values[0];
  };
  if (Array.isArray(first)) return /** @type {any} */ (first.map((_, i) => common(i)));
  return /** @type {any} */ (Object.fromEntries(Object.keys(first).map((key) => [key, common(key)])));
}

/** @param {number[]} values */
const average = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The standard deviation of the distribution that the values come from. @param {number[]} values */
const deviation = (values) =>
  values.length > 1 ? Math.hypot(...values.map((value) => value - average(values))) / (values.length - 1) ** 0.5 : 0;

/**
 * All seeds are measured on the same images with the same noise. So what an estimate owes to these does not average out over
 * seeds, but the difference between seeds does.
 * @param {Estimate[]} estimates
 * @returns {Ranged}
 */
function meanOf(estimates) {
  const means = estimates.map(({ mean }) => mean);
  const count = estimates.length;
  return {
    mean: average(means),
    standardError: Math.hypot(
      average(estimates.map(({ standardError }) => standardError)),
      deviation(means) / count ** 0.5,
    ),
    count: estimates.reduce((sum, estimate) => sum + estimate.count, 0),
    low: Math.min(...means),
    high: Math.max(...means),
  };
}

/**
 * The same list with the seeds taken together: those of one key are one.
 * @template {object} T
 * @param {T[]} list
 * @param {(one: T) => string | number} keyOf
 * @returns {T[]} in the order in which the keys first come
 */
export const bySeeds = (list, keyOf) => grouped(list, keyOf).map(overSeeds);

/** The lowest and the highest of the seeds. @param {Ranged} estimate */
export const rangeOf = ({ mean, low = mean, high = mean }) => [low, high];

/**
 * Heads of columns for that range. A table has no two alike: programs tell columns by them.
 * @param {string} name of the number
 * @param {string} [of] what it was measured of
 */
export const rangeColumns = (name, of = "seed") => ["lowest", "highest"].map((end) => `${name} (${end} ${of})`);

/** Heads of columns for a number, its standard error and its range. @type {typeof rangeColumns} */
export const estimateColumns = (name, of) => [name, `${name} ± s.e.`, ...rangeColumns(name, of)];

/** What stands under them; nothing is a number if it was not measured. @param {Partial<Ranged>} [estimate] */
export const estimateValues = ({ mean = NaN, standardError = NaN, low = mean, high = mean } = {}) => [
  mean,
  standardError,
  low,
  high,
];

/**
 * From how many seeds the numbers come, as a sentence.
 * @param {number} seeds
 * @param {{range?: string, unit?: string}} [words] `range`: what shows their range; `unit`: what there are several of
 */
export const seedsSentence = (seeds, { range = "bars span their range", unit = "seed" } = {}) =>
  seeds > 1 ? `Means over ${seeds} ${unit}s; ${range}.` : `One ${unit}.`;

/**
 * The largest number of networks that differ in nothing but their seed.
 * @template T
 * @param {T[]} list
 * @param {(one: T) => string | number} keyOf
 */
export const seedCount = (list, keyOf) => Math.max(1, ...grouped(list, keyOf).map((all) => all.length));

/**
 * @template T
 * @param {T[]} list
 * @param {(one: T) => string | number} keyOf
 * @returns {T[][]}
 */
function grouped(list, keyOf) {
  /** @type {Map<string | number, T[]>} */
  const groups = new Map();
  for (const one of list) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return [...groups.values()];
}
