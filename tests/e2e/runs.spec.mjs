// Runs that train in the page: to the end, paused, cancelled, interrupted, moved, and through every kind of accident.

import assert from "node:assert/strict";
import { siteTest } from "./harness.mjs";
import { choose, open, openTable, ready, until, untilForgotten, untilKept } from "./page.mjs";

/** @typedef {import("playwright-core").Page} Page */

/** Two tiny networks on tiny images, so that the tests wait for the page and not for the training. */
const TINY = "lab.sizes=8%2016&lab.size=8&lab.width=16&lab.depth=1&lab.batch=16&lab.sampler=4&lab.samples=16&lab.sigmas=1&lab.images=16";
/** Steps of a run that does not come to its end here. */
const ENDLESS = 900_000;
/** A loaded machine takes its time to start workers. */
const PATIENCE = { timeout: 60_000 };

/** The run of the lab. @param {Page} page */
const run = (page) => page.locator('#lab [data-part="runs"] tr').first();
/** @param {Page} page @param {string} name */
const press = (page, name) => run(page).getByRole("button", { name, exact: true }).click();
/** Until the run says so. @param {Page} page @param {RegExp} text */
const says = (page, text) => run(page).locator(".run-state", { hasText: text }).waitFor(PATIENCE);
/** The workers that train. @param {Page} page */
const runWorkers = (page) => page.workers().filter((worker) => worker.url().includes("training-worker"));
/** Until nothing trains: a worker's end is told a little later. @param {Page} page */
const noWorkers = (page) => until("no worker is left", () => runWorkers(page).length === 0);

/** The step that the run is at. @param {Page} page */
async function step(page) {
  const text = (await run(page).locator(".run-state").textContent()) ?? "";
  return Number(/Step ([\d,]+) of/.exec(text)?.[1].replaceAll(",", ""));
}

/** Until the run is beyond a step. @param {Page} page @param {number} beyond */
async function trainBeyond(page, beyond) {
  await page.waitForFunction(
    (least) => {
      const text = document.querySelector("#lab .run-state")?.textContent ?? "";
      return Number(/Step ([\d,]+) of/.exec(text)?.[1].replaceAll(",", "")) > least;
    },
    beyond,
    PATIENCE,
  );
}

/**
 * Until the browser keeps a snapshot of every share of the run, from not far back. They are taken every few seconds; on the
 * GPU the first comes when its programs are just compiled and hardly anything is trained.
 * @param {Page} page
 */
const checkpoint = (page) => untilKept(page, async (kept) => kept > (await step(page)) / 2);

