// What leaves the page: pictures, tables, links.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { siteTest, siteUrl } from "./harness.mjs";
import { choose, open, ready } from "./page.mjs";

/**
 * Press a tool of a figure and return the file that it saves.
 * @param {import("playwright-core").Page} page
 * @param {string} figure
 * @param {string} tool
 */
async function saved(page, figure, tool) {
  const download = page.waitForEvent("download");
  await press(page, figure, tool);
  const file = await download;
  assert.equal(file.suggestedFilename(), `${figure}.${tool.toLowerCase()}`);
  return readFile(await file.path());
}

/** @param {import("playwright-core").Page} page @param {string} figure @param {string} tool */
async function press(page, figure, tool) {
  await page.locator(`[data-figure="${figure}"] .figure-tools button`, { hasText: tool }).click();
}

for (const { colorScheme, width } of /** @type {const} */ ([
  { colorScheme: "light", width: 390 },
  { colorScheme: "dark", width: 1280 },
])) {
  siteTest(
    `a figure as SVG stands alone, ${colorScheme}`,
    { webgpu: [false], widths: [width], context: { colorScheme } },
    async (page) => {
      await open(page, "", "samples");
      const svg = String(await saved(page, "samples", "SVG"));
      // Nothing of the page is needed to show it: neither its variables nor its files.
      assert.doesNotMatch(svg, /var\(|currentColor|url\((?!data:)|class=/);
      assert.match(svg, /@font-face\{font-family:"?Source Sans 3"?[^}]*url\(data:font\/woff2/);
      assert.match(svg, /Figure I\.3/);
      // Charts and tables stay text; the four grids are images.
      assert.match(svg, /Held-out images/);
      assert.match(svg, /copies/);
      assert.ok((svg.match(/<image /g) ?? []).length >= 4);
      assert.doesNotMatch(svg, /New noise/);

      // Parsed elsewhere: this page's policy would complain about the style in it.
      const blank = await page.context().newPage();
      const shown = await blank.evaluate((text) => {
        const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
        const fill = parsed.querySelector("rect")?.getAttribute("fill");
        return { error: parsed.querySelector("parsererror")?.textContent, fill };
      }, svg);
      assert.equal(shown.error, undefined);
      assert.equal(shown.fill, await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
    },
  );
}

siteTest("a figure as PNG has twice the pixels, and its text", { webgpu: [false] }, async (page) => {
  await open(page, "", "trajectory");
  const png = await saved(page, "trajectory", "PNG");
  assert.equal(png.subarray(1, 4).toString(), "PNG");
  const width = await page.locator("#trajectory").evaluate((figure) => figure.getBoundingClientRect().width);
  assert.ok(Math.abs(png.readUInt32BE(16) - 2 * (width + 32)) <= 4, `${png.readUInt32BE(16)} for ${width}`);
  // The credit is the last line: dark pixels there mean that the text was drawn.
  const dark = await page.evaluate(async (base64) => {
    const image = new Image();
    image.src = `data:image/png;base64,${base64}`;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, image.height - 70, 600, 50);
    return data.filter((value, i) => i % 4 === 0 && value < 150).length;
  }, png.toString("base64"));
  assert.ok(dark > 200, `${dark} dark pixels`);
});

siteTest("every figure as SVG, PNG, CSV and JSON", { webgpu: [false] }, async (page) => {
  await page.goto(siteUrl);
  const names = await page.locator("figure[data-figure]").evaluateAll((figures) => figures.map(({ id }) => id));
  assert.ok(names.length >= 13, `${names}`);
  /** @type {[string, string][]} */
  const pictures = [];
  // The lab has nothing to show before its first run.
  for (const name of names.filter((name) => name !== "lab")) {
    await ready(page, name);
    const svg = String(await saved(page, name, "SVG"));
    assert.doesNotMatch(svg, /var\(|currentColor|url\((?!data:)|class=/, name);
    pictures.push([name, svg]);
    const png = await saved(page, name, "PNG");
    assert.equal(png.subarray(1, 4).toString(), "PNG", name);
    assert.ok(png.readUInt32BE(16) > 1000 && png.readUInt32BE(20) > 400, name);
    const rows = String(await saved(page, name, "CSV")).split("\r\n");
    assert.ok(rows.filter((row) => /(^|,)-?\d+(\.\d+)?(,|$)/.test(row)).length >= 3, `${name}: ${rows.slice(0, 3)}`);
    const json = JSON.parse(String(await saved(page, name, "JSON")));
    assert.ok(json.findings ?? json.tables.length > 0, name);
    if (name !== "samples") continue;
    const [ratios, scores] = rows.join("\r\n").split("\r\n\r\n");
    assert.equal(ratios.split("\r\n").length, 1 + 1 + 64);
    assert.match(ratios, /\r\n64,/);
    assert.match(scores, /Held-out images/);
    assert.equal(json.settings.data, "faces");
    assert.equal(json.tables[0].rows.length, 64);
  }
  // Parsed elsewhere: this page's policy would complain about the style in it. And parsed last: a page behind another one
  // hardly gets any time.
  const blank = await page.context().newPage();
  for (const [name, svg] of pictures) {
    const error = await blank.evaluate(
      (text) => new DOMParser().parseFromString(text, "image/svg+xml").querySelector("parsererror")?.textContent,
      svg,
    );
    assert.equal(error, undefined, name);
  }
});

siteTest(
  "a copied link opens the figure as it stood",
  { webgpu: [false], widths: [390], context: { permissions: ["clipboard-read", "clipboard-write"] } },
  async (page) => {
    await open(page);
    await choose(page, "denoise.split", "Training set");
    await press(page, "denoise", "Link");
    await page.locator('[data-figure="denoise"] .figure-tools button', { hasText: "Link copied" }).waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(link, `${siteUrl}?denoise.split=train#denoise`);
  },
);
