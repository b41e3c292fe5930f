// Runs that train in the page: to the end, paused, cancelled, interrupted, moved, and through every kind of accident.

import assert from "node:assert/strict";
import { siteTest } from "./harness.mjs";
import { choose, open, openTable, ready, runWorkers, until, untilForgotten, untilSaved } from "./page.mjs";

/** @typedef {import("playwright-core").Page} Page */

/** Two tiny networks on tiny images, so that the tests wait for the page and not for the training. */
const TINY =
  "lab.sizes=8%2016&lab.size=8&lab.width=16&lab.depth=1&lab.batch=16&lab.sampler=4&lab.samples=16&lab.sigmas=1&lab.images=16";
/** Steps of a run that does not come to its end here. */
const ENDLESS = 900_000;
/** A loaded machine takes its time to start workers. */
const PATIENCE = { timeout: 60_000 };

/** The run of the lab. @param {Page} page */
const run = (page) => page.locator('#lab [data-part="runs"] tr').first();
/** @param {Page} page @param {string} action */
const press = (page, action) => run(page).locator(`[data-action="${action}"]`).click();
/** Until the run's row has this attribute. @param {Page} page @param {string} name @param {string} value */
const has = (page, name, value) =>
  run(page)
    .and(page.locator(`[data-${name}="${value}"]`))
    .waitFor(PATIENCE);
/** Until nothing trains: the end of a worker is known a little later. @param {Page} page */
const noWorkers = (page) => until("no worker is left", () => runWorkers(page).length === 0);

/** The step that the run is at. @param {Page} page */
async function step(page) {
  return Number(await run(page).getAttribute("data-step"));
}

/** Until the run is beyond a step. @param {Page} page @param {number} beyond */
async function trainBeyond(page, beyond) {
  await page.waitForFunction(
    (least) => {
      const row = document.querySelector('#lab tr[data-state="running"], #lab tr[data-state="paused"]');
      return Number(row?.getAttribute("data-step")) > least;
    },
    beyond,
    PATIENCE,
  );
}

/**
 * Until the browser has saved a snapshot of every shard of the run, from not far back. They are taken every few seconds; on the
 * GPU the first comes when its programs are just compiled and hardly anything is trained.
 * @param {Page} page
 */
const snapshot = (page) => untilSaved(page, async (saved) => saved > (await step(page)) / 2);

/** Until the run trains again after a failure, from what is saved. @param {Page} page @param {string} recovery @param {number} saved */
async function continues(page, recovery, saved) {
  await has(page, "recovery", recovery);
  await has(page, "state", "running");
  const after = await step(page);
  assert.ok(after >= saved, `${after} after ${saved} was saved`);
  await trainBeyond(page, after);
}

/** Let a worker die. @param {import("playwright-core").Worker} worker */
async function crash(worker) {
  const closed = new Promise((resolve) => worker.on("close", resolve));
  await worker.evaluate(() => void setTimeout(() => reportError(new Error("simulated crash"))));
  await closed;
}

/** @param {Page} page */
async function reload(page) {
  await page.reload();
  await ready(page, "lab");
}

/**
 * Start the run of two tiny networks.
 * @param {Page} page
 * @param {"cpu" | "gpu"} engine
 * @param {number} [steps]
 */
async function train(page, engine, steps = ENDLESS) {
  await open(page, `?engine=${engine}&${TINY}&lab.steps=${steps}`, "lab");
  await page.locator('#lab [data-part="train"]').click();
}

/** Let the test get at the devices of the workers that are still to come. @param {Page} page */
async function watchDevices(page) {
  await page.route(/training-worker.*\.js$/, async (route) => {
    const response = await route.fetch();
    const hook = `
      const { requestDevice } = GPUAdapter.prototype;
      GPUAdapter.prototype.requestDevice = async function (...options) {
        return (self.device = await requestDevice.apply(this, options));
      };\n`;
    await route.fulfill({ response, body: hook + (await response.text()) });
  });
}

