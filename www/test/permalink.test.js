import assert from "node:assert/strict";
import { test } from "node:test";
import { fromSearch, toSearch } from "../src/state/address.js";
import { defaults } from "../src/state/parameters.js";
import { parseReport } from "../src/reports/report.js";
import { compare, fromLink, headline, isRepeatable, toLink } from "../src/state/permalink.js";

/**
 * @import { RunOptions } from "../src/engine/protocol.js"
 * @import { Report } from "../src/reports/report.js"
 * @import { Expected } from "../src/state/permalink.js"
 */

/** @param {number} mean */
const estimate = (mean) => ({ mean, standardError: 0, count: 64 });

/**
 * As much of a report as a link looks at.
 * @param {[n: number, seed: number, gl: number][]} points
 * @param {"cpu" | "gpu"} [engine]
 * @returns {Report}
 */
const report = (points, engine = "cpu") =>
  /** @type {any} */ ({
    format: 2,
    experiment: "transition",
    final: true,
    engine,
    findings: points.map(([n, seed, gl]) => ({
      n,
      seed,
      denoisers: {
        trained: {
          closeness: { gl: estimate(gl), glSquared: estimate(0), memorized: estimate(1 - gl) },
          against: { gaussian: { cosine: estimate(gl / 2) } },
        },
      },
    })),
  });

/** @type {RunOptions} */
const options = {
  experiment: "transition",
  preset: "quick",
  seed: 7,
  data: { set: "faces", size: 12, seed: 3, count: 5120, heldOut: 1024 },
  config: { sizes: [16, 64], train: { rate: 4e-3, architecture: { kind: "mlp", width: 96 } } },
};

test("a run goes through a link and back", () => {
  const link = toLink(options, report([[16, 7, 0.4]]));
  const { values, problems } = fromSearch(toSearch({ ...defaults(), ...link }));
  assert.deepEqual(problems, []);
  const read = fromLink(values);
  assert.deepEqual(read?.options, options);
  assert.deepEqual(read?.expected?.numbers, [0.4, 0.6, 0.2]);
});

test("a run that is not done has a link without numbers", () => {
  const link = toLink({ ...options, config: {} }, { ...report([[16, 7, 0.4]]), final: false });
  assert.deepEqual(link, { run: "transition_quick_7_faces_12_3_5120_1024", "run.config": "", "run.expect": "" });
  assert.equal(fromLink(link)?.expected, undefined);
});

test("a bad link falls back with a notice", () => {
  for (const bad of ["run=cats", "run=transition_quick_1", "run.config=5", "run.expect=tpu_00000000"]) {
    const { values, problems } = fromSearch(`?${bad}`);
    assert.deepEqual(values, defaults(), bad);
    assert.equal(problems.length, 1, bad);
  }
  const broken = { ...toLink(options), "run.config": "{broken}" };
  assert.equal(fromLink(broken), undefined);
  assert.match(fromSearch(toSearch({ ...defaults(), ...broken })).problems.join(), /^The configuration .* is not JSON/);
});

test("headline numbers are averaged over seeds", () => {
  const numbers = headline(
    report([
      [16, 1, 0.2],
      [16, 2, 0.4],
      [64, 1, 0.8],
    ]),
  );
  assert.equal(numbers.length, 6);
  assert.match(numbers[0].label, /N = 16, GL/);
  assert.ok(Math.abs(numbers[0].value - 0.3) < 1e-12);
});

test("the same bits, about the same numbers, other numbers", () => {
  const made = report([
    [16, 7, 0.4],
    [64, 7, 0.7],
  ]);
  const expected = /** @type {Expected} */ (fromLink(toLink(options, made))?.expected);
  assert.equal(compare(expected, made).verdict, "identical");
  assert.equal(
    compare(
      expected,
      report(
        [
          [16, 7, 0.4],
          [64, 7, 0.7],
        ],
        "gpu",
      ),
    ).verdict,
    "agrees",
  );
  const near = compare(
    expected,
    report([
      [16, 7, 0.42],
      [64, 7, 0.7],
    ]),
  );
  assert.equal(near.verdict, "agrees");
  assert.ok(Math.abs(near.largest - 0.02) < 1e-9);
  assert.equal(
    compare(
      expected,
      report([
        [16, 7, 0.5],
        [64, 7, 0.7],
      ]),
    ).verdict,
    "differs",
  );
  assert.equal(compare(expected, report([[16, 7, 0.4]])).verdict, "differs");
});

test("what is not a number goes through a link, and matches nothing", () => {
  const sound = report([[16, 7, 0.4]]);
  const broken = parseReport(JSON.stringify(report([[16, 7, NaN]])));
  const link = toLink(options, broken);
  const { values, problems } = fromSearch(toSearch({ ...defaults(), ...link }));
  assert.deepEqual(problems, []);
  const expected = /** @type {Expected} */ (fromLink(values)?.expected);
  assert.deepEqual(expected.numbers, [NaN, NaN, NaN]);
  for (const found of [broken, { ...broken, engine: /** @type {const} */ ("gpu") }, sound]) {
    assert.equal(compare(expected, found).verdict, "differs");
  }
  const other = /** @type {Expected} */ (fromLink(toLink(options, sound))?.expected);
  assert.equal(compare(other, broken).verdict, "differs");
});

test("the reader's own images cannot be repeated elsewhere, whatever they are called", () => {
  const data = { set: "faces", size: 12, seed: 1, count: 100, heldOut: 10 };
  const options = /** @type {RunOptions} */ ({ experiment: "transition", preset: "quick", seed: 1, data });
  assert.ok(isRepeatable(options));
  assert.ok(!isRepeatable({ ...options, own: true }));
  assert.ok(!isRepeatable({ ...options, data: { ...data, set: "constructor" } }));
});
