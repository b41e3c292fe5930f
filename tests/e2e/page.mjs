// What the specs of the page share: waiting for figures, reading numbers, dropping files.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { crc32 } from "node:zlib";
import { siteUrl } from "./harness.mjs";

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
 * Until the run of a figure's panel is in this state.
 * @param {Page} page
 * @param {string} figure
 * @param {string} state
 * @param {number} [timeout]
 */
export const panelState = (page, figure, state, timeout = 90_000) =>
  page.locator(`#${figure} .run-panel[data-state="${state}"]`).waitFor({ timeout });

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
 * Bright discs at places of their own, one byte per pixel.
 * @param {number} count
 * @param {number} side
 */
export function discs(count, side) {
  const pixels = new Uint8Array(count * side * side);
  for (let i = 0; i < count; i++) {
    const [cx, cy] = [side * (0.5 + 0.4 * Math.sin(7 * i)), side * (0.5 + 0.4 * Math.cos(11 * i))];
    for (let y = 0; y < side; y++) {
      for (let x = 0; x < side; x++) {
        pixels[(i * side + y) * side + x] = 255 * Math.exp(-((x - cx) ** 2 + (y - cy) ** 2) / side);
      }
    }
  }
  return pixels;
}

/**
 * A NumPy file of {@link discs}, count × side × side.
 * @param {number} count
 * @param {number} side
 */
export function npy(count, side) {
  const text = `{'descr': '|u1', 'fortran_order': False, 'shape': (${count}, ${side}, ${side}), }`;
  const header = `${text.padEnd(128 - 10 - 1)}\n`;
  const start = [0x93, ...Buffer.from("NUMPY"), 1, 0, header.length & 255, header.length >> 8];
  return new Uint8Array(Buffer.concat([Buffer.from(start), Buffer.from(header), discs(count, side)]));
}

/**
 * An IDX file of {@link discs}, as MNIST comes.
 * @param {number} count
 * @param {number} side
 */
export function idx(count, side) {
  const header = Buffer.from([0, 0, 8, 3, ...new Uint8Array(12)]);
  [count, side, side].forEach((length, i) => header.writeUInt32BE(length, 4 + 4 * i));
  return new Uint8Array(Buffer.concat([header, discs(count, side)]));
}

/**
 * A batch of CIFAR-10: records of a label and three planes of 32 × 32.
 * @param {number} count
 */
export function cifar(count) {
  const plane = 32 * 32;
  const pixels = discs(3 * count, 32);
  const records = new Uint8Array(count * (1 + 3 * plane));
  for (let i = 0; i < count; i++) {
    const record = i * (1 + 3 * plane);
    records[record] = i % 10;
    records.set(pixels.subarray(3 * i * plane, 3 * (i + 1) * plane), record + 1);
  }
  return records;
}

/**
 * A zip archive, nothing compressed.
 * @param {{name: string, bytes: Uint8Array}[]} entries
 */
export function zip(entries) {
  const local = [];
  const central = [];
  let offset = 0;
  for (const { name, bytes } of entries) {
    const title = Buffer.from(name);
    // Version, flags, method, time and date, checksum, both sizes, length of the name, no extra field.
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt32LE(crc32(bytes), 10);
    facts.writeUInt32LE(bytes.length, 14);
    facts.writeUInt32LE(bytes.length, 18);
    facts.writeUInt16LE(title.length, 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    local.push(Buffer.from("PK\x03\x04"), facts, title, bytes);
    central.push(Buffer.from("PK\x01\x02\x14\x00"), facts, place, title);
    offset += 4 + facts.length + title.length + bytes.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return new Uint8Array(Buffer.concat([...local, directory, Buffer.from("PK\x05\x06"), end]));
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
