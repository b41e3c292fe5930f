/** What is said of the order in which principal axes emerge. */
import { list, significant } from "../ui/format.js";
import { exponentText, powerLaw } from "./power-law.js";

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

/** The exponent a of τ ∝ λ^(−a), with its interval. @param {PowerLaw | undefined} law */
export const decayText = (law) => exponentText(law && { exponent: -law.exponent, low: -law.high, high: -law.low });

/**
 * Which axes of a network come first, as a clause, and how its order compares with that of another.
 * @param {PowerLaw | undefined} law
 * @param {PowerLaw | undefined} other
 */
export function orderText(law, other) {
  if (!law) return "the order was not measured";
  if (law.low <= 0 && law.high >= 0) return "there is no clear order";
  if (law.low > 0) return "the order is reversed";
  if (!other) return "stronger axes come first";
  if (law.low > other.high) return "the order is weaker";
  return law.high < other.low ? "the order is stronger" : "the order is much the same";
}

/**
 * The variance of the samples at the end, relative to that of the images.
 * @param {ModesCourse} course
 */
const endRatios = ({ moments, variances }) => {
  const last = moments[moments.length - 1].variances;
  return variances.map((variance, k) => last[k] / variance);
};

/**
 * The range of that ratio in each network.
 * @param {readonly ModesCourse[]} courses
 * @param {(axis: number) => boolean} [counted] which axes count; all, unless told
 */
export const endsText = (courses, counted = () => true) =>
  list(
    courses.map((course) => {
      const ratios = endRatios(course).filter((_, k) => counted(k + 1));
      const [low, high] = [Math.min(...ratios), Math.max(...ratios)].map((ratio) => significant(ratio, 2));
      return `${low} to ${high} (${networkName(course)})`;
    }),
  );

/** Samples whose variance is more than so many times that of the images are still far from it. */
const FAR = 2;

/**
 * That variance has not come down along all axes that lose it; empty where it has.
 * @param {readonly ModesCourse[]} courses
 */
export function unfinishedSentence(courses) {
  const ratios = courses.flatMap((course) => {
    const ends = endRatios(course);
    return modesOf(course).flatMap(({ gains, step }, k) => (gains || step === null ? [] : ends[k]));
  });
  const most = Math.max(0, ...ratios);
  return most > FAR
    ? "Along the weakest axes, the variance has not come down yet when training ends: it is still up to " +
        `${significant(most, 2)} times that of the images. So the times of axes that lose variance are relative to the ` +
        "network’s own last value."
    : "";
}

/** What the symbols stand for; empty if there is one kind. @param {readonly ModesCourse[]} courses */
export const symbolsText = (courses) => (courses.length > 1 ? " (circles: MLP; diamonds: U-Net)" : "");

/** What the colours stand for. @param {readonly ModesCourse[]} courses */
export function coloursSentence(courses) {
  const shown = courses.flatMap(modesOf).filter(({ step }) => step !== null);
  if (shown.every(({ gains }) => gains)) return "All axes gain variance.";
  if (shown.every(({ gains }) => !gains)) return "All axes lose variance.";
  return "Vermilion axes gain variance, blue ones lose it.";
}

/**
 * The exponents along axes that lose variance; empty if none was measured.
 * @param {readonly ModesCourse[]} courses
 */
export const losingText = (courses) =>
  list(
    courses.flatMap((course) => {
      const law = emergenceLaw(course, false);
      return law ? `${decayText(law)} in the ${networkName(course)}` : [];
    }),
  );

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
