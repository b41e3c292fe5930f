import assert from "node:assert/strict";
import { test } from "node:test";
import { describe, labOptions, presetValues } from "../src/lab-runs.js";
import { defaults } from "../src/parameters.js";

test("untouched knobs are the preset", () => {
  assert.deepEqual(labOptions(defaults()), {
    experiment: "transition",
    preset: "quick",
    seed: 1,
    data: { set: "faces", size: 12, seed: 1, count: 4596, heldOut: 500 },
  });
});

test("only what was changed goes into the configuration", () => {
  const options = labOptions({
    ...defaults(),
    "lab.sizes": "256 16",
    "lab.steps": "500",
    "lab.rate": "2e-3",
    "lab.width": "96",
    "lab.sampler": "6",
    "lab.seeds": "2",
    "lab.seed": 7,
  });
  assert.deepEqual(options.config, {
    sizes: [16, 256],
    seeds: [7, 8],
    train: { steps: 500, rate: 0.002, architecture: { width: 96 } },
    look: { samplerSteps: 6 },
  });
  assert.equal(options.data.count, 756);
});

test("a network of another kind than the preset's comes whole", () => {
  const unet = /** @type {any} */ (labOptions({ ...defaults(), "lab.network": "unet", "lab.depth": "3" }));
  assert.deepEqual(unet.config.train.architecture, {
    kind: "unet",
    width: 16,
    levels: 3,
    norm: "none",
    shape: { height: 16, width: 16, channels: 1 },
  });
  const mlp = /** @type {any} */ (
    labOptions({ ...defaults(), "lab.preset": "faithful", "lab.network": "mlp", "lab.data": "mnist" })
  );
  assert.deepEqual(mlp.config.train.architecture, { kind: "mlp", width: 192, depth: 2 });
  assert.equal(mlp.data.size, 14);
  assert.equal(labOptions({ ...defaults(), "lab.network": "mlp" }).config, undefined);
});

test("the reader's own images are as they were read", () => {
  const own = { set: "cats.zip", size: 28, seed: 0, count: 120, heldOut: 15 };
  const options = labOptions({ ...defaults(), "lab.data": "own" }, own);
  assert.deepEqual(options.data, own);
  // Not the preset's sizes: there may be fewer images than that.
  assert.deepEqual(options.config, { sizes: [16, 32, 64] });
});

test("a run in words, before and after it is known in full", () => {
  const options = labOptions({ ...defaults(), "lab.steps": "500" });
  assert.deepEqual(describe(options), { title: "Transition, quick, faces 12 × 12", details: "seed 1 · train.steps 500" });
  const train = { architecture: { kind: "mlp", width: 192, depth: 2 }, steps: 500, batch: 32, rate: 0.004 };
  const config = { sizes: [16, 64], seeds: [1], train, look: { samplerSteps: 10, samples: 100 } };
  assert.equal(describe(options, /** @type {any} */ ({ config })).details, "MLP 192 × 2 · 500 steps of 32 · rate 0.004 · seed 1");
  const fields = presetValues({ config, data: options.data });
  assert.equal(fields.sizes, "16 64");
  assert.equal(fields.depth, "2");
  assert.equal(fields.size, "12");
});
