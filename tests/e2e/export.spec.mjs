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
  // Chromium drops what a page downloads beyond ten files in a second, without a word.
  await page.waitForTimeout(110);
  const download = page.waitForEvent("download");
  await press(page, figure, tool);
  const file = await download;
  assert.equal(file.suggestedFilename(), `${figure}.${tool.toLowerCase()}`);
  return readFile(await file.path());
}

/** A side of the squares in which pictures are compared, in their pixels. */
const TILE = 24;
/** Edges and letters that lie half a pixel elsewhere make less of a difference, a letter or a dot that is missing more. */
const ALIKE = 6;

/**
 * A bitmap looks as what Chromium itself makes of the SVG: all their squares have the same colour on average, of 255.
 * @param {import("playwright-core").Page} page
 * @param {string} name
 * @param {string} svg
 * @param {Buffer} png
 */
async function alike(page, name, svg, png) {
  const context = await page
    .context()
    .browser()
    ?.newContext({
      deviceScaleFactor: 2,
      viewport: { width: png.readUInt32BE(16) / 2, height: png.readUInt32BE(20) / 2 },
    });
  assert(context);
  const viewer = await context.newPage();
  await viewer.route("**/*", (route) => route.fulfill({ contentType: "image/svg+xml", body: svg }));
  await viewer.goto("http://viewer.test/");
  // A font is loaded when something asks for it; until then its words are invisible.
  await viewer.evaluate(() => Promise.all([...document.fonts].map((font) => font.load())));
  // Beside much other work Chromium sometimes cannot take one.
  const picture = () => viewer.screenshot({ timeout: 20_000 });
  const taken = await picture().catch(picture).catch(picture);
  const files = [taken, png].map((file) => file.toString("base64"));
  const worst = await viewer.evaluate(
    async ({ files, tile }) => {
      const [a, b] = await Promise.all(
        files.map(async (file) => {
          const bytes = Uint8Array.from(atob(file), (letter) => letter.charCodeAt(0));
          const bitmap = await createImageBitmap(new Blob([bytes]));
          const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
          const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d"));
          context.drawImage(bitmap, 0, 0);
          return context.getImageData(0, 0, bitmap.width, bitmap.height);
        }),
      );
      const across = Math.ceil(a.width / tile);
      const sums = new Float64Array(4 * across * Math.ceil(a.height / tile));
      for (let i = 0; i < a.data.length; i++) {
        const [x, y] = [(i >> 2) % a.width, Math.floor((i >> 2) / a.width)];
        sums[4 * (Math.floor(y / tile) * across + Math.floor(x / tile)) + (i & 3)] += a.data[i] - b.data[i];
      }
      return Math.max(...sums.map(Math.abs)) / tile ** 2;
    },
    { files, tile: TILE },
  );
  await context.close();
  assert.ok(worst < ALIKE, `${name}: ${worst}`);
}

/** @param {import("playwright-core").Page} page @param {string} figure @param {string} tool */
async function press(page, figure, tool) {
  await page.locator(`[data-figure="${figure}"] [data-tool="${tool.toLowerCase()}"]`).click();
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
      assert.match(svg, /Figure I\.2/);
      // Charts and tables stay text; the four grids are images.
      const heading = await page.locator("#samples .scores tbody tr:last-child th").textContent();
      assert.ok(heading && svg.includes(heading.trim()), heading ?? "no table");
      assert.ok((svg.match(/<image /g) ?? []).length >= 4);
      const button = await page.locator("#samples [data-new-seed]").textContent();
      assert.ok(button && !svg.includes(button), "a button is in the picture");

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

siteTest("a figure as PNG has twice the pixels, and looks as its SVG", { webgpu: [false] }, async (page) => {
  await open(page, "", "samples");
  const svg = String(await saved(page, "samples", "SVG"));
  const png = await saved(page, "samples", "PNG");
  assert.equal(png.subarray(1, 4).toString(), "PNG");
  const width = await page.locator("#samples").evaluate((figure) => figure.getBoundingClientRect().width);
  assert.ok(Math.abs(png.readUInt32BE(16) - 2 * (width + 32)) <= 4, `${png.readUInt32BE(16)} for ${width}`);
  await alike(page, "samples", svg, png);
});

/**
 * The names of the columns of each table in a file: several tables have a title above them.
 * @param {string} csv
 */
function headsOf(csv) {
  const tables = csv.trimEnd().split("\r\n\r\n");
  return tables.map((table) => {
    const head = table.split("\r\n")[tables.length > 1 ? 1 : 0];
    return head.match(/"(""|[^"])*"|[^",]+/g) ?? [];
  });
}

