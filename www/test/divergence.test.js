import assert from "node:assert/strict";
import { test } from "node:test";
import { divergence, divergenceSentence, isSound } from "../src/reports/divergence.js";
import { peak } from "../src/reports/emergence.js";

/**
 * @import { Point } from "../pkg/hidden_gaussian.js"
 * @import { Report } from "../src/reports/report.js"
 */

const learning = { status: /** @type {const} */ ({ name: "learning" }) };
/** @param {number} step */
const diverged = (step) => ({ status: /** @type {const} */ ({ name: "diverged", step }) });
/** @param {string} experiment @param {unknown} findings */
const report = (experiment, findings) => /** @type {Report} */ ({ experiment, findings });

test("when networks diverged, in a few words", () => {
  assert.equal(divergence([learning]), "");
  assert.equal(divergence([diverged(1009)]), "diverged at step 1,009");
  assert.equal(divergence([learning, diverged(9), diverged(9), diverged(12)]), "3 of 4 diverged at step 9, 12");
  assert.equal(divergence([{ networks: [learning, diverged(9)] }]), "1 of 2 diverged at step 9");
});

test("the networks of a run are counted once, at however many checkpoints", () => {
  const five = Array.from({ length: 5 }, () => learning);
  assert.equal(divergenceSentence(report("transition", five)), "");
  assert.equal(
    divergenceSentence(report("transition", [...five, diverged(9)])),
    "1 of 6 networks diverged (marked\u00a0×).",
  );
  const halves = [
    { n: 16, networks: [learning, diverged(9)] },
    { n: 64, networks: [learning, learning] },
  ];
  assert.equal(
    divergenceSentence(report("strong-generalization", halves)),
    "1 of 4 networks diverged (marked\u00a0×).",
  );
  const checkpoints = (/** @type {number} */ width) => [
    { n: 16, seed: 1, step: 50, architecture: { width }, ...learning },
    { n: 16, seed: 1, step: 100, architecture: { width }, ...diverged(60) },
  ];
  const findings = { overWidth: [...checkpoints(8), { ...checkpoints(12)[0] }], overTime: checkpoints(8) };
  assert.equal(divergenceSentence(report("emergence", findings)), "2 of 3 networks diverged (marked\u00a0×).");
});

test("nothing is said of a network that diverged, or whose numbers are none", () => {
  /** @param {number} mean */
  const measured = (mean) => ({ alignment: null, linearity: [{ cosine: { mean, standardError: NaN, count: 1 } }] });
  assert.ok(isSound({ ...learning, ...measured(0) }));
  assert.ok(!isSound({ ...learning, ...measured(NaN) }));
  assert.ok(!isSound({ ...diverged(9), ...measured(0.5) }));
});

test("the network most like the Gaussian is one that came through", () => {
  const points = /** @type {Point[]} */ (
    /** @type {unknown} */ ([
      {
        step: 1,
        ...learning,
        denoisers: { trained: { against: { gaussian: { cosine: { mean: NaN, standardError: 0 } } } } },
      },
      {
        step: 2,
        ...learning,
        denoisers: { trained: { against: { gaussian: { cosine: { mean: 0.4, standardError: 0 } } } } },
      },
      {
        step: 3,
        ...diverged(2),
        denoisers: { trained: { against: { gaussian: { cosine: { mean: 0.9, standardError: 0 } } } } },
      },
    ])
  );
  assert.equal(peak(points).step, 2);
  assert.equal(peak(points.slice(2)).step, 3);
});
