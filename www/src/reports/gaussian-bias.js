/** What a run about the Gaussian bias (Figure 2) found. */
import { bySeeds, seedCount } from "./seeds.js";

/**
 * @import { Bias } from "../../pkg/hidden_gaussian.js"
 * @import { Report } from "./report.js"
 */

/**
 * The networks with the fewest and the most training images, each over its seeds.
 * @param {Report<"gaussian-bias">} report
 * @returns {[Bias, Bias]}
 */
export function ends({ findings }) {
  const sorted = bySeeds(findings, ({ n }) => n).sort((a, b) => a.n - b.n);
  return [sorted[0], sorted[sorted.length - 1]];
}

/** How many networks were trained of each size. @param {Report<"gaussian-bias">} report */
export const seedsOf = ({ findings }) => seedCount(findings, ({ n }) => n);
