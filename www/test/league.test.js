import assert from "node:assert/strict";
import { test } from "node:test";
import { THEORIES } from "../src/reports/denoisers.js";
import {
  absentSentence,
  leader,
  leadsSentence,
  middleOf,
  mixturesHelp,
  mixturesSentence,
  networkSentence,
  ranked,
  reachText,
  settingAt,
  shareCell,
  shareText,
  standingOf,
  unexplained,
  valuesIn,
  windowsSentence,
  winsOf,
} from "../src/reports/league.js";
import { signed } from "../src/ui/format.js";

/** @import { LeagueReport, Theory } from "../src/reports/league.js" */

/** @param {string} id @param {number[]} r2 @returns {Theory} */
const theory = (id, r2) =>
  /** @type {any} */ ({ id, prediction: r2.map((mean) => ({ r2: { mean, standardError: 0, count: 1 } })) });

/** Of faces. */
const SHAPE = { width: 12, height: 12 };

/** @param {number} mean @param {number} standardError */
const estimate = (mean, standardError) => ({ mean, standardError, count: 1 });

/**
 * The same text with plain spaces.
 * @template {any[]} A
 * @param {(...args: A) => string} text
 * @returns {(...args: A) => string}
 */
const plain =
  (text) =>
  (...args) =>
    text(...args).replaceAll(/[\u00a0\u202f]/g, " ");

test("the league is sorted by what a theory leaves unexplained, in the geometric mean", () => {
  const theories = [theory("ls", [0.9, 0.9]), theory("gaussian", [0.99, 0.6]), theory("empirical", [-1, 0])];
  assert.ok(Math.abs(unexplained(theories[1]) - Math.sqrt(0.01 * 0.4)) < 1e-9);
  assert.deepEqual(
    ranked(/** @type {any} */ ({ theories })).map(({ id }) => id),
    ["gaussian", "ls", "empirical"],
  );
  assert.equal(leader(theories, ({ prediction }) => 1 - prediction[1].r2.mean).id, "ls");
  // A perfect prediction has no logarithm.
  assert.ok(unexplained(theory("mixture", [1, 1])) > 0);
});

test("few and many are the smallest and the largest training set, in whatever order they come", () => {
  const report = /** @type {LeagueReport} */ (/** @type {any} */ ({ findings: [{ n: 1024 }, { n: 64 }, { n: 256 }] }));
  assert.equal(standingOf(report, "few").n, 64);
  assert.equal(standingOf(report, "many").n, 1024);
});

test("a sentence says which theories of the table are missing, if there are any", () => {
  const all = THEORIES.map(({ id }) => theory(id, [0.5]));
  assert.equal(absentSentence(all), "");
  const others = all.filter(({ id }) => id !== "els");
  assert.equal(absentSentence(others), "Not shown: ELS, which would take hours on images of this size.");
});

test("a setting is told in a few letters", () => {
  assert.equal(settingAt({ id: "ls", windows: [11, 3] }, 1, SHAPE), "P = 3");
  assert.equal(settingAt({ id: "ls", windows: [23, 3] }, 0, SHAPE), "P = 23, whole image");
  // One that is compared with those elsewhere does not make it D_M, however large.
  assert.equal(settingAt({ id: "els", windows: [23, 3] }, 0, SHAPE), "P = 23");
  assert.equal(settingAt({ id: "pca-locality", threshold: 0.05 }, 0, SHAPE), "τ = 0.05");
  assert.equal(settingAt({ id: "mixture", components: 8 }, 0, SHAPE), "K = 8");
  assert.equal(settingAt({ id: "gaussian" }, 0, SHAPE), "");
});

test("what is left unexplained may be more than everything", () => {
  assert.deepEqual([0.022, 1, 1.46].map(plain(shareText)), ["2.2 %", "100 %", "more than all of it"]);
  assert.deepEqual([0.022, 1, 1.46].map(plain(shareCell)), ["2.2 %", "100 %", "> 100 %"]);
});

test("negative numbers have a minus, and zero has none", () => {
  assert.deepEqual([-0.26, -0.001, 0.001, 0.5].map(signed), ["−0.26", "0.00", "0.00", "0.50"]);
});

