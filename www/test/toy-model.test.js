import assert from "node:assert/strict";
import { test } from "node:test";
import { fitGaussian, gaussian, memorizing, path, posterior, SIGMA_MAX, SIGMAS } from "../src/figures/toy-model.js";

/** @typedef {import("../src/figures/toy-model.js").Point} Point */

/** @type {Point[]} */
const points = [
  [-1, -0.4],
  [-0.3, 0.5],
  [0.2, -0.1],
  [0.9, 0.8],
  [1.1, -0.6],
];

/** @param {Point} a @param {Point} b @param {number} tolerance */
const near = (a, b, tolerance) => assert.ok(Math.hypot(a[0] - b[0], a[1] - b[1]) < tolerance, `${a} is not ${b}`);

test("at low noise D_M returns the nearest point, at high noise the mean", () => {
  const denoise = memorizing(points);
  near(denoise([0.25, -0.05], 1e-3), points[2], 1e-12);
  // So far away that every plain exponential underflows.
  near(denoise([50, 60], 1e-3), points[3], 1e-12);
  near(denoise([0.5, 0.5], 1e4), fitGaussian(points).mean, 1e-6);
});

test("the weights of D_M add up to one", () => {
  for (const sigma of [1e-3, 0.1, 1, 100]) {
    const sum = posterior(points, [0.1, 0.2], sigma).reduce((a, b) => a + b, 0);
    assert.ok(Math.abs(sum - 1) < 1e-12);
  }
});

test("D_G keeps what varies and shrinks the rest to the mean", () => {
  const fit = fitGaussian(points);
  const denoise = gaussian(fit);
  near(denoise(fit.mean, 0.7), fit.mean, 1e-12);
  for (const k of [0, 1]) {
    const x = /** @type {Point} */ ([fit.mean[0] + fit.axes[k][0], fit.mean[1] + fit.axes[k][1]]);
    const [dx, dy] = denoise(x, 0.5);
    const kept = Math.hypot(dx - fit.mean[0], dy - fit.mean[1]);
    assert.ok(Math.abs(kept - fit.variances[k] / (fit.variances[k] + 0.25)) < 1e-12);
  }
});

test("points on a line have no variance across it", () => {
  const { variances } = fitGaussian([
    [0, 0],
    [1, 1],
    [2, 2],
  ]);
  assert.ok(Math.abs(variances[0] - 4 / 3) < 1e-12 && variances[1] < 1e-12);
});

test("with one point both denoisers return it", () => {
  /** @type {Point[]} */
  const one = [[0.3, -0.2]];
  for (const sigma of [0.01, 1, 10]) {
    near(memorizing(one)([1, 1], sigma), one[0], 1e-12);
    near(gaussian(fitGaussian(one))([1, 1], sigma), one[0], 1e-12);
  }
});

test("a path of D_G follows its closed form", () => {
  const fit = fitGaussian(points);
  /** @type {Point} */
  const start = [1.9, -2.3];
  const walked = path(gaussian(fit), start);
  SIGMAS.forEach((sigma, i) => {
    const expected = [...fit.mean];
    fit.axes.forEach(([ux, uy], k) => {
      const along = ux * (start[0] - fit.mean[0]) + uy * (start[1] - fit.mean[1]);
      const scale = Math.sqrt((sigma ** 2 + fit.variances[k]) / (SIGMA_MAX ** 2 + fit.variances[k]));
      expected[0] += scale * along * ux;
      expected[1] += scale * along * uy;
    });
    near(walked[i], [expected[0], expected[1]], 2e-3);
  });
});

test("every path of D_M ends at a training point", () => {
  const denoise = memorizing(points);
  for (let i = 0; i < 24; i++) {
    const angle = (i / 24) * 2 * Math.PI;
    const end = /** @type {Point} */ (path(denoise, [4 * Math.cos(angle), 4 * Math.sin(angle)]).at(-1));
    const closest = Math.min(...points.map((p) => Math.hypot(p[0] - end[0], p[1] - end[1])));
    assert.ok(closest < 1e-6, `${end}`);
  }
});
