// The article without a script, and on paper.

import assert from "node:assert/strict";
import { siteTest, siteUrl } from "./harness.mjs";
import { choose, ready } from "./page.mjs";

/** @typedef {import("playwright-core").Page} Page */

/** Those of the article that have a place on paper: the lab has nothing to show before the reader trains. */
const FIGURES = "main figure[data-figure]:not(#lab)";

/**
 * What is missing from the figures that are shown now: a figure without a picture, a picture without contents.
 * @param {Page} page
 */
const missing = (page) =>
  page.evaluate((selector) => {
    const faults = [];
    for (const figure of document.querySelectorAll(selector)) {
      const shown = [...figure.querySelectorAll(".chart-svg, canvas, svg")].filter((one) => one.checkVisibility());
      if (shown.length === 0) faults.push(`#${figure.id} shows nothing`);
      for (const canvas of shown) {
        if (!(canvas instanceof HTMLCanvasElement)) continue;
        const pixels = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
        if (!pixels.some((value) => value > 0)) faults.push(`#${figure.id} has an empty picture`);
      }
    }
    for (const place of document.querySelectorAll("main [data-live]:not(#lab-section *)")) {
      if (place.checkVisibility({ visibilityProperty: true }) || !place.checkVisibility()) continue;
      faults.push(`the number ${place.getAttribute("data-live")} is missing`);
    }
    return faults;
  }, FIGURES);

/** Ticks of sliders, and the charts whose axis they are. */
const AXES = [
  ["#hero .hero-slider .ticks span", ["#hero .hero-chart"]],
  [
    "#transition .sweep-slider .ticks span",
    ["gl", "memorized", "linearity"].map((part) => `#transition [data-part="${part}"]`),
  ],
  // Of this chart, only the chosen noise level has points.
  ["#transition .sweep-sigma .ticks .selected", ['#transition [data-part="levels"]']],
];

/**
 * The ticks that do not stand below a point of their chart, among those that are shown now.
 * @param {Page} page
 */
const astray = (page) =>
  page.evaluate((axes) => {
    /** @param {string} selector */
    const middles = (selector) =>
      [...document.querySelectorAll(selector)].flatMap((element) => {
        const { x, width } = element.getBoundingClientRect();
        return width > 0 ? [x + width / 2] : [];
      });
    return axes.flatMap(([ticks, charts]) => {
      const places = middles(`${ticks} b`);
      if (places.length === 0) return [`${ticks} are not shown`];
      return [charts].flat().flatMap((chart) => {
        const points = middles(`${chart} .chart-svg circle`);
        const far = places.map((place) => Math.min(...points.map((point) => Math.abs(point - place))));
        return far.some((pixels) => !(pixels < 2)) ? [`${chart}: ${far.map((pixels) => pixels.toFixed(1))}`] : [];
      });
    });
  }, AXES);

/** The least that text in a chart has on paper, in points. */
const SMALLEST = 6.5;

/**
 * Text in charts that is too small, of those that are shown now.
 * @param {Page} page
 */
const tooSmall = (page) =>
  page.evaluate(
    (least) =>
      [...document.querySelectorAll("main figure .chart-svg")].flatMap((svg) => {
        const { width } = svg.getBoundingClientRect();
        const scale = (0.75 * width) / Number(svg.getAttribute("viewBox")?.split(" ")[2]);
        return [...svg.querySelectorAll("text")].flatMap((text) => {
          const points = scale * parseFloat(getComputedStyle(text).fontSize);
          const small = width > 0 && points < least && text.textContent?.trim();
          return small ? [`#${svg.closest("figure")?.id}: ${small} has ${points.toFixed(1)} pt`] : [];
        });
      }),
    SMALLEST,
  );

siteTest("on paper, the ticks of a slider stand below the points of its charts", { webgpu: [false] }, async (page) => {
  // A printer tells no observer that there is less room.
  await page.addInitScript(() => {
    const Observer = window.ResizeObserver;
    window.ResizeObserver = class extends Observer {
      /** @param {ResizeObserverCallback} tell */
      constructor(tell) {
        super((...told) => matchMedia("print").matches || tell(...told));
      }
    };
  });
  await page.goto(siteUrl);
  await ready(page, "hero");
  await ready(page, "transition");
  // Drawn last, a few frames after the first.
  await page.locator('#transition [data-part="levels"] svg').waitFor();
  assert.deepEqual(await astray(page), []);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  for (const width of [680, 1000]) {
    await page.setViewportSize({ width, height: 900 });
    assert.deepEqual(await astray(page), [], `${width} px`);
    assert.deepEqual(await tooSmall(page), [], `${width} px`);
  }
  // The ticks of this one are the axis of a chart.
  assert.ok(await page.locator("#denoise .control-wide:visible .ticks").first().isVisible());
});

siteTest("on paper, the first picture has both ends of its slider", { webgpu: [false] }, async (page) => {
  const ends = page.locator("#hero .hero-sentence:visible");
  const print = async () => {
    await page.emulateMedia({ media: "print" });
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    const pictures = await page.locator("#hero .sample-row canvas:visible").count();
    assert.equal(pictures, 6);
    assert.deepEqual(await missing(page), []);
    const told = (await ends.allTextContents()).map((sentence) => /on ([\d,]+) images/.exec(sentence)?.[1]);
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    await page.emulateMedia({ media: "screen" });
    return told;
  };
  await page.goto(siteUrl);
  await ready(page, "hero");
  assert.equal(await ends.count(), 1);
  // The picture that the page was built with.
  await page.waitForTimeout(2500);
  assert.deepEqual(await print(), ["64", "50,000"]);

  const slider = page.locator("#hero input[type=range]");
  await slider.press("End");
  await page.locator("#hero .hero-other[data-ready]").waitFor({ state: "attached" });
  assert.deepEqual(await print(), ["50,000", "64"]);
  await choose(page, "hero.data", "faces");
  await page.locator('[data-part="other-sentence"]', { hasText: "Trained on 8 images" }).waitFor({ state: "attached" });
  await ready(page, "hero");
  assert.deepEqual(await print(), ["8,192", "8"]);
});

