// Section III: the Gaussian bias.

import assert from "node:assert/strict";
import { siteTest } from "./harness.mjs";
import { choose, contrast, live, number, open, ready, slider } from "./page.mjs";

siteTest(
  "a section fetches its run when it comes near the screen, and each once",
  { webgpu: [false] },
  async (page) => {
    /** @type {string[]} */
    const fetched = [];
    page.on("request", (request) => fetched.push(new URL(request.url()).pathname.split("/").at(-1) ?? ""));
    const runs = () => fetched.filter((file) => file.startsWith("gaussian-bias"));
    await open(page, "", "hero");
    assert.deepEqual(runs(), []);
    for (const id of ["score-difference", "paths", "alignment"]) await ready(page, id);
    assert.deepEqual(runs(), ["gaussian-bias-main-faces.json"]);
  },
);

siteTest(
  "the network that generalizes is near D_G, the one that memorizes near D_M",
  { webgpu: [false] },
  async (page) => {
    await open(page, "", "score-difference");
    const [linear, gaussian, empirical] = await Promise.all(
      ["linear", "gaussian", "empirical"].map((name) => number(page, `bias.many.${name}`)),
    );
    assert.ok(linear < gaussian && gaussian < 0.5 * empirical, `${linear}, ${gaussian}, ${empirical}`);
    assert.ok((await number(page, "bias.few.train.empirical")) < (await number(page, "bias.few.train.gaussian")));
    for (const claim of ["bias.gaussian", "bias.linear", "bias.memorizing"]) {
      await page.locator(`[data-claim="${claim}"][data-verdict="holds"]`).waitFor();
    }

    // Other images, the same axes.
    const chart = page.locator("#score-difference svg");
    const axis = () => chart.locator("g[aria-hidden], text").allTextContents();
    const [before, ticks] = [await chart.innerHTML(), await axis()];
    await choose(page, "bias.split", "train");
    await page.waitForFunction((old) => document.querySelector("#score-difference svg")?.innerHTML !== old, before);
    assert.deepEqual(
      (await axis()).filter((text) => /^[\d.]+$/.test(text)),
      ticks.filter((text) => /^[\d.]+$/.test(text)),
    );
  },
);

siteTest("all paths scrub together, by slider and by pointer", { webgpu: [false] }, async (page) => {
  await open(page, "", "paths");
  const rows = page.locator("#paths .strip:not(.sigmas)");
  assert.equal(await rows.count(), 4);
  const steps = await rows.first().locator("canvas").count();
  assert.ok(steps >= 10);
  for (const name of ["trained", "linear", "gaussian", "empirical"])
    assert.ok((await contrast(page, `${name}-ended`)) > 40);

  await page.locator("#paths .strip-slider input").press("ArrowRight");
  await page.waitForFunction(() => document.querySelector('[data-live="bias.step"]')?.textContent === "10");
  assert.equal(await page.locator("#paths .strip canvas.selected").count(), 4);
  await rows.nth(2).locator("canvas").nth(2).hover();
  await page.waitForFunction(() => document.querySelector('[data-live="bias.step"]')?.textContent === "3");
  assert.equal(await page.locator("#paths .strip-slider input").inputValue(), "2");
  assert.match(page.url(), /^(?!.*bias\.model)/);

  // The other network, and another noise.
  const many = await number(page, "bias.cosine.linear");
  await page.locator('#paths [data-control="bias.model"] label:has(input[value="few"])').click();
  await page.waitForFunction(
    (old) => Number(document.querySelector('[data-live="bias.cosine.linear"]')?.textContent) < old - 0.1,
    many,
  );
  await page.locator("#paths .stepper button").last().click();
  await page.waitForFunction(() => /^2\b/.test(document.querySelector('[data-live="bias.sample"]')?.textContent ?? ""));
});

siteTest("singular vectors of D_L are principal axes", { webgpu: [false] }, async (page) => {
  await open(page, "", "alignment");
  await page.locator('[data-claim="bias.aligned"][data-verdict="holds"]').waitFor();
  for (const part of ["axes", "filters-linear", "filters-gaussian"]) assert.ok((await contrast(page, part)) > 40, part);
  const matrix = page.locator("#alignment svg rect");
  const size = Math.sqrt(await matrix.count());
  assert.ok(Number.isInteger(size) && size >= 8, `${size}`);
  const before = await live(page, "bias.filters.sigma");
  await page.locator('[data-part="alignment-sigma"] input').press("End");
  await page.waitForFunction(
    (old) => document.querySelector('[data-live="bias.filters.sigma"]')?.textContent !== old,
    before,
  );
});

