// Writes down what jax-js and TensorFlow.js do on the GPU in a training step (src/capture.js). `cargo xtask bench --isa`
// sets the variables: BENCH_SITE, where to build the page; CAPTURE, the file to write; CHROMIUM.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { PRESETS } from "./src/presets.js";

const { BENCH_SITE, CAPTURE, CHROMIUM } = process.env;
assert(BENCH_SITE && CAPTURE && CHROMIUM, "run this by: cargo xtask bench --isa");

const require = createRequire(new URL("../../www/package.json", import.meta.url));
const { build, preview } = await import(pathToFileURL(require.resolve("vite")));
const { chromium } = require("playwright-core");

const root = fileURLToPath(new URL(".", import.meta.url));
const input = fileURLToPath(new URL("capture.html", import.meta.url));
const vite = { root, logLevel: "error", build: { outDir: BENCH_SITE, emptyOutDir: true, rollupOptions: { input } } };
await build(vite);
const server = await preview({ ...vite, preview: { port: 0, host: "127.0.0.1" } });
const browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: ["--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"],
});
try {
  const steps = [];
  for (const who of ["jaxjs", "tfjs"]) {
    for (const preset of [...Object.keys(PRESETS), "cifar"]) {
      // Each has a page of its own: a library keeps what it has compiled.
      const page = await browser.newPage();
      page.on("pageerror", (error) => console.error(error));
      await page.goto(`${server.resolvedUrls.local[0]}capture.html`);
      await page.waitForFunction(() => globalThis.capture);
      steps.push(await page.evaluate(([who, preset]) => globalThis.capture(who, preset), [who, preset]));
      await page.close();
    }
  }
  await writeFile(CAPTURE, JSON.stringify(steps));
} finally {
  await browser.close();
  await server.close();
}
