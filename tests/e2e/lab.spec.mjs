// The lab: runs with every setting, compared, saved, opened again and repeated from a link.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { readZip } from "../../www/src/export/zip.js";
import { siteTest, siteUrl } from "./harness.mjs";
import { TOLERANCE } from "../../www/src/state/permalink.js";
import {
  choose,
  drop,
  idx,
  live,
  npy,
  open,
  openTable,
  panelButton,
  panelState,
  ready,
  until,
  untilForgotten,
  violations,
} from "./page.mjs";

/** @typedef {import("playwright-core").Page} Page */

/** A run of two tiny networks that takes about a second. */
const TINY = "lab.sizes=16+128&lab.width=24&lab.steps=60&lab.batch=16&lab.samples=24&lab.sampler=5";

/** @param {Page} page @param {string} search */
const openLab = (page, search) => open(page, `?engine=cpu&${search}`, "lab");

/** The row of a run, by its letter. @param {Page} page @param {string} letter */
const row = (page, letter) => page.locator(`.lab-runs tr[data-run="${letter}"]`);

/** @param {Page} page @param {string} letter */
async function done(page, letter) {
  await row(page, letter).and(page.locator('[data-state="done"]')).waitFor({ timeout: 60_000 });
}

/** @param {Page} page @param {string} letter @param {string} action */
const button = (page, letter, action) => row(page, letter).locator(`[data-action="${action}"]`);

/** @param {Page} page @param {string} letter @param {string} action */
const press = (page, letter, action) => button(page, letter, action).click();

/** @param {Page} page */
const train = (page) => page.locator('[data-part="train"]').click();

/** @param {Page} page @param {string} letter */
async function savedZip(page, letter) {
  const download = page.waitForEvent("download");
  await press(page, letter, "save");
  const file = await download;
  return { name: file.suggestedFilename(), bytes: new Uint8Array(await readFile(await file.path())) };
}

/** How many images a run was on, as its file says. @param {Page} page @param {string} letter */
async function imageCount(page, letter) {
  const { bytes } = await savedZip(page, letter);
  const report = (await readZip(bytes)).find(({ name }) => name === "report.json");
  return JSON.parse(new TextDecoder().decode(report?.bytes)).data.count;
}

siteTest("a run with its own settings, and a second one over it", { webgpu: [false], widths: [1280] }, async (page) => {
  await openLab(page, TINY);
  assert.equal(await page.locator('[data-control="lab.steps"] input').inputValue(), "60");
  // An empty field says what the preset has.
  await page.locator('[data-control="lab.depth"] input[placeholder="2"]').waitFor();
  // What is wrong with a field of another experiment is in nobody's way.
  await choose(page, "lab.experiment", "emergence");
  const looks = page.locator('[data-control="lab.checkpoints"] input');
  await looks.fill("nonsense");
  await looks.press("Enter");
  await choose(page, "lab.experiment", "transition");
  await train(page);
  await done(page, "A");
  assert.match((await row(page, "A").locator("small").textContent()) ?? "", /24 .*60 .*16/);

  const steps = page.locator('[data-control="lab.steps"] input');
  await steps.fill("nonsense");
  await train(page);
  assert.equal(await steps.getAttribute("aria-invalid"), "true");
  assert.notEqual(await page.locator('[data-control="lab.steps"] .field-error').textContent(), "");
  // Nothing is trained with a value that was not typed.
  assert.match((await page.locator('#lab [data-part="lab-error"]').textContent()) ?? "", /“nonsense”/);
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-invalid")), "true");
  assert.equal(await page.locator(".lab-runs tbody tr").count(), 1);
  await steps.fill("90");
  await steps.press("Enter");
  await page.waitForURL(/lab\.steps=90/);
  await train(page);
  await done(page, "B");

  await page.locator("#lab .chart svg").waitFor();
  await openTable(page.locator("#lab"));
  const curves = async () => new Set(await page.locator("#lab .chart-table tbody td:first-child").allTextContents());
  assert.deepEqual(await curves(), new Set(["A", "B", "Gaussian", "Memorizing"]));
  const samples = page.locator(".lab-samples canvas");
  assert.equal(await samples.count(), 4);
  await row(page, "A").locator("input").uncheck();
  await page.waitForFunction(() => document.querySelectorAll(".lab-samples canvas").length === 3);
  assert.deepEqual(await curves(), new Set(["B", "Gaussian", "Memorizing"]));
});

