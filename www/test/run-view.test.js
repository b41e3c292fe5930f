import assert from "node:assert/strict";
import { test } from "node:test";
import { same, statusLine } from "../src/runs/run-view.js";

/** @import { Run } from "../src/runs/run.js" */

const progress = { step: 420, total: 2000, stepsPerSecond: 34.7, secondsLeft: 45.2, workers: 2, members: [] };

/** @param {Partial<Run>} change */
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
  assert.equal(
    statusLine(run({ state: "paused" }), "to spare the battery"),
    "Step 420 of 2,000 · paused to spare the battery",
  );
});

test("a failed run says what can be done", () => {
  const failure = { kind: "BadInput", message: "Too wide", hint: "Choose fewer units" };
  assert.equal(
    statusLine(run({ state: "failed", failure }), false),
    "Stopped at step 420: Too wide. Choose fewer units.",
  );
});

test("a saved run is the wanted one if all of its options are", () => {
  const options = {
    preset: "quick",
    data: { set: "faces", size: 12 },
    config: { sizes: [16, 32], train: { steps: 9 } },
  };
  assert.ok(
    same(options, {
      config: { train: { steps: 9 }, sizes: [16, 32] },
      data: { size: 12, set: "faces" },
      preset: "quick",
    }),
  );
  assert.ok(same({ preset: "quick", config: undefined }, { preset: "quick" }));
  assert.ok(!same(options, { ...options, config: { ...options.config, train: { steps: 8 } } }));
  assert.ok(!same(options, { ...options, config: undefined }));
  assert.ok(!same(undefined, options));
});
