import assert from "node:assert/strict";
import { test } from "node:test";
import { statusLine } from "../src/run-panel.js";

const progress = { step: 420, total: 2000, stepsPerSecond: 34.7, secondsLeft: 45.2, workers: 2, members: [] };

/** @param {Partial<import("../src/run-panel.js").Run>} change */
const run = (change) => ({
  state: /** @type {const} */ ("running"),
  progress,
  engine: /** @type {const} */ ("cpu"),
  report: undefined,
  failure: undefined,
  ...change,
});

test("a run tells its step, its speed, the time left and where it runs", () => {
  assert.equal(statusLine(run({}), false), "Step 420 of 2,000 · 35 steps/s · 45 s left · CPU, 2 workers");
  assert.equal(statusLine(run({ engine: "gpu" }), false), "Step 420 of 2,000 · 35 steps/s · 45 s left · GPU");
});

test("before there is a measurement, it claims nothing", () => {
  const unknown = { ...progress, workers: 1, stepsPerSecond: null, secondsLeft: null };
  assert.equal(statusLine(run({ progress: unknown }), false), "Step 420 of 2,000 · CPU");
});

test("a pause says whether the reader made it", () => {
  assert.equal(statusLine(run({ state: "paused" }), false), "Step 420 of 2,000 · paused");
  assert.equal(statusLine(run({ state: "paused" }), true), "Step 420 of 2,000 · paused while out of sight");
});
