// Section I: the optimum memorizes.

import assert from "node:assert/strict";
import { siteTest, siteUrl } from "./harness.mjs";
import { choose, contrast, live, number, open, openTable, ready, slider } from "./page.mjs";

siteTest("the first picture waits for no data file", {}, async (page) => {
  /** @type {string[]} */
  const fetched = [];
  page.on("request", (request) => fetched.push(new URL(request.url()).pathname));
  await open(page);
  for (const part of ["clean", "noisy", "empirical", "source", "gaussian"])
    assert.ok((await contrast(page, part)) > 40, part);
  assert.deepEqual(
    fetched.filter((path) => path.includes("/data/")),
    [],
  );
});

siteTest("the first picture does not wait for the engines to be compared", {}, async (page) => {
  await page.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector("#denoise[data-ready]")) return;
      observer.disconnect();
      const compared = document.querySelector("#engine")?.hasAttribute("data-engine");
      document.documentElement.setAttribute("data-first-picture", compared ? "after" : "before");
    }).observe(document, { subtree: true, attributes: true });
  });
  await open(page);
  await page.locator("#engine[data-engine]").waitFor();
  assert.equal(await page.locator("html").getAttribute("data-first-picture"), "before");
});

siteTest("the softmax goes from everybody to one as the noise falls", { webgpu: [false] }, async (page) => {
  await open(page, "?denoise.sigma=40");
  assert.ok((await number(page, "denoise.effective")) > 1000);
  // The sweep under the slider tests both sentences, wherever the slider stands; the third is about one noise level.
  await page.locator('[data-claim="denoise.mean"][data-verdict="holds"]').waitFor();
  await page.locator('[data-claim="denoise.lookup"][data-verdict="holds"]').waitFor();
  await page.locator('[data-claim="denoise.heldOut"][data-verdict="untested"]').waitFor();

  await slider(page, "denoise.sigma").press("Home");
  await page.waitForFunction(() => document.querySelector('[data-live="denoise.sigma"]')?.textContent === "0.01");
  assert.equal(await number(page, "denoise.effective"), 1);
  // A training image itself is found again; a held-out one is not.
  assert.ok((await number(page, "denoise.rmse.empirical")) > 0.05);
  await choose(page, "denoise.split", "train");
  await page.waitForFunction(
    () => document.querySelector('[data-live="denoise.rmse.empirical"]')?.textContent === "0.00",
  );
});

siteTest("a result takes less than 50 ms at N = 1024", { alone: true }, async (page) => {
  await open(page);
  const times = [];
  for (let i = 0; i < 21; i++) {
    const before = await live(page, "denoise.sigma");
    await slider(page, "denoise.sigma").press("ArrowRight");
    await page.waitForFunction(
      (old) => document.querySelector('[data-live="denoise.sigma"]')?.textContent !== old,
      before,
    );
    // The first may come in seconds, while the engines are compared.
    const [told, value, unit] =
      /^([\d.]+) (ms|s)$/.exec((await page.locator('[data-part="latency"]').textContent()) ?? "") ?? [];
    assert.ok(told, "no time is shown");
    times.push(Number(value) * (unit === "ms" ? 1 : 1000));
  }
  const median = times.toSorted((a, b) => a - b)[10];
  assert.ok(median < 50, `${times.join(", ")} ms`);
});

siteTest("after a quick drag the picture is that of where the slider rests", { webgpu: [false] }, async (page) => {
  await open(page);
  const sigma = slider(page, "denoise.sigma");
  const numbers = () =>
    Promise.all(["sigma", "rmse.empirical", "rmse.gaussian", "effective"].map((name) => live(page, `denoise.${name}`)));
  await sigma.fill("200");
  await ready(page, "denoise");
  const expected = await numbers();
  await sigma.evaluate(async (input) => {
    if (!(input instanceof HTMLInputElement)) throw new Error("no slider");
    for (let i = 0; i <= 60; i++) {
      input.value = i < 60 ? String(7 * i) : "200";
      input.dispatchEvent(new Event("input"));
      if (i % 5 === 0) await new Promise(requestAnimationFrame);
    }
  });
  await ready(page, "denoise");
  assert.deepEqual(await numbers(), expected);
});

siteTest("a crashed engine is replaced at the next request", { webgpu: [false] }, async (page) => {
  await open(page);
  const [first] = page.workers();
  const closed = new Promise((resolve) => first.on("close", resolve));
  await first.evaluate(() => void setTimeout(() => reportError(new Error("simulated crash"))));
  await closed;
  await slider(page, "denoise.sigma").press("Home");
  await page.waitForFunction(() => document.querySelector('[data-live="denoise.sigma"]')?.textContent === "0.01");
  assert.equal(page.workers().length, 1);
});

