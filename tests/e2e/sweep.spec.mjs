// What the command line wrote, on the page: a sweep of two widths (tests/native/fixtures/).

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { siteTest, siteUrl } from "./harness.mjs";
import { drop, ready, until, violations } from "./page.mjs";

/** @typedef {import("playwright-core").Page} Page */

const report = await readFile(new URL("../native/fixtures/sweep-report.json", import.meta.url));
const merged = { name: "report.json", bytes: new Uint8Array(report) };

/** The rows of the lab's table. @param {Page} page */
const rows = (page) => page.locator(".lab-runs tbody tr[data-run]");

/** Until the lab has so many runs. @param {Page} page @param {number} count */
const runs = (page, count) => until(`${count} runs`, async () => (await rows(page).count()) === count);

/** How many runs the browser keeps. @param {Page} page */
const kept = (page) =>
  page.evaluate(
    () =>
      new Promise((resolve) => {
        const opening = indexedDB.open("hidden-gaussian");
        opening.onupgradeneeded = () => opening.transaction?.abort();
        opening.onerror = () => resolve(0);
        opening.onsuccess = () => {
          const counting = opening.result.transaction("runs").objectStore("runs").count();
          counting.onsuccess = () => {
            opening.result.close();
            resolve(counting.result);
          };
        };
      }),
  );

siteTest(
  "a merged sweep opens by drop, its runs stay over a reload, and a deleted one comes back",
  { webgpu: [false], widths: [1280] },
  async (page) => {
    await page.goto(`${siteUrl}#lab`);
    await ready(page, "lab");
    await drop(page, [merged]);
    await runs(page, 2);
    await page.locator("#lab .chart-svg").waitFor();
    const titles = await rows(page).locator("th").allTextContents();
    assert.ok(titles.some((title) => title.includes("width 12")) && titles.some((title) => title.includes("width 24")));

    // The slider has the sizes of the runs, and the samples are those of where it stands.
    const ticks = page.locator('[data-part="lab-n"] .ticks b');
    assert.deepEqual(await ticks.allTextContents(), ["8", "48"]);
    const shown = page.locator(".lab-sample-n").first();
    assert.match((await shown.textContent()) ?? "", /48/);
    await page.locator('[data-part="lab-n"] input').press("ArrowLeft");
    await until("the samples follow", async () => /\b8\b/.test((await shown.textContent()) ?? ""));
    assert.deepEqual(await violations(page, "#lab"), []);

    await until("both are kept", async () => (await kept(page)) === 2);
    await page.reload();
    await ready(page, "lab");
    await runs(page, 2);

    const first = rows(page).first();
    const title = await first.locator("th").textContent();
    await first.locator('[data-action="delete"]').click();
    await runs(page, 1);
    await page.locator('[data-part="undo"] button').click();
    await runs(page, 2);
    assert.equal(await rows(page).first().locator("th").textContent(), title);
    assert.equal(await kept(page), 2);
    // Without a change of mind it goes for good.
    await rows(page).first().locator('[data-action="delete"]').click();
    await until("it is gone", async () => (await kept(page)) === 1);
    assert.equal(await page.locator('[data-part="undo"]').textContent(), "");
  },
);

siteTest("?run= opens a report beside the page", { webgpu: [false] }, async (page) => {
  await page.route(`${siteUrl}reports/sweep.json`, (route) =>
    route.fulfill({ contentType: "application/json", body: report }),
  );
  await page.goto(`${siteUrl}?run=reports/sweep.json`);
  await runs(page, 2);
  await page.locator("#lab .chart-svg").waitFor();
  // The link opens it again, so the browser need not keep it.
  assert.equal(await kept(page), 0);
});

siteTest("a report that cannot be opened says why", { webgpu: [false] }, async (page) => {
  await page.goto(`${siteUrl}#lab`);
  await ready(page, "lab");
  await drop(page, [{ name: "cats.json", bytes: new TextEncoder().encode('{"cats": 3}') }]);
  await page.locator('#lab [data-part="lab-error"]', { hasText: "cats.json" }).waitFor();
});

siteTest("a suggested experiment starts by one click", { webgpu: [false] }, async (page) => {
  await page.goto(`${siteUrl}?lab.width=48#lab`);
  await ready(page, "lab");
  // What it asks and how long it takes is said before.
  const suggestion = page.locator('[data-suggestion="width"]');
  await page.locator("#lab-width", { hasText: /steps\? About \d+ (s|min)\./ }).waitFor();
  assert.equal(await suggestion.getAttribute("aria-describedby"), "lab-width");
  await suggestion.click();
  await page.locator('.lab-runs tr[data-run="A"][data-state="running"]').waitFor();
  assert.equal(new URL(page.url()).searchParams.get("lab.width"), "96");
  await page.locator('.lab-runs [data-action="delete"]').click();
});