/**
 * Take the device away, as a driver reset would, while it has so many lines to compile: its loss is known only after
 * that, but a readback that is under way fails at once.
 * @param {Page} page
 * @param {number} lines
 */
async function loseDevice(page, lines) {
  const [worker] = runWorkers(page);
  const closed = new Promise((resolve) => worker.on("close", resolve));
  await worker.evaluate((lines) => {
    const { device } = /** @type {any} */ (self);
    const body = Array.from({ length: lines }, (_, i) => `x[${i % 7}] = sin(x[${(i + 1) % 7}]) + ${i}.0;`);
    const code = `
      @group(0) @binding(0) var<storage, read_write> x: array<f32>;
      @compute @workgroup_size(1) fn main() { ${body.join("\n")} }`;
    device.createComputePipeline({ layout: "auto", compute: { module: device.createShaderModule({ code }) } });
    device.destroy();
  }, lines);
  await closed;
}

siteTest(
  "a run to its end: the curve of its networks, and a table row that stays until it is deleted",
  { webgpu: [false], widths: [1280, 390] },
  async (page) => {
    const chart = page.locator("#lab [data-part='lab-chart']");
    await train(page, "cpu", 300);
    await has(page, "state", "done");
    const outcome = (await run(page).locator(".run-outcome").textContent()) ?? "";
    await page.locator("#announcements", { hasText: outcome }).waitFor();
    await openTable(chart);
    assert.equal(await chart.locator("tbody tr", { hasText: /^A/ }).count(), 2);
    await noWorkers(page);
    await reload(page);
    await has(page, "state", "done");
    await openTable(chart);
    assert.equal(await chart.locator("tbody tr", { hasText: /^A/ }).count(), 2);
    await press(page, "delete");
    await page.locator('#lab [data-part="empty"]:visible').waitFor();
    await untilForgotten(page);
    await reload(page);
    assert.equal(await run(page).count(), 0);
  },
);

siteTest("pause, and resume", { webgpu: [false] }, async (page) => {
  await train(page, "cpu");
  await trainBeyond(page, 0);
  await press(page, "go");
  await has(page, "state", "paused");
  // The slice under way comes to its end.
  await untilSaved(page, async (saved) => saved === (await step(page)));
  const paused = await step(page);
  await page.waitForTimeout(1000);
  assert.equal(await step(page), paused);
  await press(page, "step");
  await trainBeyond(page, paused);
  await has(page, "state", "paused");
  // So far that it is seen when it begins again.
  const far = 10 * (await step(page));
  await press(page, "go");
  await trainBeyond(page, far);
  await press(page, "restart");
  await page.waitForFunction(
    (least) => Number(document.querySelector("#lab tr[data-run]")?.getAttribute("data-step")) < least,
    far,
    PATIENCE,
  );
  assert.equal(await page.locator('#lab [data-part="runs"] tr').count(), 1);
});

siteTest("cancel takes less than 200 ms, and nothing trains after it", { alone: true }, async (page, { webgpu }) => {
  await train(page, webgpu ? "gpu" : "cpu");
  await trainBeyond(page, 0);
  const elapsed = await run(page).evaluate(async (row) => {
    const start = performance.now();
    /** @type {HTMLElement | null} */
    const button = row.querySelector('[data-action="delete"]');
    button?.focus();
    button?.click();
    while (row.isConnected) await new Promise((resolve) => setTimeout(resolve));
    return performance.now() - start;
  });
  assert.ok(elapsed <= 200, `${elapsed} ms`);
  await noWorkers(page);
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("data-part")), "train");
  await untilForgotten(page);
  await reload(page);
  assert.equal(await run(page).count(), 0);
});

siteTest("a run outlives a reload", {}, async (page, { webgpu }) => {
  await train(page, webgpu ? "gpu" : "cpu");
  await trainBeyond(page, 0);
  const saved = await snapshot(page);
  const before = await step(page);
  await reload(page);
  await press(page, "go");
  await has(page, "state", "running");
  const after = await step(page);
  assert.ok(after >= saved, `${after} after ${saved} was saved`);
  await trainBeyond(page, before);
});

