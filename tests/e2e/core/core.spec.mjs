// What every reader does, in every browser: read, drag, train, leave and come back, bring images, take results away.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readZip } from "../../../www/src/export/zip.js";
import { parseReport } from "../../../www/src/reports/report.js";
import { compare } from "../../../www/src/reports/transition.js";
import { npy } from "../files.mjs";
import { coreTest } from "./driver.mjs";
import { siteUrl } from "./shared.mjs";

/** @import { Page } from "./driver.mjs" */

/** Two tiny networks on tiny images, so that the tests wait for the page and not for the training. */
const TINY =
  "lab.sizes=8%2016&lab.size=8&lab.width=16&lab.depth=1&lab.batch=16&lab.sampler=4&lab.samples=16&lab.sigmas=1&lab.images=16";
/** The newest run in the lab's table. */
const RUN = '#lab [data-part="runs"] tr[data-state]';
const SIGMA = '[data-control="denoise.sigma"] input';

/** The step that the run is at. @param {Page} page */
const step = (page) => page.call((run) => Number(document.querySelector(run)?.getAttribute("data-step")), RUN);

/** Until the run is beyond a step. @param {Page} page @param {number} least */
const beyond = (page, least) =>
  page.until(
    `the run is beyond step ${least}`,
    ({ run, least }) => Number(document.querySelector(run)?.getAttribute("data-step")) > least,
    { run: RUN, least },
  );

/** Until the browser has saved the only run, as the page shows it. @param {Page} page */
const saved = (page) =>
  page.until(
    "the run is saved",
    (run) =>
      new Promise((resolve) => {
        const opening = indexedDB.open("hidden-gaussian");
        opening.onsuccess = () => {
          const all = opening.result.transaction("runs").objectStore("runs").getAll();
          all.onsuccess = () => {
            opening.result.close();
            const [{ shards, progress } = { shards: [], progress: {} }] = all.result;
            const shown = Number(document.querySelector(run)?.getAttribute("data-step"));
            resolve(progress.step === shown && shards.every((/** @type {any} */ { snapshot }) => snapshot));
          };
        };
      }),
    RUN,
  );

coreTest("the article, read to its end; axe finds nothing", {}, async (page) => {
  await page.open("", "hero");
  const figures = await page.call(() => [...document.querySelectorAll("figure[data-figure]")].map(({ id }) => id));
  assert.ok(figures.length >= 10, `${figures}`);
  // The lab has nothing to draw before its first run.
  for (const figure of figures.filter((id) => id !== "lab")) await page.ready(figure);
  const seen = await page.call(() => ({
    errors: [...document.querySelectorAll('[role="alert"]')]
      .filter((alert) => alert.checkVisibility())
      .map((alert) => alert.textContent),
    emptyCharts: [...document.querySelectorAll(".chart")]
      .filter((chart) => chart.checkVisibility() && !chart.querySelector("svg"))
      // The random-features model is solved when it comes near, which takes seconds.
      .filter((chart) => !chart.closest('[data-state="running"]'))
      .map((chart) => chart.outerHTML.slice(0, 80)),
    flatFormulas: [...document.querySelectorAll("math")]
      .filter((formula) => formula.checkVisibility() && formula.getBoundingClientRect().height < 5)
      .map((formula) => formula.textContent),
    formulas: document.querySelectorAll("math").length,
    width: document.documentElement.scrollWidth - innerWidth,
  }));
  assert.ok(seen.formulas > 20, `${seen.formulas} formulas`);
  assert.deepEqual([seen.errors, seen.emptyCharts, seen.flatFormulas], [[], [], []]);
  assert.ok(seen.width <= 0, `${seen.width} px too wide`);
  assert.deepEqual(await page.violations(), []);
});

coreTest(
  "Section I: the noise level is dragged, and D_M ends at one image",
  { webgpu: [true, false] },
  async (page, { webgpu }) => {
    await page.open(`?engine=${webgpu ? "gpu" : "cpu"}&denoise.sigma=2`, "denoise");
    await page.there(`#engine[data-engine="${webgpu ? "gpu" : "cpu"}"]`);
    for (const part of ["clean", "noisy", "empirical", "gaussian", "source"])
      assert.ok((await page.contrast(`canvas[data-part="${part}"]`)) > 40, part);
    await page.drag(SIGMA, [0.8, 0.9, 0.99]);
    await page.until(
      "the noise is high",
      () => Number(document.querySelector('[data-live="denoise.sigma"]')?.textContent) > 20,
    );
    await page.ready("denoise");
    assert.ok((await page.number("denoise.effective")) > 1000);
    await page.drag(SIGMA, [0.9, 0.6, 0.3, 0.01]);
    await page.until(
      "the noise is low",
      () => Number(document.querySelector('[data-live="denoise.sigma"]')?.textContent) < 0.02,
    );
    await page.ready("denoise");
    assert.equal(await page.number("denoise.effective"), 1);
  },
);

