// One figure in another page.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { siteTest, siteUrl } from "./harness.mjs";

/**
 * The page in a frame of another one. It is served from the same host, because the harness lets no other be asked.
 * @param {import("playwright-core").Page} page
 * @param {string} frame
 */
async function embed(page, frame) {
  await page.route(`${siteUrl}host.html`, (route) =>
    route.fulfill({ contentType: "text/html", body: `<!doctype html><title>Another page</title>${frame}` }),
  );
  await page.goto(`${siteUrl}host.html`);
  return page.frameLocator("iframe");
}

siteTest("?figure= in a frame shows one figure with its caption and a way out", { webgpu: [false] }, async (page) => {
  const source = `${siteUrl}?figure=samples&amp;n=64`;
  const frame = await embed(page, `<iframe src="${source}" title="A figure" width="900" height="800"></iframe>`);
  await frame.locator('#samples[data-ready][aria-busy="false"]').waitFor();
  assert.ok(await frame.locator("#samples figcaption").isVisible());
  assert.equal(await frame.locator('[data-live="samples.empirical.gl"]').first().textContent(), "0.00");
  for (const other of ["h1", "#denoise", "#training-set", "#eq-1", "#present", ".present-bar"]) {
    assert.ok(await frame.locator(other).first().isHidden(), other);
  }
  assert.ok(await frame.locator("#engine").isVisible());
  assert.equal(await frame.locator(".bar-title").getAttribute("href"), `${siteUrl}?n=64#samples`);
  assert.equal(await frame.locator(".bar-title").getAttribute("target"), "_blank");
});

siteTest("in a frame, the panel of a figure that trains scrolls with it", { webgpu: [false] }, async (page) => {
  const source = `${siteUrl}?figure=transition`;
  const frame = await embed(page, `<iframe src="${source}" title="A figure" width="700" height="560"></iframe>`);
  await frame.locator('#transition[data-ready][aria-busy="false"]').waitFor();
  const position = await frame.locator("#transition .run-panel").evaluate((panel) => getComputedStyle(panel).position);
  assert.equal(position, "static");
  assert.equal(await frame.locator('[data-tool="present"]').count(), 0);
});

siteTest("a figure that does not exist: the whole article, and a notice", { webgpu: [false] }, async (page) => {
  await page.goto(`${siteUrl}?figure=cats`);
  await page.locator("#notice", { hasText: "“cats”" }).waitFor();
  assert.ok(await page.locator("h1").isVisible());
});

siteTest("the README's frame shows its figure", { webgpu: [false] }, async (page) => {
  const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");
  const frame = /<iframe[\s\S]*?<\/iframe>/.exec(readme)?.[0] ?? "";
  const address = /src="([^"?]*)\?figure=([a-z-]+)/.exec(frame);
  assert.ok(address, "the README has no such frame");
  const embedded = await embed(page, frame.replace(address[1], siteUrl));
  const figure = embedded.locator(`figure[data-figure="${address[2]}"]`);
  // Until its style sheet is there, a page that has not been painted counts as visible.
  await figure.and(embedded.locator('[data-ready][aria-busy="false"]')).waitFor();
  assert.ok(await figure.isVisible());
  assert.ok(await embedded.locator("h1").isHidden());
});

siteTest(
  "the copied code's frame is as high as its figure",
  { webgpu: [false], context: { permissions: ["clipboard-read", "clipboard-write"] } },
  async (page) => {
    await page.goto(`${siteUrl}#transition`);
    await page.locator('#transition[data-ready][aria-busy="false"]').waitFor();
    await page.locator('#transition [data-tool="embed"]').click();
    await page.locator('#transition [data-tool="embed"][data-done]').waitFor();
    const code = await page.evaluate(() => navigator.clipboard.readText());
    const height = Number(/ height="(\d+)"/.exec(code)?.[1]);
    const frame = await embed(page, code);
    await frame.locator('#transition[data-ready][aria-busy="false"]').waitFor();
    const needed = await frame.locator("html").evaluate((root) => root.scrollHeight);
    assert.ok(height >= needed && height < needed + 40, `${height} for ${needed}`);
  },
);
