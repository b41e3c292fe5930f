/** From where on a sentence about a run holds: one measure for all figures. */

/** @import { Estimate } from "../../pkg/hidden_gaussian.js" */

/** A network memorizes if more than this fraction of its samples are copies. */
export const MANY_COPIES = 0.5;
/** It generalizes if fewer are. */
export const FEW_COPIES = 0.1;
/** From this cosine on, two sets of samples look alike. */
export const ALIKE = 0.9;
/** A network has learned something when its error on its own training images is at most so many times D_G's on new ones. */
export const LEARNED = 1.2;
/** A noise level at which a denoiser that knows more than the covariance shows it. */
export const DETAIL_SIGMA = 0.27;
/** About the images' standard deviation, where it is decided which image appears. */
export const MIDDLE_SIGMA = 0.55;
/** From this noise level on the noise drowns the images, whose standard deviation is 0.5. */
export const HIGH_NOISE = 20;
/** A sample is a copy when its nearest training image is this many times as far away as the second nearest, or less. */
export const COPY_RATIO = 1 / 3;

/** Two estimates differ when they are further apart than so many standard errors of their difference. */
const STANDARD_ERRORS = 2;

/**
 * How one estimate compares with another, by their standard errors.
 * @param {Estimate | undefined} a
 * @param {Estimate | undefined} b
 * @returns {"smaller" | "equal" | "larger" | undefined} undefined when one of them was not measured
 */
export function compareEstimates(a, b) {
  if (!a || !b || Number.isNaN(a.mean - b.mean)) return undefined;
  const apart = STANDARD_ERRORS * Math.hypot(a.standardError, b.standardError);
  if (Math.abs(a.mean - b.mean) <= apart) return "equal";
  return a.mean < b.mean ? "smaller" : "larger";
}

/**
 * What a network’s error says of how long it has learned.
 * @param {"smaller" | "equal" | "larger"} relation of its error to D_G's
 * @param {boolean} alike whether its samples are those of D_G all the same
 */
export function ageOf(relation, alike) {
  if (relation === "larger") return "So it has yet to learn all that mean and covariance provide.";
  if (relation === "equal") return "So it has learned about as much as mean and covariance provide.";
  return alike
    ? "So it has learned more than mean and covariance, and yet its samples resemble the Gaussian’s."
    : "So it has learned more than mean and covariance, and its samples are no longer quite the Gaussian’s.";
}

/** The same in words that go before what it is compared with. @type {Record<"smaller" | "equal" | "larger", string>} */
export const RELATION = { smaller: "smaller than", equal: "about equal to", larger: "larger than" };
