// Section IV: when does the bias emerge?

import assert from "node:assert/strict";
import { siteTest } from "./harness.mjs";
import { contrast, live, number, open, openTable, panelButton, panelState, ready } from "./page.mjs";

/** @typedef {import("playwright-core").Page} Page */

/** @param {Page} page @param {string} name @param {string} before */
const changed = (page, name, before) =>
  page.waitForFunction(
    ([key, old]) => document.querySelector(`[data-live="${key}"]`)?.textContent !== old,
    [name, before],
  );

siteTest("over time a network finds the Gaussian and leaves it again", { webgpu: [false] }, async (page) => {
  await open(page, "?emergence.n=32", "emergence");
  for (const row of ["gaussian", "samples", "nearest"]) assert.ok((await contrast(page, `row-${row}`)) > 40, row);
  await page.locator('[data-claim="emergence.early"][data-verdict="holds"]').waitFor();
  assert.ok((await number(page, "emergence.peak.cosine")) > 0.8);
  assert.ok((await number(page, "emergence.last.cosine")) < (await number(page, "emergence.peak.cosine")) - 0.1);

  const steps = page.locator('#emergence [data-part="step"] input');
  await steps.press("Home");
  const early = await live(page, "emergence.memorized");
  assert.equal(early, "0\u202f%");
  await steps.press("End");
  await changed(page, "emergence.memorized", early);
  assert.ok((await number(page, "emergence.memorized")) > 30);
});

siteTest("sliders and charts lead to every width; sizes without widths say so", { webgpu: [false] }, async (page) => {
  await open(page, "", "emergence");
  const before = await live(page, "emergence.parameters");
  await page.locator('#emergence [data-part="width"] input').press("Home");
  await changed(page, "emergence.parameters", before);
  const [narrow, parameters] = [await number(page, "emergence.width"), await number(page, "emergence.parameters")];
  assert.ok(parameters < Number(before.replaceAll(",", "")));

  // The right end of the chart: the widest network.
  const chart = page.locator('#emergence [data-part="over-width"] svg');
  const { width, height } = (await chart.boundingBox()) ?? { width: 0, height: 0 };
  await chart.click({ position: { x: width - 18, y: height / 2 } });
  await changed(page, "emergence.width", String(narrow));
  assert.ok((await number(page, "emergence.width")) > narrow);

  // Widths were trained at some sizes only.
  await page.locator('#emergence [data-part="size"] input').press("End");
  await page.locator("#emergence .one-width").waitFor();
  assert.ok(await page.locator('#emergence [data-part="over-width"]').isHidden());
  assert.ok(await page.locator('#emergence [data-part="width"]').isHidden());
  assert.match(await live(page, "emergence.widths.n"), /\d+ and \d+/);
});

const train = { batch: 16, architecture: { width: 16, depth: 1 } };
const evaluation = { samples: 16, samplerSteps: 4 };

/**
 * A run of tiny networks in place of the preset's, which takes a minute.
 * @param {Page} page
 * @param {Record<string, unknown>} config
 */
async function trainTiny(page, config) {
  await page.addInitScript((config) => {
    const { postMessage } = Worker.prototype;
    Worker.prototype.postMessage = function (/** @type {any} */ message, /** @type {any} */ transfer) {
      if (message.call === "plan") message.payload.options = { ...message.payload.options, config };
      postMessage.call(this, message, transfer);
    };
  }, config);
}

siteTest(
  "a run trained here to its end is what both figures show",
  { webgpu: [false], timeout: 240_000 },
  async (page) => {
    await trainTiny(page, {
      sizes: [8, 16],
      trainLong: { ...train, steps: 60 },
      widths: [8, 12],
      widthSizes: [16],
      train: { ...train, steps: 30 },
      checkpoints: [10, 30],
      evaluation,
    });
    await open(page, "?engine=cpu", "emergence");
    const recorded = await live(page, "emergence.parameters");
    await ready(page, "phase");
    await panelButton(page, "phase", "main").click();
    await panelState(page, "phase", "done", 200_000);
    await ready(page, "emergence");
    await changed(page, "emergence.parameters", recorded);
    assert.equal(await page.locator("#emergence").getAttribute("data-origin"), "here");
    // Every size at every checkpoint, and every width.
    await openTable(page.locator('#emergence [data-part="over-time"]'));
    const steps = page.locator('#emergence [data-part="over-time"] tbody td:first-child');
    assert.deepEqual(await steps.allTextContents(), ["10", "30", "60"]);
    await openTable(page.locator('#emergence [data-part="over-width"]'));
    const widths = page.locator('#emergence [data-part="over-width"] tbody td:nth-child(2)');
    assert.deepEqual(await widths.allTextContents(), ["8", "12"]);
    // It lies over the recorded run, and what was said last is what came out.
    await page.locator('#emergence [data-part="over-time"] svg .recorded-behind').first().waitFor();
    await page.waitForFunction(() => {
      const said = document.getElementById("announcements")?.textContent ?? "";
      return said !== "" && document.querySelector("#phase .run-status")?.textContent?.endsWith(said);
    });
    await ready(page, "phase");
    assert.equal(await page.locator('[data-part="phase-size"] .ticks span').count(), 2);
    assert.deepEqual(await page.locator('[data-part="phase-step"] .ticks span').allTextContents(), ["10", "30", "60"]);
    // The recorded run is there to go back to, in both figures.
    const here = await live(page, "phase.networks");
    await page.locator('#phase [data-action="switch-run"]').click();
    await changed(page, "phase.networks", here);
    await ready(page, "emergence");
    await page.waitForFunction(
      (old) => document.querySelector('[data-live="emergence.parameters"]')?.textContent === old,
      recorded,
    );
    await page.locator('#emergence [data-action="switch-run"]').click();
    await changed(page, "emergence.parameters", recorded);
  },
);

