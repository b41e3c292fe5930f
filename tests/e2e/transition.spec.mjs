// The first picture and Section II: recorded runs, and the same trained here.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { readZip } from "../../www/src/export/zip.js";
import { siteTest, siteUrl } from "./harness.mjs";
import {
  choose,
  live,
  number,
  openMore,
  openTable,
  panelButton,
  panelState,
  ready,
  runWorkers,
  until,
  untilForgotten,
  untilSaved,
  violations,
} from "./page.mjs";

/** @typedef {import("playwright-core").Page} Page */

/** @param {Page} page @param {string} figure */
const sizeSlider = (page, figure) => page.locator(`#${figure} [data-part="n"] input`);

/** Until Figure II.1 is drawn: one chart per frame, and the words last. @param {Page} page */
async function readyTransition(page) {
  await ready(page, "transition");
  await page.locator('[data-live="transition.provenance"][data-told]').waitFor();
}

/**
 * The pixels of a row of samples.
 * @param {Page} page
 * @param {string} figure
 * @param {string} row value of `data-samples`
 */
const pixels = (page, figure, row) =>
  page
    .locator(`#${figure} canvas[data-samples="${row}"]`)
    .evaluate((canvas) => (canvas instanceof HTMLCanvasElement ? canvas.toDataURL() : ""));

/**
 * Click a chart at a fraction of its x axis.
 * @param {Page} page
 * @param {string} part
 * @param {number} fraction
 */
async function clickChart(page, part, fraction) {
  const picture = page.locator(`#transition [data-part="${part}"] .chart-picture`);
  const box = await picture.boundingBox();
  // The slider below has the same axis.
  const axis = await page.locator(`#transition .sweep-${part === "levels" ? "sigma" : "slider"} .ticks`).boundingBox();
  assert.ok(box && axis);
  await picture.click({ position: { x: axis.x - box.x + fraction * axis.width, y: box.height / 2 } });
}

siteTest(
  "the first picture is there in a second, needs no engine, and nothing moves",
  { webgpu: [false], alone: true },
  async (page) => {
    await page.addInitScript(() => {
      // An engine that never answers.
      window.Worker = /** @type {any} */ (
        class extends EventTarget {
          postMessage() {}
          terminate() {}
        }
      );
      new MutationObserver((_, observer) => {
        if (!document.querySelector("#hero[data-ready]")) return;
        observer.disconnect();
        document.documentElement.setAttribute("data-first-picture", String(performance.now()));
      }).observe(document, { subtree: true, attributes: true });
      let shifted = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) shifted += /** @type {any} */ (entry).value;
        document.documentElement.setAttribute("data-shifted", String(shifted));
      }).observe({ type: "layout-shift", buffered: true });
    });
    // Other work on the machine may get in the way of one visit, not of all.
    const times = [];
    for (let visit = 0; visit < 5; visit++) {
      await page.goto(siteUrl);
      await page.locator("html[data-first-picture]").waitFor();
      times.push(Number(await page.locator("html").getAttribute("data-first-picture")));
    }
    assert.ok(Math.min(...times) < 1000, `${times.map(Math.round).join(", ")} ms`);
    await page.locator("#hero svg").waitFor();
    assert.ok(Number((await page.locator("html").getAttribute("data-shifted")) ?? 0) < 0.01);
  },
);

for (const viewport of [
  { width: 1280, height: 720 },
  { width: 390, height: 844 },
]) {
  siteTest(
    `the first view takes 600 kB at most and needs no engine, ${viewport.width} px`,
    { webgpu: [false], context: { viewport } },
    async (page) => {
      /** @type {Promise<{file: string, size: number}>[]} */
      const loading = [];
      page.context().on("response", (response) => {
        // As a host sends it that compresses with gzip; fonts are compressed already.
        const size = response.body().then((body) => Math.min(body.length, gzipSync(body).length));
        loading.push(size.then((size) => ({ file: new URL(response.url()).pathname, size })));
      });
      await page.goto(siteUrl, { waitUntil: "networkidle" });
      await page.locator("#hero[data-ready]").waitFor();
      // What would start by itself has started by then.
      await page.waitForTimeout(1000);
      const loaded = await Promise.all(loading);
      assert.ok(loaded.length > 8, `${loaded.length} files`);
      assert.deepEqual(
        loaded.filter(({ file }) => /worker|\.wasm$/.test(file)),
        [],
      );
      const total = loaded.reduce((sum, { size }) => sum + size, 0);
      assert.ok(total <= 600_000, `${total} bytes`);
    },
  );
}

