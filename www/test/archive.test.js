import assert from "node:assert/strict";
import { test } from "node:test";
import { archiveName, openRun, pictured } from "../src/export/archive.js";
import { writeZip } from "../src/export/zip.js";

const options = {
  experiment: /** @type {const} */ ("transition"),
  preset: /** @type {const} */ ("quick"),
  seed: 7,
  data: { set: "faces", size: 12, seed: 1, count: 4596, heldOut: 500 },
};

/**
 * @param {string} name
 * @param {Record<string, unknown>} contents
 */
async function archive(name, contents) {
  const entries = Object.entries(contents).map(([file, value]) => ({
    name: file,
    bytes: new TextEncoder().encode(JSON.stringify(value)),
  }));
  return new File([await writeZip(entries)], name);
}

test("the archive of a run is known by its manifest", async () => {
  const report = { format: 2, experiment: "transition", findings: [] };
  const manifest = { format: "hidden-gaussian run", options, link: "https://example.org/?run=x" };
  const file = await archive("run.zip", { "manifest.json": manifest, "report.json": report });
  const opened = await openRun(file);
  assert.deepEqual(opened?.options, options);
  assert.deepEqual(opened?.report, report);
});

test("estimates that are not numbers come back as such, and nothing else that is null", async () => {
  const estimate = { mean: null, standardError: null, count: 24 };
  const point = { n: 16, alignment: null, heldOut: { gl: estimate, memorized: { ...estimate, mean: 0 } } };
  const file = await archive("run.zip", {
    "manifest.json": { format: "hidden-gaussian run", options },
    "report.json": { format: 2, experiment: "transition", adapter: null, findings: [point] },
  });
  const none = { mean: NaN, standardError: NaN, count: 24 };
  assert.deepEqual((await openRun(file))?.report, {
    format: 2,
    experiment: "transition",
    adapter: null,
    findings: [{ ...point, heldOut: { gl: none, memorized: { ...none, mean: 0 } } }],
  });
});

test("anything else is left to the image importers", async () => {
  assert.equal(await openRun(new File(["PK"], "broken.zip")), undefined);
  assert.equal(await openRun(new File(["{}"], "manifest.json")), undefined);
  assert.equal(await openRun(await archive("pictures.zip", { "1.png": 1 })), undefined);
  assert.equal(await openRun(await archive("other.zip", { "manifest.json": { format: "another" } })), undefined);
});

test("a run without its report is an error with a hint", async () => {
  const file = await archive("run.zip", { "manifest.json": { format: "hidden-gaussian run", options } });
  await assert.rejects(openRun(file), { kind: "BadInput", message: /run\.zip/ });
});

test("a run of an older version is refused with a sentence", async () => {
  const file = await archive("old.zip", {
    "manifest.json": { format: "hidden-gaussian run", options },
    "report.json": { experiment: "transition", version: "0.1.0", findings: [] },
  });
  await assert.rejects(openRun(file), {
    kind: "BadInput",
    message: /^“old\.zip” cannot be opened\. This report was saved by version 0\.1\.0/,
    hint: "Open it with that version, or run it again.",
  });
});

test("samples are named after their network", () => {
  const denoisers = { trained: { samples: "AAAA" } };
  const names = (/** @type {any} */ report) => pictured(report).map(({ name }) => name);
  const points = [
    { n: 16, seed: 1, step: 9, denoisers },
    { n: 16, seed: 2, step: 9, denoisers: { trained: {} } },
  ];
  assert.deepEqual(names({ experiment: "transition", findings: points }), ["n-16-seed-1"]);
  const point = { n: 128, seed: 1, step: 50, architecture: { kind: "mlp", width: 64 }, denoisers };
  assert.deepEqual(names({ experiment: "emergence", findings: { overWidth: [point], overTime: [point] } }), [
    "over-width/n-128-width-64-step-50-seed-1",
    "over-time/n-128-width-64-step-50-seed-1",
  ]);
  const halves = [{ n: 32, networks: [{ denoisers }, { denoisers }] }];
  assert.deepEqual(names({ experiment: "strong-generalization", findings: halves }), ["n-32-half-1", "n-32-half-2"]);
  assert.equal(archiveName(options), "transition-quick-faces-seed-7.zip");
});
