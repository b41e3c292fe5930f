/**
 * The networks of the emergence experiment as points of a plane: width × training time, for each size of training set.
 *
 * @typedef {Report<"emergence">} EmergenceReport
 */
import { isSound } from "./divergence.js";
import { nearestStop } from "../ui/run-slider.js";

/** @import { Report, Sitting } from "./report.js" */

/** Hidden units or channels. @param {Sitting} sitting */
export const widthOf = ({ architecture }) => Number(architecture.width);

/** The different numbers, from small to large. @param {number[]} values */
const distinct = (values) => [...new Set(values)].sort((a, b) => a - b);

/**
 * Every network that was looked at, at every moment. One width may be in both lists, with different learning rates; then
 * the list over time has more to show.
 * @param {EmergenceReport} report
 */
export function plane({ findings: { overTime, overWidth } }) {
  const long = new Set(overTime.map(widthOf));
  return [...overTime, ...overWidth.filter((sitting) => !long.has(widthOf(sitting)))];
}

/**
 * What is to be seen from a place in the plane: the values that each slider can take there, and the network itself. The
 * size is chosen first, then the width, then the moment, because not every network was looked at at every moment.
 * @param {Sitting[]} sittings
 * @param {{n: number, width: number, step: number}} wish
 */
export function standAt(sittings, wish) {
  const sizes = distinct(sittings.map(({ n }) => n));
  const n = nearestStop(sizes, wish.n);
  const ofSize = sittings.filter((sitting) => sitting.n === n);
  const widths = distinct(ofSize.map(widthOf));
  const width = nearestStop(widths, wish.width);
  const overTime = ofSize.filter((sitting) => widthOf(sitting) === width).sort((a, b) => a.step - b.step);
  const steps = overTime.map(({ step }) => step);
  const step = nearestStop(steps, wish.step);
  const sitting = overTime[steps.indexOf(step)];
  return { sizes, n, widths, width, overTime, steps, step, sitting };
}

/**
 * The networks that differ in nothing but their width, when all have trained for as long. Not every size of training set
 * has them; the nearest one counts.
 * @param {EmergenceReport} report
 * @param {number} wish for the number of training images
 */
export function atTheEnd({ findings: { overWidth } }, wish) {
  const n = nearestStop(distinct(overWidth.map((sitting) => sitting.n)), wish);
  const ofSize = overWidth.filter((sitting) => sitting.n === n);
  const last = Math.max(...ofSize.map(({ step }) => step));
  return ofSize.filter(({ step }) => step === last).sort((a, b) => widthOf(a) - widthOf(b));
}

/**
 * The first checkpoint at which half of the samples were copies.
 * @param {Sitting[]} sittings
 * @param {number} n
 */
export function onset(sittings, n) {
  const copying = sittings.filter((sitting) => sitting.n === n && sitting.closeness.memorized.mean >= 0.5);
  return copying.sort((a, b) => a.step - b.step).at(0);
}

/** Where the samples are most like those of D_G; of networks that broke down only if there are no others. @param {Sitting[]} sittings */
export function peak(sittings) {
  const sound = sittings.filter(isSound);
  return (sound.length > 0 ? sound : sittings).reduce((best, sitting) =>
    sitting.cosineGaussian.mean > best.cosineGaussian.mean ? sitting : best,
  );
}

/** A cosine is as good as the highest when it is at least this share of it. */
const NEARLY = 0.95;

/**
 * The step of the first checkpoint at which the samples were nearly as much like those of D_G as they ever became.
 * @param {Sitting[]} sittings
 * @param {number} n
 */
export function pace(sittings, n) {
  const ofSize = sittings.filter((sitting) => sitting.n === n).sort((a, b) => a.step - b.step);
  const highest = Math.max(...ofSize.map(({ cosineGaussian }) => cosineGaussian.mean));
  return ofSize.find(({ cosineGaussian }) => cosineGaussian.mean >= NEARLY * highest)?.step;
}
