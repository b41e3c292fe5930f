import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, loadImages, placeOf } from "../src/reports/sheets.js";

/** Two rows of three images of 2 × 1 pixels; each pixel has the number of its image in red. */
const sheet = {
  width: 6,
  height: 2,
  data: Uint8ClampedArray.from([0, 1, 2, 3, 4, 5].flatMap((image) => [image, 0, 0, 255, image, 0, 0, 255])),
};
const shape = { width: 2, height: 1, channels: 3 };

/** @param {{rgba: Uint8ClampedArray}} pictures */
const reds = ({ rgba }) => Array.from({ length: rgba.length / 8 }, (_, i) => rgba[8 * i]);

test("images have a place in a sheet, or are base64", () => {
  assert.deepEqual(placeOf("transition-main-faces/n64-samples.png#8,4"), {
    file: "transition-main-faces/n64-samples.png",
    first: 8,
    count: 4,
  });
  for (const base64 of ["", "AAECAw==", "ab/cd+ef"]) assert.equal(placeOf(base64), undefined);
});

test("images are cut from a sheet row by row", () => {
  assert.deepEqual(reds(cut(shape, sheet, { file: "a.png", first: 0, count: 6 })), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(reds(cut(shape, sheet, { file: "a.png", first: 2, count: 2 })), [2, 3]);
});

test("a sheet that is too small for a report is refused", () => {
  assert.throws(
    () => cut(shape, sheet, { file: "a.png", first: 4, count: 3 }),
    (/** @type {any} */ thrown) => thrown.kind === "BadInput" && thrown.message.includes("a.png"),
  );
});

test("the images of live reports are here at once", () => {
  const pictures = loadImages({ width: 2, height: 1, channels: 1 }, btoa("\x00\x80\xff\x07"));
  assert.ok(!(pictures instanceof Promise));
  assert.deepEqual([...pictures.rgba.subarray(0, 8)], [0, 0, 0, 255, 128, 128, 128, 255]);
});
