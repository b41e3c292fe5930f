import assert from "node:assert/strict";
import { test } from "node:test";
import { leader, ranked, settingAt, standingOf, unexplained } from "../src/reports/league.js";

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

test("a setting is told in a few letters", () => {
  const scores = { prediction: [], error: [] };
  assert.equal(settingAt({ ...scores, windows: [11, 3] }, 1), "P = 3");
  assert.equal(settingAt({ ...scores, threshold: 0.05 }, 0), "τ = 0.05");
  assert.equal(settingAt({ ...scores, components: 8 }, 0), "K = 8");
  assert.equal(settingAt(scores, 0), "");
});
