/**
 * The two exact denoisers in two dimensions, where an "image" is a point of the plane: small enough to draw whole.
 *
 * @typedef {readonly [number, number]} Point
 * @typedef {(x: Point, sigma: number) => Point} Denoise
 * @typedef {{mean: Point, variances: Point, axes: readonly [Point, Point]}} Gaussian axes are unit vectors
 */

/** Where paths begin: noise this strong has drowned the points. */
export const SIGMA_MAX = 2.5;
/** Where they end; the last step goes to no noise at all. */
export const SIGMA_MIN = 0.01;
const STEPS = 80;

/** The noise levels of a path, highest first, with equal steps of ln σ. */
export const SIGMAS = Array.from({ length: STEPS + 1 }, (_, i) => SIGMA_MAX * (SIGMA_MIN / SIGMA_MAX) ** (i / STEPS));

/** @param {Point} a @param {Point} b */
const distance2 = ([ax, ay], [bx, by]) => (ax - bx) ** 2 + (ay - by) ** 2;

/**
 * The weights of D_M (eq. 4): a softmax of −‖x − y_i‖² / 2σ². The largest exponent is taken out first, so that the sum
 * does not vanish at low noise.
 * @param {readonly Point[]} points
 * @param {Point} x
 * @param {number} sigma
 */
export function posterior(points, x, sigma) {
  const exponents = points.map((y) => -distance2(x, y) / (2 * sigma ** 2));
  const largest = Math.max(...exponents);
  const weights = exponents.map((exponent) => Math.exp(exponent - largest));
  const sum = weights.reduce((a, b) => a + b, 0);
  return weights.map((weight) => weight / sum);
}

/**
 * D_M, the memorizing denoiser (eq. 4): the mean of the points under their posterior weights.
 * @param {readonly Point[]} points
 * @returns {Denoise}
 */
export const memorizing = (points) => (x, sigma) => {
  const weights = posterior(points, x, sigma);
  return [
    points.reduce((sum, [px], i) => sum + weights[i] * px, 0),
    points.reduce((sum, [, py], i) => sum + weights[i] * py, 0),
  ];
};

/**
 * The mean and the covariance of the points, divided by N as in the paper, as principal axes and their variances.
 * @param {readonly Point[]} points
 * @returns {Gaussian}
 */
export function fitGaussian(points) {
  const n = points.length;
  const mx = points.reduce((sum, [x]) => sum + x, 0) / n;
  const my = points.reduce((sum, [, y]) => sum + y, 0) / n;
  const xx = points.reduce((sum, [x]) => sum + (x - mx) ** 2, 0) / n;
  const yy = points.reduce((sum, [, y]) => sum + (y - my) ** 2, 0) / n;
  const xy = points.reduce((sum, [x, y]) => sum + (x - mx) * (y - my), 0) / n;
  const angle = Math.atan2(2 * xy, xx - yy) / 2;
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const middle = (xx + yy) / 2;
  const half = Math.hypot((xx - yy) / 2, xy);
  return {
    mean: [mx, my],
    variances: [middle + half, Math.max(0, middle - half)],
    axes: [
      [cos, sin],
      [-sin, cos],
    ],
  };
}

/**
 * D_G, the Gaussian denoiser (eq. 7): along each principal axis of variance λ, the distance from the mean shrinks by
 * λ / (λ + σ²).
 * @param {Gaussian} fit
 * @returns {Denoise}
 */
export const gaussian = ({ mean, variances, axes }) => {
  return ([x, y], sigma) => {
    const result = [...mean];
    axes.forEach(([ux, uy], k) => {
      const along = ux * (x - mean[0]) + uy * (y - mean[1]);
      const kept = (variances[k] / (variances[k] + sigma ** 2)) * along;
      result[0] += kept * ux;
      result[1] += kept * uy;
    });
    return [result[0], result[1]];
  };
};

/**
 * A path of equation (1) from `start` at σ = SIGMA_MAX, by Heun's method: x at each of {@link SIGMAS}, and its end at σ = 0.
 * @param {Denoise} denoise
 * @param {Point} start
 * @returns {Point[]}
 */
export function path(denoise, start) {
  /** @type {Point[]} */
  const all = [start];
  /** The slope dx/dσ = (x − D(x; σ)) / σ. @param {Point} x @param {number} sigma @returns {Point} */
  const slope = (x, sigma) => {
    const [dx, dy] = denoise(x, sigma);
    return [(x[0] - dx) / sigma, (x[1] - dy) / sigma];
  };
  for (let i = 0; i < STEPS; i++) {
    const [x, step] = [all[i], SIGMAS[i + 1] - SIGMAS[i]];
    const first = slope(x, SIGMAS[i]);
    const second = slope([x[0] + step * first[0], x[1] + step * first[1]], SIGMAS[i + 1]);
    all.push([x[0] + (step * (first[0] + second[0])) / 2, x[1] + (step * (first[1] + second[1])) / 2]);
  }
  all.push(denoise(all[STEPS], SIGMA_MIN));
  return all;
}

/**
 * How dense noisy points lie at x, relative to where they lie densest: a sum of one bump per training point, or one bump
 * for all. Only for shading.
 * @param {readonly Point[]} points
 * @param {number} sigma
 * @returns {(x: Point) => number}
 */
export const spikes = (points, sigma) => {
  /** @param {Point} x */
  const density = (x) => points.reduce((sum, y) => sum + Math.exp(-distance2(x, y) / (2 * sigma ** 2)), 0);
  const highest = Math.max(...points.map(density));
  return (x) => density(x) / highest;
};

/**
 * @param {Gaussian} fit
 * @param {number} sigma
 * @returns {(x: Point) => number}
 */
export const ellipse =
  ({ mean, variances, axes }, sigma) =>
  ([x, y]) => {
    const exponent = axes.reduce(
      (sum, [ux, uy], k) => sum + (ux * (x - mean[0]) + uy * (y - mean[1])) ** 2 / (variances[k] + sigma ** 2),
      0,
    );
    return Math.exp(-exponent / 2);
  };