coreTest("the quick sweep, to its end: as recorded, and saved in every form", { timeout: 150_000 }, async (page) => {
  await page.open("?engine=cpu&transition.run=quick-faces#transition", "transition");
  await page.click('#transition .run-panel [data-action="main"]');
  await page.there('#transition .run-panel[data-state="done"]', 120_000);
  await page.until("the last step is drawn", () => {
    const { step } = /** @type {HTMLElement} */ (document.querySelector("#transition .run-panel")).dataset;
    const shown = document.querySelector('[data-live="transition.shown"]')?.textContent ?? "";
    return shown.startsWith("trained here") && shown.endsWith(`step ${Number(step).toLocaleString("en")}`);
  });
  await page.keepFiles();
  const save = async (/** @type {string} */ tool) => {
    await page.click(`[data-figure="transition"] [data-tool="${tool}"]`);
    return page.saved(new RegExp(`^transition\\.${tool}$`));
  };
  const report = parseReport(String(await save("json")));
  const recorded = parseReport(await (await fetch(`${siteUrl}runs/transition-quick-faces.json`)).text());
  const outcome = compare(/** @type {any} */ (report), /** @type {any} */ (recorded), 1);
  assert.ok(outcome?.matches, outcome?.sentence);

  const svg = String(await save("svg"));
  assert.doesNotMatch(svg, /var\(|currentColor|url\((?!data:)|class=/);
  const png = await save("png");
  assert.equal(png.subarray(1, 4).toString(), "PNG");
  assert.ok(png.readUInt32BE(16) > 1000 && png.length > 50_000, `${png.readUInt32BE(16)} px, ${png.length} bytes`);
  const rows = String(await save("csv")).split("\r\n");
  assert.ok(rows.length > 3 * report.config.sizes.length, `${rows.length} rows`);
  await page.click('#transition .run-panel [data-action="save"]');
  const entries = (await readZip(new Uint8Array(await page.saved(/\.zip$/)))).map(({ name }) => name);
  assert.ok(entries.includes("report.json") && entries.some((name) => name.endsWith(".safetensors")), `${entries}`);
});

coreTest("a run in the lab: paused, left, resumed", {}, async (page) => {
  await page.open(`?engine=cpu&${TINY}&lab.steps=900000`, "lab");
  await page.click('#lab [data-part="train"]');
  await beyond(page, 0);
  await page.click(`${RUN} [data-action="go"]`);
  await page.there(`${RUN}[data-state="paused"]`);
  await saved(page);
  // The browser took it, in one form or another.
  assert.equal(await page.call((run) => document.querySelector(run)?.getAttribute("data-notice"), RUN), null);
  const paused = await step(page);
  await page.reload("lab");
  await page.click(`${RUN} [data-action="go"]`);
  await page.there(`${RUN}[data-state="running"]`);
  assert.ok((await step(page)) >= paused, `${await step(page)} after ${paused}`);
  await beyond(page, paused);
});

coreTest("the reader's own images, from a file", {}, async (page) => {
  const folder = await mkdtemp(join(tmpdir(), "hidden-gaussian-own-"));
  try {
    const file = join(folder, "discs.npy");
    await writeFile(file, npy(200, 20));
    await page.open("?engine=cpu", "denoise");
    await page.setFiles('#training-set [data-part="files"]', [file]);
    await page.until("they are read", () => document.querySelector('[data-live="data.count"]')?.textContent === "200");
    await page.ready("denoise");
    assert.match(await page.text('[data-live="data.name"]'), /discs/);
    assert.ok((await page.contrast('canvas[data-part="empirical"]')) > 40);
  } finally {
    await rm(folder, { recursive: true });
  }
});

coreTest("a run in the lab on the GPU, to its end", { webgpu: [true] }, async (page) => {
  await page.open(`?engine=gpu&${TINY}&lab.steps=60`, "lab");
  await page.click('#lab [data-part="train"]');
  await page.there(`${RUN}[data-state="done"]`, 80_000);
  assert.equal(await page.call((run) => document.querySelector(run)?.getAttribute("data-engine"), RUN), "gpu");
  await page.until("its chart is drawn", () => document.querySelector("#lab .chart svg") !== null);
});

// In Chromium lab.spec.mjs has them.
if (process.env.BROWSER !== "chromium") {
  coreTest(
    "the checks of the notes hold, on both engines if there are two",
    { webgpu: [true, false] },
    async (page, { webgpu }) => {
      await page.open("?engine=cpu#notes", "hero");
      await page.click('[data-part="self-check"]');
      await page.there('[data-part="self-check-report"]:not([hidden])', 80_000);
      const count = (/** @type {string} */ rows) =>
        page.call((rows) => document.querySelectorAll(`[data-part="self-check-rows"] ${rows}`).length, rows);
      assert.equal(await count("tr.fails"), 0, await page.text('[data-part="self-check-text"]'));
      assert.ok((await count("tr.holds")) >= (webgpu ? 22 : 11));
      assert.equal(await count(`[data-engine="gpu"][data-checked="${webgpu}"]`), 1);
    },
  );
}
