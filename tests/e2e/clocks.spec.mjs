// Section V, over training time: two clocks, and modes in order.

import assert from "node:assert/strict";
import { siteTest } from "./harness.mjs";
import { choose, live, open, openTable, panelButton, panelState } from "./page.mjs";

siteTest(
  "the time until copies grows with the training images, and the axis makes curves collapse",
  { webgpu: [false] },
  async (page) => {
    await open(page, "", "clocks");
    await page.locator('[data-claim="clocks.sgd.memorized"][data-verdict="holds"]').waitFor();
    const exponent = Number.parseFloat(await live(page, "clocks.sgd.memorized"));
    assert.ok(exponent > 0.8 && exponent < 1.2, `${exponent}`);

    // How far apart the squares that mark τ_mem are, in pixels.
    const spread = () =>
      page.evaluate(() => {
        const label =
          document.querySelector('#clocks [data-part="clocks-curves"] svg')?.getAttribute("aria-label") ?? "";
        const times = [...label.matchAll(/at ([\d,.]+)/g)].map(([, number]) => Number(number.replaceAll(",", "")));
        return Math.max(...times) / Math.min(...times);
      });
    const apart = await spread();
    assert.ok(apart > 3, `${apart}`);
    await choose(page, "clocks.axis", "perImage");
    await page.waitForFunction(() =>
      document
        .querySelector('#clocks [data-part="clocks-curves"] svg')
        ?.getAttribute("aria-label")
        ?.includes("per image"),
    );
    assert.ok((await spread()) < 2);
    const laws = page.locator('#clocks [data-part="clocks-laws"]');
    await openTable(laws);
    assert.ok((await laws.locator("tbody tr").count()) > 8);
  },
);

siteTest("the random-features model is solved in the page, and can be cancelled", { webgpu: [false] }, async (page) => {
  await open(page, "", "clocks");
  const model = page.locator('#clocks [data-part="features"]');
  await model.scrollIntoViewIfNeeded();
  const button = model.locator("button");
  await page.locator('[data-part="features"][data-state="running"]').waitFor();
  await model.locator('[data-part="features-status"]', { hasText: "of 4: n =" }).waitFor();
  await button.click();
  await page.locator('[data-part="features"][data-state="idle"]').waitFor();
  await button.click();
  await page.locator('[data-part="features"][data-state="done"]').waitFor({ timeout: 120_000 });
  await page.locator('[data-claim="features.generalized"][data-verdict="holds"]').waitFor();
  await page.locator('[data-claim="features.memorized"][data-verdict="holds"]').waitFor();
});

siteTest("an MLP learns principal axes in order, a U-Net all at once", { webgpu: [false] }, async (page) => {
  await open(page, "", "modes");
  await page.locator('[data-claim="modes.order"][data-verdict="holds"]').waitFor();
  await page.locator('[data-claim="modes.weaker"][data-verdict="holds"]').waitFor();
  assert.ok(Number.parseFloat(await live(page, "modes.mlp")) > 0.3);
});

siteTest("a run says only what it tests and draws", { webgpu: [false] }, async (page) => {
  await open(page, "?clocks.run=cifar-quick-cifar10&modes.run=cifar-cifar10", "clocks");
  // One width, and too few networks that generalize before they copy.
  for (const name of ["clocks.widths", "clocks.sgd.generalized"]) {
    await page.locator(`[data-claim="${name}"][hidden]`).waitFor({ state: "attached" });
  }
  assert.equal(await live(page, "clocks.sgd.all"), "16 to 256");
  await page.locator("#modes").scrollIntoViewIfNeeded();
  // Only a U-Net, and no axis that loses variance.
  await page.locator('[data-sentence="modes.loses"][hidden]').waitFor({ state: "attached" });
  await page.locator('[data-claim="modes.order"][hidden]').waitFor({ state: "attached" });
  assert.equal(await live(page, "modes.symbols"), "");
  assert.equal(await live(page, "modes.colours"), "All axes gain variance.");
});

siteTest("modes come in order on digits, too", { webgpu: [false] }, async (page) => {
  await open(page, "", "modes");
  const faces = await live(page, "modes.mlp");
  await choose(page, "modes.run", "main-mnist");
  await page.waitForFunction(
    (before) => document.querySelector('[data-live="modes.mlp"]')?.textContent !== before,
    faces,
  );
  await page.locator('[data-claim="modes.order"][data-verdict="holds"]').waitFor();
  // What is recorded nowhere is not offered.
  const images = page.locator('#clocks [data-control="clocks.run"] label');
  assert.equal(await images.and(page.locator(":not([hidden])")).count(), await recordedClocks(page));
});

siteTest("modes are trained on the images that are shown", { webgpu: [false] }, async (page) => {
  // A few steps are enough to see what is trained.
  await page.route("**/runs/modes-main-mnist.json", async (route) => {
    const report = await (await route.fetch()).json();
    const { config } = report;
    config.sizes = [64];
    config.evaluation.samples = 16;
    for (const train of [config.train, ...config.others]) train.steps = 12;
    await route.fulfill({ json: report });
  });
  await open(page, "?engine=cpu&modes.run=main-mnist", "modes");
  const status = page.locator('#modes [data-part="run-status"]');
  assert.match((await status.textContent()) ?? "", /1 MLP of width 384 and 1 U-Net, on 64 images/);
  await panelButton(page, "modes", "main").click();
  await panelState(page, "modes", "done");
  await page.locator('#modes[data-origin="here"]').waitFor();
  assert.match((await page.locator(".lab-runs .run-title").textContent()) ?? "", /mnist/i);
  assert.equal(await live(page, "modes.n"), "64");
  assert.match(await live(page, "modes.networks"), /MLP and a U-Net/);
  // Another choice shows its own recorded run, and coming back shows this one again.
  await choose(page, "modes.run", "cifar-cifar10");
  await page.locator('#modes[data-origin="recorded"]').waitFor();
  await page.locator('#modes [data-action="main"]', { hasText: "U-Net" }).waitFor();
});

/** How many runs of the clocks are recorded. @param {import("playwright-core").Page} page */
const recordedClocks = (page) =>
  page.evaluate(async () => {
    const index = await (await fetch("./runs/index.json")).json();
    return index.filter((/** @type {any} */ { experiment }) => experiment === "clocks").length;
  });
