import assert from "node:assert/strict";
import { test } from "node:test";
import { escapeXml, stack } from "../src/export/svg.js";

/** @param {number} top @param {number} bottom */
const item = (top, bottom) => ({ top, bottom, svg: (/** @type {number} */ dy) => `${top + dy}` });

test("gaps that controls leave are closed, and what stands side by side stays so", () => {
  const { body, height } = stack([item(10, 30), item(200, 240), item(205, 260), item(270, 280)]);
  // The first begins at the top; the gap of 170 becomes 22; one of 10 stays.
  assert.equal(body, ["0", "42", "47", "112"].join("\n"));
  assert.equal(height, 122);
});

test("items are drawn in the order in which they came, wherever they stand", () => {
  assert.equal(stack([item(50, 60), item(0, 45)]).body, "50\n0");
});

test("an empty figure has no height", () => {
  assert.deepEqual(stack([]), { body: "", height: 0 });
});

test("text and attributes are safe in XML", () => {
  assert.equal(escapeXml('a < b & "c" > d'), "a &lt; b &amp; &quot;c&quot; &gt; d");
});
