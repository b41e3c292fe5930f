import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { decodeImage, encodeImage, encodePng } from "../build/image-files.js";

test("a picture comes out of its file as it went in", () => {
  for (const colour of [false, true]) {
    const rgba = Uint8ClampedArray.from({ length: 4 * 15 }, (_, i) =>
      i % 4 === 3 ? 255 : (37 * Math.floor(i / 4) + (colour ? 90 * (i % 4) : 0)) % 256,
    );
    const { width, height, data } = decodeImage(encodePng(5, 3, rgba));
    assert.deepEqual([width, height], [5, 3]);
    assert.deepEqual([...data], [...rgba]);
  }
});

test("the sheets of recorded runs can be read, with all their filters", () => {
  const name = new URL("../public/runs/transition-main-mnist/n8-samples.png", import.meta.url);
  const { width, height, data } = decodeImage(readFileSync(name));
  assert.deepEqual([width % 14, height % 14], [0, 0]);
  // The corners of digits are black, and there are digits.
  assert.equal(data[0], 0);
  assert.ok(data.some((value, i) => i % 4 !== 3 && value > 200));
});

test("photographs come and go as JPEG files, drawings as PNG files", () => {
  const side = 64;
  const noisy = Uint8ClampedArray.from({ length: 4 * side * side }, (_, i) =>
    i % 4 === 3 ? 255 : 128 + 60 * Math.sin(i / 9) + ((i * 7919) % 23),
  );
  const { ending, bytes } = encodeImage(side, side, noisy);
  const { width, height, data } = decodeImage(bytes);
  assert.deepEqual([ending, width, height], ["jpg", side, side]);
  assert.ok(data.every((value, i) => Math.abs(value - noisy[i]) < 60));
  assert.equal(encodeImage(side, side, new Uint8ClampedArray(4 * side * side).fill(255)).ending, "png");
});