siteTest("theories beside a run", { webgpu: [false], widths: [390] }, async (page) => {
  await openLab(page, `${TINY}&lab.images=8`);
  await choose(page, "lab.beside", "all");
  await page.waitForURL(/lab\.beside=all/);
  await train(page);
  await done(page, "A");
  const theories = ["Local score machine", "Equivariant local score machine", "PCA-locality", "Mixture of Gaussians"];
  for (const theory of ["Gaussian denoiser", ...theories]) {
    await page.locator(`.lab-samples canvas[aria-label^="Samples of ${theory}"]`).waitFor();
  }
  await openTable(page.locator("#lab"));
  const curves = new Set(await page.locator("#lab .chart-table tbody td:first-child").allTextContents());
  assert.ok(curves.has("PCA-locality") && curves.has("Equivariant local"), [...curves].join());
});

siteTest(
  "a network that diverged is marked, and nothing is said of it",
  { webgpu: [false], widths: [1280, 390] },
  async (page) => {
    await openLab(page, `${TINY}&lab.rate=0.9&lab.warmUp=1`);
    await train(page);
    await done(page, "A");
    const outcome = (await row(page, "A").locator(".run-outcome").textContent()) ?? "";
    assert.match(outcome, /2 of 2 networks diverged/);
    await page.locator("#announcements", { hasText: outcome }).waitFor({ state: "attached" });
    await page.locator("#lab .chart svg").waitFor();
    const crosses = await page.locator("#lab .chart svg title").allTextContents();
    assert.equal(crosses.length, 2);
    for (const words of crosses) assert.match(words, /^diverged at step \d+$/);
    await openTable(page.locator("#lab"));
    const sizes = await page.locator("#lab .chart-table tbody td:nth-child(2)").allTextContents();
    assert.deepEqual(sizes.slice(0, 2), [`16 (${crosses[0]})`, `128 (${crosses[1]})`]);
  },
);

siteTest("a run as a zip, and back by drop", { webgpu: [false] }, async (page) => {
  await openLab(page, TINY);
  await train(page);
  await done(page, "A");
  const zip = await savedZip(page, "A");
  assert.equal(zip.name, "transition-quick-faces-mlp-width-24-steps-60-seed-1.zip");
  const entries = new Map((await readZip(zip.bytes)).map(({ name, bytes }) => [name, bytes]));
  const json = (/** @type {string} */ name) => JSON.parse(new TextDecoder().decode(entries.get(name)));

  const manifest = json("manifest.json");
  assert.equal(manifest.options.preset, "quick");
  assert.equal(manifest.device.engine, "cpu");
  assert.match(manifest.link, /run=transition_quick_1_faces_12/);
  assert.equal(json("config.json").train.steps, 60);
  const report = json("report.json");
  assert.equal(report.final, true);
  assert.deepEqual(
    report.findings.map((/** @type {any} */ { n }) => n),
    [16, 128],
  );
  assert.match(new TextDecoder().decode(entries.get("CITATION.bib")), /@inproceedings/);
  const samples = [...entries.keys()].filter((name) => name.startsWith("samples/"));
  assert.deepEqual(samples, ["samples/n-16-seed-1.png", "samples/n-128-seed-1.png"]);
  // Safetensors begin with the length of their header, which is JSON.
  const weights = [...entries].filter(([name]) => name.startsWith("weights/"));
  assert.ok(weights.length > 0);
  for (const [name, bytes] of weights) {
    const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
    assert.ok(Object.keys(JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)))).length > 3, name);
  }

  await press(page, "A", "delete");
  await page.locator('[data-part="empty"]:visible').waitFor();
  await drop(page, [zip]);
  await row(page, "B").waitFor();
  await page.locator("#lab .chart svg").waitFor();
  await openTable(page.locator("#lab"));
  const curves = await page.locator("#lab .chart-table tbody td:first-child").allTextContents();
  assert.equal(curves.filter((curve) => curve.length === 1).length, 2);
  assert.ok(await page.locator('[data-part="import-error"]').isHidden());
  // Saved again it is the same file, with its weights and with the machine that it was made on.
  const again = await savedZip(page, "B");
  assert.equal(again.name, zip.name);
  assert.deepEqual(again.bytes, zip.bytes);
});

