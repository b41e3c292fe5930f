/** What a run about the Gaussian bias (Figure 2) found. */

/** A network memorizes if more than this share of its samples are copies. */
export const MANY_COPIES = 0.5;
/** It generalizes if fewer are. */
export const FEW_COPIES = 0.1;

/**
 * The networks with the fewest and the most training images.
 * @param {import("./report.js").Report<"gaussian-bias">} report
 * @returns {[import("./report.js").Bias, import("./report.js").Bias]}
 */
export function ends({ findings }) {
  const sorted = [...findings].sort((a, b) => a.n - b.n);
  return [sorted[0], sorted[sorted.length - 1]];
}
