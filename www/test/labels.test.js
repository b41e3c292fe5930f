import assert from "node:assert/strict";
import { test } from "node:test";
import { labelPlace, labelPlaces } from "../src/ui/labels.js";

test("labels that would touch make room for each other, and keep their order", () => {
  const places = labelPlaces([0.5, 0.51, 0.1], [0, 1], 130);
  assert.ok(places[1] - places[0] >= 0.1 - 1e-9, `${places}`);
  assert.equal(places[2], 0.1);
});

test("a label stands where the curves are far apart", () => {
  const { at, above } = labelPlace([0, 0, 0, 0, 0], [[0.1, 0.1, 0.1, 2, 2]], 0.5);
  assert.deepEqual({ at, above }, { at: 3, above: true });
});

test("a curve of one point has its label there", () => {
  assert.equal(labelPlace([0.3], [[0.4]], 0.1).at, 0);
});
