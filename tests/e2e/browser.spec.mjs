// The ground that the other specs stand on.

import assert from 'node:assert/strict';

import { siteTest, siteUrl } from './harness.mjs';

siteTest('the site loads under a sub-path, and WebGPU is what the test asked for', {}, async (page, { webgpu }) => {
  const response = await page.goto(siteUrl);
  assert.equal(response?.status(), 200);
  const adapter = await page.evaluate(async () => Boolean(await navigator.gpu?.requestAdapter()));
  assert.equal(adapter, webgpu);
});