test("a sentence says which theory leads, at the noise levels that there are", () => {
  const theories = [theory("gaussian", [0.8, 0.9, 0.99, 1]), theory("ls", [0.7, 0.8, 0.999, 0])];
  const said = plain((/** @type {number[]} */ sigmas) => leadsSentence(sigmas, theories, SHAPE));
  assert.equal(
    said([3, 1, 0.15]),
    "The network is best predicted at σ = 3 by the Gaussian denoiser (R² = 0.800), at σ = 1 by the Gaussian denoiser " +
      "(R² = 0.900) and at σ = 0.15 by the local score machine (R² = 0.999).",
  );
  // One that was not measured is passed over, and a neighbour is called what it is.
  assert.equal(
    said([3, 0.9, 0.4]),
    "The Gaussian denoiser predicts best at high and medium noise: R² = 0.800 and 0.900 at σ = 3 and 0.9.",
  );
  assert.equal(said([10, 0.001]), "");
  assert.equal(said([]), "");
});

test("where every R² is below zero, no theory predicts", () => {
  /** @param {number[][]} r2 */
  const said = (...r2) =>
    plain(leadsSentence)(
      [3, 1, 0.15],
      r2.map((levels, i) => theory(["gaussian", "ls"][i], levels)),
      SHAPE,
    );
  assert.equal(
    said([-0.3, -0.8, 0.521], [-0.4, -0.7, 0.29]),
    "The network is best predicted at σ = 0.15 by the Gaussian denoiser (R² = 0.521). " +
      "At σ = 3 and 1, no theory predicts it: every R² is below zero.",
  );
  assert.equal(said([-1, -1, -1]), "At σ = 3, 1 and 0.15, no theory predicts the network: every R² is below zero.");
});

test("LS with a window as large as the image gets no credit: it is D_M", () => {
  const local = { ...theory("ls", [0.9, 0.9]), windows: [23, 21], error: [estimate(0.9, 0.01), estimate(0.9, 0.01)] };
  const empirical = { ...theory("empirical", [0.9, 0.1]), error: [estimate(0.9, 0.01), estimate(2, 0.1)] };
  const theories = [local, empirical];
  assert.equal(
    plain(leadsSentence)([3, 1], theories, SHAPE),
    "The network is best predicted at σ = 3 by the memorizing denoiser (R² = 0.900) and at σ = 1 by the local score " +
      "machine (R² = 0.900).",
  );
  assert.equal(
    plain(windowsSentence)([3, 1], theories, SHAPE),
    "the local score machine (at σ = 1, with 0.90 times the Gaussian’s squared error) beats the Gaussian denoiser " +
      "by more than three standard errors.",
  );
  assert.match(windowsSentence([3, 1], [empirical], SHAPE), /^none beats/);
});

test("a denoiser beats the Gaussian's by more than three standard errors", () => {
  assert.deepEqual(winsOf([estimate(0.968, 0.015), estimate(0.9, 0.03), estimate(1.1, 0.01)]), [1]);
});

test("with fewer images than values, the network's lead says nothing of what it learned", () => {
  assert.equal(valuesIn({ width: 32, height: 32, channels: 3 }), 3072);
  assert.match(networkSentence([], true), /does not beat it at any noise level\.$/);
  assert.match(
    plain(networkSentence)([0.4, 1], true),
    /σ = 1 and 0\.4: there it has learned more than mean and covariance\.$/,
  );
  assert.match(plain(networkSentence)([0.4, 1], false), /σ = 1 and 0\.4\.$/);
});

test("mixtures are compared with one Gaussian, the largest gain first", () => {
  const gains = [
    { images: "faces", k: 1, gain: 0 },
    { images: "digits", k: 16, gain: 0.183 },
    { images: "clothes", k: 64, gain: 0.277 },
  ];
  const said = plain(mixturesSentence);
  assert.equal(
    said(gains),
    "Compared with one Gaussian, the best mixture has 28 % less squared error on clothes (K = 64) and 18 % less on digits " +
      "(K = 16). On faces, no mixture does better.",
  );
  assert.equal(said(gains.slice(0, 1)), "On faces, no mixture does better than one Gaussian.");
  assert.equal(mixturesHelp(gains, ["digits", "clothes"]), true);
  assert.equal(mixturesHelp(gains, ["faces", "digits", "clothes"]), false);
  assert.equal(mixturesHelp([{ images: "faces", k: 2, gain: 0.03 }], ["digits"]), false);
});

test("how far a network looks is farther, less far or about the same", () => {
  assert.deepEqual(
    [
      [3.43, 2.22],
      [6.56, 9.68],
      [8.07, 8.71],
    ].map(([reach, other]) => plain(reachText)(reach, other)),
    ["55 % farther than", "32 % less far than", "about as far as"],
  );
});

test("the table and the labels are about the noise level nearest to 1", () => {
  assert.equal(middleOf({ sigmas: [10, 3, 1, 0.15] }), 2);
  assert.equal(middleOf({ sigmas: [0.27, 0.55, 10] }), 1);
});