siteTest(
  "the library with training is fetched when something is trained or checked, and not before",
  { webgpu: [false] },
  async (page) => {
    /** @type {string[]} */
    const fetched = [];
    page.context().on("request", (request) => fetched.push(...(/\w+(?=-[^/]*\.wasm$)/.exec(request.url()) ?? [])));
    const full = () => page.waitForRequest(/\/full-[^/]*\.wasm$/);

    await page.goto(siteUrl);
    for (const figure of ["denoise", "errors", "samples", "transition", "wiener", "lab"]) await ready(page, figure);
    await choose(page, "transition.run", "quick-faces");
    await page.locator("#notes").scrollIntoViewIfNeeded();
    assert.deepEqual(fetched, ["exact"]);
    await Promise.all([full(), panelButton(page, "transition", "main").click()]);

    // To another place of the same page the browser would not go anew, and the workers would still be there.
    await page.goto("about:blank");
    fetched.length = 0;
    await page.goto(`${siteUrl}#notes`);
    await page.locator("html[data-complete]").waitFor();
    assert.ok(!fetched.includes("full"));
    await Promise.all([full(), page.locator('[data-part="self-check"]').click()]);
  },
);

siteTest("the slider goes from copies to the Gaussian's images", { webgpu: [false] }, async (page) => {
  await page.goto(siteUrl);
  await ready(page, "hero");
  const slider = sizeSlider(page, "hero");
  await slider.press("Home");
  const few = await number(page, "hero.n");
  await page.locator('[data-part="sentence"][data-verdict="copies"]').waitFor();
  assert.ok((await number(page, "hero.memorized")) >= 50);
  assert.match(await live(page, "hero.quality"), /higher/);
  const [copies, cosine] = [await pixels(page, "hero", "trained"), await number(page, "hero.cosine")];

  await slider.press("End");
  await page
    .locator('[data-part="sentence"]')
    .and(page.locator('[data-verdict="new"], [data-verdict="alike"]'))
    .waitFor();
  const many = await number(page, "hero.n");
  assert.ok(many > 10 * few);
  assert.ok((await number(page, "hero.memorized")) <= 5);
  assert.match(await live(page, "hero.quality"), /lower/);
  assert.ok((await number(page, "hero.cosine")) > cosine);
  await until("other samples are drawn", async () => (await pixels(page, "hero", "trained")) !== copies);
  await page.waitForFunction((n) => location.search.includes(`hero.n=${n}`), many);
  await page.reload();
  await ready(page, "hero");
  assert.equal(await number(page, "hero.n"), many);
});

siteTest("the first picture changes its images by one click", { webgpu: [false] }, async (page) => {
  await page.goto(siteUrl);
  await ready(page, "hero");
  const photographs = await pixels(page, "hero", "nearest");
  await choose(page, "hero.data", "faces");
  await page.waitForFunction(() => document.querySelector("#hero [data-samples]")?.getAttribute("height") === "16");
  await ready(page, "hero");
  await until("faces are drawn", async () => (await pixels(page, "hero", "nearest")) !== photographs);
  await page.waitForFunction(() => location.search.includes("hero.data=faces"));
});

for (const { viewport, last } of [
  { viewport: { width: 1280, height: 900 }, last: "#hero figcaption" },
  // A phone shows the rows and the slider; the chart is below them.
  { viewport: { width: 390, height: 844 }, last: '#hero [data-part="n"]' },
]) {
  siteTest(
    `the first screen has the rows in their order, and what moves them, ${viewport.width} px`,
    { webgpu: [false], context: { viewport } },
    async (page) => {
      await page.goto(siteUrl);
      await ready(page, "hero");
      await page.evaluate(() => scrollTo(0, 0));
      const rows = await page.locator("#hero [data-samples]").evaluateAll((canvases) =>
        canvases.map((canvas) => ({
          row: canvas.getAttribute("data-samples"),
          top: canvas.getBoundingClientRect().top,
        })),
      );
      assert.deepEqual(
        rows.toSorted((a, b) => a.top - b.top).map(({ row }) => row),
        ["nearest", "trained", "gaussian"],
      );
      const bottom = await page.locator(last).evaluate((element) => element.getBoundingClientRect().bottom);
      assert.ok(bottom <= viewport.height, `${last} ends at ${bottom}`);
    },
  );
}

