import assert from "node:assert/strict";
import { test } from "node:test";
import { fromSearch, toSearch } from "../src/state/address.js";
import { defaults, keys, parameters } from "../src/state/parameters.js";
import { fromFraction, toFraction } from "../src/state/slider-scale.js";

/** @import { Range } from "../src/state/parameter-kinds.js" */

test("every default is a value that its own parameter allows", () => {
  for (const key of keys) {
    const { values, problems } = fromSearch(`?${key}=${parameters[key].default}`);
    assert.deepEqual(problems, [], key);
    assert.equal(values[key], parameters[key].default);
  }
});

test("every parameter says what it does", () => {
  for (const key of keys) {
    assert.match(parameters[key].help, /^[A-Z].*\.$/, key);
    assert.notEqual(parameters[key].label, "", key);
  }
});

test("the URL holds only what differs from the default", () => {
  assert.equal(toSearch(defaults()), "");
  assert.equal(toSearch({ ...defaults(), n: 64, "denoise.sigma": 0.25 }), "?n=64&denoise.sigma=0.25");
});

test("what was written to the URL is read back", () => {
  const values = {
    ...defaults(),
    data: /** @type {const} */ ("mnist"),
    "denoise.sigma": 0.01,
    "samples.seed": 0xffffffff,
  };
  assert.deepEqual(fromSearch(toSearch(values)), { values, problems: [] });
});

test("bad values fall back to the default, each with a notice", () => {
  const bad = [
    "n=100",
    "n=",
    "denoise.sigma=1e9",
    "denoise.sigma=NaN",
    "denoise.image=1.5",
    "data=cats",
    "engine=GPU",
    "nonsense=1",
  ];
  for (const text of bad) {
    const { values, problems } = fromSearch(`?${text}`);
    assert.deepEqual(values, defaults(), text);
    assert.equal(problems.length, 1, text);
  }
});

test("a link cannot bring somebody's own images", () => {
  const { values, problems } = fromSearch("?data=own&n=64");
  assert.equal(values.data, "faces");
  assert.equal(values.n, 64);
  assert.equal(problems.length, 1);
});

test("a log slider goes through its ends and its middle", () => {
  const sigma = /** @type {Range} */ (parameters["denoise.sigma"]);
  assert.equal(fromFraction(sigma, 0), 0.01);
  assert.equal(fromFraction(sigma, 1), 40);
  assert.equal(fromFraction(sigma, 0.5), 0.632);
  for (const fraction of [0, 0.1, 0.37, 0.9, 1]) {
    assert.ok(Math.abs(toFraction(sigma, fromFraction(sigma, fraction)) - fraction) < 1e-3);
  }
});
