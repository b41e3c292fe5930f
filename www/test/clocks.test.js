import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bothClocks,
  clockNumbers,
  growth,
  lawOf,
  lawSentence,
  roundTicks,
  speedUps,
  spread,
  struck,
  timeOf,
  timeOn,
  trainings,
  unmeasuredSentence,
} from "../src/reports/clocks.js";
import { powerLaw } from "../src/reports/power-law.js";
import { signed } from "../src/ui/format.js";

/** @import { ClocksCourse } from "../pkg/hidden_gaussian.js" */

const DRAWS = 100;

test("a power law is found, with its interval", () => {
  const law = powerLaw([1, 2, 4, 8, 16].map((x) => ({ x, y: 3 * x ** 1.2 })));
  assert.ok(law);
  for (const exponent of [law.exponent, law.low, law.high]) assert.ok(Math.abs(exponent - 1.2) < 1e-9);
  assert.ok(Math.abs(law.scale - 3) < 1e-9);
  const two = [1, 2].map((x) => ({ x, y: x }));
  assert.equal(powerLaw(two), undefined, "a line goes through any two points");
  assert.equal(powerLaw([]), undefined);
});

test("a negative exponent has a minus sign, not a hyphen", () => {
  assert.equal(signed(-0.09), "−0.09");
});

// As in `src/experiment/power_law.rs`, so that the page and the command line print the same numbers.
test("the interval is the library’s", () => {
  const points = [0, 1, 2, 3].map((i) => ({
    x: 2 ** i,
    y: 2 ** i * (i === 1 ? 1.5 : 1),
    draws: i === 1 ? [] : Array.from({ length: DRAWS }, (_, draw) => 2 ** i * (1 + 0.01 * (draw % 7))),
  }));
  const law = powerLaw(points);
  assert.ok(law && Math.abs(law.exponent - 0.9415037499278842) < 1e-9);
  assert.ok(law.low < law.exponent && law.exponent < law.high);
  assert.deepEqual(
    [law.low, law.high].map((value) => value.toFixed(6)),
    INTERVAL,
  );
});
/** What the library’s test prints. */
const INTERVAL = ["0.471621", "1.514573"];

/** @param {number} n @param {number | null} memorized @param {Partial<ClocksCourse>} [more] @returns {ClocksCourse} */
function course(n, memorized, more = {}) {
  const time = (/** @type {number | null} */ step) =>
    step === null ? null : { step, low: step, high: step, draws: [] };
  const bounded = { mean: 0.5, low: 0.4, high: 0.6 };
  return {
    first: 0,
    n,
    seed: 1,
    optimizer: { kind: "sgd", momentum: 0.95 },
    rate: 0.02,
    architecture: { kind: "mlp", width: 192, depth: 2 },
    parameters: 1,
    status: { name: "learning" },
    moments: [{ step: 10, memorized: bounded, likeness: bounded, train: bounded, heldOut: bounded }],
    times: { generalized: time(200 + n), overfitted: time(5 * n), memorized: time(memorized) },
    ...more,
  };
}

test("networks are grouped by how they were trained, and each group has its laws", () => {
  const adam = { optimizer: /** @type {const} */ ({ kind: "adam" }), rate: 0.001 };
  const courses = [course(8, 1600), course(16, 3200), course(32, 6400), course(64, null), course(8, 800, adam)];
  const [first, second, ...others] = trainings(courses);
  assert.equal(others.length, 0);
  assert.deepEqual([first.name, second.name], ["SGD, MLP 192", "Adam, MLP 192"]);
  assert.ok(Math.abs((lawOf(first.courses, "memorized")?.exponent ?? 0) - 1) < 1e-9);
  assert.equal(lawOf(second.courses, "memorized"), undefined);
  assert.match(lawSentence(first), /power 1\.00/);
  assert.match(lawSentence(second), /too few/);
  assert.equal(spread(struck(first.courses, "generalized")), 264 / 208);
  assert.equal(spread(struck(second.courses, "generalized")), undefined);
  assert.match(unmeasuredSentence([first, second]), /^With Adam, fewer than three/);
  assert.equal(unmeasuredSentence([first]), "");
  assert.equal(clockNumbers(courses).length, 5);
  assert.equal(clockNumbers(courses)[0].value, 0.5);
});

test("networks that diverged say nothing about the law", () => {
  const broken = course(32, 1, { status: { name: "diverged", step: 3 } });
  const sound = [course(8, 80), course(16, 160), course(64, 640)];
  assert.ok(Math.abs((lawOf([...sound, broken], "memorized")?.exponent ?? 0) - 1) < 1e-9);
});

test("the axis of time divides by images and multiplies by width", () => {
  const one = course(16, 3200);
  assert.equal(timeOn(one, "steps", 3200), 3200);
  assert.equal(timeOn(one, "perImage", 3200), 200);
  assert.equal(timeOn(one, "perWidth", 3200), 200 * 192);
});

test("a network that copies before it generalizes has no time at which it did", () => {
  // It is most like the Gaussian's samples after 208 steps.
  const early = course(8, 100);
  assert.equal(timeOf(early, "generalized"), null);
  assert.equal(timeOf(early, "memorized")?.step, 100);
  assert.deepEqual(struck([early, course(16, 3200), course(64, null)], "generalized"), [
    { n: 16, step: 216 },
    { n: 64, step: 264 },
  ]);
});

test("the clocks are compared over the sizes for which both strike", () => {
  const courses = [course(64, null), course(32, 6400), course(16, 3200), course(8, 1600), course(4, 100)];
  const both = bothClocks(courses);
  assert.deepEqual(both, { sizes: [8, 32], generalized: [208, 232], memorized: [1600, 6400] });
  assert.equal(growth(both.memorized), 4);
  assert.equal(bothClocks(courses.slice(2)), undefined, "two sizes show no trend");
});

test("widths are compared size by size", () => {
  const wide = { architecture: /** @type {const} */ ({ kind: "mlp", width: 384, depth: 2 }) };
  const all = trainings([
    course(8, 1600),
    course(16, 3000),
    course(32, null),
    course(8, 800, wide),
    course(16, 2000, wide),
  ]);
  assert.deepEqual(speedUps(all), { widths: [192, 384], factors: [2, 1.5] });
  assert.equal(speedUps(all.slice(1)), undefined);
});

test("an axis has two to five round ticks", () => {
  assert.deepEqual(roundTicks(1), [0, 0.5, 1]);
  assert.deepEqual(roundTicks(11), [0, 5, 10]);
  assert.deepEqual(roundTicks(5.6), [0, 2, 4]);
  assert.deepEqual(roundTicks(NaN), []);
});
