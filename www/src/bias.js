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

/**
 * The noise levels at which the sampler asks the denoiser: EDM’s, with ρ = 7.
 * @param {{samplerSteps: number, sigmaMin: number, sigmaMax: number}} look
 */
export function schedule({ samplerSteps, sigmaMin, sigmaMax }) {
  const [high, low] = [sigmaMax ** (1 / 7), sigmaMin ** (1 / 7)];
  return Array.from({ length: samplerSteps }, (_, i) => (high + (i / (samplerSteps - 1)) * (low - high)) ** 7);
}
