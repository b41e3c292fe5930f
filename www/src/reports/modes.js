/** What is said of the order in which principal axes emerge. */
import { fixed } from "../ui/format.js";
import { powerLaw } from "./power-law.js";

/**
 * @import { ModesCourse } from "../../pkg/hidden_gaussian.js"
 * @import { PowerLaw } from "./power-law.js"
 */

/**
 * @typedef {{axis: number, variance: number, start: number, gains: boolean, step: number | null}} Mode a principal axis,
 *   counted from 1; `start`: the variance of the first samples along it; `step`: when it emerged
 */

/** The principal axes of a network. @param {ModesCourse} course @returns {Mode[]} */
export function modesOf({ variances, emerged, moments }) {
  return variances.map((variance, k) => {
    const start = moments[0]?.variances[k] ?? NaN;
    return { axis: k + 1, variance, start, gains: variance > start, step: emerged[k] };
  });
}

/**
 * How the time of emergence depends on the variance, for axes that gain variance or for those that lose it.
 * @param {ModesCourse} course
 * @param {boolean} gains
 */
export const emergenceLaw = (course, gains) =>
  powerLaw(
    modesOf(course).flatMap((mode) =>
      mode.gains === gains && mode.step !== null ? { x: mode.variance, y: mode.step } : [],
    ),
  );

/** What a network is called. @param {ModesCourse} course */
export const networkName = ({ architecture }) => (architecture.kind === "unet" ? "U-Net" : "MLP");

/** A number in a sentence, with a minus that is one. @param {number} value */
export const signed = (value) => fixed(value).replace("-", "−");

/** The exponent a of τ ∝ λ^(−a), with its interval. @param {PowerLaw | undefined} law */
export const decayText = (law) =>
  law ? `${signed(-law.exponent)} (${signed(-law.high)} to ${signed(-law.low)})` : "–";

/**
 * Whether a network has an order of axes, in words, and how it compares with that of another.
 * @param {PowerLaw | undefined} law
 * @param {PowerLaw | undefined} other
 */
export function orderText(law, other) {
  if (!law) return "an order that was not measured";
  if (law.low <= 0 && law.high >= 0) return "no clear order";
  if (!other) return "an order, too";
  return law.low > other.high ? "a weaker order" : "much the same order";
}

/** What came out. @param {readonly ModesCourse[]} courses */
export const modesSentence = (courses) =>
  courses
    .map((course) => {
      const law = decayText(emergenceLaw(course, true));
      return `${networkName(course)}: an axis that gains variance emerges after a time that scales as 1/λ to the power ${law}.`;
    })
    .join(" ");

/**
 * The numbers that a run is known by: the exponents of each network.
 * @param {readonly ModesCourse[]} courses
 */
export const modeNumbers = (courses) =>
  courses.flatMap((course) =>
    [true, false].map((gains) => ({
      label: `${networkName(course)}, N = ${course.n}, exponent of axes that ${gains ? "gain" : "lose"} variance`,
      value: emergenceLaw(course, gains)?.exponent ?? NaN,
    })),
  );
