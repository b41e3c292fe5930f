import assert from "node:assert/strict";
import { test } from "node:test";
import { describeDevice, issueAddress, selfCheckText } from "../src/export/self-check.js";

/** @import { CheckedEngine, SelfCheck } from "../src/export/self-check.js" */

const holds = { name: "Random numbers", about: "", error: 0, tolerance: 0, holds: true };
const fails = { name: "Matrix multiply", about: "", error: 1.5e-3, tolerance: 1e-5, holds: false };

/** @param {number} [checks] of the GPU that hold @returns {SelfCheck} */
const report = (checks = 1) => ({
  engines: [
    { engine: "cpu", checks: [holds], info: info("cpu", "WebAssembly") },
    { engine: "gpu", checks: [...Array(checks).fill(holds), fails], info: info("gpu", "Radeon & Söhne 7") },
  ],
  rates: { cpu: 21.44, gpu: 512 },
  browser: "Mozilla/5.0 (X11)",
  system: "Linux",
  device: "8 cores",
});

/** @param {"cpu" | "gpu"} kind @param {string} adapter @returns {CheckedEngine["info"]} */
const info = (kind, adapter) => ({ kind, adapter, software: false, reason: "", rates: {} });

test("the text has the device, the rates and every error", () => {
  const text = selfCheckText(report());
  assert.match(text, /^Browser: Mozilla.*\nSystem: Linux\nDevice: 8 cores\n/);
  assert.match(
    text,
    /CPU engine \(WebAssembly\): 1 of 1 checks hold; 21\.4 GFLOP\/s\nok {2}Random numbers: error 0, tolerance 0/,
  );
  assert.match(text, /GPU engine \(Radeon & Söhne 7\): 1 of 2 checks hold; 512 GFLOP\/s\n/);
  assert.match(text, /FAILS {2}Matrix multiply: error 1\.50e-3, tolerance 1\.00e-5/);
});

test("an engine that could not be checked says why", () => {
  const text = selfCheckText({
    ...report(),
    engines: [{ engine: "gpu", checks: [], problem: "Not checked: there is no adapter." }],
    rates: {},
  });
  assert.match(text, /GPU engine: 0 of 0 checks hold; Not checked: there is no adapter\.$/);
});

test("the issue has it all, field by field", () => {
  const { origin, pathname, searchParams } = new URL(issueAddress("https://example.org/some/where/", report()));
  assert.equal(origin + pathname, "https://example.org/some/where/issues/new");
  assert.deepEqual(Object.fromEntries(searchParams), {
    template: "self-check.yml",
    title: "Self-check: 1 fail on Radeon & Söhne 7",
    result: selfCheckText(report()),
    adapter: "Radeon & Söhne 7",
    browser: "Mozilla/5.0 (X11)",
    system: "Linux",
  });
});

test("what is too long for an address is cut to what fails", () => {
  const address = issueAddress("https://example.org", report(500));
  assert.ok(address.length < 8000, `${address.length}`);
  const result = new URL(address).searchParams.get("result") ?? "";
  assert.match(result, /500 of 501 checks hold/);
  assert.match(result, /FAILS {2}Matrix multiply/);
  assert.doesNotMatch(result, /Random numbers/);
});

test("a device is described as far as the browser tells", () => {
  const screen = { screen: { width: 390, height: 844 }, devicePixelRatio: 3 };
  const navigator = { userAgent: "A browser", platform: "Linux armv8l", hardwareConcurrency: 6 };
  assert.deepEqual(describeDevice(/** @type {any} */ (navigator), /** @type {any} */ (screen)), {
    browser: "A browser",
    system: "Linux armv8l",
    device: "6 cores, 390 × 844 px at 3×",
  });
  const telling = { ...navigator, userAgentData: { platform: "Android" }, deviceMemory: 4 };
  const { system, device } = describeDevice(/** @type {any} */ (telling), /** @type {any} */ (screen));
  assert.deepEqual([system, device], ["Android", "6 cores, 4 GB of memory or more, 390 × 844 px at 3×"]);
});
