import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { crc32, readZip, writeZip } from "../src/export/zip.js";

const text = (/** @type {string} */ words) => new TextEncoder().encode(words);
const entries = [
  { name: "config.json", bytes: text('{"n": 1}'.repeat(500)) },
  { name: "proben/größe.txt", bytes: text("ü") },
  { name: "empty", bytes: new Uint8Array() },
];

test("the checksum is that of the standard", () => {
  assert.equal(crc32(text("123456789")), 0xcbf43926);
});

test("what was packed comes out again", async () => {
  const archive = await writeZip(entries);
  assert.ok(archive.length < 1500);
  assert.deepEqual(await readZip(archive), entries);
});

test("other programs can read it", { skip: !hasPython() }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "zip-"));
  try {
    writeFileSync(join(folder, "run.zip"), await writeZip(entries));
    const code =
      "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; print(*z.namelist())";
    const names = String(execFileSync("python3", ["-X", "utf8", "-c", code, join(folder, "run.zip")]));
    assert.equal(names.trim(), "config.json proben/größe.txt empty");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a damaged archive is an error with a hint, wherever the damage is", async () => {
  const archive = await writeZip(entries);
  const flipped = archive.slice();
  flipped[60] ^= 255;
  for (const bad of [flipped, archive.subarray(0, 100), archive.slice(50), text("PK"), new Uint8Array()]) {
    await assert.rejects(readZip(/** @type {Uint8Array<ArrayBuffer>} */ (bad.slice())), { kind: "BadInput" });
  }
});

function hasPython() {
  try {
    execFileSync("python3", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
