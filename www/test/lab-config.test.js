import assert from "node:assert/strict";
import { test } from "node:test";
import { describe, labOptions, presetValues } from "../src/runs/lab-config.js";
import { defaults } from "../src/state/parameters.js";
import DENOISER_TABLE from "../src/tables/denoisers.json" with { type: "json" };
import EXPERIMENT_TABLE from "../src/tables/experiments.json" with { type: "json" };

test("untouched settings are the preset, on as many images as the run needs", () => {
  assert.deepEqual(labOptions(defaults()), {
    experiment: "transition",
    preset: "quick",
    seed: 1,
    data: { set: "faces", size: 12, seed: 1, count: 0, heldOut: 500 },
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
    evaluation: { samplerSteps: 6 },
  });
});

test("theories are measured beside the networks, after the paper's denoisers", () => {
  const beside = (/** @type {any} */ choice) => labOptions({ ...defaults(), "lab.beside": choice }).config;
  assert.equal(beside("paper"), undefined);
  assert.deepEqual(beside("els"), { evaluation: { denoisers: ["gaussian", "empirical", "els"] } });
  const all = /** @type {any} */ (beside("all")).evaluation.denoisers;
  const fitted = DENOISER_TABLE.filter(({ needs }) => needs === "fit");
  assert.deepEqual(
    all,
    fitted.map(({ id }) => id),
  );
  // Experiments that evaluate nothing do not have the setting.
  const clocks = labOptions({ ...defaults(), "lab.experiment": /** @type {any} */ ("clocks"), "lab.beside": "all" });
  assert.equal(clocks.config?.evaluation, undefined);
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
  const colour = /** @type {any} */ (labOptions({ ...defaults(), "lab.network": "unet", "lab.data": "cifar10" }));
  assert.equal(colour.config.train.architecture.shape.channels, 3);
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
  assert.equal(options.own, true);
  // Not the preset's sizes: there may be fewer images than that.
  assert.deepEqual(options.config, { sizes: [16, 32, 64] });
});

test("a run in words, before and after it is known in full", () => {
  const options = labOptions({ ...defaults(), "lab.steps": "500" });
  assert.deepEqual(describe(options), {
    title: `${EXPERIMENT_TABLE[0].title}, quick, faces 12 × 12`,
    details: "seed 1 · steps 500",
  });
  const train = { architecture: { kind: "mlp", width: 192, depth: 2 }, steps: 500, batch: 32, rate: 0.004 };
  const config = { sizes: [16, 64], seeds: [1], train, evaluation: { samplerSteps: 10, samples: 100 } };
  assert.equal(
    describe(options, /** @type {any} */ ({ config })).details,
    "MLP 192 × 2 · 500 steps of 32 · rate 0.004 · seed 1",
  );
});

test("an empty field says what the preset has", () => {
  const fields = presetValues({ ...defaults(), "lab.experiment": "gaussian-bias", "lab.preset": "faithful" });
  assert.equal(fields["lab.sizes"], "32 8192");
  assert.equal(fields["lab.width"], "16");
  assert.equal(fields["lab.depth"], "2");
  assert.equal(fields["lab.size"], "16");
  assert.equal(fields["lab.rate"], "0.002");
  assert.equal(fields["lab.sigmas"], "10 3 1 0.55 0.4 0.27 0.15 0.05");
  assert.equal(fields["lab.clip"], "none");
  assert.equal(fields["lab.heldOut"], "500");
});

test("an empty field says what another network, or the reader's own images, make of the preset", () => {
  const unet = presetValues({ ...defaults(), "lab.network": "unet" });
  assert.deepEqual([unet["lab.width"], unet["lab.depth"], unet["lab.size"]], ["16", "2", "16"]);
  const own = { set: "own", size: 12, seed: 1, count: 110, heldOut: 10 };
  assert.equal(presetValues({ ...defaults(), "lab.data": "own" }, own)["lab.sizes"], "16 32 64");
});

test("every field of the lab goes into the run", () => {
  const typed = /** @type {const} */ ({
    "lab.noiseMean": "-1.2",
    "lab.noiseDeviation": "1.5",
    "lab.warmUp": "0",
    "lab.floor": "1",
    "lab.clip": "2.5",
    "lab.ema": "0.9",
    "lab.blowUp": "50",
    "lab.sigmaData": "0.4",
    "lab.method": "euler",
    "lab.sigmaMin": "0.05",
    "lab.sigmaMax": "80",
    "lab.sigmas": "0.4 3 1",
    "lab.images": "50",
    "lab.shown": "6",
    "lab.heldOut": "200",
    "lab.dataSeed": "7",
  });
  const { config, data } = labOptions({ ...defaults(), ...typed });
  assert.deepEqual(config, {
    train: {
      logSigmaMean: -1.2,
      logSigmaDeviation: 1.5,
      warmUp: 0,
      floor: 1,
      clip: 2.5,
      emaLimit: 0.9,
      blowUp: 50,
      sigmaData: 0.4,
    },
    evaluation: { method: "euler", sigmaMin: 0.05, sigmaMax: 80, sigmas: [3, 1, 0.4], images: 50, shown: 6 },
  });
  assert.deepEqual(data, { set: "faces", size: 12, seed: 7, count: 0, heldOut: 200 });
  const unet = labOptions({ ...defaults(), "lab.network": "unet", "lab.norm": "group" });
  assert.equal(/** @type {any} */ (unet.config).train.architecture.norm, "group");
  // An MLP has none.
  assert.equal(labOptions({ ...defaults(), "lab.norm": "group" }).config, undefined);
});

test("the other experiments have fields of their own", () => {
  const values = { ...defaults(), "lab.sizes": "32 8", "lab.axes": "4", "lab.widths": "12 8" };
  const bias = labOptions({ ...values, "lab.experiment": "gaussian-bias" });
  assert.deepEqual(bias.config, { sizes: [8, 32], axes: 4 });
  const fit = /** @type {const} */ ({ "lab.fitImages": "training", "lab.fitMethod": "descent", "lab.fitBatches": "8" });
  assert.deepEqual(labOptions({ ...defaults(), ...fit, "lab.experiment": "gaussian-bias" }).config, {
    evaluation: { distillation: { batches: 8, images: "training", method: "descent" } },
  });
  assert.equal(labOptions({ ...defaults(), ...fit }).config, undefined);
  const halves = labOptions({ ...values, "lab.experiment": "strong-generalization" });
  assert.deepEqual(halves.config, { sizes: [8, 32] });

  const emergence = labOptions({
    ...values,
    "lab.experiment": "emergence",
    "lab.batch": "16",
    "lab.steps": "30",
    "lab.longSteps": "200",
  });
  assert.deepEqual(emergence.config, {
    sizes: [8, 32],
    widths: [8, 12],
    train: { steps: 30, batch: 16 },
    // What is changed of the training holds over widths and over time.
    trainLong: { steps: 200, batch: 16 },
    checkpoints: [50, 100, 200],
  });
});

test("several seeds are pairs where two networks are compared", () => {
  const values = { ...defaults(), "lab.seeds": "2", "lab.seed": 5 };
  /** @param {"emergence" | "strong-generalization"} experiment */
  const seeds = (experiment) => labOptions({ ...values, "lab.experiment": experiment }).config?.seeds;
  assert.deepEqual(seeds("emergence"), [5, 6]);
  assert.deepEqual(seeds("strong-generalization"), [
    [5, 6],
    [7, 8],
  ]);
});
