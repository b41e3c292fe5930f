// Data, N, engine, own files, links: what the reader can change.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { siteTest } from "./harness.mjs";
import { choose, cifar, contrast, drop, idx, live, npy, number, open, pngs, ready, slider, zip } from "./page.mjs";

siteTest("a data set is fetched when it is chosen, with its source and licence", { webgpu: [false] }, async (page) => {
  await open(page);
  const fetched = page.waitForResponse((response) => response.url().endsWith("/data/mnist.bin"));
  await choose(page, "data", "mnist");
  assert.equal((await fetched).status(), 200);
  await page.waitForFunction(() => document.querySelector('[data-live="data.size"]')?.textContent?.startsWith("28"));
  assert.match(await live(page, "data.source"), /LeCun/);
  assert.match(await live(page, "data.licence"), /CC BY-SA/);
  assert.match(page.url(), /\?data=mnist/);
  await ready(page, "denoise");
  assert.equal(await page.locator('canvas[data-part="gaussian"]').getAttribute("width"), "28");

  await page.goBack();
  await page.waitForFunction(() => document.querySelector('[data-live="data.size"]')?.textContent?.startsWith("16"));
  assert.ok(!page.url().includes("data="));
});

siteTest("N is one parameter with several sliders", { webgpu: [false] }, async (page) => {
  await open(page);
  await slider(page, "n").press("Home");
  await page.waitForFunction(() => document.querySelector('[data-live="denoise.n"]')?.textContent === "4");
  const values = await page.locator('[data-control="n"] output').allTextContents();
  assert.deepEqual(values, ["4", "4"]);
  await page.waitForURL(/\?n=4$/);
});

siteTest(
  "a link restores its state, and a bad one falls back with a notice",
  { webgpu: [false], widths: [390] },
  async (page) => {
    await open(page, "?n=64&denoise.sigma=0.25&denoise.split=train");
    assert.equal(await live(page, "denoise.n"), "64");
    assert.equal(await live(page, "denoise.sigma"), "0.25");
    assert.ok(await page.locator("#notice").isHidden());

    await open(page, "?n=77&cats=1&denoise.sigma=2");
    assert.equal(await live(page, "denoise.n"), "1,024");
    assert.equal(await live(page, "denoise.sigma"), "2");
    assert.equal(await page.locator("#notice p").count(), 2);
  },
);

siteTest("the badge says which engine runs and why", {}, async (page, { webgpu }) => {
  await open(page);
  // The first picture does not wait for the measurement.
  await page.locator("#engine[data-engine]").waitFor();
  await page.locator("#engine").click();
  const panel = page.locator("#engine-panel");
  assert.notEqual(await live(page, "engine.kind"), "");
  assert.match(await live(page, "engine.cpu"), /GFLOP/);
  assert.match(await live(page, "engine.gpu"), webgpu ? /GFLOP/ : /^[^\d]*$/);
  // Chromium for Linux, where that can be changed.
  assert.equal(await panel.locator('[data-part="engine-hint"]').isVisible(), !webgpu);
  assert.notEqual(await live(page, "engine.reason"), "");

  // The other engine on demand: it runs and agrees, or the panel says why not and nothing is lost.
  const numbers = async () => [
    await number(page, "denoise.rmse.empirical"),
    await number(page, "denoise.rmse.gaussian"),
  ];
  const before = await numbers();
  await choose(page, "engine", "gpu");
  if (webgpu) {
    await page.locator('#engine[data-engine="gpu"]').waitFor();
    assert.ok(await panel.locator("[role=alert]").isHidden());
  } else {
    await panel.locator("[role=alert]").waitFor();
    assert.equal(await page.locator("#engine").getAttribute("data-engine"), "cpu");
  }
  await ready(page, "denoise");
  const after = await numbers();
  after.forEach((value, i) =>
    assert.ok(Math.abs(value - before[i]) <= 0.011, `${before} on one engine, ${after} on the other`),
  );
});

