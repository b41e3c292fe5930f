// One figure in another page.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { siteTest, siteUrl } from "./harness.mjs";
import { live } from "./page.mjs";

siteTest("?figure= shows one figure with its caption and a way back", { webgpu: [false] }, async (page) => {
  await page.goto(`${siteUrl}?figure=trajectory&n=64`);
  await page.locator('#trajectory[data-ready][aria-busy="false"]').waitFor();
  assert.ok(await page.locator("#trajectory figcaption").isVisible());
  assert.equal(await live(page, "trajectory.empirical.ratio"), "0.00");
  for (const other of ["h1", "#denoise", "#samples", "#training-set", "#eq-1"]) {
    assert.ok(await page.locator(other).first().isHidden(), other);
  }
  assert.ok(await page.locator("#engine").isVisible());
  assert.equal(await page.locator(".bar-title").getAttribute("href"), `${siteUrl}?n=64#trajectory`);
  assert.equal(await page.locator(".bar-title").getAttribute("target"), "_blank");
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
  // Served from the same host, because the harness lets no other be asked.
  await page.route(`${siteUrl}host.html`, (route) =>
    route.fulfill({
      contentType: "text/html",
      body: `<!doctype html><title>Another page</title>${frame.replace(address[1], siteUrl)}`,
    }),
  );
  await page.goto(`${siteUrl}host.html`);
  const figure = page.frameLocator("iframe").locator(`figure[data-figure="${address[2]}"]`);
  await figure.locator("figcaption").waitFor();
  assert.ok(await figure.isVisible());
  assert.ok(await page.frameLocator("iframe").locator("h1").isHidden());
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
    await page.goto(`${siteUrl}?figure=transition`);
    await page.locator('#transition[data-ready][aria-busy="false"]').waitFor();
    const needed = await page.evaluate(() => document.documentElement.scrollHeight);
    assert.ok(height >= needed && height < needed + 40, `${height} for ${needed}`);
  },
);