siteTest("the other experiments, and what is seldom changed", { webgpu: [false] }, async (page) => {
  const search = new URLSearchParams({
    "lab.experiment": "emergence",
    "lab.sizes": "8 16",
    "lab.widths": "8 12",
    "lab.widthSizes": "16",
    "lab.size": "8",
    "lab.width": "16",
    "lab.depth": "1",
    "lab.steps": "20",
    "lab.longSteps": "60",
    "lab.batch": "16",
    "lab.samples": "16",
    "lab.sampler": "4",
    "lab.heldOut": "60",
    "lab.noiseMean": "-1",
    "lab.clip": "5",
    "lab.method": "euler",
  });
  await openLab(page, String(search));
  // Its own fields are there, those of others are not, and an empty one says what the preset has.
  await page
    .locator('[data-control="lab.checkpoints"] input[placeholder="50 100 200 400 800 1600 3200 6400"]')
    .waitFor();
  assert.ok(await page.locator('[data-control="lab.axes"]').isHidden());
  await page.locator(".lab-more summary").click();
  assert.equal(await page.locator('[data-control="lab.noiseMean"] input').inputValue(), "-1");
  assert.equal(await page.locator('[data-control="lab.ema"] input').getAttribute("placeholder"), "0.99");
  await train(page);
  await done(page, "A");
  assert.match((await row(page, "A").locator(".run-outcome").textContent()) ?? "", /\d/);
  const zip = await savedZip(page, "A");
  const file = (await readZip(zip.bytes)).find(({ name }) => name === "config.json");
  const config = JSON.parse(new TextDecoder().decode(file?.bytes));
  assert.equal(config.trainLong.logSigmaMean, -1);
  assert.equal(config.train.clip, 5);
  assert.equal(config.evaluation.method, "euler");
  assert.deepEqual(config.checkpoints, [50]);
  await press(page, "A", "show");
  await page.locator('#phase[data-origin="here"]').waitFor();

  for (const [experiment, letter] of [
    ["strong-generalization", "B"],
    ["gaussian-bias", "C"],
  ]) {
    await choose(page, "lab.experiment", experiment);
    if (letter === "C") {
      await choose(page, "lab.fitImages", "training");
      await choose(page, "lab.fitMethod", "descent");
    }
    await train(page);
    await done(page, letter);
    // A cosine for each of the two sizes.
    assert.match(
      (await row(page, letter).locator(".run-outcome").textContent()) ?? "",
      /\d\.\d\d .* 8, -?\d\.\d\d .* 16/,
    );
  }
  const fitted = (await readZip((await savedZip(page, "C")).bytes)).find(({ name }) => name === "config.json");
  const { distillation } = JSON.parse(new TextDecoder().decode(fitted?.bytes)).evaluation;
  assert.deepEqual(distillation, { batches: 32, images: "training", method: "descent" });
});