siteTest(
  "a library that does not load shows as an error, and can be tried again",
  { webgpu: [false] },
  async (page) => {
    let broken = true;
    await page.route("**/*.wasm", (route) =>
      broken ? route.fulfill({ contentType: "application/wasm", body: "no library" }) : route.continue(),
    );
    await page.goto(siteUrl);
    await page.locator("#denoise").scrollIntoViewIfNeeded();
    const error = page.locator('#denoise > .figure-error[data-kind="WorkerCrashed"]');
    await error.waitFor();
    broken = false;
    await error.locator('[data-action="retry"]').click();
    await ready(page, "denoise");
  },
);

siteTest("the images go round", { webgpu: [false] }, async (page) => {
  await open(page, "?denoise.image=1");
  const turn = async (/** @type {number} */ by, /** @type {RegExp} */ expected) => {
    await page.locator(`[data-step="denoise.image"][data-by="${by}"]`).click();
    await page.locator('[data-live="denoise.image"]', { hasText: expected }).waitFor();
  };
  await turn(-1, /^585\b/);
  await turn(1, /^1\b/);
});

siteTest("a device lost while dragging: the page says so and continues", { webgpu: [true] }, async (page) => {
  await open(page, "?engine=cpu");
  const [worker] = page.workers();
  // Keep hold of the devices that the engine is going to ask for.
  await worker.evaluate(() => {
    const scope = /** @type {any} */ (self);
    const adapter = scope.GPUAdapter.prototype;
    const { requestDevice } = adapter;
    adapter.requestDevice = async function (/** @type {any[]} */ ...options) {
      return (scope.device = await requestDevice.apply(this, options));
    };
  });
  await page.locator("#engine").click();
  await choose(page, "engine", "gpu");
  await page.locator('#engine[data-engine="gpu"]').waitFor();
  await page.keyboard.press("Escape");
  await ready(page, "denoise");

  const sigma = slider(page, "denoise.sigma");
  for (let i = 0; i < 10; i++) {
    await sigma.press("ArrowLeft");
    if (i === 5) await worker.evaluate(() => /** @type {any} */ (self).device.destroy());
  }
  await page.locator("#notice p").waitFor();
  await sigma.press("Home");
  await page.waitForFunction(() => document.querySelector('[data-live="denoise.sigma"]')?.textContent === "0.01");
  assert.equal(await number(page, "denoise.effective"), 1);
  const errors = page.locator("main .figure-error:not([hidden])");
  assert.deepEqual(await errors.allTextContents(), []);
  assert.equal(page.workers().length, 1);

  await page.locator("#notice button").click();
  assert.ok(await page.locator("#notice").isHidden());
});

siteTest("a sample is chosen by click and by key, and its path is shown", {}, async (page) => {
  await open(page, "", "samples");
  const path = page.locator("#samples .sample-path");
  await page.locator('#samples .sample-path[data-ready]:not([aria-busy="true"])').waitFor();
  const heads = await path.locator('[data-part="sigmas"] span').allTextContents();
  assert.deepEqual([heads.length, heads[0], heads[9]], [12, "80", "0.002"]);
  assert.equal(await live(page, "samples.empirical.verdict"), "a copy");
  assert.equal(await live(page, "samples.gaussian.verdict"), "not a copy");
  assert.ok((await number(page, "samples.empirical.ratio")) < 1 / 3);
  assert.ok((await number(page, "samples.gaussian.ratio")) > 1 / 3);

  /** The end of D_G's path, and the sample in the grid. */
  const pictures = () =>
    page.evaluate(() => {
      /** @param {HTMLCanvasElement} canvas @param {number} x @param {number} y @param {number} size */
      const bytes = (canvas, x, y, size) => [
        .../** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).getImageData(x, y, size, size).data,
      ];
      const pick = Number(document.querySelector('[data-live="samples.pick"]')?.textContent) - 1;
      const [grid, end] = ['[data-part="gaussian-grid"]', '[data-part="strip-gaussian"] canvas:nth-child(11)'].map(
        (place) => /** @type {HTMLCanvasElement} */ (document.querySelector(place)),
      );
      const cell = end.width + (grid.width - 8 * end.width) / 7;
      return {
        pick,
        end: bytes(end, 0, 0, end.width).join(),
        sample: bytes(grid, (pick % 8) * cell, Math.floor(pick / 8) * cell, end.width).join(),
      };
    });
  const first = await pictures();
  assert.equal(first.pick, 0);
  assert.equal(first.end, first.sample);

  await page.locator('[data-part="empirical-samples"]').click({ position: { x: 40, y: 5 } });
  await page.waitForFunction(() => document.querySelector('[data-live="samples.pick"]')?.textContent !== "1");
  const clicked = await pictures();
  assert.ok(clicked.pick > 0 && clicked.pick < 8, `${clicked.pick}`);
  assert.equal(clicked.end, clicked.sample);
  assert.notEqual(clicked.end, first.end);

  await slider(page, "samples.pick").press("End");
  await page.waitForFunction(() => document.querySelector('[data-live="samples.pick"]')?.textContent === "64");
  const last = await pictures();
  assert.equal(last.end, last.sample);
});