siteTest(
  "a small GPU that has only compatibility mode: 128 threads, bindings of 128 MiB",
  { webgpu: [true] },
  async (page) => {
    await page.route(/worker.*\.js$/, async (route) => {
      const response = await route.fetch();
      // No adapter for all of WebGPU; and one that offers no more than compatibility mode guarantees.
      const hook = `
        const { requestAdapter } = GPU.prototype;
        GPU.prototype.requestAdapter = async function (options) {
          return options?.featureLevel === "compatibility" ? requestAdapter.call(this, options) : null;
        };
        const { requestDevice } = GPUAdapter.prototype;
        GPUAdapter.prototype.requestDevice = function ({ requiredLimits, ...rest } = {}) {
          for (const [name, limit] of Object.entries(SMALL))
            if (requiredLimits?.[name] > limit) throw new DOMException(name + " " + requiredLimits[name], "OperationError");
          return requestDevice.call(this, rest);
        };
        const { get } = Object.getOwnPropertyDescriptor(GPUAdapter.prototype, "limits");
        const SMALL = {
          maxComputeInvocationsPerWorkgroup: 128,
          maxComputeWorkgroupSizeX: 128,
          maxComputeWorkgroupSizeY: 128,
          maxStorageBufferBindingSize: 2 ** 27,
          maxBufferSize: 2 ** 28,
        };
        Object.defineProperty(GPUAdapter.prototype, "limits", {
          get() {
            return new Proxy(get.call(this), { get: (limits, name) => SMALL[name] ?? Reflect.get(limits, name, limits) });
          },
        });\n`;
      await route.fulfill({ response, body: hook + (await response.text()) });
    });
    const numbers = async () => [
      await number(page, "denoise.rmse.empirical"),
      await number(page, "denoise.rmse.gaussian"),
    ];
    await open(page, "?engine=cpu");
    const cpu = await numbers();
    await open(
      page,
      "?engine=gpu&lab.sizes=8%2016&lab.size=8&lab.width=16&lab.batch=16&lab.sampler=4&lab.samples=16&lab.steps=40",
    );
    await page.locator('#engine[data-engine="gpu"]').waitFor();
    assert.match(await live(page, "engine.adapter"), /compatibility mode/);
    (await numbers()).forEach((value, i) => assert.ok(Math.abs(value - cpu[i]) <= 0.011, `${value}, not ${cpu[i]}`));
    await ready(page, "lab");
    await page.locator('#lab [data-part="train"]').click();
    await page.locator('#lab tr[data-state="done"][data-engine="gpu"]').waitFor({ timeout: 60_000 });
  },
);

siteTest("own arrays by drop; a broken file costs nothing", { webgpu: [false] }, async (page) => {
  await open(page);
  await drop(page, [{ name: "discs.npy", bytes: npy(200, 20) }]);
  await page.waitForFunction(() => document.querySelector('[data-live="data.name"]')?.textContent?.includes("discs"));
  await ready(page, "denoise");
  assert.ok((await contrast(page, "empirical")) > 40);
  const name = await live(page, "data.name");

  for (const [bad, bytes] of /** @type {[string, Uint8Array][]} */ ([
    ["cut.npy", npy(200, 20).subarray(0, 5000)],
    ["text.txt", new TextEncoder().encode("no images here")],
    ["photo.png", new Uint8Array([1, 2, 3])],
  ])) {
    await drop(page, [{ name: bad, bytes }]);
    const error = page.locator('[data-part="import-error"]');
    await error.waitFor();
    assert.match((await error.textContent()) ?? "", /\w+\. \w+/, bad);
    assert.equal(await live(page, "data.name"), name);
    await drop(page, [{ name: "discs.npy", bytes: npy(200, 20) }]);
    await error.waitFor({ state: "hidden" });
  }

  await choose(page, "data", "faces");
  await page.waitForFunction(() => document.querySelector('[data-live="data.name"]')?.textContent === "Faces");
  await page.goBack();
  await page.waitForFunction(() => document.querySelector('[data-live="data.name"]')?.textContent?.includes("discs"));
  assert.match(page.url(), /data=own/);
  await page.goForward();
  await page.waitForFunction(() => document.querySelector('[data-live="data.name"]')?.textContent === "Faces");
  await choose(page, "data", "own");
  await page.waitForFunction(() => document.querySelector('[data-live="data.name"]')?.textContent?.includes("discs"));
});

