import assert from "node:assert/strict";
import { test } from "node:test";
import { THEORIES } from "../src/reports/denoisers.js";
import {
  absentSentence,
  leader,
  leadsSentence,
  middleOf,
  ranked,
  settingAt,
  standingOf,
  unexplained,
} from "../src/reports/league.js";

/** @import { LeagueReport, Theory } from "../src/reports/league.js" */

/** @param {string} id @param {number[]} r2 @returns {Theory} */
const theory = (id, r2) =>
  /** @type {any} */ ({ id, prediction: r2.map((mean) => ({ r2: { mean, standardError: 0, count: 1 } })) });

test("the league is sorted by what a theory leaves unexplained, in the geometric mean", () => {
  const theories = [theory("ls", [0.9, 0.9]), theory("gaussian", [0.99, 0.6]), theory("empirical", [-1, 0])];
  assert.ok(Math.abs(unexplained(theories[1]) - Math.sqrt(0.01 * 0.4)) < 1e-9);
  assert.deepEqual(
    ranked(/** @type {any} */ ({ theories })).map(({ id }) => id),
    ["gaussian", "ls", "empirical"],
  );
  assert.equal(leader(theories, ({ prediction }) => 1 - prediction[1].r2.mean).id, "ls");
  // A perfect prediction has no logarithm.
  assert.ok(unexplained(theory("mixture", [1, 1])) > 0);
});

test("few and many are the smallest and the largest training set, in whatever order they come", () => {
  const report = /** @type {LeagueReport} */ (/** @type {any} */ ({ findings: [{ n: 1024 }, { n: 64 }, { n: 256 }] }));
  assert.equal(standingOf(report, "few").n, 64);
  assert.equal(standingOf(report, "many").n, 1024);
});

test("a sentence says which theories of the table are missing, if there are any", () => {
  const all = THEORIES.map(({ id }) => theory(id, [0.5]));
  assert.equal(absentSentence(all), "");
  const others = all.filter(({ id }) => id !== "els");
  assert.equal(absentSentence(others), "Not shown: ELS, which would take hours on images of this size.");
});

test("a setting is told in a few letters", () => {
  const scores = { prediction: [], error: [] };
  assert.equal(settingAt({ ...scores, windows: [11, 3] }, 1), "P = 3");
  assert.equal(settingAt({ ...scores, threshold: 0.05 }, 0), "τ = 0.05");
  assert.equal(settingAt({ ...scores, components: 8 }, 0), "K = 8");
  assert.equal(settingAt(scores, 0), "");
});

test("a sentence says which theory leads, at the noise levels that there are", () => {
  const theories = [theory("gaussian", [0.8, 0.9, 0.99, 1]), theory("ls", [0.7, 0.8, 0.999, 0])];
  /** @param {number[]} sigmas */
  const said = (sigmas) => leadsSentence(sigmas, theories).replaceAll("\u00a0", " ");
  assert.equal(
    said([3, 1, 0.15]),
    "The network is best predicted at σ = 3 by the Gaussian denoiser (R² = 0.800), at σ = 1 by the Gaussian denoiser " +
      "(R² = 0.900) and at σ = 0.15 by the local score machine (R² = 0.999).",
  );
  // One that was not measured is passed over, and a neighbour is called what it is.
  assert.equal(
    said([3, 0.9, 0.4]),
    "The Gaussian denoiser predicts best at high and medium noise: R² = 0.800 and 0.900 at σ = 3 and 0.9.",
  );
  assert.equal(said([10, 0.001]), "");
  assert.equal(said([]), "");
});

test("the table and the labels are about the noise level nearest to 1", () => {
  assert.equal(middleOf({ sigmas: [10, 3, 1, 0.15] }), 2);
  assert.equal(middleOf({ sigmas: [0.27, 0.55, 10] }), 1);
});
