import assert from "node:assert/strict";
import { test } from "node:test";
import { atTheEnd, onset, pace, plane, seedsOf, standAt, widthOf, widthSizes } from "../src/reports/emergence.js";

/**
 * @import { Point } from "../pkg/hidden_gaussian.js"
 * @import { Report } from "../src/reports/report.js"
 */

/**
 * As much of a network as places in the plane need.
 * @param {number} n
 * @param {number} width
 * @param {number} step
 * @param {number} [memorized]
 */
const point = (n, width, step, memorized = 0) =>
  /** @type {Point} */ (
    /** @type {unknown} */ ({
      n,
      step,
      architecture: { kind: "mlp", width },
      denoisers: { trained: { closeness: { memorized: { mean: memorized } }, against: {} } },
    })
  );

const report = /** @type {Report<"emergence">} */ (
  /** @type {unknown} */ ({
    findings: {
      overTime: [50, 400, 6400].flatMap((step) => [point(32, 192, step, step / 6400), point(128, 192, step)]),
      overWidth: [192, 16, 64].flatMap((width) => [400, 2000].map((step) => point(32, width, step))),
    },
  })
);

test("a width in both lists is the one that was followed over time", () => {
  const wide = plane(report).filter((one) => one.n === 32 && widthOf(one) === 192);
  assert.deepEqual(
    wide.map(({ step }) => step),
    [50, 400, 6400],
  );
});

test("sliders offer what there is where one stands, and stand at the nearest", () => {
  const points = plane(report);
  const narrow = standAt(points, { n: 40, width: 20, step: 6400 });
  assert.deepEqual([narrow.n, narrow.width, narrow.step], [32, 16, 2000]);
  assert.deepEqual(narrow.widths, [16, 64, 192]);
  assert.deepEqual(narrow.steps, [400, 2000]);
  assert.equal(narrow.point.step, 2000);
  // Only the widest was trained on the larger set.
  assert.deepEqual(standAt(points, { n: 1000, width: 16, step: 1 }).widths, [192]);
});

test("networks are compared over width when all have trained for as long", () => {
  assert.deepEqual(
    atTheEnd(report, 32).map((one) => [widthOf(one), one.step]),
    [
      [16, 2000],
      [64, 2000],
      [192, 2000],
    ],
  );
  // Widths were not trained on the larger set.
  assert.deepEqual(atTheEnd(report, 128), []);
  assert.deepEqual(widthSizes(report), [32]);
});

test("networks of several seeds are one point, with the range of their numbers", () => {
  const copies = { count: 100, standardError: 0.03 };
  const seeds = [0.2, 0.6].map((mean) => {
    const one = point(32, 192, 400);
    one.denoisers.trained.closeness.memorized = { ...copies, mean };
    return one;
  });
  const several = /** @type {Report<"emergence">} */ (
    /** @type {any} */ ({ findings: { overTime: seeds, overWidth: [] } })
  );
  const [merged, ...others] = plane(several);
  assert.equal(others.length, 0);
  assert.equal(seedsOf(several), 2);
  const { mean, low, high, count } = /** @type {any} */ (merged.denoisers.trained.closeness.memorized);
  assert.deepEqual([mean, low, high, count], [0.4, 0.2, 0.6, 200]);
});

test("memorization sets in at the first checkpoint with half copies", () => {
  const { overTime } = report.findings;
  assert.equal(onset(overTime, 32)?.step, 6400);
  assert.equal(onset(overTime, 128), undefined);
});

test("the pace is that of the first checkpoint near the highest cosine", () => {
  const cosines = new Map([
    [50, 0.7],
    [200, 0.9],
    [400, 0.94],
    [6400, 0.6],
  ]);
  const points = [...cosines].map(([step, mean]) => ({
    ...point(32, 192, step),
    denoisers: { trained: { against: { gaussian: { cosine: { mean } } } } },
  }));
  const all = /** @type {Point[]} */ (/** @type {unknown} */ (points.reverse()));
  assert.equal(pace(all, 32), 200);
  assert.equal(pace(all, 64), undefined);
});
