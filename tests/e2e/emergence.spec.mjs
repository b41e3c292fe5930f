// Section IV: when does the bias emerge?

import assert from "node:assert/strict";
import { siteTest } from "./harness.mjs";
import { contrast, live, number, open, ready, violations } from "./page.mjs";

/** @typedef {import("playwright-core").Page} Page */

const FIGURES = ["score-difference", "paths", "alignment", "wiener", "emergence", "phase", "agreement"];

/** @param {Page} page @param {string} name @param {string} before */
const changed = (page, name, before) =>
  page.waitForFunction(
    ([key, old]) => document.querySelector(`[data-live="${key}"]`)?.textContent !== old,
    [name, before],
  );

siteTest("over time a network finds the Gaussian and leaves it again", { webgpu: [false] }, async (page) => {
  await open(page, "?emergence.n=32");
  await ready(page, "emergence");
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

siteTest("the map leads to every width, and its sliders offer what there is", { webgpu: [false] }, async (page) => {
  await open(page);
  await ready(page, "emergence");
  const before = await live(page, "emergence.parameters");
  await page.locator('#emergence [data-part="width"] input').press("Home");
  await changed(page, "emergence.parameters", before);
  const [narrow, parameters] = [await number(page, "emergence.width"), await number(page, "emergence.parameters")];
  assert.ok(parameters < Number(before.replaceAll(",", "")));

  // The upper right corner: the widest network, as old as it got.
  const map = page.locator('#emergence [data-part="map"] svg');
  const { width, height } = (await map.boundingBox()) ?? { width: 0, height: 0 };
  await map.click({ position: { x: width - 14, y: height * 0.14 } });
  await changed(page, "emergence.width", String(narrow));
  assert.ok((await number(page, "emergence.width")) > narrow);
  const step = await page.locator('#emergence [data-part="step"] output').first().textContent();
  assert.ok(Number(step?.replaceAll(",", "")) >= 2000, `${step}`);
});

siteTest("more images, later copies: the phase diagram and its cells", { webgpu: [false] }, async (page) => {
  await open(page);
  await ready(page, "phase");
  await page.locator('[data-claim="phase.later"][data-verdict="holds"]').waitFor();
  await page.locator("#phase .chart-table summary").click();
  const rows = await page.locator("#phase .chart-table tbody tr").count();
  assert.ok(rows >= 32, `${rows} cells`);

  await page.locator('#phase [data-part="phase-size"] input').press("Home");
  await page.locator('#phase [data-part="phase-step"] input').press("End");
  await page.waitForFunction(
    () => Number.parseFloat(document.querySelector('[data-live="phase.memorized"]')?.textContent ?? "") > 50,
  );
  const few = await number(page, "phase.n");
  // The upper left cell: the most images, the youngest network.
  await page.locator("#phase svg").click({ position: { x: 70, y: 20 } });
  await changed(page, "phase.n", String(few));
  assert.equal(await live(page, "phase.memorized"), "0\u202f%");
  assert.ok((await number(page, "phase.n")) > few);
});

siteTest("networks that share no image agree when they have many", { webgpu: [false] }, async (page) => {
  await open(page);
  await ready(page, "agreement");
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
    await page.route("**/strong-generalization-main-faces.json", (route) =>
      down ? route.fulfill({ status: 204, body: "" }) : route.continue(),
    );
    await open(page);
    await page.locator("#agreement").scrollIntoViewIfNeeded();
    const problem = page.locator("#agreement .figure-error", { hasText: "Try again" });
    await problem.waitFor();
    await ready(page, "phase");
    down = false;
    await problem.locator("button").click();
    await ready(page, "agreement");
  },
);

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  for (const width of [390, 1280]) {
    siteTest(
      `sections III and IV: axe finds nothing and nothing sticks out, ${colorScheme}, ${width} px`,
      { webgpu: [false], context: { colorScheme, viewport: { width, height: 844 } } },
      async (page) => {
        await open(page);
        for (const id of FIGURES) await ready(page, id);
        await page.locator("#phase .chart-table summary").click();
        assert.deepEqual(await violations(page, FIGURES.map((id) => `section:has(> #${id})`)), []);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= width, `${wide} px wide`);
      },
    );
  }
}
