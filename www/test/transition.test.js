import assert from "node:assert/strict";
import { test } from "node:test";
import { labelPlaces } from "../src/ui/labels.js";
import { memorized, parseReport } from "../src/reports/report.js";
import { compare, curve, curves, transition, transitionSentence } from "../src/reports/transition.js";

/** @import { Sweep } from "../src/reports/transition.js" */

/** @param {number} mean */
const estimate = (mean) => ({ mean, standardError: 0, count: 100 });

/**
 * A report with as much as the curves need: rows of size, seed, GL score, copies, linearity at σ = 1.
 * @param {[number, number, number, number, number][]} rows
 */
const sweep = (rows) =>
  /** @type {Sweep} */ (
    /** @type {unknown} */ ({
      format: 2,
      final: true,
      sigmas: [3, 1, 0.4],
      findings: rows.map(([n, seed, gl, memorized, linearity]) => ({
        n,
        seed,
        status: { name: "learning" },
        heldOut: { gl: estimate(0.8) },
        denoisers: {
          trained: {
            closeness: { gl: estimate(gl), memorized: estimate(memorized) },
            error: { train: [0, 0, 0.1].map(estimate) },
            linearity: [0, linearity, 0].map((cosine) => ({ cosine: estimate(cosine) })),
          },
          gaussian: { error: { heldOut: [0, 0, 0.1].map(estimate) } },
        },
      })),
    })
  );

const recorded = sweep([
  [16, 1, 0.3, 0.75, 0.78],
  [16, 2, 0.2, 0.5, 0.8],
  [64, 1, 0.7, 0, 0.96],
  [64, 2, 0.7, 0.02, 0.97],
]);

test("a curve has the mean and the range over the seeds, by size", () => {
  assert.deepEqual(
    curve(recorded, (point) => memorized(point).mean),
    [
      { n: 16, mean: 0.625, low: 0.5, high: 0.75, diverged: "" },
      { n: 64, mean: 0.01, low: 0, high: 0.02, diverged: "" },
    ],
  );
});

test("linearity is taken at the noise level nearest to the one wanted", () => {
  assert.equal(curves(recorded, 1.3).linearity[0].low, 0.78);
  assert.equal(curves(recorded, 0.1).linearity[0].low, 0);
});

test("the transition is where the samples get half as far as held-out images", () => {
  assert.deepEqual(transition(recorded), { copies: 16, new: 64 });
  assert.match(transitionSentence(recorded), /^Transition between N\u00a0=\u00a016 and 64, where/);
  assert.equal(
    transitionSentence(sweep([[1024, 1, 0.1, 1, 0.7]])),
    "No transition: even at N\u00a0=\u00a01,024, samples are copies.",
  );
  assert.equal(
    transitionSentence(sweep([[8, 1, 0.7, 0, 0.9]])),
    "No transition: even at N\u00a0=\u00a08, samples are not copies.",
  );
});

test("noise is not taken for new images, and nothing is said before the end", () => {
  const noise = sweep([
    [8, 1, 0.7, 0, 0.9],
    [64, 1, 0.9, 0, 0.9],
  ]);
  noise.findings[1].denoisers.trained.error.train = [0, 0, 0.13].map(estimate);
  assert.match(transitionSentence(noise), /^Too little training to tell: at N\s=\s64/u);
  assert.equal(transitionSentence({ ...recorded, final: false }), "Still in training.");
});

test("a run matches the recorded one within the range of its seeds and a tolerance", () => {
  assert.equal(compare(sweep([[16, 9, 0.34, 0.8, 0.81]]), recorded, 1)?.matches, true);
  const other = compare(sweep([[16, 9, 0.3, 0.1, 0.8]]), recorded, 1);
  assert.equal(other?.matches, false);
  assert.match(other?.sentence ?? "", /most at N = 16: copies 10\s%.? instead of 6/u);
  assert.equal(compare(sweep([[32, 9, 0.3, 0.1, 0.8]]), recorded, 1), undefined);
});

test("what is not a number is not taken for a copier", () => {
  // As JSON has it, which knows no NaN.
  const broken = parseReport(JSON.stringify(sweep([[16, 1, NaN, NaN, NaN]])));
  assert.ok(Number.isNaN(curves(broken, 1).gl[0].mean));
  assert.equal(transitionSentence(broken), "No transition: every network diverged.");
  assert.equal(compare(broken, recorded, 1)?.matches, false);
  assert.equal(compare(broken, broken, 1)?.matches, false);
  const some = sweep([
    [8, 1, NaN, NaN, NaN],
    [16, 1, 0.1, 1, 0.7],
    [32, 1, NaN, 0, 0.8],
    [64, 1, 0.7, 0, 0.9],
  ]);
  assert.deepEqual(transition(some), { copies: 16, new: 64 });
  assert.match(
    transitionSentence(some),
    /^Transition among the networks that did not diverge between N\s=\s16 and 64/u,
  );
});

test("a network that diverged is marked, and does not count for the transition", () => {
  const status = { name: "diverged", step: 9 };
  const run = sweep([
    [16, 1, 0.1, 1, 0.7],
    [64, 1, 0.1, 1, 0.7],
    [64, 2, 0.7, 0, 0.9],
  ]);
  Object.assign(run.findings[1], { status });
  Object.assign(run.findings[2], { status: { name: "learning" } });
  assert.deepEqual(
    curves(run, 1).gl.map(({ diverged }) => diverged),
    ["", "1 of 2 diverged at step 9"],
  );
  assert.deepEqual(transition(run), { copies: 16, new: 64 });
  assert.equal(compare(run, recorded, 1)?.matches, false);
});

test("labels that would touch stand around the middle of their values; others stay", () => {
  // 130 pixels for one unit: a line of text is a tenth.
  const close = labelPlaces([0.5, 0.9, 0.52], [0, 1], 130);
  assert.deepEqual(
    close.map((place) => Number(place.toFixed(3))),
    [0.46, 0.9, 0.56],
  );
  const three = labelPlaces([1, 1, 1], [0, 1], 130);
  assert.deepEqual(
    three.map((place) => Number(place.toFixed(3))),
    [0.9, 1, 1.1],
  );
  // What is not a number has no place, and is in nobody's way.
  assert.deepEqual(labelPlaces([NaN, 0.5, 0.2], [0, 1], 130), [NaN, 0.5, 0.2]);
});
