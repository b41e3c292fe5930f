// Runs that train in the page: to the end, paused, cancelled, interrupted, moved, and through every kind of accident.

import assert from "node:assert/strict";
import { siteTest, siteUrl } from "./harness.mjs";
import { choose } from "./page.mjs";

/** @typedef {import("playwright-core").Page} Page */

/** Long enough that nothing here reaches its end, on the figure that everybody sees first. */
const QUICK = "?transition.run=quick-faces";

/** @param {Page} page */
const panel = (page) => page.locator("#transition .run-panel");
/** @param {Page} page @param {string} state */
const inState = (page, state) => page.locator(`#transition .run-panel[data-state="${state}"]`).waitFor({ timeout: 60_000 });
/** @param {Page} page @param {string} name */
const press = (page, name) => panel(page).getByRole("button", { name, exact: true }).click();

/** The step that the run is at. @param {Page} page */
async function step(page) {
  const text = (await panel(page).locator(".run-status").textContent()) ?? "";
  return Number(/Step ([\d,]+) of/.exec(text)?.[1].replaceAll(",", ""));
}

/** Until the run is beyond a step. @param {Page} page @param {number} beyond */
async function trainBeyond(page, beyond) {
  await page.waitForFunction(
    (least) => {
      const text = document.querySelector("#transition .run-status")?.textContent ?? "";
      return Number(/Step ([\d,]+) of/.exec(text)?.[1].replaceAll(",", "")) > least;
    },
    beyond,
    { timeout: 60_000 },
  );
}

/** Open the figure and start its run. @param {Page} page @param {string} engine */
async function train(page, engine) {
  await page.goto(`${siteUrl}${QUICK}&engine=${engine}`);
  await page.locator("#transition").scrollIntoViewIfNeeded();
  await page.locator("#transition[data-ready]").waitFor();
  await press(page, "Train it here");
}

/** The workers that train. @param {Page} page */
const runWorkers = (page) => page.workers().filter((worker) => worker.url().includes("run-worker"));

/** Let the test get at the devices of the workers that are still to come. @param {Page} page */
async function watchDevices(page) {
  await page.route(/run-worker.*\.js$/, async (route) => {
    const response = await route.fetch();
    const hook = `
      const { requestDevice } = GPUAdapter.prototype;
      GPUAdapter.prototype.requestDevice = async function (...options) {
        return (self.device = await requestDevice.apply(this, options));
      };\n`;
    await route.fulfill({ response, body: hook + (await response.text()) });
  });
}

/** End a worker as a bug or a lack of memory would. @param {Page} page */
async function crashOne(page) {
  const [worker] = runWorkers(page);
  const closed = new Promise((resolve) => worker.on("close", resolve));
  await worker.evaluate(() => void setTimeout(() => reportError(new Error("simulated crash"))));
  await closed;
}

/** Take the device away, as a driver reset would. @param {Page} page */
async function loseDevice(page) {
  await runWorkers(page)[0].evaluate(() => /** @type {any} */ (self).device.destroy());
}

/** @param {Page} page @param {RegExp} text */
async function notice(page, text) {
  await panel(page).locator(".run-notice", { hasText: text }).waitFor({ timeout: 60_000 });
}

siteTest("pause, one step, go on", {}, async (page, { webgpu }) => {
  await train(page, webgpu ? "gpu" : "cpu");
  await trainBeyond(page, 4);
  await press(page, "Pause");
  await inState(page, "paused");
  // The slice under way comes to its end.
  await page.waitForTimeout(1000);
  const paused = await step(page);
  await page.waitForTimeout(1000);
  assert.equal(await step(page), paused);
  await press(page, "One step");
  await trainBeyond(page, paused);
  await inState(page, "paused");
  const stepped = await step(page);
  await press(page, "Go on");
  await trainBeyond(page, stepped);
});

siteTest("cancel answers within 200 ms, and nothing goes on", {}, async (page, { webgpu }) => {
  await train(page, webgpu ? "gpu" : "cpu");
  await trainBeyond(page, 4);
  const elapsed = await panel(page).evaluate(async (place) => {
    const cancel = [...place.querySelectorAll("button")].find(({ textContent }) => textContent === "Cancel");
    const start = performance.now();
    cancel?.click();
    while (place.dataset.state !== "idle") await new Promise((resolve) => setTimeout(resolve));
    return performance.now() - start;
  });
  assert.ok(elapsed <= 200, `${elapsed} ms`);
  for (let i = 0; runWorkers(page).length > 0; i++) {
    assert.ok(i < 50, "workers are left");
    await page.waitForTimeout(100);
  }
  await page.reload();
  await page.locator("#transition[data-ready]").waitFor();
  assert.equal(await panel(page).getByRole("button", { name: /Resume/ }).count(), 0);
});

siteTest("a run outlives a reload", {}, async (page, { webgpu }) => {
  await train(page, webgpu ? "gpu" : "cpu");
  await trainBeyond(page, 4);
  // The first checkpoint is written after five seconds.
  await page.waitForTimeout(6000);
  await page.reload();
  await page.locator("#transition").scrollIntoViewIfNeeded();
  const resume = panel(page).getByRole("button", { name: /Resume at step/ });
  await resume.waitFor();
  const kept = Number(/[\d,]+/.exec((await resume.textContent()) ?? "")?.[0].replaceAll(",", ""));
  assert.ok(kept > 0);
  await resume.click();
  await inState(page, "running");
  assert.ok((await step(page)) >= kept);
  await trainBeyond(page, kept);
});

siteTest("a crashed worker is replaced, and the run goes on", { webgpu: [false] }, async (page) => {
  await train(page, "cpu");
  await trainBeyond(page, 4);
  const workers = runWorkers(page).length;
  await crashOne(page);
  await notice(page, /simulated crash.*goes on.*in a new worker/);
  await trainBeyond(page, await step(page));
  assert.equal(runWorkers(page).length, workers);
  assert.ok(await panel(page).locator(".figure-error").isHidden());
});

siteTest("a lost device is made anew; lost again, the CPU engine takes over", { webgpu: [true] }, async (page) => {
  await watchDevices(page);
  await train(page, "gpu");
  await trainBeyond(page, 4);
  await loseDevice(page);
  await notice(page, /was lost.*on a new device/);
  await trainBeyond(page, 4);
  await loseDevice(page);
  await notice(page, /was lost.*on the CPU engine/);
  await panel(page).locator(".run-status", { hasText: "CPU" }).waitFor();
  await trainBeyond(page, 4);
  assert.ok(await panel(page).locator(".figure-error").isHidden());
});

siteTest("changing the engine keeps the run", { webgpu: [true] }, async (page) => {
  await train(page, "cpu");
  for (const [to, label] of [["gpu", "GPU"], ["cpu", "CPU"]]) {
    await trainBeyond(page, 4);
    const before = await step(page);
    await page.locator("#engine").click();
    await choose(page, "engine", label);
    await page.locator(`#engine[data-engine="${to}"]`).waitFor();
    await page.keyboard.press("Escape");
    await panel(page).locator(".run-status", { hasText: label }).waitFor({ timeout: 60_000 });
    assert.ok((await step(page)) >= before, label);
    await trainBeyond(page, before);
  }
});
