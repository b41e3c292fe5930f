// What the specs of the page share: waiting for figures, reading numbers, dropping files.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { siteUrl } from "./harness.mjs";

export { cifar, idx, npy, zip } from "./files.mjs";

/** @typedef {import("playwright-core").Page} Page */

const axe = await readFile(
  createRequire(new URL("../../www/package.json", import.meta.url)).resolve("axe-core/axe.min.js"),
  "utf8",
);

/**
 * Open the page and wait for a figure: by default the first one that the engine computes.
 * @param {Page} page
 * @param {string} [search]
 * @param {string} [figure] its id
 */
export async function open(page, search = "", figure = "denoise") {
  await page.goto(siteUrl + search);
  await ready(page, figure);
}

/**
 * Wait until a figure shows what its parameters ask for.
 * @param {Page} page
 * @param {string} id
 */
export async function ready(page, id) {
  const figure = page.locator(`#${id}`);
  // Some are folded away.
  await figure.evaluate((place) => place.closest("details[data-why]")?.setAttribute("open", ""));
  await until(`#${id} is drawn`, async () => {
    // Figures above it may still grow and push it off the screen again.
    await figure.scrollIntoViewIfNeeded();
    // A figure hears a frame later that it is near the screen, and only then that it is to be drawn.
    return figure.evaluate(async (place) => {
      for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
      return place.matches('[data-ready]:not([aria-busy="true"])');
    });
  });
}

/**
 * Ask until something holds.
 * @param {string} what
 * @param {() => boolean | Promise<boolean>} holds
 */
