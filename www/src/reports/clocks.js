/** What is drawn and said of networks over their training: the two clocks. */
import { count, list } from "../ui/format.js";
import { isSound } from "./divergence.js";
import { exponentText, FEWEST, powerLaw } from "./power-law.js";

/**
 * @import { ClocksCourse } from "../../pkg/hidden_gaussian.js"
 * @import { PowerLaw } from "./power-law.js"
 */

/**
 * @typedef {{key: string, name: string, optimizer: "adam" | "sgd", width: number, courses: ClocksCourse[]}} Training
 *   the networks that were trained in one way
 * @typedef {"generalized" | "overfitted" | "memorized"} Clock
 * @typedef {"steps" | "perImage" | "perWidth"} Axis what runs along the axis of time: τ, τ/N or τW/N
 */

/** @type {readonly Clock[]} */
export const CLOCKS = ["generalized", "overfitted", "memorized"];

/** The ways in which the networks of a run were trained, in their order. @param {readonly ClocksCourse[]} courses @returns {Training[]} */
export function trainings(courses) {
  /** @type {Map<string, Training>} */
  const found = new Map();
  for (const course of courses) {
    const { architecture, optimizer, rate } = course;
    const key = [architecture.kind, architecture.width, optimizer.kind, rate].join();
    const network = `${architecture.kind === "unet" ? "U-Net" : "MLP"} ${count(architecture.width)}`;
    const name = `${optimizerName({ optimizer: optimizer.kind })}, ${network}`;
    const training = found.get(key) ?? { key, name, optimizer: optimizer.kind, width: architecture.width, courses: [] };
    training.courses.push(course);
    found.set(key, training);
  }
  return [...found.values()];
}

/**
 * When a clock strikes. A network whose samples are copies before they are most like the Gaussian's has no τ_gen: it did not
 * generalize first.
 * @param {ClocksCourse} course
 * @param {Clock} clock
 */
export function timeOf({ times }, clock) {
  const late = times.generalized && times.memorized && times.generalized.step > times.memorized.step;
  return clock === "generalized" && late ? null : times[clock];
}

/**
 * The networks in which a clock strikes, with the step.
 * @param {readonly ClocksCourse[]} courses
 * @param {Clock} clock
 */
export const struck = (courses, clock) =>
  courses.filter(isSound).flatMap((course) => {
    const time = timeOf(course, clock);
    return time ? { n: course.n, step: time.step } : [];
  });

/**
 * How a clock depends on the number of training images.
 * @param {readonly ClocksCourse[]} courses trained in one way
 * @param {Clock} clock
 * @returns {PowerLaw | undefined}
 */
export function lawOf(courses, clock) {
  const points = courses.filter(isSound).flatMap((course) => {
    const time = timeOf(course, clock);
    return time ? { x: course.n, y: time.step, draws: time.draws } : [];
  });
  return powerLaw(points);
}

/**
 * A moment of a network on the axis of time.
 * @param {ClocksCourse} course
 * @param {Axis} axis
 * @param {number} step
 */
export function timeOn({ n, architecture }, axis, step) {
  return axis === "steps" ? step : axis === "perImage" ? step / n : (step * architecture.width) / n;
}

/** By how much times differ: the largest over the smallest. Undefined with fewer than two. @param {readonly {step: number}[]} times */
export function spread(times) {
  const steps = times.map(({ step }) => step);
  return steps.length > 1 ? Math.max(...steps) / Math.min(...steps) : undefined;
}

/**
 * Both clocks at the smallest and the largest of the training sets for which both strike, so that they are compared over the
 * same sizes. Undefined with too few sizes.
 * @param {readonly ClocksCourse[]} courses trained in one way
 */
export function bothClocks(courses) {
  const both = courses
    .filter((course) => isSound(course) && timeOf(course, "generalized") && timeOf(course, "memorized"))
    .toSorted((a, b) => a.n - b.n);
  if (both.length < FEWEST) return undefined;
  const ends = [both[0], both[both.length - 1]];
  /** @param {Clock} clock */
  const steps = (clock) => struck(ends, clock).map(({ step }) => step);
  return { sizes: ends.map(({ n }) => n), generalized: steps("generalized"), memorized: steps("memorized") };
}

/** By what factor something went from its first value to its last. @param {number[]} values */
export const growth = (values) => values[values.length - 1] / values[0];

/**
 * How much sooner the widest networks copy than the narrowest: a factor for each size for which both do. Undefined without two
 * widths.
 * @param {readonly Training[]} all that differ in nothing but their width
 */
export function speedUps(all) {
  const [narrow, ...others] = all.toSorted((a, b) => a.width - b.width);
  const wide = others.at(-1);
  if (!wide) return undefined;
  const sooner = struck(wide.courses, "memorized");
  const factors = struck(narrow.courses, "memorized").flatMap(({ n, step }) => {
    const same = sooner.find((other) => other.n === n);
    return same ? step / same.step : [];
  });
  return factors.length > 0 ? { widths: [narrow.width, wide.width], factors } : undefined;
}

/** How an optimizer is called. @param {Pick<Training, "optimizer">} training */
const optimizerName = ({ optimizer }) => (optimizer === "sgd" ? "SGD" : "Adam");

/**
 * That too few networks copied to measure an exponent; empty if there were enough.
 * @param {readonly Training[]} all
 */
export function unmeasuredSentence(all) {
  const short = all.filter(({ courses }) => !lawOf(courses, "memorized"));
  if (short.length === 0) return "";
  const networks = list([...new Set(short.map(optimizerName))]);
  return `With ${networks}, fewer than three networks began to copy, too few to measure how the time until they do grows with N.`;
}

/**
 * Round numbers from 0 up to a value, for an axis that ends there.
 * @param {number} top
 */
export function roundTicks(top) {
  const power = 10 ** Math.floor(Math.log10(top));
  const step = power * (top < 2 * power ? 0.5 : top < 5 * power ? 1 : 2);
  return Array.from({ length: Math.floor(top / step) + 1 || 0 }, (_, i) => i * step);
}

/** @param {Training} training */
export function lawSentence({ name, courses }) {
  const law = lawOf(courses, "memorized");
  return law
    ? `${name}: the time until samples are copies grows as N to the power ${exponentText(law)}.`
    : `${name}: too few networks began to copy.`;
}

/**
 * The numbers that a run is known by: the copies of each network at the end.
 * @param {readonly ClocksCourse[]} courses
 */
export const clockNumbers = (courses) =>
  trainings(courses).flatMap(({ name, courses: all }) =>
    all.map(({ n, seed, moments }) => ({
      label: `${name}, N = ${n}, seed ${seed}, copies`,
      value: moments.at(-1)?.memorized.mean ?? NaN,
    })),
  );
