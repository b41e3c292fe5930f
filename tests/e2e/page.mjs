// What the specs of the page share: waiting for figures, reading numbers, dropping files.

import assert from "node:assert/strict";
import { siteUrl } from "./harness.mjs";

/** @typedef {import("playwright-core").Page} Page */

/**
 * Open the page and wait for its first picture.
 * @param {Page} page
 * @param {string} [search]
 */
export async function open(page, search = "") {
  await page.goto(siteUrl + search);
  await ready(page, "denoise");
}

/**
 * Wait until a figure shows what its parameters ask for.
 * @param {Page} page
 * @param {string} id
 */
export async function ready(page, id) {
  await page.locator(`#${id}`).scrollIntoViewIfNeeded();
  await page.locator(`#${id}[data-ready][aria-busy="false"]`).waitFor();
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
 * @param {string} label
 */
export async function choose(page, key, label) {
  await page.locator(`[data-control="${key}"] label`, { hasText: label }).first().click();
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
 * A NumPy file of bytes, count × side × side: bright discs at places of their own.
 * @param {number} count
 * @param {number} side
 */
export function npy(count, side) {
  const text = `{'descr': '|u1', 'fortran_order': False, 'shape': (${count}, ${side}, ${side}), }`;
  const header = `${text.padEnd(128 - 10 - 1)}\n`;
  const pixels = new Uint8Array(count * side * side);
  for (let i = 0; i < count; i++) {
    const [cx, cy] = [side * (0.5 + 0.4 * Math.sin(7 * i)), side * (0.5 + 0.4 * Math.cos(11 * i))];
    for (let y = 0; y < side; y++) {
      for (let x = 0; x < side; x++) {
        pixels[(i * side + y) * side + x] = 255 * Math.exp(-((x - cx) ** 2 + (y - cy) ** 2) / side);
      }
    }
  }
  return new Uint8Array([
    0x93,
    ...Buffer.from("NUMPY"),
    1,
    0,
    header.length & 255,
    header.length >> 8,
    ...Buffer.from(header),
    ...pixels,
  ]);
}
