// Section V: the theories that came after the paper.

import assert from "node:assert/strict";
import { siteTest } from "./harness.mjs";
import { choose, live, number, open, ready, until } from "./page.mjs";

siteTest("the league is sorted, and changes with the network", { webgpu: [false] }, async (page) => {
  await open(page, "", "league");
  const rows = page.locator('#league [data-part="standings"] tr');
  const standings = () =>
    rows.evaluateAll((all) => all.map((row) => [row.dataset.denoiser, parseFloat(row.cells[2].textContent ?? "")]));
  const many = await standings();
  assert.deepEqual(many[0], ["trained", NaN]);
  const theories = ["els", "empirical", "gaussian", "ls", "mixture", "pca-locality"];
  assert.deepEqual(
    many
      .slice(1)
      .map(([id]) => id)
      .sort(),
    theories,
  );
  const shares = many.slice(1).map(([, share]) => Number(share));
  assert.deepEqual(
    shares,
    shares.toSorted((a, b) => a - b),
  );
  for (const claim of ["league.gaussian", "league.windows"]) {
    await page.locator(`[data-claim="${claim}"][data-verdict="holds"]`).waitFor();
  }

  // A network that saw few images is far from the Gaussian.
  await choose(page, "league.n", "few");
  await until("few images", async () => (await number(page, "league.n")) < 100);
  assert.notDeepEqual(await standings(), many);
});

siteTest(
  "with fewer images than values, the page does not say that a lead was learned",
  { webgpu: [false] },
  async (page) => {
    await open(page, "?league.run=cifar-cifar10", "league");
    await page.locator('[data-part="league-rank"]:not([hidden])').waitFor();
    assert.match(await live(page, "league.wins"), /beats it at [^:]*\.$/);
    await choose(page, "league.run", "main-mnist");
    await page.locator('[data-part="league-rank"][hidden]').waitFor({ state: "attached" });
    assert.match(await live(page, "league.wins"), /learned more than mean and covariance\.$/);
  },
);

siteTest("on photographs the Gaussian predicts the network best", { webgpu: [false] }, async (page) => {
  await open(page, "?league.run=cifar-cifar10", "league");
  await page.locator('[data-claim="league.gaussian"][data-verdict="holds"]').waitFor();
  assert.match(await live(page, "league.absent"), /^Not shown: ELS,/);
  const rows = page.locator('#league [data-part="standings"] tr');
  const ids = await rows.evaluateAll((all) => all.map((row) => row.dataset.denoiser));
  assert.deepEqual(ids.slice(0, 2), ["trained", "gaussian"]);
  // What the window sees follows, without ELS.
  await ready(page, "window");
  // It has convolutions.
  await page.locator('[data-claim="window.local"][data-verdict="untested"]').waitFor();
  const fields = page.locator("#window .fields [data-denoiser]");
  const seen = await fields.evaluateAll((all) => all.map((field) => field.dataset.denoiser));
  assert.deepEqual(seen, ["trained", "gaussian", "empirical", "ls", "pca-locality", "mixture"]);
});

siteTest("the covariance predicts where memorizing begins", { webgpu: [false] }, async (page) => {
  await open(page, "", "edge");
  await page.locator('[data-claim="edge.predicted"][data-verdict="holds"]').waitFor();
  assert.ok((await number(page, "edge.first")) > (await number(page, "edge.last")));
  await page.locator('#edge [data-part="edge-n"] input').press("ArrowLeft");
  await until("256 images", async () => /N = 256/.test((await page.locator("#edge svg").nth(1).textContent()) ?? ""));
  await until("the link", () => /edge\.n=256/.test(page.url()));
});

siteTest("mixtures and windows follow the noise level", { webgpu: [false] }, async (page) => {
  await open(page, "", "mixtures");
  await page.locator('[data-claim="mixtures.mnist"][data-verdict="holds"]').waitFor();
  await page.locator('#mixtures [data-part="mixtures-sigma"] input').press("End");
  await page.locator('[data-claim="mixtures.mnist"][data-verdict="fails"]').waitFor();
  await ready(page, "window");
  assert.equal(await page.locator("#window .fields canvas").count(), 6);
  await page.locator('#window [data-part="window-sigma"] input').press("ArrowRight");
  await until("σ = 3", async () => (await number(page, "window.sigma")) === 3);
});