siteTest(
  "two networks on halves of the data are trained here, over the recorded curve",
  { webgpu: [false] },
  async (page) => {
    await trainTiny(page, { sizes: [8, 16], train: { ...train, steps: 30 }, evaluation });
    await open(page, "?engine=cpu&transition.run=main-faces", "agreement");
    await panelButton(page, "agreement", "main").click();
    await panelState(page, "agreement", "done");
    await page.locator('#agreement[data-origin="here"]').waitFor();
    await page.locator("#agreement svg .recorded-behind").first().waitFor();
    await openTable(page.locator("#agreement"));
    const sizes = await page.locator("#agreement .chart-table tbody td:first-child").allTextContents();
    assert.deepEqual(sizes, ["8", "16"]);
  },
);

siteTest("more images, later copies: the phase diagram and its cells", { webgpu: [false] }, async (page) => {
  await open(page, "", "phase");
  await page.locator('[data-claim="phase.later"][data-verdict="holds"]').waitFor();
  await openTable(page.locator('[data-part="copies"]'));
  const rows = await page.locator("#phase .chart-table tbody tr").count();
  assert.ok(rows >= 32, `${rows} cells`);

  await page.locator('#phase [data-part="phase-size"] input').press("Home");
  await page.locator('#phase [data-part="phase-step"] input').press("End");
  await page.waitForFunction(
    () => Number.parseFloat(document.querySelector('[data-live="phase.memorized"]')?.textContent ?? "") > 50,
  );
  const few = await number(page, "phase.n");
  // The upper left cell: the most images, the youngest network.
  await page.locator('[data-part="copies"] svg').click({ position: { x: 70, y: 20 } });
  await changed(page, "phase.n", String(few));
  assert.equal(await live(page, "phase.memorized"), "0\u202f%");
  assert.ok((await number(page, "phase.n")) > few);

  // The same cells have their similarity beside.
  const likeness = page.locator('[data-part="likeness"]');
  assert.ok((await likeness.locator("svg text").allTextContents()).includes(await live(page, "phase.cosine")));
  const before = await live(page, "phase.step");
  const box = await likeness.locator("svg").boundingBox();
  await likeness.locator("svg").click({ position: { x: (box?.width ?? 0) - 20, y: 20 } });
  await changed(page, "phase.step", before);
});

siteTest("networks that share no image agree when they have many", { webgpu: [false] }, async (page) => {
  await open(page, "", "agreement");
  await page.locator('[data-claim="agreement.together"][data-verdict="holds"]').waitFor();
  await page.locator('[data-claim="agreement.apart"][data-verdict="holds"]').waitFor();
  assert.ok((await number(page, "agreement.many.cosine")) > 0.9);
  assert.ok((await number(page, "agreement.few.cosine")) < 0.6);
  const before = await live(page, "agreement.n");
  await page.locator('#agreement [data-part="size"] input').press("Home");
  await changed(page, "agreement.n", before);
  for (const part of ["samples-0", "samples-1", "nearest-0", "nearest-1"])
    assert.ok((await contrast(page, part)) > 40, part);
});

siteTest(
  "a run that cannot be fetched says so in its own place, and can be tried again",
  { webgpu: [false] },
  async (page) => {
    // A service that is down answers nothing that the browser would log as an error of the page.
    let down = true;
    await page.route("**/strong-generalization-*.json", (route) =>
      down ? route.fulfill({ status: 204, body: "" }) : route.continue(),
    );
    await open(page, "", "hero");
    await page.locator("#agreement").scrollIntoViewIfNeeded();
    const problem = page.locator("#agreement > .figure-error:not([hidden])");
    await problem.waitFor();
    await ready(page, "phase");
    down = false;
    await problem.locator('[data-action="retry"]').click();
    await ready(page, "agreement");
  },
);