siteTest("a figure's run is driven from the lab", { webgpu: [false] }, async (page) => {
  await openLab(page, "transition.run=main-faces");
  const panel = page.locator("#transition .run-panel");
  await ready(page, "transition");
  await panelButton(page, "transition", "main").click();
  await panelState(page, "transition", "running");
  await page.locator("#lab").scrollIntoViewIfNeeded();
  await press(page, "A", "go");
  await row(page, "A").and(page.locator('[data-state="paused"]')).waitFor();
  const step = async () => Number(await row(page, "A").getAttribute("data-step"));
  const before = await step();
  await press(page, "A", "go");
  await row(page, "A").and(page.locator('[data-state="running"]')).waitFor();
  await until("it resumes", async () => (await step()) > before);
  await press(page, "A", "go");
  await panel.and(page.locator('[data-state="paused"]')).waitFor({ state: "attached" });
  // Deleted there, it is gone from its figure, too.
  await press(page, "A", "delete");
  await page.locator('[data-part="empty"]:visible').waitFor();
  await panel.and(page.locator('[data-state="idle"]')).waitFor({ state: "attached" });
  await page.locator('#transition[data-origin="recorded"]').waitFor({ state: "attached" });
});

siteTest(
  "the same sweep on the GPU and on the CPU gives the same curve",
  { webgpu: [true], timeout: 240_000 },
  async (page) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    // Smaller still: in software the GPU is slow.
    const few =
      "lab.sizes=8+64&lab.size=8&lab.width=16&lab.depth=1&lab.steps=40&lab.batch=16&lab.samples=16&lab.sampler=4";
    await openLab(page, `${few}&lab.sigmas=1&lab.images=16&lab.heldOut=64`);
    await train(page);
    await done(page, "A");
    await press(page, "A", "link");
    await row(page, "A").locator('[data-action="link"][data-done]').waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    await page.goto("about:blank");
    await page.goto(link.replace("engine=cpu", "engine=gpu"));
    const card = page.locator("#linked-run");
    await card.locator('[data-part="linked-start"]').click();
    // Within the stated tolerance; not to the last digit, for then it would not have been another engine.
    await card.locator('[data-verdict="agrees"]').waitFor({ timeout: 150_000 });
    await page.locator('.lab-runs tr[data-engine="gpu"]').waitFor();
    await card.locator("summary").click();
    const numbers = await card
      .locator("tbody tr")
      .evaluateAll((rows) =>
        rows.map((row) => [...row.querySelectorAll("td")].map((cell) => Number(cell.textContent))),
      );
    assert.equal(numbers.length, 6);
    for (const [cpu, gpu] of numbers) assert.ok(Math.abs(cpu - gpu) <= TOLERANCE, `${cpu} and ${gpu}`);
  },
);

siteTest("own images with the name of a set of the page are still the own ones", { webgpu: [false] }, async (page) => {
  await openLab(page, TINY);
  await drop(page, [{ name: "faces", bytes: idx(200, 12) }]);
  await choose(page, "lab.data", "own");
  await train(page);
  await done(page, "A");
  assert.ok(await button(page, "A", "link").isDisabled());
  // The faces of the page would be as many as the run needs: 628.
  assert.equal(await imageCount(page, "A"), 200);
});

siteTest("a run of two halves as a zip, and its numbers again by drop", { webgpu: [false] }, async (page) => {
  const config = {
    sizes: [8, 16],
    train: { steps: 40, batch: 16, architecture: { width: 16, depth: 1 } },
    evaluation: { samples: 16, samplerSteps: 4 },
  };
  const search = new URLSearchParams({
    engine: "cpu",
    run: "strong-generalization_quick_1_faces_8_1_132_100",
    "run.config": JSON.stringify(config),
  });
  await page.goto(`${siteUrl}?${search}`);
  await page.locator('[data-part="linked-start"]').click();
  await done(page, "A");
  const zip = await savedZip(page, "A");
  const report = (await readZip(zip.bytes)).find(({ name }) => name === "report.json");
  const { findings } = JSON.parse(new TextDecoder().decode(report?.bytes));
  assert.deepEqual(
    findings.map((/** @type {any} */ { n }) => n),
    [8, 16],
  );

  await page.goto(siteUrl);
  await ready(page, "agreement");
  assert.equal(await live(page, "agreement.few"), "64");
  await drop(page, [zip]);
  await page.waitForFunction(() => document.querySelector('[data-live="agreement.few"]')?.textContent === "8");
  assert.equal(await page.locator("#agreement").getAttribute("data-origin"), "file");
  assert.ok((await live(page, "agreement.source")).includes(zip.name));
  await openTable(page.locator("#agreement"));
  const cells = await page.locator("#agreement .chart-table tbody td:nth-child(2)").allTextContents();
  assert.deepEqual(
    cells,
    findings.map((/** @type {any} */ { cosine }) => cosine.mean.toFixed(3)),
  );
});

