/**
 * The networks of the emergence experiment as points of a plane: width × training time, for each size of training set.
 *
 * @typedef {Report<"emergence">} EmergenceReport
 */
import { isSound } from "./divergence.js";
import { distinct, nearestStop } from "./nearest.js";
import { cosineWith, memorized } from "./report.js";
import { bySeeds, seedCount } from "./seeds.js";

/**
 * @import { Point } from "../../pkg/hidden_gaussian.js"
 * @import { Report } from "./report.js"
 */

/** The cosine between the samples of the network and of D_G. @param {Point} point */
export const likeGaussian = (point) => cosineWith(point, "gaussian")?.mean ?? NaN;

/** Hidden units or channels. @param {Point} point */
export const widthOf = ({ architecture }) => Number(architecture.width);

/** What networks have in common that differ in their seed alone. @param {Point} point */
const networkOf = (point) => [point.n, widthOf(point), point.step].join();

/** The networks followed over time, each over its seeds. @param {EmergenceReport} report */
export const overTime = ({ findings }) => bySeeds(findings.overTime, networkOf);

/** Those of several widths. @param {EmergenceReport} report */
const overWidth = ({ findings }) => bySeeds(findings.overWidth, networkOf);

/** How many networks were trained of each kind. @param {EmergenceReport} report */
export const seedsOf = ({ findings }) => seedCount(findings.overTime, networkOf);

/** The sizes of training set on which widths are compared. @param {EmergenceReport} report */
export const widthSizes = ({ findings }) => distinct(findings.overWidth.map(({ n }) => n));

/**
 * Every network at every checkpoint. One width may be in both lists, with different learning rates; then
 * the list over time has more to show.
 * @param {EmergenceReport} report
 */
export function plane(report) {
  const long = overTime(report);
  const widths = new Set(long.map(widthOf));
  return [...long, ...overWidth(report).filter((point) => !widths.has(widthOf(point)))];
}

/**
 * What is to be seen from a place in the plane: the values that each slider can take there, and the network itself. The
 * size is chosen first, then the width, then the moment, because not every network was looked at at every moment.
 * @param {Point[]} points
 * @param {{n: number, width: number, step: number}} wanted
 */
export function standAt(points, wanted) {
  const sizes = distinct(points.map(({ n }) => n));
  const n = nearestStop(sizes, wanted.n);
  const ofSize = points.filter((point) => point.n === n);
  const widths = distinct(ofSize.map(widthOf));
  const width = nearestStop(widths, wanted.width);
  const overTime = ofSize.filter((point) => widthOf(point) === width).sort((a, b) => a.step - b.step);
  const steps = overTime.map(({ step }) => step);
  const step = nearestStop(steps, wanted.step);
  const point = overTime[steps.indexOf(step)];
  return { sizes, n, widths, width, overTime, steps, step, point };
}

/**
 * The networks that differ in nothing but their width, when all have trained for as long. Not every size of training set
 * has them.
 * @param {EmergenceReport} report
 * @param {number} n training images
 */
export function atTheEnd(report, n) {
  const ofSize = overWidth(report).filter((point) => point.n === n);
  const last = Math.max(...ofSize.map(({ step }) => step));
  return ofSize.filter(({ step }) => step === last).sort((a, b) => widthOf(a) - widthOf(b));
}

/**
 * The first checkpoint at which half of the samples were copies.
 * @param {Point[]} points
 * @param {number} n
 */
export function onset(points, n) {
  const copying = points.filter((point) => point.n === n && memorized(point).mean >= 0.5);
  return copying.sort((a, b) => a.step - b.step).at(0);
}

/** Where the samples are most like those of D_G; a network that diverged only if there are no others. @param {Point[]} points */
export function peak(points) {
  const sound = points.filter(isSound);
  return (sound.length > 0 ? sound : points).reduce((best, point) =>
    likeGaussian(point) > likeGaussian(best) ? point : best,
  );
}

/** A cosine is as good as the highest when it is at least this fraction of it. */
const NEARLY = 0.95;

/**
 * The step of the first checkpoint at which the samples were nearly as much like those of D_G as they ever became.
 * @param {Point[]} points
 * @param {number} n
 */
export function pace(points, n) {
  const ofSize = points.filter((point) => point.n === n).sort((a, b) => a.step - b.step);
  const highest = Math.max(...ofSize.map(likeGaussian));
  return ofSize.find((point) => likeGaussian(point) >= NEARLY * highest)?.step;
}