siteTest("a point of Figure II.1 is chosen by click and by key", { webgpu: [false] }, async (page) => {
  await page.goto(siteUrl);
  await readyTransition(page);
  // Pictures are fetched when they are drawn, after the numbers.
  await until("the samples are drawn", () =>
    page.locator('#transition canvas[data-samples="trained"]').evaluate((canvas) => {
      if (!(canvas instanceof HTMLCanvasElement)) return false;
      const { data = [] } = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height) ?? {};
      return data.some((value) => value > 0);
    }),
  );
  const few = await pixels(page, "transition", "trained");
  await sizeSlider(page, "transition").press("End");
  await page.waitForFunction(() => document.querySelector('[data-live="transition.n"]')?.textContent !== "64");
  const most = await live(page, "transition.n");
  await until("other samples are drawn", async () => (await pixels(page, "transition", "trained")) !== few);
  await clickChart(page, "gl", 0);
  await page.waitForFunction(() => document.querySelector('[data-live="transition.n"]')?.textContent === "64");
  await until("the first samples are back", async () => (await pixels(page, "transition", "trained")) === few);
  await clickChart(page, "memorized", 1);
  await page.waitForFunction((n) => document.querySelector('[data-live="transition.n"]')?.textContent === n, most);

  // The noise level of the linearity, in the same two ways.
  await clickChart(page, "levels", 0);
  await page.waitForFunction(() => Number(document.querySelector('[data-live="transition.sigma"]')?.textContent) < 1);
  const low = await number(page, "transition.sigma");
  await page.locator('#transition [data-part="sigma"] input').press("ArrowRight");
  await page.waitForFunction(
    (old) => Number(document.querySelector('[data-live="transition.sigma"]')?.textContent) > old,
    low,
  );
});

siteTest("the sentences of Section II are bound to the run on the screen", { webgpu: [false] }, async (page) => {
  await page.goto(`${siteUrl}?transition.run=main-faces`);
  await readyTransition(page);
  for (const claim of ["copies", "linear", "between", "alike"]) {
    await page.locator(`[data-claim="transition.${claim}"][data-verdict="holds"]`).waitFor();
  }
  assert.ok((await number(page, "transition.epochs.first")) > 10 * (await number(page, "transition.epochs.last")));
  const before = await live(page, "transition.networks");
  await choose(page, "transition.run", "main-mnist");
  await page.waitForFunction(
    (old) => document.querySelector('[data-live="transition.networks"]')?.textContent !== old,
    before,
  );
  assert.match(page.url(), /transition\.run=main-mnist/);
  // One sentence does not say what another denies.
  await page.locator('[data-claim="transition.alike"][data-verdict="fails"]').waitFor();
  assert.notEqual(await live(page, "transition.age"), "");
  await page.goBack();
  await page.waitForFunction(
    (old) => document.querySelector('[data-live="transition.networks"]')?.textContent === old,
    before,
  );
});

