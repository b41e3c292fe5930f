/** What a run about the Gaussian bias (Figure 2) found. */

/**
 * @import { Bias } from "../../pkg/hidden_gaussian.js"
 * @import { Report } from "./report.js"
 */

/**
 * The networks with the fewest and the most training images.
 * @param {Report<"gaussian-bias">} report
 * @returns {[Bias, Bias]}
 */
export function ends({ findings }) {
  const sorted = [...findings].sort((a, b) => a.n - b.n);
  return [sorted[0], sorted[sorted.length - 1]];
}