siteTest("the lab trains on the reader's own images", { webgpu: [false] }, async (page) => {
  await openLab(page, TINY);
  await drop(page, [{ name: "discs.npy", bytes: npy(200, 12) }]);
  await choose(page, "lab.data", "own");
  await train(page);
  await done(page, "A");
  assert.match((await row(page, "A").locator(".run-title").textContent()) ?? "", /discs/);
  await openTable(page.locator("#lab"));
  const sizes = await page.locator("#lab .chart-table tbody td:nth-child(2)").allTextContents();
  assert.deepEqual(sizes.slice(0, 2), ["16", "128"]);
  // Nobody else has these images, so there is no link that would repeat the run.
  assert.ok(await button(page, "A", "link").isDisabled());
  assert.equal(await imageCount(page, "A"), 200);
});

siteTest(
  "a link repeats a run and says that the numbers matched",
  { webgpu: [false], widths: [390], context: { permissions: ["clipboard-read", "clipboard-write"] } },
  async (page) => {
    await openLab(page, TINY);
    await train(page);
    await done(page, "A");
    await press(page, "A", "link");
    await row(page, "A").locator('[data-action="link"][data-done]').waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    await press(page, "A", "delete");
    await untilForgotten(page);

    await page.goto("about:blank");
    await page.goto(link);
    const card = page.locator("#linked-run");
    await card.waitFor();
    assert.match((await card.locator('[data-part="linked-title"]').textContent()) ?? "", /faces 12 × 12/);
    await card.locator('[data-part="linked-start"]').click();
    await card.locator('[data-verdict="identical"]').waitFor({ timeout: 60_000 });
    await card.locator("summary").click();
    assert.equal(await card.locator("tbody tr").count(), 6);

    // Other numbers in the link: the page says that they do not match.
    await page.goto("about:blank");
    await page.goto(link.replace(/run\.expect=cpu_[0-9a-f]{8}_[\d.]+/, "run.expect=cpu_00000000_0.123"));
    await card.locator('[data-part="linked-start"]').click();
    await card.locator('[data-verdict="differs"]').waitFor({ timeout: 60_000 });
    await card.locator('[data-part="linked-dismiss"]').click();
    assert.ok(await card.isHidden());
    assert.doesNotMatch(page.url(), /run=/);
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("data-part")), "train");
  },
);

siteTest("a link that cannot be read falls back with a notice", { webgpu: [false] }, async (page) => {
  await page.goto(`${siteUrl}?run=transition_quick_1&run.expect=abacus_1`);
  await page.locator("#notice p").first().waitFor();
  assert.equal(await page.locator("#notice p").count(), 2);
  await page.locator("html[data-complete]").waitFor();
  assert.ok(await page.locator("#linked-run").isHidden());
});