siteTest(
  "a finger that scrolls over a chart chooses nothing; one that taps does",
  { webgpu: [false], context: { hasTouch: true, viewport: { width: 390, height: 844 } } },
  async (page) => {
    await page.goto(siteUrl);
    await readyTransition(page);
    const picture = page.locator('#transition [data-part="gl"] .chart-picture');
    await picture.scrollIntoViewIfNeeded();
    const { x, y, width, height } = (await picture.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    const first = await live(page, "transition.n");
    const session = await page.context().newCDPSession(page);
    const right = { x: width - 80, y: height / 2 };
    await session.send("Input.synthesizeScrollGesture", {
      x: x + right.x,
      y: y + right.y,
      yDistance: -100,
      gestureSourceType: "touch",
    });
    await readyTransition(page);
    assert.equal(await live(page, "transition.n"), first);
    await picture.tap({ position: right });
    await page.waitForFunction(
      (old) => document.querySelector('[data-live="transition.n"]')?.textContent !== old,
      first,
    );
  },
);

siteTest("each chart of Figure II.1 has a row for each size", { webgpu: [false] }, async (page) => {
  await page.goto(siteUrl);
  await readyTransition(page);
  const sizes = await page.locator('#transition [data-part="n"] .ticks > span').count();
  assert.ok(sizes >= 5);
  for (const part of ["gl", "memorized", "linearity"]) {
    const chart = page.locator(`#transition [data-part="${part}"]`);
    assert.match((await chart.locator("svg").getAttribute("aria-label")) ?? "", /\d.*\d/);
    await openTable(chart);
    assert.equal(await chart.locator("tbody tr").count(), sizes);
  }
});

siteTest(
  "a word is explained on hover, on focus and by a tap",
  { webgpu: [false], context: { hasTouch: true } },
  async (page) => {
    await page.goto(siteUrl);
    await ready(page, "transition");
    const word = page.locator('#transition ~ p a.term[href="#term-epoch"]');
    const card = page.locator(".term-card");
    const explained = (await page.locator("#term-epoch").textContent()) ?? "";
    await word.scrollIntoViewIfNeeded();
    for (const show of [() => word.hover(), () => word.focus(), () => word.tap()]) {
      await show();
      await card.waitFor({ state: "visible" });
      assert.equal((await card.textContent())?.trim(), explained.trim());
      await page.keyboard.press("Escape");
      await card.waitFor({ state: "hidden" });
      await page.mouse.move(1, 1);
      await page.evaluate(() => document.activeElement instanceof HTMLElement && document.activeElement.blur());
    }
  },
);

/**
 * Let the panel train a small part of the recorded run.
 * @param {Page} page
 * @param {{sizes: number[], steps: number, engine?: "cpu" | "gpu"}} change
 */
async function openSmall(page, { sizes, steps, engine = "cpu" }) {
  await page.route("**/runs/transition-quick-faces.json", async (route) => {
    const response = await route.fetch();
    const report = await response.json();
    report.config.sizes = sizes;
    report.config.train.steps = steps;
    report.data.count = Math.max(...sizes) + report.data.heldOut;
    await route.fulfill({ response, json: report });
  });
  await page.goto(`${siteUrl}?engine=${engine}&transition.run=quick-faces#transition`);
  await readyTransition(page);
}

/** @param {Page} page @param {string} action */
async function press(page, action) {
  if (["step", "restart", "seed"].includes(action)) await openMore(page, "transition");
  await panelButton(page, "transition", action).click();
}

/** @param {Page} page @param {string} state */
const inState = (page, state) => panelState(page, "transition", state);

/** The step that the panel shows. @param {Page} page */
const step = async (page) => Number(await page.locator("#transition .run-panel").getAttribute("data-step"));

/** Until the panel shows a step beyond this one. @param {Page} page @param {number} least */
const beyond = (page, least) =>
  page.waitForFunction(
    (old) => Number(document.querySelector("#transition .run-panel")?.getAttribute("data-step")) > old,
    least,
    { timeout: 60_000 },
  );

/** Until a run is trained here, and its last step drawn. @param {Page} page */
async function trained(page) {
  await inState(page, "done");
  await page.locator('#transition[data-origin="here"]').waitFor();
  const last = (await step(page)).toLocaleString("en");
  await page
    .locator("#transition")
    .getByText(new RegExp(`trained here, seed \\d+, step ${last}\\b`))
    .waitFor();
}

/** The numbers that the run trained here has in the table of a chart. @param {Page} page @param {string} part */
async function here(page, part) {
  const table = page.locator(`#transition [data-part="${part}"]`);
  if (!(await table.locator("details").evaluate((details) => details.hasAttribute("open")))) await openTable(table);
  const cells = await table.locator("tbody tr td:last-child").allTextContents();
  return cells.filter((cell) => /\d/.test(cell));
}

/** Until the browser has saved the paused run as it stands. @param {Page} page */
const pausedAndSaved = (page) => untilSaved(page, async (saved) => saved === (await step(page)));

/**
 * Watch the page's own thread.
 * @param {Page} page
 * @returns {Promise<() => Promise<number[]>>} ends it and returns the tasks, in milliseconds of processor time
 */
async function traceTasks(page) {
  const session = await page.context().newCDPSession(page);
  /** @typedef {{name: string, pid: number, tid: number, tdur?: number, args: {name?: string}}} TraceEvent */
  /** @type {TraceEvent[]} */
  const events = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(.../** @type {any[]} */ (value)));
  const includedCategories = ["devtools.timeline", "disabled-by-default-devtools.timeline"];
  await session.send("Tracing.start", { traceConfig: { includedCategories } });
  return async () => {
    const complete = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
    await session.send("Tracing.end");
    await complete;
    // Workers are there to be busy: only the threads of pages count.
    /** @param {TraceEvent} event */
    const thread = ({ pid, tid }) => `${pid} ${tid}`;
    const pages = new Set(events.filter(({ args }) => args?.name === "CrRendererMain").map(thread));
    // Processor time, in which other work on the machine does not count.
    return events
      .filter((event) => event.name === "RunTask" && event.tdur !== undefined && pages.has(thread(event)))
      .map(({ tdur = 0 }) => tdur / 1000);
  };
}

