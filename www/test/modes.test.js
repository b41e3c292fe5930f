import assert from "node:assert/strict";
import { test } from "node:test";
import {
  coloursSentence,
  emergenceLaw,
  endsText,
  losingText,
  modesOf,
  orderText,
  symbolsText,
  unfinishedSentence,
} from "../src/reports/modes.js";

/** @import { ModesCourse } from "../pkg/hidden_gaussian.js" */

const VARIANCES = [4, 2, 1, 0.25, 0.04, 0.02, 0.01];

/**
 * A network whose samples begin with a variance of 0.25 along every axis.
 * @param {"mlp" | "unet"} kind
 * @param {number[]} ends their variance at the end, relative to that of the images
 * @param {number[]} [variances] of the images
 */
const network = (kind, ends, variances = VARIANCES) =>
  /** @type {ModesCourse} */ ({
    n: 1024,
    architecture: { kind, width: 16 },
    variances,
    emerged: variances.map((variance) => (variance === 0.25 ? null : 100 / variance)),
    moments: [
      { step: 1, variances: variances.map(() => 0.25) },
      { step: 100, variances: variances.map((variance, k) => variance * ends[k]) },
    ],
  });

const done = network("mlp", [1, 1, 1, 1, 1, 1, 1.5]);
const underway = network("unet", [0.5, 1, 1, 1, 4, 9, 30]);
const gaining = network("unet", [0.6, 1, 1.2], [4, 2, 1]);

test("axes that gain variance and those that lose it have laws of their own", () => {
  assert.deepEqual(
    modesOf(done).map(({ gains }) => gains),
    [true, true, true, false, false, false, false],
  );
  for (const gains of [true, false]) assert.ok(Math.abs((emergenceLaw(done, gains)?.exponent ?? 0) + 1) < 1e-9);
  assert.equal(losingText([done]), "1.00 (1.00 to 1.00) in the MLP");
  assert.equal(losingText([gaining]), "");
});

test("the caption says where the variance ends, along some axes and along all", () => {
  assert.equal(endsText([done, underway]), "1 to 1.5 (MLP) and 0.5 to 30 (U-Net)");
  assert.equal(
    endsText([underway], (axis) => axis < 4),
    "0.5 to 1 (U-Net)",
  );
  assert.match(unfinishedSentence([done, underway]), /still up to 30 times/);
  assert.equal(unfinishedSentence([done]), "");
  assert.equal(unfinishedSentence([gaining]), "");
});

test("the caption names only what is drawn", () => {
  assert.match(coloursSentence([done]), /^Vermilion/);
  assert.equal(coloursSentence([gaining]), "All axes gain variance.");
  assert.equal(symbolsText([gaining]), "");
  assert.match(symbolsText([done, underway]), /diamonds/);
});

test("an order of axes is told by its interval, and stands alone without a second network", () => {
  const law = (/** @type {number} */ exponent, reach = 0.1) => ({
    exponent,
    low: exponent - reach,
    high: exponent + reach,
    scale: 1,
    count: 9,
  });
  assert.equal(orderText(undefined, law(-1)), "the order was not measured");
  assert.equal(orderText(law(-0.4, 0.5), law(-1)), "there is no clear order");
  assert.equal(orderText(law(0.4), law(-1)), "the order is reversed");
  assert.equal(orderText(law(-0.4), undefined), "stronger axes come first");
  assert.equal(orderText(law(-0.4), law(-1)), "the order is weaker");
  assert.equal(orderText(law(-1), law(-1)), "the order is much the same");
  assert.equal(orderText(law(-2), law(-1)), "the order is stronger");
});