siteTest(
  "the checks of the notes hold on this machine, on both engines if it has them",
  { timeout: 240_000 },
  async (page, { webgpu }) => {
    await page.addInitScript(() => {
      navigator.clipboard.writeText = () => Promise.reject(new DOMException("Denied", "NotAllowedError"));
    });
    await page.goto(`${siteUrl}#notes`);
    const button = page.locator('[data-part="self-check"]');
    const result = page.locator('[data-part="self-check-result"]');
    await button.click();
    if (webgpu) {
      // A GPU in software takes long enough to be stopped.
      await result.locator('.check-engine[data-engine="gpu"]').waitFor();
      await button.click();
      await button.and(page.locator('[data-state="idle"]')).click();
    }
    await button.and(page.locator('[data-state="idle"]')).waitFor({ timeout: 200_000 });
    // Eleven of each engine.
    assert.equal(await result.locator("tr.holds").count(), webgpu ? 22 : 11);
    assert.equal(await result.locator("tr.fails").count(), 0);
    assert.equal(await result.locator('.check-engine[data-engine="cpu"]').count(), 1);
    const [checked] = await result
      .locator('.check-engine[data-engine="gpu"]')
      .evaluateAll((rows) => rows.map((row) => row.dataset.checked));
    assert.equal(checked, String(webgpu));

    // What can be sent of it has the device, the rates and every error; an issue, if the site was built with a repository.
    const text = (await page.locator('[data-part="self-check-text"]').textContent()) ?? "";
    assert.equal(text.match(/^ok {2}.*error .*tolerance /gm)?.length, webgpu ? 22 : 11);
    assert.match(text, /^Browser: Mozilla.*^Device: \d+ cores.*^CPU engine \(.*; [\d.]+ GFLOP/ms);
    assert.match(text, webgpu ? /^GPU engine \(.*; [\d.]+ GFLOP/m : /^GPU engine: 0 of 0 .*Not checked/m);
    const issue = page.locator('[data-part="self-check-issue"]');
    const { REPOSITORY_URL: repository } = process.env;
    assert.equal(await issue.isVisible(), Boolean(repository));
    if (repository) assert.ok((await issue.getAttribute("href"))?.startsWith(`${repository}/issues/new?template=`));
    // A browser that does not allow copying: the text to copy is still there.
    await page.locator('[data-part="self-check-copy"]').click();
    await page.locator('[data-part="self-check-error"][data-kind="Refused"]', { hasText: "CPU engine" }).waitFor();
    assert.deepEqual(await violations(page, ".self-check"), []);

    await page.locator('[data-part="copy-bibtex"]').click();
    await page.locator('.notes .figure-error[data-kind="Refused"]', { hasText: "@inproceedings" }).waitFor();
  },
);

siteTest("the limits and the provenance come from the recorded runs", { webgpu: [false] }, async (page) => {
  await page.goto(siteUrl);
  await page.locator("#limits").scrollIntoViewIfNeeded();
  await page.locator("#limits-section[data-ready]").waitFor();
  // Each number was told by the page, not left as the text has it; and the recorded runs bear every sentence out.
  const untold = page.locator('[data-live^="limits."]:not([data-told])');
  assert.deepEqual(await untold.evaluateAll((places) => places.map((place) => place.getAttribute("data-live"))), []);
  const claims = await page
    .locator("#limits-section [data-claim]")
    .evaluateAll((sentences) =>
      sentences.map((sentence) => [sentence.getAttribute("data-claim"), sentence.getAttribute("data-verdict")]),
    );
  assert.deepEqual(
    claims.filter(([, verdict]) => verdict !== "holds"),
    [],
  );
  assert.ok(claims.length > 5, `${claims.length}`);
  const main = await page.evaluate(async () => (await fetch("runs/transition-main-faces.json")).json());
  const few = main.findings.filter((/** @type {any} */ { n }) => n === 32);
  const copies = few.reduce(
    (/** @type {number} */ sum, /** @type {any} */ point) => sum + point.denoisers.trained.closeness.memorized.mean,
    0,
  );
  const faces = page.locator('[data-part="sets"] tr[data-set="faces"]');
  assert.ok(
    (await faces.textContent())?.includes(`${Math.round((100 * copies) / few.length)}`),
    "copies of faces at N = 32",
  );
  const index = await page.evaluate(async () => (await fetch("runs/index.json")).json());
  const sets = index.filter(({ file }) => file.startsWith("transition-main-"));
  assert.equal(await page.locator('[data-part="sets"] tr').count(), sets.length);

  await page.locator("#recorded-runs").scrollIntoViewIfNeeded();
  await page.locator('[data-part="recorded-runs"] tr').first().waitFor();
  assert.equal(await page.locator('[data-part="recorded-runs"] code').count(), index.length);
});