/** Open a run that takes a few seconds. @param {Page} page @param {boolean} webgpu */
const openShort = (page, webgpu) =>
  openSmall(page, { sizes: [16, 64], steps: webgpu ? 60 : 1500, engine: webgpu ? "gpu" : "cpu" });

siteTest("a click that comes before the recorded run is not lost", { webgpu: [false] }, async (page) => {
  let arrive = () => {};
  const arrived = new Promise((resolve) => (arrive = () => resolve(undefined)));
  await page.route("**/runs/transition-*.json", async (route) => {
    await arrived;
    await route.continue();
  });
  await page.goto(`${siteUrl}?engine=cpu&transition.run=quick-faces#transition`);
  await press(page, "main");
  // It says that it will, and can be told otherwise.
  await inState(page, "asked");
  assert.ok(await panelButton(page, "transition", "main").isDisabled());
  await press(page, "cancel");
  await inState(page, "idle");
  await press(page, "main");
  await inState(page, "asked");
  assert.deepEqual(runWorkers(page), []);
  arrive();
  await inState(page, "running");
  await beyond(page, 0);
});

siteTest("training never holds up the page", { widths: [1280, 390], alone: true }, async (page, { webgpu }) => {
  await openShort(page, webgpu);
  // A virtual machine that is put aside for a while counts that, too. What the page itself does, it does every time.
  const longest = [];
  while (longest.length < 3 && !longest.some((task) => task <= 50)) {
    const tasks = await traceTasks(page);
    await press(page, "main");
    await trained(page);
    const times = await tasks();
    assert.ok(times.length > 20, `${times.length} tasks`);
    longest.push(Math.max(...times));
  }
  assert.ok(Math.min(...longest) <= 50, `the longest tasks of ${longest.length} runs took ${longest.join(", ")} ms`);
});

siteTest(
  "a run trained here draws over the recorded one, and is saved",
  { widths: [1280, 390] },
  async (page, { webgpu }) => {
    await openShort(page, webgpu);
    await press(page, "main");
    await inState(page, "running");
    await page.locator('#transition[data-origin="here"]').waitFor();
    // Nothing is claimed of a run that is not done.
    await page.locator('[data-claim="transition.copies"][data-verdict="untested"]').waitFor();
    await trained(page);
    // What came out is said aloud, and stays in the panel.
    await page.waitForFunction(() => {
      const said = document.getElementById("announcements")?.textContent ?? "";
      return said !== "" && document.querySelector("#transition .run-status")?.textContent?.endsWith(said);
    });
    await page.locator('#transition [data-part="gl"] svg .trained-here').waitFor();
    await page.locator('[data-claim="transition.copies"]:not([data-verdict="untested"])').waitFor();
    assert.equal((await here(page, "gl")).length, 2);

    const download = page.waitForEvent("download");
    await press(page, "save");
    const file = await download;
    assert.match(file.suggestedFilename(), /^transition-quick-faces-mlp-width-\d+-steps-\d+-seed-1\.zip$/);
    const names = (await readZip(new Uint8Array(await readFile(await file.path())))).map(({ name }) => name);
    for (const name of ["manifest.json", "report.json", "weights/ensemble-1.safetensors"])
      assert.ok(names.includes(name), name);
    // The lab has it too, at once.
    await page.locator('.lab-runs tr[data-state="done"]').waitFor();
  },
);

