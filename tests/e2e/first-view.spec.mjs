// What the first screen costs a reader, and that pictures of recorded runs come when they are needed.

import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { siteTest, siteUrl } from "./harness.mjs";
import { ready, until } from "./page.mjs";

/** The most that the first view may weigh, as a server that compresses text sends it. */
const BUDGET = 600_000;

siteTest("the first view is small, and the pictures that it shows come first", { webgpu: [false] }, async (page) => {
  /** @type {Map<string, number>} */
  const sizes = new Map();
  page.on("response", async (response) => {
    const body = await response.body().catch(() => Buffer.alloc(0));
    const isText = /javascript|json|css|html|svg|wasm/.test(response.headers()["content-type"] ?? "");
    sizes.set(new URL(response.url()).pathname, isText ? gzipSync(body).length : body.length);
  });
  await page.goto(siteUrl);
  await ready(page, "hero");
  await page.waitForLoadState("networkidle");
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  assert.ok(total <= BUDGET, `${total} bytes: ${JSON.stringify([...sizes])}`);
  const sheets = () => [...sizes.keys()].filter((path) => /\/runs\/.*\.(jpg|png)$/.test(path));
  assert.equal(sheets().length, 1, "the pictures of one network");

  // The reader looks at another network: its pictures come, and then those of all others.
  const before = await drawn(page);
  await page.locator("#hero input[type=range]").focus();
  await page.keyboard.press("End");
  await ready(page, "hero");
  await until("other pictures are drawn", async () => (await drawn(page)) !== before);
  await until("all pictures are here", () => sheets().length >= 5);
});

siteTest(
  "pictures that do not come are an error with a second try, and numbers stand without them",
  { webgpu: [false] },
  async (page) => {
    // A service that is down answers nothing that the browser would log as an error of the page.
    await page.route(/\/runs\/.*\.(jpg|png)$/, (route) => route.fulfill({ status: 204, body: "" }));
    await page.goto(siteUrl);
    const error = page.locator("#hero > .figure-error");
    await error.waitFor();
    assert.match((await page.locator('#hero [data-part="sentence"]').textContent()) ?? "", /Trained on [\d,]+ images/);
    await page.unroute(/\/runs\/.*\.(jpg|png)$/);
    await error.locator("button").click();
    await ready(page, "hero");
    assert.ok(await error.isHidden());
  },
);

/** @param {import("playwright-core").Page} page */
const drawn = (page) =>
  page
    .locator('#hero canvas[data-samples="trained"]')
    .evaluate((canvas) => (canvas instanceof HTMLCanvasElement ? canvas.toDataURL() : ""));