/** Until the run trains again after a failure, from what is kept. @param {Page} page @param {RegExp} notice @param {number} kept */
async function goesOn(page, notice, kept) {
  await says(page, notice);
  await says(page, /Step [\d,]+ of/);
  const after = await step(page);
  assert.ok(after >= kept, `${after} after ${kept} was kept`);
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
 * Take the device away, as a driver reset would, while it has so many lines to compile: it tells of its loss only after
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

siteTest("a run to its end: the curve of its networks, and a table row that stays until it is deleted", { widths: [1280, 390] }, async (page, { webgpu }) => {
  const chart = page.locator("#lab [data-part='lab-chart']");
  await train(page, webgpu ? "gpu" : "cpu", webgpu ? 60 : 300);
  await says(page, /^Done/);
  await page.locator("#announcements", { hasText: /^Run A: Done in .*ransition/ }).waitFor();
  await openTable(chart);
  assert.equal(await chart.locator("tbody tr").count(), 2);
  await noWorkers(page);
  await reload(page);
  await says(page, /^Done/);
  await openTable(chart);
  assert.equal(await chart.locator("tbody tr").count(), 2);
  await press(page, "Delete");
  await page.locator('#lab [data-part="empty"]:visible').waitFor();
  await untilForgotten(page);
  await reload(page);
  assert.equal(await run(page).count(), 0);
});

siteTest("pause, and go on", {}, async (page, { webgpu }) => {
  await train(page, webgpu ? "gpu" : "cpu");
  await trainBeyond(page, 0);
  await press(page, "Pause");
  await says(page, /paused/);
  // The slice under way comes to its end.
  await untilKept(page, async (kept) => kept === (await step(page)));
  const paused = await step(page);
  await page.waitForTimeout(1000);
  assert.equal(await step(page), paused);
  await press(page, "One step");
  await trainBeyond(page, paused);
  await says(page, /paused/);
  // So far that it is seen when it begins again.
  const far = 10 * (await step(page));
  await press(page, "Go on");
  await trainBeyond(page, far);
  await press(page, "Restart");
  await page.waitForFunction(
    (least) => Number(/Step ([\d,]+) of/.exec(document.querySelector("#lab .run-state")?.textContent ?? "")?.[1].replaceAll(",", "")) < least,
    far,
    PATIENCE,
  );
  assert.equal(await page.locator('#lab [data-part="runs"] tr').count(), 1);
});

siteTest("cancel answers within 200 ms, and nothing goes on", { alone: true }, async (page, { webgpu }) => {
  await train(page, webgpu ? "gpu" : "cpu");
  await trainBeyond(page, 0);
  const elapsed = await run(page).evaluate(async (row) => {
    const start = performance.now();
    const button = [...row.querySelectorAll("button")].find(({ textContent }) => textContent === "Delete");
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
  await checkpoint(page);
  const before = await step(page);
  await reload(page);
  await says(page, /Stopped at/);
  await press(page, "Resume");
  await says(page, /Step [\d,]+ of/);
  const after = await step(page);
  assert.ok(after > 0.2 * before, `${after} after ${before}`);
  await trainBeyond(page, before);
});

siteTest("a crashed worker is replaced, and the run goes on, also if it was paused", { webgpu: [false] }, async (page) => {
  await train(page, "cpu");
  await trainBeyond(page, 0);
  const workers = runWorkers(page);
  assert.equal(workers.length, 2);
  await says(page, /CPU, 2 workers/);
  const kept = await checkpoint(page);
  await crash(workers[0]);
  await goesOn(page, /simulated crash.*goes on from its last checkpoint, in a new worker/, kept);
  assert.equal(runWorkers(page).length, workers.length);

  await press(page, "Pause");
  await says(page, /paused/);
  const paused = await untilKept(page, async (kept) => kept === (await step(page)));
  await crash(runWorkers(page)[0]);
  await press(page, "Go on");
  await goesOn(page, /stopped unexpectedly\. The run goes on from its last checkpoint, in a new worker/, paused);
  assert.equal(runWorkers(page).length, workers.length);
  assert.ok(await page.locator('#lab [data-part="lab-error"]').isHidden());
});

siteTest("a lost device is made anew; lost again, the CPU engine takes over", { webgpu: [true] }, async (page) => {
  await watchDevices(page);
  await train(page, "gpu");
  await trainBeyond(page, 0);
  const kept = await checkpoint(page);
  await loseDevice(page, 0);
  await goesOn(page, /was lost.*goes on from its last checkpoint, on a new device/, kept);
  await loseDevice(page, 800);
  await goesOn(page, /was lost.*goes on from its last checkpoint, on the CPU engine/, kept);
  await says(page, /· CPU/);
  assert.ok(await page.locator('#lab [data-part="lab-error"]').isHidden());
});

siteTest("a run that another tab has is not taken up, until that one is closed", { webgpu: [false] }, async (page) => {
  await train(page, "cpu");
  await trainBeyond(page, 0);
  const kept = await checkpoint(page);
  const other = await page.context().newPage();
  await open(other, "?engine=cpu", "lab");
  await press(other, "Resume");
  await other.locator('#lab [data-part="lab-error"]', { hasText: "This run is under way in another tab" }).waitFor();
  assert.equal(runWorkers(other).length, 0);
  await page.close();
  await until("the run is free", () => other.evaluate(async () => (await navigator.locks.query()).held?.length === 0));
  await press(other, "Resume");
  await says(other, /Step [\d,]+ of/);
  assert.ok((await step(other)) >= kept);
});

siteTest("changing the engine keeps the run", { webgpu: [true] }, async (page) => {
  await train(page, "cpu");
  for (const label of ["GPU", "CPU"]) {
    await trainBeyond(page, 0);
    const before = await step(page);
    await page.locator("#engine").click();
    await choose(page, "engine", label);
    await page.keyboard.press("Escape");
    await says(page, new RegExp(`· ${label}`));
    const first = await step(page);
    assert.ok(first >= before, `${first} on the ${label} after ${before}`);
    await trainBeyond(page, before);
  }
});

siteTest("a browser that keeps nothing: the run goes on, and the reader is told", { webgpu: [false] }, async (page) => {
  await page.addInitScript(() => {
    Object.defineProperty(window, "indexedDB", {
      get() {
        throw new DOMException("The operation is insecure.", "SecurityError");
      },
    });
  });
  await train(page, "cpu", 300);
  await says(page, /does not keep the run, so a reload would lose it/);
  await says(page, /^Done/);
  const download = page.waitForEvent("download");
  await press(page, "Save");
  assert.match((await download).suggestedFilename(), /\.zip$/);
  await press(page, "Delete");
  await page.locator('#lab [data-part="empty"]:visible').waitFor();
});

siteTest("more than the machine has: a sentence, and the next run is as ever", { webgpu: [false] }, async (page) => {
  await open(page, `?engine=cpu&${TINY}&lab.steps=60&lab.width=9999&lab.depth=8`, "lab");
  await page.locator('#lab [data-part="train"]').click();
  await says(page, /^Stopped at step 0: .+\./);
  const width = page.locator('[data-control="lab.width"] input');
  await width.fill("16");
  await width.press("Enter");
  await page.locator('#lab [data-part="train"]').click();
  await says(page, /^Done/);
  await noWorkers(page);
});
