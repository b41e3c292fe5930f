import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { openReports } from "../src/export/report-file.js";
import { describe } from "../src/runs/lab-config.js";

const MERGED = readFileSync(new URL("../../tests/native/fixtures/sweep-report.json", import.meta.url), "utf8");

/** @param {string} text @param {string} [name] */
const open = (text, name = "report.json") => openReports(new File([text], name));

test("a merged sweep opens as a run for each cell of its grid", async () => {
  const opened = (await open(MERGED)) ?? [];
  assert.deepEqual(
    opened.map(({ note, report }) => [note, report.experiment, report.findings.length]),
    [
      ["width 12", "transition", 2],
      ["width 24", "transition", 2],
    ],
  );
  const [{ options, report }] = opened;
  assert.equal(options.data.set, "faces");
  assert.equal(options.seed, 1);
  assert.equal(/** @type {any} */ (options.config).train.architecture.width, 12);
  // There is no preset to name.
  assert.match(describe(options, report).title, /^\w[\w ]*, faces 12 × 12$/);
});

test("so does the report of one experiment", async () => {
  const [cell] = JSON.parse(MERGED).cells;
  const opened = (await open(JSON.stringify(cell.report))) ?? [];
  assert.equal(opened.length, 1);
  assert.equal(opened[0].note, undefined);
});

test("what is no report is refused with a sentence, and other files are left to others", async () => {
  assert.equal(await open("{}", "images.npy"), undefined);
  const whole = JSON.parse(MERGED);
  const bad = [
    "not JSON",
    "[]",
    '{"format": 2}',
    JSON.stringify({ ...whole, cells: [] }),
    JSON.stringify({ ...whole, cells: [{ report: { experiment: "cats" } }] }),
  ];
  for (const text of bad) {
    await assert.rejects(open(text), ({ kind, message, hint }) => kind === "BadInput" && message !== "" && hint !== "");
  }
  await assert.rejects(open('{"a": 1}'), ({ message }) => message.includes("is not a report"));
  await assert.rejects(
    open(JSON.stringify({ ...whole, format: 1, version: "0.1.0" })),
    /** @param {any} failure */ (failure) => failure.message.includes("0.1.0"),
  );
});