siteTest(
  "gradient descent arrives at the Wiener filter, and diverges when its steps are too large",
  { webgpu: [false] },
  async (page) => {
    await open(page, "", "wiener");
    await page.locator('[data-claim="wiener.converges"][data-verdict="holds"]').waitFor();
    assert.ok((await contrast(page, "descent-goal")) > 40);

    // At the last step its rows are those of the filter.
    const pixels = (/** @type {string} */ part) =>
      page.locator(`canvas[data-part="${part}"]`).evaluate((canvas) => {
        if (!(canvas instanceof HTMLCanvasElement)) throw new Error("no canvas");
        const { width, height } = canvas;
        return [...(canvas.getContext("2d")?.getImageData(0, 0, width, height).data ?? [])];
      });
    await page.locator('[data-part="descent-step"] input').press("Home");
    assert.notDeepEqual(await pixels("descent-rows"), await pixels("descent-goal"));
    await page.locator('[data-part="descent-step"] input').press("End");
    assert.deepEqual(await pixels("descent-rows"), await pixels("descent-goal"));

    await choose(page, "bias.descentRate", "1.02");
    await page.locator('[data-claim="wiener.converges"][data-verdict="fails"]').waitFor();
    assert.match(page.url(), /bias\.descentRate=1\.02/);
    await page.goBack();
    await page.locator('[data-claim="wiener.converges"][data-verdict="holds"]').waitFor();
  },
);

siteTest(
  "what is folded away is drawn when it opens, and a link into it opens it",
  { webgpu: [false] },
  async (page) => {
    await open(page, "", "paths");
    const folded = page.locator("details[data-why]");
    assert.equal(await folded.getAttribute("open"), null);
    assert.equal(await page.locator("#alignment[data-ready]").count(), 0);
    await folded.locator("> summary").click();
    await ready(page, "alignment");
    for (const figure of ["alignment", "wiener"]) {
      await page.goto("about:blank");
      await open(page, `#${figure}`, "hero");
      assert.equal(await folded.getAttribute("open"), "");
      await page.goto(new URL(`?figure=${figure}`, page.url()).href);
      await page.locator(`#${figure}[data-ready]`).waitFor();
      assert.ok(await page.locator(`#${figure} .chart-svg`).isVisible());
    }
  },
);

siteTest(
  "one choice of run governs the section, and only runs that are there are offered",
  { webgpu: [false] },
  async (page) => {
    // A host that left a run out.
    await page.route("**/runs/index.json", async (route) => {
      const list = await (await route.fetch()).json();
      await route.fulfill({
        json: list.filter((/** @type {any} */ { file }) => file !== "gaussian-bias-main-mnist.json"),
      });
    });
    await open(page, "", "score-difference");
    const index = await page.evaluate(async () => (await fetch("runs/index.json")).json());
    const files = index.map((/** @type {any} */ { file }) => file);
    const labels = page.locator('#score-difference [data-control="bias.run"] label');
    await page.waitForFunction(
      () => document.querySelector('#score-difference [data-control="bias.run"] label[hidden]') !== null,
    );
    for (const label of await labels.all()) {
      const run = await label.locator("input").inputValue();
      assert.equal(await label.isVisible(), files.includes(`gaussian-bias-${run}.json`), run);
    }
    await choose(page, "bias.run", "faithful-faces");
    await page.waitForFunction(() =>
      document.querySelector('[data-live="bias.kind"]')?.textContent?.includes("U-Nets"),
    );
    await ready(page, "paths");
    assert.ok(await page.locator('#paths [data-control="bias.run"] input[value="faithful-faces"]').isChecked());
    assert.equal(await live(page, "bias.model.n"), "8,192");
  },
);

siteTest("settings of the section stand in the link", { webgpu: [false] }, async (page) => {
  await open(page, "?bias.model=few&bias.step=2&bias.sigma=3&bias.split=train", "paths");
  assert.equal(await live(page, "bias.step"), "2");
  await ready(page, "alignment");
  assert.equal(await live(page, "bias.filters.sigma"), "3");
  assert.ok(await page.locator('#paths [data-control="bias.model"] input[value="few"]').isChecked());
  assert.equal(await slider(page, "bias.descentN").inputValue(), "3");
});