siteTest("restart repeats the numbers, a new seed has others", { webgpu: [false] }, async (page) => {
  await openSmall(page, { sizes: [16], steps: 900 });
  const numbers = async () => {
    await trained(page);
    return [await here(page, "gl"), await here(page, "linearity")];
  };
  await press(page, "main");
  const first = await numbers();
  await press(page, "main");
  await inState(page, "running");
  await press(page, "restart");
  assert.deepEqual(await numbers(), first);
  await press(page, "seed");
  assert.notDeepEqual(await numbers(), first);
  await page.waitForURL(/transition\.seed=\d+/);
});

siteTest(
  "one step, speed, time left, resume after a reload, and cancel within 200 ms",
  { webgpu: [false], alone: true },
  async (page) => {
    await openSmall(page, { sizes: [16], steps: 90_000 });
    const panel = page.locator("#transition .run-panel");
    await press(page, "main");
    await inState(page, "running");
    await beyond(page, 0);
    /** Seconds to the third time that the panel shows another step: a slice is a fixed time of training, and of rest. */
    const pace = () =>
      panel.evaluate(async (place) => {
        const start = performance.now();
        for (let shown = 0; shown < 3; shown++) {
          const before = place.dataset.step;
          while (place.dataset.step === before) await new Promise((resolve) => setTimeout(resolve, 20));
        }
        return (performance.now() - start) / 1000;
      });
    const full = await pace();
    await openMore(page, "transition");
    await panelButton(page, "transition", "speed").selectOption("0.1");
    // The slice under way, and the first that rests.
    await pace();
    const slow = await pace();
    assert.ok(slow > 1.5 * full, `${slow} s after ${full} s`);

    await press(page, "main");
    await inState(page, "paused");
    await pausedAndSaved(page);
    const paused = await step(page);
    await press(page, "step");
    await beyond(page, paused);
    assert.equal(await panel.getAttribute("data-state"), "paused");
    await pausedAndSaved(page);
    const saved = await step(page);
    assert.equal(saved, paused + 1);

    await page.reload();
    await ready(page, "transition");
    const resume = panelButton(page, "transition", "resume");
    await resume.waitFor();
    assert.equal(Number((await resume.textContent())?.replaceAll(",", "").match(/\d+/)?.[0]), saved);
    await resume.focus();
    await page.keyboard.press("Enter");
    await inState(page, "running");
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("data-action")), "main");
    assert.ok((await step(page)) >= saved);

    const elapsed = await panel.evaluate(async (place) => {
      const start = performance.now();
      /** @type {HTMLElement | null} */ (place.querySelector('[data-action="cancel"]'))?.click();
      while (place.dataset.state !== "idle") await new Promise((resolve) => setTimeout(resolve));
      return performance.now() - start;
    });
    assert.ok(elapsed <= 200, `${elapsed} ms`);
    await page.waitForFunction(() => document.querySelectorAll(".lab-runs tbody tr").length === 0);
  },
);

siteTest(
  "while another recorded run is fetched, the one before is not trained in its place",
  { webgpu: [false] },
  async (page) => {
    await openSmall(page, { sizes: [16], steps: 900 });
    /** @type {(value?: unknown) => void} */
    let arrive = () => {};
    const arrival = new Promise((resolve) => (arrive = resolve));
    await page.route("**/runs/transition-main-faces.json", async (route) => {
      await arrival;
      await route.continue();
    });
    const panel = page.locator("#transition .run-panel");
    await choose(page, "transition.run", "main-faces");
    await press(page, "main");
    // It waits for the run that was chosen.
    await inState(page, "asked");
    await press(page, "cancel");
    assert.equal(await panel.getAttribute("data-state"), "idle");
    arrive();
    await page.locator('#transition[data-origin="recorded"]').waitFor();
  },
);