siteTest("printed right after it was opened, the article has all its figures", { webgpu: [false] }, async (page) => {
  await page.goto(siteUrl);
  await page.waitForTimeout(2500);
  const pdf = await page.pdf({ format: "A4" });
  const pages = pdf.toString("latin1").match(/\/Type \/Page\b/g)?.length ?? 0;
  assert.ok(pages >= 10 && pages <= 40, `${pages} pages`);

  // The same as the printer sees it.
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.deepEqual(await missing(page), []);
  await page.setViewportSize({ width: 680, height: 900 });
  assert.deepEqual(await tooSmall(page), []);
  const left = await page.evaluate(() =>
    [...document.querySelectorAll("button, input, select")]
      .filter((element) => element.checkVisibility())
      .map((element) => element.outerHTML.slice(0, 100)),
  );
  assert.deepEqual(left, []);
  const split = await page.evaluate(
    (selector) =>
      [...document.querySelectorAll(selector)]
        .filter((figure) => getComputedStyle(figure).breakInside !== "avoid")
        .map(({ id }) => id),
    FIGURES,
  );
  assert.deepEqual(split, []);

  // And afterwards it is as it was.
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await page.emulateMedia({ media: "screen" });
  assert.equal(await page.locator("[data-stand-in], div.baked").count(), 0);
  await ready(page, "transition");
});

siteTest("the handout waits until everything is drawn", { webgpu: [false] }, async (page) => {
  await page.addInitScript(() => {
    window.print = () => document.documentElement.setAttribute("data-printed", "");
  });
  await page.goto(siteUrl);
  await page.locator("#handout").click();
  await page.locator("html[data-printed]").waitFor({ timeout: 90_000, state: "attached" });
  const undrawn = await page.evaluate(
    (selector) => [...document.querySelectorAll(`${selector}:not([data-ready])`)].map(({ id }) => id),
    FIGURES,
  );
  assert.deepEqual(undrawn, []);
});

siteTest("what the page was built with is what the page draws", { webgpu: [false] }, async (page) => {
  /** @type {Record<string, string>} */
  const built = {};
  const source = await (await page.request.get(siteUrl)).text();
  await page.goto(`${siteUrl}?engine=cpu`);
  Object.assign(
    built,
    await page.evaluate((html) => {
      const parsed = new DOMParser().parseFromString(html, "text/html");
      return Object.fromEntries(
        [...parsed.querySelectorAll("main [data-live][data-told]")].map((place) => [
          place.getAttribute("data-live"),
          place.textContent,
        ]),
      );
    }, source),
  );
  assert.ok(Object.keys(built).length > 150, `${Object.keys(built).length} numbers`);
  for (const figure of await page.locator(FIGURES).all()) await ready(page, (await figure.getAttribute("id")) ?? "");
  await page.locator("#limits-section").scrollIntoViewIfNeeded();
  await page.locator("#limits-section[data-ready]").waitFor();
  await page.waitForTimeout(500);
  const shown = await page.evaluate(() =>
    Object.fromEntries(
      [...document.querySelectorAll("main [data-live]")].map((place) => [
        place.getAttribute("data-live"),
        place.textContent,
      ]),
    ),
  );
  const different = Object.keys(built).filter((name) => built[name] !== shown[name]);
  assert.deepEqual(
    different.map((name) => `${name}: ${built[name]}, then ${shown[name]}`),
    [],
  );
});

for (const width of [1280, 390]) {
  siteTest(
    `without scripts the article has its numbers and pictures, ${width} px`,
    { webgpu: [false], context: { javaScriptEnabled: false, viewport: { width, height: 844 } } },
    async (page) => {
      await page.goto(siteUrl, { waitUntil: "networkidle" });
      assert.ok(await page.locator("#eq-4 math").isVisible());
      for (const figure of await page.locator(FIGURES).all()) {
        const id = await figure.getAttribute("id");
        const pictures = figure.locator(".baked svg");
        assert.ok((await pictures.count()) > 0, `#${id}`);
        const box = await figure.locator(".baked").boundingBox();
        assert.ok(box && box.height > 80 && box.x + box.width <= width, `#${id}`);
      }
      for (const name of ["hero.memorized", "transition.last", "limits.early.trained", "bias.many.gaussian"]) {
        const place = page.locator(`[data-live="${name}"]`).first();
        assert.match((await place.textContent()) ?? "", /\d/, name);
        assert.equal(await place.evaluate((element) => getComputedStyle(element).visibility), "visible");
      }
      assert.ok((await page.locator('[data-part="recorded-runs"] tr').count()) > 5);
      assert.deepEqual(await astray(page), []);
      assert.ok(await page.locator("#denoise .baked .ticks").isVisible());
      assert.match(await page.locator("#denoise .baked .slider-head").innerText(), /0\.5/);
      assert.equal(await page.locator(".contents li a").first().isVisible(), width > 1200);
    },
  );
}