siteTest(
  "a crashed worker is replaced, and the run continues, even if it was paused",
  { webgpu: [false] },
  async (page) => {
    await train(page, "cpu");
    await trainBeyond(page, 0);
    const workers = runWorkers(page);
    assert.equal(workers.length, 2);
    await has(page, "workers", "2");
    const saved = await snapshot(page);
    await crash(workers[0]);
    await continues(page, "worker", saved);
    assert.equal(runWorkers(page).length, workers.length);

    await press(page, "go");
    await has(page, "state", "paused");
    const paused = await untilSaved(page, async (saved) => saved === (await step(page)));
    await crash(runWorkers(page)[0]);
    await press(page, "go");
    await continues(page, "worker", paused);
    assert.equal(runWorkers(page).length, workers.length);
    assert.ok(await page.locator('#lab [data-part="lab-error"]').isHidden());
  },
);

siteTest("a lost device is made anew; lost again, the CPU engine takes over", { webgpu: [true] }, async (page) => {
  await watchDevices(page);
  await train(page, "gpu");
  await trainBeyond(page, 0);
  const saved = await snapshot(page);
  await loseDevice(page, 0);
  await continues(page, "device", saved);
  await loseDevice(page, 800);
  await continues(page, "cpu", saved);
  await has(page, "engine", "cpu");
  assert.ok(await page.locator('#lab [data-part="lab-error"]').isHidden());
});

siteTest(
  "a run that another tab has cannot be resumed, until that one is closed",
  { webgpu: [false] },
  async (page) => {
    await train(page, "cpu");
    await trainBeyond(page, 0);
    const saved = await snapshot(page);
    const other = await page.context().newPage();
    await open(other, "?engine=cpu", "lab");
    await press(other, "go");
    await other.locator('#lab [data-part="lab-error"][data-kind="BadInput"]').waitFor();
    assert.equal(runWorkers(other).length, 0);
    await page.close();
    await until("the run is free", () =>
      other.evaluate(async () => (await navigator.locks.query()).held?.length === 0),
    );
    await press(other, "go");
    await has(other, "state", "running");
    assert.ok((await step(other)) >= saved);
  },
);

siteTest("changing the engine keeps the run", { webgpu: [true] }, async (page) => {
  await train(page, "cpu");
  for (const engine of ["gpu", "cpu"]) {
    await trainBeyond(page, 0);
    const before = await step(page);
    await page.locator("#engine").click();
    await choose(page, "engine", engine);
    await page.keyboard.press("Escape");
    await has(page, "engine", engine);
    await has(page, "state", "running");
    const first = await step(page);
    assert.ok(first >= before, `${first} on the ${engine} after ${before}`);
    await trainBeyond(page, before);
  }
});

siteTest(
  "a browser that saves nothing: the run continues, and the reader is told",
  { webgpu: [false] },
  async (page) => {
    await page.addInitScript(() => {
      Object.defineProperty(window, "indexedDB", {
        get() {
          throw new DOMException("The operation is insecure.", "SecurityError");
        },
      });
    });
    await train(page, "cpu", 300);
    await has(page, "notice", "");
    await has(page, "state", "done");
    const download = page.waitForEvent("download");
    await press(page, "save");
    assert.match((await download).suggestedFilename(), /\.zip$/);
    await press(page, "delete");
    await page.locator('#lab [data-part="empty"]:visible').waitFor();
  },
);

siteTest("more than the machine has: a sentence, and the next run is as ever", { webgpu: [false] }, async (page) => {
  await open(page, `?engine=cpu&${TINY}&lab.steps=60&lab.width=9999&lab.depth=8`, "lab");
  await page.locator('#lab [data-part="train"]').click();
  await has(page, "state", "failed");
  const width = page.locator('[data-control="lab.width"] input');
  await width.fill("16");
  await width.press("Enter");
  await page.locator('#lab [data-part="train"]').click();
  await has(page, "state", "done");
  await noWorkers(page);
});