siteTest(
  "a run that is done is offered again after a reload, and after another choice",
  { webgpu: [false] },
  async (page) => {
    await openSmall(page, { sizes: [16], steps: 20 });
    await press(page, "main");
    await inState(page, "done");
    await page.locator('.lab-runs tr[data-state="done"]').waitFor({ state: "attached" });
    const again = panelButton(page, "transition", "resume");
    assert.equal(await again.count(), 0);
    const isBack = async () => {
      await again.and(page.locator("button", { hasText: "Show your run" })).click();
      await inState(page, "done");
      await page.locator('#transition[data-origin="here"]').waitFor();
      assert.equal(await again.count(), 0);
    };
    await choose(page, "transition.run", "main-patches");
    await inState(page, "idle");
    await choose(page, "transition.run", "quick-faces");
    await isBack();
    await page.reload();
    await ready(page, "transition");
    assert.equal(await page.locator("#transition").getAttribute("data-origin"), "recorded");
    await isBack();
    // With its weights.
    const download = page.waitForEvent("download");
    await press(page, "save");
    assert.match((await download).suggestedFilename(), /\.zip$/);
    // A run from another seed is another run.
    await press(page, "seed");
    await inState(page, "done");
  },
);

siteTest("an unfinished run with other settings is not offered here", { webgpu: [false] }, async (page) => {
  await openSmall(page, { sizes: [16], steps: 90_000 });
  await press(page, "main");
  await inState(page, "running");
  await press(page, "main");
  await inState(page, "paused");
  await pausedAndSaved(page);
  await page.unrouteAll();
  await page.reload();
  await ready(page, "transition");
  // The figure asks for the whole recorded run now; the lab still has the other.
  await page.locator("#lab").scrollIntoViewIfNeeded();
  await page.locator('.lab-runs [data-action="go"]').waitFor();
  assert.equal(await panelButton(page, "transition", "resume").count(), 0);
});

siteTest("another choice lays a run aside, and coming back resumes it", { webgpu: [false] }, async (page) => {
  await openSmall(page, { sizes: [16], steps: 90_000 });
  await press(page, "main");
  await inState(page, "running");
  await beyond(page, 0);
  await choose(page, "transition.run", "main-patches");
  await inState(page, "idle");
  await choose(page, "transition.run", "quick-faces");
  const resume = panelButton(page, "transition", "resume");
  await resume.waitFor();
  const before = Number((await resume.textContent())?.replaceAll(",", "").match(/\d+/)?.[0]);
  await resume.click();
  await inState(page, "running");
  assert.ok((await step(page)) >= before);
  // Deleted in the lab, it is not offered again.
  await choose(page, "transition.run", "main-patches");
  await inState(page, "idle");
  await page.locator("#lab").scrollIntoViewIfNeeded();
  await page.locator('.lab-runs [data-action="delete"]').click();
  // Until then the reader can undo it.
  await untilForgotten(page);
  await choose(page, "transition.run", "quick-faces");
  await ready(page, "transition");
  assert.equal(await resume.count(), 0);
});

siteTest(
  "a run goes on while the reader reads on; a chip says how far it is, and leads back",
  { webgpu: [false], widths: [1280, 390] },
  async (page) => {
    await openSmall(page, { sizes: [16], steps: 20_000 });
    const chip = page.locator(".run-chip");
    await press(page, "main");
    await inState(page, "running");
    assert.equal(await chip.count(), 0);
    await page.locator("#hero").scrollIntoViewIfNeeded();
    await chip.waitFor();
    const before = await step(page);
    await beyond(page, before + 20);
    assert.match((await chip.textContent()) ?? "", /Figure II\.1 .*\d\u202f%/);
    assert.deepEqual(await violations(page, ".run-chips"), []);
    await chip.click();
    await chip.waitFor({ state: "hidden" });
    const { top, bottom } = await page.locator("#transition .run-panel").evaluate((bar) => bar.getBoundingClientRect());
    assert.ok(top >= 0 && bottom <= 844, `the bar is at ${top} to ${bottom}`);
    // Deleted, it leaves nothing behind.
    await press(page, "cancel");
    await page.locator("#hero").scrollIntoViewIfNeeded();
    assert.equal(await chip.count(), 0);
  },
);