/** Figures that have, together, all that is drawn in any, and something that they alone have. */
const VARIED = new Map([
  // Percents have narrow spaces, and the keys are those of the chart.
  ["hero", /\d\u202f%/],
  ["toy", /Noise level σ/],
  ["denoise", /Do nothing/],
  ["samples", /<line .*Held-out images/s],
  ["alignment", /rotate\(-90\).*M50,0L100,50L50,100L0,50Z/s],
  ["phase", /<rect .*training steps/s],
]);

siteTest("every figure as SVG, PNG, CSV and JSON", { webgpu: [false], timeout: 240_000 }, async (page) => {
  // The lab has nothing to show before its first run.
  await open(page, "?engine=cpu&lab.sizes=8+16+32&lab.width=8&lab.steps=20&lab.samples=16&lab.sampler=4", "lab");
  await page.locator('[data-part="train"]').click();
  await page.locator('.lab-runs tr[data-state="done"]').waitFor({ timeout: 60_000 });
  await page.locator("#lab .chart svg").waitFor();
  const names = await page.locator("figure[data-figure]").evaluateAll((figures) => figures.map(({ id }) => id));
  assert.ok(names.length >= 13, `${names}`);
  /** @type {[string, string, Buffer][]} */
  const pictures = [];
  for (const name of names) {
    if (name !== "lab") await ready(page, name);
    const svg = String(await saved(page, name, "SVG"));
    assert.doesNotMatch(svg, /var\(|currentColor|url\((?!data:)|class=/, name);
    const png = await saved(page, name, "PNG");
    pictures.push([name, svg, png]);
    assert.equal(png.subarray(1, 4).toString(), "PNG", name);
    assert.ok(png.readUInt32BE(16) > 1000 && png.readUInt32BE(20) > 400, name);
    const csv = String(await saved(page, name, "CSV"));
    for (const head of headsOf(csv)) assert.deepEqual(head, [...new Set(head)], `${name}: columns with the same name`);
    const rows = csv.split("\r\n");
    assert.ok(rows.filter((row) => /(^|,)-?\d+(\.\d+)?(,|$)/.test(row)).length >= 3, `${name}: ${rows.slice(0, 3)}`);
    const json = JSON.parse(String(await saved(page, name, "JSON")));
    assert.ok(json.findings ?? json.tables.length > 0, name);
    if (name !== "samples") continue;
    const [ratios, scores] = rows.join("\r\n").split("\r\n\r\n");
    assert.equal(ratios.split("\r\n").length, 1 + 1 + 64);
    assert.match(ratios, /\r\n64,/);
    assert.ok(scores.split("\r\n").length >= 4);
    assert.equal(json.settings.data, "faces");
    assert.equal(json.tables[0].rows.length, 64);
  }
  // Parsed elsewhere: this page's policy would complain about the style in it. And parsed last: a page behind another one
  // hardly gets any time.
  const blank = await page.context().newPage();
  for (const [name, svg, png] of pictures) {
    const error = await blank.evaluate(
      (text) => new DOMParser().parseFromString(text, "image/svg+xml").querySelector("parsererror")?.textContent,
      svg,
    );
    assert.equal(error, undefined, name);
    // The form of the lab is no result.
    if (name === "lab") assert.doesNotMatch(svg, /Learning rate/);
    const mark = VARIED.get(name);
    if (!mark) continue;
    assert.match(svg, mark);
    await alike(page, name, svg, png);
  }
});

siteTest(
  "a copied link opens the figure as it stood",
  { webgpu: [false], widths: [390], context: { permissions: ["clipboard-read", "clipboard-write"] } },
  async (page) => {
    await open(page);
    await choose(page, "denoise.split", "train");
    await press(page, "denoise", "Link");
    await page.locator('[data-figure="denoise"] [data-tool="link"][data-done]').waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(link, `${siteUrl}?denoise.split=train#denoise`);
  },
);
