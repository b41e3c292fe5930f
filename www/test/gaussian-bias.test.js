import assert from "node:assert/strict";
import { test } from "node:test";
import { ends } from "../src/reports/gaussian-bias.js";
import { labelPlace } from "../src/ui/labels.js";
import { likenessColour, memorizedColour, memorizedInk } from "../src/ui/memorized.js";
import { nearestStop } from "../src/reports/nearest.js";

/** @import { Report } from "../src/reports/report.js" */

test("a report's networks are told apart by their training sets, in any order", () => {
  const report = /** @type {Report<"gaussian-bias">} */ (
    /** @type {unknown} */ ({ findings: [{ n: 4096 }, { n: 32 }] })
  );
  assert.deepEqual(
    ends(report).map(({ n }) => n),
    [32, 4096],
  );
});

test("labels keep away from the other curves", () => {
  const flat = [1, 1, 1, 1, 1];
  // The other curve comes down on the right, so the label goes left, above its own.
  assert.deepEqual(pick(labelPlace(flat, [[5, 5, 4, 1.2, 1.1]], 1)), { at: 1, above: true });
  // It lies just above everywhere: the label goes below.
  assert.equal(labelPlace([3, 3, 3, 3, 3], [[3.2, 3.2, 3.2, 3.2, 3.2]], 1).above, false);
  // No room below: the axis is there.
  assert.equal(labelPlace([0.1, 0.1, 0.1], [[9, 9, 9]], 1).above, true);
});

/** @param {{at: number, above: boolean}} place */
const pick = ({ at, above }) => ({ at, above });

test("the nearest stop is nearest in ratio", () => {
  assert.equal(nearestStop([1, 10, 100], 40), 100);
  assert.equal(nearestStop([1, 10, 100], 30), 10);
  assert.equal(nearestStop([0.05, 0.55], 0.55), 0.55);
});

test("values can be read on every colour of a cell", () => {
  /** @param {string} colour */
  const luminance = (colour) => {
    const channels = (colour.match(/\d+/g) ?? []).map((text) => Number(text) / 255);
    const [r, g, b] = channels.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  for (let share = 0; share <= 1; share += 0.02) {
    const ink = memorizedInk(share) === "#000" ? 0 : 1;
    const [light, dark] = [ink, luminance(memorizedColour(share))].sort((a, b) => b - a);
    assert.ok((light + 0.05) / (dark + 0.05) >= 4.5, `${share}: ${memorizedColour(share)}`);
    assert.ok((luminance(likenessColour(share)) + 0.05) / 0.05 >= 4.5, `black on ${likenessColour(share)}`);
  }
  assert.equal(likenessColour(NaN), memorizedColour(NaN));
  assert.equal(memorizedColour(0), "rgb(0 114 178)");
  assert.equal(memorizedColour(1), "rgb(213 94 0)");
});
