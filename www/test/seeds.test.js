import assert from "node:assert/strict";
import { test } from "node:test";
import { isSound } from "../src/reports/divergence.js";
import {
  bySeeds,
  estimateColumns,
  estimateValues,
  overSeeds,
  rangeOf,
  seedCount,
  seedsSentence,
} from "../src/reports/seeds.js";
import { compareEstimates } from "../src/reports/verdicts.js";

/** @param {number} mean @param {number} [standardError] */
const estimate = (mean, standardError = 0.02) => ({ mean, standardError, count: 100 });

/** @param {number} seed @param {number} mean @param {any} [status] */
const network = (seed, mean, status = { name: "learning" }) => ({
  n: 32,
  seed,
  status,
  error: { heldOut: [estimate(mean), estimate(2 * mean)] },
  ...(seed === 1 && { samples: "pictures" }),
});

test("one seed stays what it is", () => {
  const one = network(1, 0.5);
  assert.equal(overSeeds([one]), one);
  assert.deepEqual(rangeOf(one.error.heldOut[0]), [0.5, 0.5]);
});

test("columns say what they are a range of", () => {
  assert.deepEqual(
    ["Copies", "Cosine"].flatMap((name) => estimateColumns(name)),
    [
      ...["Copies", "Copies ± s.e.", "Copies (lowest seed)", "Copies (highest seed)"],
      ...["Cosine", "Cosine ± s.e.", "Cosine (lowest seed)", "Cosine (highest seed)"],
    ],
  );
  assert.equal(estimateColumns("Cosine", "pair")[2], "Cosine (lowest pair)");
  const [one] = network(1, 0.5).error.heldOut;
  assert.deepEqual(estimateValues(one), [0.5, 0.02, 0.5, 0.5]);
  assert.deepEqual(estimateValues({ ...one, low: 0.4, high: 0.7 }), [0.5, 0.02, 0.4, 0.7]);
  assert.deepEqual(estimateValues(), [NaN, NaN, NaN, NaN]);
});

test("of several seeds every estimate is the mean, with its range; pictures are the first one's", () => {
  const all = overSeeds([network(1, 0.1), network(2, 0.3), network(3, 0.2)]);
  const [first, second] = all.error.heldOut;
  assert.ok(Math.abs(first.mean - 0.2) < 1e-12);
  assert.deepEqual(rangeOf(first), [0.1, 0.3]);
  assert.deepEqual(rangeOf(second), [0.2, 0.6]);
  // The images are the same for all seeds; what differs between them, by 0.1, averages out.
  assert.ok(Math.abs(first.standardError - Math.hypot(0.02, 0.1 / Math.sqrt(3))) < 1e-12);
  assert.equal(first.count, 300);
  assert.equal(all.samples, "pictures");
  assert.equal(all.n, 32);
});

test("a seed that diverged marks them all, and what is not a number stays so", () => {
  const diverged = { name: "diverged", step: 7 };
  const all = overSeeds([network(1, 0.1), network(2, NaN, diverged)]);
  assert.deepEqual(all.status, diverged);
  assert.ok(Number.isNaN(all.error.heldOut[0].mean));
  assert.ok(!isSound(/** @type {any} */ (all)));
});

test("seeds are grouped by what else tells networks apart", () => {
  const list = [network(1, 0.1), { ...network(1, 0.5), n: 64 }, network(2, 0.3)];
  assert.deepEqual(
    bySeeds(list, ({ n }) => n).map(({ n, error }) => [n, error.heldOut[0].mean]),
    [
      [32, 0.2],
      [64, 0.5],
    ],
  );
  assert.equal(
    seedCount(list, ({ n }) => n),
    2,
  );
  assert.equal(seedsSentence(1), "One seed.");
  assert.equal(seedsSentence(3), "Means over 3 seeds; bars span their range.");
});

test("estimates are about equal within two standard errors of their difference", () => {
  assert.equal(compareEstimates(estimate(0.136, 0.002), estimate(0.132, 0.002)), "equal");
  assert.equal(compareEstimates(estimate(0.14, 0.002), estimate(0.132, 0.002)), "larger");
  assert.equal(compareEstimates(estimate(0.12, 0.002), estimate(0.132, 0.002)), "smaller");
  assert.equal(compareEstimates(estimate(NaN), estimate(1)), undefined);
  assert.equal(compareEstimates(undefined, estimate(1)), undefined);
});
