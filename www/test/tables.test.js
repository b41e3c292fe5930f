import assert from "node:assert/strict";
import { test } from "node:test";
import { DENOISERS, FITTED, TABLE, THEORIES } from "../src/reports/denoisers.js";
import { parameters } from "../src/state/parameters.js";
import DENOISER_TABLE from "../src/tables/denoisers.json" with { type: "json" };
import EXPERIMENT_TABLE from "../src/tables/experiments.json" with { type: "json" };
import SET_TABLE from "../src/tables/data-sets.json" with { type: "json" };
import PRESET_TABLE from "../src/tables/presets.json" with { type: "json" };

/** @import { DenoiserId, ExperimentName } from "../pkg/hidden_gaussian.js" */
/** @import { PageSet } from "../src/state/data-sets.js" */

test("every denoiser of the library has a style of its own", () => {
  for (const { id, short, colour, marker } of TABLE) assert.ok(short && colour && marker, `${id} has no style`);
  /** @param {(row: typeof TABLE[number]) => unknown} look */
  const distinct = (look) => assert.equal(new Set(TABLE.map(look)).size, TABLE.length);
  distinct(({ colour }) => colour);
  // Never colour alone.
  distinct(({ dash, marker, hollow }) => [dash, marker, hollow].join());
});

test("Sections I to IV show the denoisers of the paper, and no other", () => {
  assert.deepEqual(
    DENOISERS.map(({ id }) => id),
    ["trained", "linear", "gaussian", "empirical"],
  );
  assert.deepEqual(
    FITTED.map(({ id }) => id),
    ["gaussian", "empirical"],
  );
  assert.deepEqual(
    THEORIES.map(({ id }) => id),
    ["gaussian", "empirical", "ls", "els", "pca-locality", "mixture"],
  );
});

test("the names that types spell out are those of the library", () => {
  /** @type {Record<DenoiserId, true>} */
  const denoisers = {
    trained: true,
    linear: true,
    gaussian: true,
    empirical: true,
    ls: true,
    els: true,
    "pca-locality": true,
    mixture: true,
  };
  assert.deepEqual(
    Object.keys(denoisers),
    DENOISER_TABLE.map(({ id }) => id),
  );
  /** @type {Record<ExperimentName, true>} */
  const experiments = {
    transition: true,
    "gaussian-bias": true,
    emergence: true,
    "strong-generalization": true,
    clocks: true,
    modes: true,
  };
  assert.deepEqual(Object.keys(experiments).sort(), EXPERIMENT_TABLE.map(({ name }) => name).sort());
  assert.deepEqual(Object.keys(PRESET_TABLE).sort(), Object.keys(experiments).sort());
  /** @type {Record<PageSet, true>} */
  const sets = { faces: true, patches: true, fashion: true, mnist: true, cifar10: true };
  assert.deepEqual(
    Object.keys(sets),
    SET_TABLE.map(({ name }) => name),
  );
});

test("the lab offers what the library has", () => {
  const values = (/** @type {keyof typeof parameters} */ key) => {
    const known = parameters[key];
    return known.type === "choice" ? known.options.map(({ value }) => value) : [];
  };
  assert.deepEqual(
    values("lab.experiment"),
    EXPERIMENT_TABLE.map(({ name }) => name),
  );
  assert.deepEqual(values("lab.data"), [...SET_TABLE.map(({ name }) => name), "own"]);
});
