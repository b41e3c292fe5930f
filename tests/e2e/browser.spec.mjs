// The ground that the other specs stand on.

import assert from "node:assert/strict";

import { siteTest, siteUrl } from "./harness.mjs";

siteTest("a browser with or without WebGPU, as the test asks", {}, async (page, { webgpu }) => {
  await page.goto(siteUrl);
  const adapter = await page.evaluate(async () => Boolean(await navigator.gpu?.requestAdapter()));
  assert.equal(adapter, webgpu);
});