siteTest(
  "the bar and the samples are on one screen while it trains, and the bar stays in view",
  { webgpu: [false], widths: [1280, 390] },
  async (page) => {
    await openSmall(page, { sizes: [16], steps: 20_000 });
    await page.locator("#transition").evaluate((figure) => figure.scrollIntoView());
    await press(page, "main");
    await inState(page, "running");
    const screen = page.viewportSize()?.height ?? 0;
    const samples = page.locator('#transition canvas[data-samples="trained"]');
    assert.ok((await samples.evaluate((row) => row.getBoundingClientRect().bottom)) <= screen);
    // As far down as the figure goes, the bar is at the top of the screen.
    await page.locator('#transition [data-part="sigma"]').evaluate((slider) => slider.scrollIntoView({ block: "end" }));
    const { top, bottom } = await page.locator("#transition .run-panel").evaluate((bar) => bar.getBoundingClientRect());
    assert.ok(top >= 0 && bottom < screen / 2, `the bar is at ${top} to ${bottom}`);
  },
);

siteTest("what would be trained, and how long that takes here, is said before", { webgpu: [false] }, async (page) => {
  await page.goto(`${siteUrl}?transition.run=quick-faces#transition`);
  await readyTransition(page);
  const status = page.locator("#transition .run-status");
  await status.filter({ hasText: /about \d+ (s|min) on this machine/ }).waitFor({ timeout: 60_000 });
  // A slow machine is offered fewer.
  const offered = /^(6 MLPs of width 192, on 16 to|3 MLPs of width 192, on 16, 256 and) 4,096 images, 2,000 steps each/;
  assert.match((await status.textContent()) ?? "", offered);
  // A run that would take long is not the first that is offered.
  await choose(page, "transition.run", "faithful-faces");
  await readyTransition(page);
  await panelButton(page, "transition", "main").filter({ hasText: "8, 256 and 8,192" }).waitFor({ timeout: 60_000 });
  await panelButton(page, "transition", "other").waitFor();
});

siteTest("a recorded run that comes late is not drawn over the choice after it", { webgpu: [false] }, async (page) => {
  /** @type {(value?: unknown) => void} */
  let arrive = () => {};
  const arrival = new Promise((resolve) => (arrive = resolve));
  for (const name of ["main-fashion", "main-mnist"]) {
    await page.route(`**/runs/transition-${name}.json`, async (route) => {
      await (name === "main-mnist" ? arrival : new Promise((resolve) => setTimeout(resolve, 500)));
      await route.continue();
    });
  }
  await page.goto(`${siteUrl}?transition.run=main-faces`);
  await readyTransition(page);
  const first = await live(page, "transition.networks");
  await choose(page, "transition.run", "main-fashion");
  await choose(page, "transition.run", "main-mnist");
  // The one in between has come, and is not what the reader chose.
  await page.waitForResponse(/transition-main-fashion/);
  await page.waitForTimeout(500);
  assert.equal(await live(page, "transition.networks"), first);
  arrive();
  await page.waitForFunction(() =>
    document.querySelector('[data-live="transition.networks"]')?.textContent?.includes("MNIST digits"),
  );
});

siteTest("a number in a sentence shows its point, and leads to it", { webgpu: [false] }, async (page) => {
  await page.goto(`${siteUrl}?transition.run=main-faces&transition.n=64`);
  await readyTransition(page);
  const last = page.locator('p [data-live="transition.cosine.last"]');
  await last.scrollIntoViewIfNeeded();
  await last.hover();
  await page.waitForFunction(() => document.querySelector('[data-live="transition.n"]')?.textContent === "4,096");
  assert.equal(await page.locator("#transition[data-steered]").count(), 1);
  assert.match(page.url(), /transition\.n=64|^(?!.*transition\.n=4096)/);
  await page.mouse.move(1, 1);
  await page.waitForFunction(() => document.querySelector('[data-live="transition.n"]')?.textContent === "64");
  // By keyboard, for good.
  await page.locator('p [data-live="transition.cosine.first"]').focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector('[data-live="transition.n"]')?.textContent === "8");
  await page.waitForURL(/transition\.n=8\b/);
  // Words that are explained look different.
  const look = (/** @type {string} */ selector) =>
    page
      .locator(selector)
      .first()
      .evaluate((place) => getComputedStyle(place).textDecorationStyle);
  assert.notEqual(await look("p [data-steers]"), await look("p a.term"));
});
