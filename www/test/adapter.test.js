import assert from "node:assert/strict";
import { test } from "node:test";
import * as adapters from "../src/engine/adapter.js";

/** A browser's side of it, with adapters of these feature levels. @param {string[]} levels */
function browser(...levels) {
  /** @type {any[]} */
  const asked = [];
  const gpu = {
    async requestAdapter(/** @type {any} */ options = {}) {
      asked.push(options);
      const level = options.featureLevel ?? "core";
      return levels.includes(level) ? { level } : null;
    },
  };
  adapters.acceptCompatibility(gpu);
  return { gpu, asked };
}

test("an adapter for all of WebGPU is taken as it is", async () => {
  const { gpu, asked } = browser("core", "compatibility");
  assert.deepEqual(await gpu.requestAdapter({ powerPreference: "high-performance" }), { level: "core" });
  assert.equal(asked.length, 1);
  assert.equal(adapters.isCompatible, false);
});

test("where there is none, one of compatibility mode is asked for, with the same wishes", async () => {
  const { gpu, asked } = browser("compatibility");
  assert.deepEqual(await gpu.requestAdapter({ powerPreference: "high-performance" }), { level: "compatibility" });
  assert.deepEqual(asked[1], { powerPreference: "high-performance", featureLevel: "compatibility" });
  assert.equal(adapters.isCompatible, true);
});

test("a browser without any adapter, or without WebGPU, stays so", async () => {
  const { gpu } = browser();
  assert.equal(await gpu.requestAdapter(), null);
  assert.equal(adapters.isCompatible, false);
  adapters.acceptCompatibility(undefined);
});
