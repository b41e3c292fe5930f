import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { HIDDEN_MS, watchAttendance } from "../src/runs/attendance.js";
import { estimate, gigaflop } from "../src/runs/estimate.js";
import { dataOf, offers, presetOf } from "../src/runs/offers.js";
import { DATA_SETS } from "../src/state/data-sets.js";
import PRESET_TABLE from "../src/tables/presets.json" with { type: "json" };
import GIGAFLOP_TABLE from "../src/tables/gigaflop.json" with { type: "json" };

/** @import { ExperimentName } from "../pkg/hidden_gaussian.js" */

/**
 * A recorded run of a preset, as much as an offer needs.
 * @param {ExperimentName} experiment
 * @param {string} run
 * @param {string} set
 */
const recorded = (experiment, run, set) =>
  /** @type {any} */ ({
    config: /** @type {any} */ (PRESET_TABLE)[experiment][presetOf(run)],
    data: { set, size: 12, count: 4596, seed: 1, heldOut: 500 },
  });

test("the name of a run has its preset and its data", () => {
  assert.deepEqual([presetOf("cifar-quick-cifar10"), dataOf("cifar-quick-cifar10")], ["cifar-quick", "cifar10"]);
});

test("the first offer trains what is recorded, from the reader's seed", () => {
  for (const experiment of /** @type {const} */ (["transition", "gaussian-bias", "emergence"])) {
    const run = recorded(experiment, "main-faces", "faces");
    const [first] = offers(experiment, "main-faces", run, 7);
    const { preset, config = {}, data } = first.options;
    assert.equal(preset, "main");
    assert.deepEqual(config.sizes, run.config.sizes);
    assert.deepEqual(config.seeds ?? config.seed, run.config.seeds ? [7] : 7);
    assert.deepEqual(data, run.data);
  }
  const [pair] = offers(
    "strong-generalization",
    "main-faces",
    recorded("strong-generalization", "main-faces", "faces"),
    7,
  );
  assert.equal(new Set([pair.options.config?.seeds].flat(2)).size, 2);
});

test("what is smaller says what it is, and is less work", () => {
  for (const experiment of /** @type {ExperimentName[]} */ (Object.keys(PRESET_TABLE))) {
    const [first, second] = offers(experiment, "main-faces", recorded(experiment, "main-faces", "faces"), 1);
    assert.equal(first.label, "Train it here");
    assert.match(second.label, /\d/);
    assert.ok(gigaflop(second.options) < gigaflop(first.options), experiment);
  }
});

test("images that the page does not have are not trained on", () => {
  assert.deepEqual(offers("transition", "main-cats", recorded("transition", "main-cats", "cats"), 1), []);
});

test("CIFAR-10 is trained by its quick preset, on the images of the page", (t) => {
  const sets = /** @type {any} */ (DATA_SETS);
  if (!sets.cifar10) {
    sets.cifar10 = { size: 32, pool: 0 };
    t.after(() => delete sets.cifar10);
  }
  const [first, second] = offers("transition", "cifar-cifar10", recorded("transition", "cifar-cifar10", "cifar10"), 1);
  assert.equal(first.options.preset, "cifar-quick");
  assert.deepEqual([first.options.data.set, first.options.data.size], ["cifar10", 32]);
  assert.match(first.label, /64 to 4,096/);
  assert.ok(gigaflop(second.options) < gigaflop(first.options));
});

test("what is recorded over training is trained on the same images, and the button names what is smaller", () => {
  for (const experiment of /** @type {const} */ (["modes", "clocks"])) {
    const digits = recorded(experiment, "main-mnist", "mnist");
    const [same, small] = offers(experiment, "main-mnist", digits, 7);
    assert.deepEqual(same.options.data, digits.data);
    assert.deepEqual(same.options.config?.others, digits.config.others);
    assert.deepEqual(same.options.config?.seeds, [7]);
    assert.equal(small.options.data.set, "mnist");
    assert.match(small.label, /small networks/);
  }
  const [{ about }] = offers("modes", "main-faces", recorded("modes", "main-faces", "faces"), 1);
  assert.equal(about, "1 MLP of width 384 and 1 U-Net, on 1,024 images, up to 3,200 steps each");
  const [clocks] = offers("clocks", "main-faces", recorded("clocks", "main-faces", "faces"), 1);
  assert.match(clocks.about, /^10 MLPs of width 192 and 5 MLPs of width 384, on 8 to 256 images/);

  const [whole, first] = offers("modes", "cifar-cifar10", recorded("modes", "cifar-cifar10", "cifar10"), 1);
  assert.match(whole.label, /a smaller U-Net here: 1,024 images/);
  assert.match(first.label, /400 steps/);
  assert.equal(first.about, "1 U-Net, on 1,024 images, 400 steps");
  assert.ok(gigaflop(first.options) < gigaflop(whole.options) / 4);
  // What is recorded may be the small networks themselves.
  const small = recorded("clocks", "cifar-quick-cifar10", "cifar10");
  const labels = offers("clocks", "cifar-quick-cifar10", small, 1).map(({ label }) => label);
  assert.deepEqual(labels, ["Train U-Nets here: 8 to 256 images", "Train U-Nets here: 8 and 32 images"]);
});

