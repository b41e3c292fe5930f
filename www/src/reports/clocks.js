/** What is drawn and said of networks over their training: the two clocks. */
import { count, fixed } from "../ui/format.js";
import { isSound } from "./divergence.js";
import { powerLaw } from "./power-law.js";

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
    const name = `${optimizer.kind === "sgd" ? "SGD" : "Adam"}, ${network}`;
    const training = found.get(key) ?? { key, name, optimizer: optimizer.kind, width: architecture.width, courses: [] };
    training.courses.push(course);
    found.set(key, training);
  }
  return [...found.values()];
}

/**
 * How a clock depends on the number of training images.
 * @param {readonly ClocksCourse[]} courses trained in one way
 * @param {Clock} clock
 * @returns {PowerLaw | undefined}
 */
export function lawOf(courses, clock) {
  const points = courses.filter(isSound).flatMap(({ n, times }) => {
    const time = times[clock];
    return time ? { x: n, y: time.step, draws: time.draws } : [];
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

/**
 * By how much the times of a clock differ: the largest over the smallest. Undefined with fewer than two.
 * @param {readonly ClocksCourse[]} courses
 * @param {Clock} clock
 */
export function spread(courses, clock) {
  const steps = courses.filter(isSound).flatMap(({ times }) => times[clock]?.step ?? []);
  return steps.length > 1 ? Math.max(...steps) / Math.min(...steps) : undefined;
}

/** An exponent with its interval. @param {PowerLaw | undefined} law */
export const exponentText = (law) => (law ? `${fixed(law.exponent)} (${fixed(law.low)} to ${fixed(law.high)})` : "–");

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
