/** How each denoiser is called and drawn, in every figure. The colours stand in page.css. */
export const DENOISERS = {
  trained: { label: "Trained", colour: "var(--d-theta)", dash: undefined, symbol: "circle" },
  linear: { label: "Linear", colour: "var(--d-l)", dash: "2 3", symbol: "diamond2" },
  empirical: { label: "Empirical", colour: "var(--d-m)", dash: undefined, symbol: "square2" },
  gaussian: { label: "Gaussian", colour: "var(--d-g)", dash: "6 3", symbol: "circle" },
};

/** The two that need no training, in the order of the page. */
export const EXACT = /** @type {const} */ (["empirical", "gaussian"]);

/** A sample is a copy when its nearest training image is this much nearer than the second nearest. */
export const MEMORIZED = 1 / 3;

/** From this noise level on the noise drowns the images, whose standard deviation is 0.5. */
export const HIGH_NOISE = 20;
/** Below this one the noise is far smaller than the distance between two images. */
export const LOW_NOISE = 0.1;