export async function until(what, holds) {
  for (const end = Date.now() + 60_000; !(await holds()); ) {
    assert.ok(Date.now() < end, `never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/**
 * The runs that the browser saves: their step, or undefined while a shard has no snapshot yet.
 * @param {Page} page
 * @returns {Promise<(number | undefined)[]>}
 */
function savedSteps(page) {
  return page.evaluate(
    () =>
      new Promise((resolve) => {
        const opening = indexedDB.open("hidden-gaussian");
        // Nothing was saved yet, and this is not the place to begin.
        opening.onupgradeneeded = () => opening.transaction?.abort();
        opening.onerror = () => resolve([]);
        opening.onsuccess = () => {
          const all = opening.result.transaction("runs").objectStore("runs").getAll();
          all.onsuccess = () => {
            opening.result.close();
            resolve(
              all.result.map(({ shards, progress }) =>
                shards.every((/** @type {any} */ { snapshot }) => snapshot) ? progress.step : undefined,
              ),
            );
          };
        };
      }),
  );
}

/**
 * Until the browser has saved the only run at a step that will do.
 * @param {Page} page
 * @param {(step: number) => boolean | Promise<boolean>} willDo
 */
export async function untilSaved(page, willDo) {
  let saved = 0;
  await until("the run is saved", async () => {
    const [step] = await savedSteps(page);
    saved = step ?? 0;
    return step !== undefined && willDo(step);
  });
  return saved;
}

/** Until the browser has no run: a page that is left while one is deleted may keep it. @param {Page} page */
export async function untilForgotten(page) {
  await until("the run is forgotten", async () => (await savedSteps(page)).length === 0);
}

/**
 * The first number in what the page says under this name.
 * @param {Page} page
 * @param {string} name value of `data-live`
 */
export async function number(page, name) {
  const text = await live(page, name);
  const found = text.replaceAll(",", "").match(/-?\d+(\.\d+)?/);
  assert.ok(found, `${name} is “${text}”`);
  return Number(found[0]);
}

/** @param {Page} page @param {string} name */
export async function live(page, name) {
  return (await page.locator(`[data-live="${name}"]`).first().textContent()) ?? "";
}

/**
 * A slider of this parameter; there may be several, and the first is as good as any.
 * @param {Page} page
 * @param {string} key
 */
export function slider(page, key) {
  return page.locator(`[data-control="${key}"] input`).first();
}

/**
 * Choose a value of a row of radio buttons.
 * @param {Page} page
 * @param {string} key
 * @param {string} value
 */
export async function choose(page, key, value) {
  await page.locator(`[data-control="${key}"] label:has(input[value="${value}"])`).first().click();
}

/**
 * Until a text that the page keeps up to date is this.
 * @param {Page} page
 * @param {string} name value of `data-live`
 * @param {string} text
 */
export const says = (page, name, text) =>
  page.waitForFunction(
    ([key, expected]) => document.querySelector(`[data-live="${key}"]`)?.textContent === expected,
    [name, text],
  );

/**
 * A button of the panel under a figure.
 * @param {Page} page
 * @param {string} figure
 * @param {string} action value of `data-action`
 */
export const panelButton = (page, figure, action) =>
  page.locator(`#${figure} .run-panel [data-action="${action}"]:not([hidden])`);

/**
 * Unfold what a figure's panel has besides the first buttons.
 * @param {Page} page
 * @param {string} figure
 */
export async function openMore(page, figure) {
  const more = page.locator(`#${figure} .run-panel .run-more`);
  if (!(await more.evaluate((details) => details.hasAttribute("open")))) await more.locator("summary").click();
}

/**
 * Until the run of a figure's panel is in this state.
 * @param {Page} page
 * @param {string} figure
 * @param {string} state
 * @param {number} [timeout]
 */
export const panelState = (page, figure, state, timeout = 90_000) =>
  page.locator(`#${figure} .run-panel[data-state="${state}"]`).waitFor({ timeout });

/** The workers that train. @param {Page} page */
export const runWorkers = (page) => page.workers().filter((worker) => worker.url().includes("training-worker"));

/**
 * Open the table behind a chart. Its rows are made when it opens.
 * @param {import("playwright-core").Locator} chart it, or something around it and nothing else with a table
 */
export async function openTable(chart) {
  await chart.locator(".chart-table summary").click();
  await chart.locator(".chart-table tbody tr").first().waitFor();
}

/**
 * How much the pixels of a canvas differ: 0 for an empty one.
 * @param {Page} page
 * @param {string} part value of `data-part`
 */
export function contrast(page, part) {
  return page.locator(`canvas[data-part="${part}"]`).evaluate((canvas) => {
    if (!(canvas instanceof HTMLCanvasElement)) throw new Error("no canvas");
    const { data } = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).getImageData(
      0,
      0,
      canvas.width,
      canvas.height,
    );
    const grey = data.filter((_, i) => i % 4 === 0);
    return Math.max(...grey) - Math.min(...grey);
  });
}

/**
 * What axe finds wrong with what is on the page now.
 * @param {Page} page
 * @param {string} [place] a selector, if not all of it is meant
 * @returns {Promise<string[]>}
 */
export async function violations(page, place) {
  await page.evaluate(axe);
  return page.evaluate(async (place) => {
    // @ts-expect-error: axe was put there just now.
    const result = await axe.run(place ?? document, { resultTypes: ["violations"] });
    return result.violations.map(
      (/** @type {any} */ { id, nodes }) => `${id}: ${nodes.map((/** @type {any} */ n) => n.target).join(" | ")}`,
    );
  }, place);
}

/**
 * Drop files onto the page.
 * @param {Page} page
 * @param {{name: string, bytes: Uint8Array}[]} files
 */
export async function drop(page, files) {
  const transfer = await page.evaluateHandle(
    (list) => {
      const dataTransfer = new DataTransfer();
      for (const { name, bytes } of list) dataTransfer.items.add(new File([new Uint8Array(bytes)], name));
      return dataTransfer;
    },
    files.map(({ name, bytes }) => ({ name, bytes: [...bytes] })),
  );
  await page.dispatchEvent("body", "dragenter", { dataTransfer: transfer });
  await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
}

/**
 * PNG files, 24 × 24 in colour. The browser itself is the handiest maker of them.
 * @param {Page} page
 * @param {number} count
 */
export async function pngs(page, count) {
  const pictures = await page.evaluate(async (count) => {
    const canvas = new OffscreenCanvas(24, 24);
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d"));
    const files = [];
    for (let i = 0; i < count; i++) {
      context.fillStyle = `hsl(${i * 9} 80% 50%)`;
      context.fillRect(0, 0, 24, 24);
      context.clearRect((i * 5) % 20, (i * 3) % 20, 6, 6);
      files.push([...new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer())]);
    }
    return files;
  }, count);
  return pictures.map((bytes, i) => ({ name: `${i}.png`, bytes: new Uint8Array(bytes) }));
}