siteTest(
  "CIFAR-10 is fetched and fitted with progress, with labels and its source",
  { webgpu: [false] },
  async (page) => {
    await open(page);
    await page.evaluate(() => {
      const bar = document.getElementById("work");
      const seen = /** @type {any} */ (window);
      seen.bars = [];
      new MutationObserver(() => bar && !bar.hidden && seen.bars.push(bar.textContent)).observe(
        /** @type {Node} */ (bar),
        {
          attributes: true,
          subtree: true,
          childList: true,
          characterData: true,
        },
      );
    });
    await choose(page, "data", "cifar10");
    await page.waitForFunction(() => document.querySelector('[data-live="data.size"]')?.textContent?.startsWith("32"));
    await ready(page, "denoise");
    assert.match(await live(page, "data.source"), /Krizhevsky/);
    assert.match(await live(page, "denoise.label"), /^[a-z]+$/);
    assert.equal(await page.locator('canvas[data-part="gaussian"]').getAttribute("width"), "32");
    assert.ok((await contrast(page, "gaussian")) > 20);
    const bars = /** @type {string[]} */ (await page.evaluate(() => /** @type {any} */ (window).bars));
    assert.ok(
      bars.some((text) => /CIFAR-10.*MB/.test(text)),
      "no bar for the download",
    );
    assert.ok(
      bars.some((text) => /Gaussian/.test(text)),
      "no bar for the fit",
    );
    assert.ok(await page.locator("#work").isHidden());

    // The second visit takes the fit from the browser's cache.
    await page.reload();
    await ready(page, "denoise");
    const kept = await page.evaluate(async () => {
      const names = await caches.keys();
      const lists = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
      return lists.flat().map(({ url }) => url);
    });
    assert.equal(kept.length, 1);
    assert.match(kept[0], /\/fits\/[0-9a-f]{16}-1024$/);
  },
);

siteTest("a long fit is cancelled, and the figures go back to what they showed", { webgpu: [false] }, async (page) => {
  await open(page, "?n=256");
  await choose(page, "data", "cifar10");
  await page.waitForFunction(() => document.querySelector('[data-live="data.size"]')?.textContent?.startsWith("32"));
  await ready(page, "denoise");
  await slider(page, "n").press("End");
  await page.locator("#work", { hasText: "Gaussian" }).waitFor();
  await page.locator('[data-action="cancel-work"]').click();
  await ready(page, "denoise");
  assert.ok(await page.locator("#work").isHidden());
  assert.equal(await live(page, "denoise.n"), "256");
  assert.equal(await live(page, "data.name"), "CIFAR-10");
  assert.deepEqual(await page.locator("main .figure-error:not([hidden])").allTextContents(), []);
});

siteTest("a build without CIFAR-10 says so", { webgpu: [false] }, async (page) => {
  await page.route("**/data/index.json", async (route) => {
    const sets = await (await route.fetch()).json();
    delete sets.cifar10;
    await route.fulfill({ json: sets });
  });
  await open(page);
  await choose(page, "data", "cifar10");
  const error = page.locator('#denoise .figure-error[data-kind="Missing"]').first();
  await error.waitFor();
  assert.match((await error.textContent()) ?? "", /CIFAR-10/);
  await choose(page, "data", "faces");
  await error.waitFor({ state: "hidden" });
});

siteTest("64 samples: all copies from D_M, none from D_G", {}, async (page) => {
  await open(page, "", "samples");
  assert.ok((await number(page, "samples.empirical.memorized")) >= 98);
  assert.ok((await number(page, "samples.empirical.gl")) <= 0.01);
  assert.ok((await number(page, "samples.gaussian.memorized")) <= 2);
  const [gaussian, heldOut] = [await number(page, "samples.gaussian.gl"), await number(page, "samples.heldOut.gl")];
  assert.ok(gaussian > 0.5 && heldOut > 0.5 && gaussian < 1 && heldOut < 1, `${gaussian}, ${heldOut}`);

  await openTable(page.locator("#samples"));
  assert.equal(await page.locator("#samples .chart-table tbody tr").count(), 64);

  // The scores of other samples may be the same to two digits; their distances are not.
  const before = await page.locator("#samples .chart-table tbody").textContent();
  await page.locator("#samples [data-new-seed]").click();
  await page.waitForFunction(
    (old) => document.querySelector("#samples .chart-table tbody")?.textContent !== old,
    before,
  );
});

siteTest("every chart has a table and a sentence for those who do not see it", { webgpu: [false] }, async (page) => {
  await open(page);
  await ready(page, "samples");
  for (const chart of await page.locator('[aria-labelledby="section-1"] .chart').all()) {
    assert.match((await chart.locator("svg").getAttribute("aria-label")) ?? "", /\d/);
    await openTable(chart);
    assert.ok((await chart.locator("tbody tr").count()) >= 16);
  }
});