test("the work of a run is that of its preset, in proportion to networks and steps", () => {
  const quick = { experiment: /** @type {const} */ ("transition"), preset: /** @type {const} */ ("quick") };
  const whole = gigaflop(quick);
  assert.equal(whole, GIGAFLOP_TABLE.transition.quick);
  assert.equal(gigaflop({ ...quick, config: { seeds: [1, 2, 3] } }), 3 * whole);
  assert.equal(gigaflop({ ...quick, config: { train: { steps: 1000 } } }), whole / 2);
  // What the lab changes of a network leaves the rest of it as it is.
  assert.ok(gigaflop({ ...quick, config: { train: { architecture: { width: 24 } } } }) < whole / 2);
  assert.equal(gigaflop({ ...quick, config: { sizes: [16, 32, 64] } }), whole / 2);
  // Layers, batches and images of other sizes count, too, and a network of the other kind as the preset that has one.
  assert.equal(gigaflop({ ...quick, config: { train: { batch: 64 } } }), 2 * whole);
  assert.ok(gigaflop({ ...quick, config: { train: { architecture: { kind: "mlp", width: 48 } } } }) < whole / 4);
  const unet = { kind: "unet", width: 16, levels: 2 };
  const data = { set: "faces", size: 16, count: 0, seed: 1, heldOut: 64 };
  const { batch, steps } = PRESET_TABLE.transition.faithful.train;
  const { sizes } = PRESET_TABLE.transition.faithful;
  const config = { sizes, train: { architecture: unet, batch, steps } };
  assert.equal(gigaflop({ ...quick, config, data }), GIGAFLOP_TABLE.transition.faithful);
});

test("theories beside the networks take their time", () => {
  const quick = { experiment: /** @type {const} */ ("transition"), preset: /** @type {const} */ ("quick") };
  const beside = (/** @type {string[]} */ ...denoisers) =>
    gigaflop({ ...quick, config: { evaluation: { denoisers } } });
  assert.equal(beside("gaussian", "empirical"), gigaflop(quick));
  assert.ok(beside("gaussian", "ls") > gigaflop(quick));
  assert.ok(beside("gaussian", "els") > 10 * beside("gaussian", "ls"));
});

test("an estimate is from the engine that would run it, and from runs once there were some", () => {
  const quick = { experiment: /** @type {const} */ ("transition"), preset: /** @type {const} */ ("quick") };
  const machine = { cores: 2, choice: /** @type {const} */ ("auto"), rates: { cpu: 20, gpu: 1000 }, reached: {} };
  const onGpu = estimate(quick, machine);
  assert.equal(onGpu?.engine, "gpu");
  const onCpu = estimate(quick, { ...machine, choice: "cpu" });
  assert.equal(onCpu?.engine, "cpu");
  assert.ok((onCpu?.seconds ?? 0) > (onGpu?.seconds ?? Infinity));
  // More cores than networks are of no use.
  assert.deepEqual(
    estimate(quick, { ...machine, choice: "cpu", cores: 6 }),
    estimate(quick, { ...machine, choice: "cpu", cores: 64 }),
  );
  const learned = estimate(quick, { ...machine, choice: "cpu", reached: { cpu: gigaflop(quick) / 30 } });
  assert.ok(Math.abs((learned?.seconds ?? 0) - 30) < 1e-9);
  assert.equal(estimate(quick, { ...machine, rates: {} }), undefined);
});

test("runs rest when the tab is hidden for long or the battery is low, and not before", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const page = Object.assign(new EventTarget(), { hidden: false });
  const battery = Object.assign(new EventTarget(), { charging: true, level: 0.1 });
  const tell = mock.fn();
  watchAttendance(/** @type {any} */ (page), { getBattery: () => Promise.resolve(battery) }, tell);
  await Promise.resolve();
  /** @param {boolean} hidden */
  const hide = (hidden) => {
    page.hidden = hidden;
    page.dispatchEvent(new Event("visibilitychange"));
  };
  const said = () => tell.mock.calls.map(({ arguments: [reason] }) => reason);

  hide(true);
  t.mock.timers.tick(HIDDEN_MS - 1);
  hide(false);
  t.mock.timers.tick(HIDDEN_MS);
  assert.deepEqual(said(), []);
  hide(true);
  t.mock.timers.tick(HIDDEN_MS);
  assert.deepEqual(said(), ["while this tab was hidden"]);
  hide(false);
  assert.deepEqual(said().slice(1), [""]);

  battery.charging = false;
  battery.dispatchEvent(new Event("chargingchange"));
  assert.equal(said().at(-1), "to spare the battery");
  battery.charging = true;
  battery.dispatchEvent(new Event("chargingchange"));
  assert.equal(said().at(-1), "");
});
