/** What a run about the Gaussian bias (Figure 2) found. */

/**
 * The networks with the fewest and the most training images.
 * @param {import("./report.js").Report<"gaussian-bias">} report
 * @returns {[import("./report.js").Bias, import("./report.js").Bias]}
 */
export function ends({ findings }) {
  const sorted = [...findings].sort((a, b) => a.n - b.n);
  return [sorted[0], sorted[sorted.length - 1]];
}