siteTest("every kind of file that people have, by drop", { webgpu: [false] }, async (page) => {
  await open(page);
  const kinds = /** @type {[string, Uint8Array, number][]} */ ([
    ["discs-idx3-ubyte", idx(60, 20), 60],
    ["discs-idx3-ubyte.gz", gzipSync(idx(61, 20)), 61],
    ["discs.npz", zip([{ name: "discs.npy", bytes: npy(62, 20) }]), 62],
    ["data_batch_1.bin", cifar(63), 63],
    ["pictures.zip", zip(await pngs(page, 64)), 64],
    [
      "arrays.zip",
      zip([
        { name: "labels-idx1-ubyte", bytes: new Uint8Array(9) },
        { name: "discs-idx3-ubyte", bytes: idx(65, 20) },
      ]),
      65,
    ],
  ]);
  for (const [name, bytes, count] of kinds) {
    await drop(page, [{ name, bytes }]);
    await page.waitForFunction(
      (expected) => document.querySelector('[data-live="data.count"]')?.textContent === String(expected),
      count,
    );
    await ready(page, "denoise");
    assert.ok((await contrast(page, "empirical")) > 40, name);
    assert.ok(await page.locator('[data-part="import-error"]').isHidden(), name);
  }
});

siteTest("pictures have the pixels that the command line reads", { webgpu: [false] }, async (page) => {
  // tests/native/importers.rs reads the same archive.
  const fixture = (/** @type {string} */ name) =>
    readFileSync(new URL(`../native/fixtures/pictures.${name}`, import.meta.url));
  const { count, hash } = JSON.parse(fixture("json").toString());
  await open(page, "?own.size=16&own.colour=colour");
  await drop(page, [{ name: "pictures.zip", bytes: fixture("zip") }]);
  await page.waitForFunction(
    (expected) => document.querySelector('[data-live="data.count"]')?.textContent === String(expected),
    count,
  );
  assert.equal(await live(page, "data.size"), "16 × 16 in colour");
  assert.equal(await page.locator("#training-set").getAttribute("data-hash"), hash);
});

siteTest(
  "own images that the engine dies of are read once more, and then show as an error",
  { webgpu: [false] },
  async (page) => {
    await page.addInitScript(() => {
      const { postMessage } = Worker.prototype;
      Object.assign(window, { deadly: false, deaths: 0 });
      Worker.prototype.postMessage = function (/** @type {any} */ message, /** @type {any} */ options) {
        const state = /** @type {any} */ (window);
        if (!state.deadly || message.call !== "import") return postMessage.call(this, message, options);
        state.deaths++;
        setTimeout(() => this.dispatchEvent(new ErrorEvent("error", { message: "simulated crash" })));
      };
    });
    const error = page.locator('[data-part="import-error"]');
    const deadly = (/** @type {boolean} */ value) =>
      page.evaluate((value) => Object.assign(window, { deadly: value }), value);
    await open(page);
    await drop(page, [{ name: "discs.npy", bytes: npy(200, 20) }]);
    await page.waitForFunction(() => document.querySelector('[data-live="data.name"]')?.textContent?.includes("discs"));
    await deadly(true);
    await choose(page, "own.colour", "colour");
    await error.and(page.locator('[data-kind="WorkerCrashed"]')).waitFor();
    await page.waitForTimeout(500);
    assert.equal(await page.evaluate(() => /** @type {any} */ (window).deaths), 2);
    await deadly(false);
    await drop(page, [{ name: "discs.npy", bytes: npy(201, 20) }]);
    await page.waitForFunction(() => document.querySelector('[data-live="data.count"]')?.textContent === "201");
    assert.ok(await error.isHidden());
  },
);

siteTest("own pictures by the picker", { webgpu: [false] }, async (page) => {
  await open(page);
  const files = (await pngs(page, 40)).map(({ name, bytes }) => ({
    name,
    mimeType: "image/png",
    buffer: Buffer.from(bytes),
  }));
  await choose(page, "own.colour", "colour");
  const chooser = page.waitForEvent("filechooser");
  await page.locator('[data-part="choose-files"]').press("Enter");
  await (await chooser).setFiles(files);
  await page.waitForFunction(() => document.querySelector('[data-live="data.size"]')?.textContent?.includes("colour"));
  assert.equal(await number(page, "data.count"), 40);
  await ready(page, "samples");
});
