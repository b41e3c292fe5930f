// Opens the built site in Chromium, with and without WebGPU.
//
// `cargo xtask test --only e2e,times` builds the site, serves it under a sub-path and sets SITE_URL and
// CHROMIUM.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, test } from "node:test";

const require = createRequire(new URL("../../www/package.json", import.meta.url));
/** @type {typeof import("playwright-core")} */
const { chromium } = require("playwright-core");

const { SITE_URL, CHROMIUM, ALONE } = process.env;
assert(SITE_URL && CHROMIUM, "run these tests by: cargo xtask test --only e2e,times");

/** The page's address; ends with a slash. */
export const siteUrl = SITE_URL;

const QUIET = [
  "--no-sandbox",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
// WebGPU in software: the same on every machine, and there without a graphics card.
const WEBGPU = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"];

/** The tests that may take a second try, and why. @type {Map<string, string>} */
const SECOND_TRY = new Map();

/** One browser of each kind for the tests of a file. @type {Map<boolean, Promise<import("playwright-core").Browser>>} */
const browsers = new Map();

/** @param {boolean} webgpu */
export function browser(webgpu) {
  let launched = browsers.get(webgpu);
  if (!launched) {
    const args = webgpu ? [...QUIET, ...WEBGPU] : QUIET;
    launched = chromium.launch({ executablePath: CHROMIUM, args });
    browsers.set(webgpu, launched);
  }
  return launched;
}

after(() => Promise.all([...browsers.values()].map(async (launched) => (await launched).close())));

/**
 * A test of the page in a fresh browser profile: once for each kind of browser in `webgpu` and at each of `widths`, in
 * pairs, because the engine does not see the width.
 *
 * It also fails if the page throws, logs an error, gets an answer that is no success or asks
 * another host for anything.
 *
 * A test that measures time is marked `alone`: nothing may run beside it. ALONE=only runs just those, ALONE=none all others.
 * A try may take `timeout` milliseconds.
 *
 * A test named in `SECOND_TRY` is tried once more if it fails; any other fails at once.
 *
 * @param {string} name
 * @param {{
 *   webgpu?: boolean[],
 *   widths?: number[],
 *   alone?: boolean,
 *   timeout?: number,
 *   context?: import("playwright-core").BrowserContextOptions,
 * }} options
 * @param {(page: import("playwright-core").Page, options: { webgpu: boolean }) => Promise<void>} body
 */
export function siteTest(name, options, body) {
  const {
    webgpu = [true, false],
    widths = [],
    alone = false,
    timeout = 120_000,
    context: contextOptions = {},
  } = options;
  if (ALONE && alone !== (ALONE === "only")) return;
  for (let i = 0; i < Math.max(webgpu.length, widths.length); i++) {
    const withWebgpu = webgpu[Math.min(i, webgpu.length - 1)];
    const width = widths[Math.min(i, widths.length - 1)];
    const kind = `${withWebgpu ? "with WebGPU" : "without WebGPU"}${width ? `, ${width} px` : ""}`;
    const viewport = width ? { viewport: { width, height: 844 } } : {};
    // Smooth scrolling takes its time, and a test that has gone on meanwhile is led astray.
    const options = { reducedMotion: /** @type {const} */ ("reduce"), ...viewport, ...contextOptions };
    const attempt = () => inFreshPage(withWebgpu, options, timeout, (page) => body(page, { webgpu: withWebgpu }));
    test(`${name} (${kind})`, async (t) => {
      try {
        await attempt();
      } catch (error) {
        const reason = SECOND_TRY.get(name);
        if (!reason) throw error;
        t.diagnostic(`second try, because ${reason}: ${`${error}`.split("\n")[0]}`);
        await attempt();
      }
    });
  }
}

/**
 * @param {boolean} webgpu
 * @param {import("playwright-core").BrowserContextOptions} options
 * @param {number} timeout
 * @param {(page: import("playwright-core").Page) => Promise<void>} body
 */
async function inFreshPage(webgpu, options, timeout, body) {
  const context = await (await browser(webgpu)).newContext(options);
  /** @type {NodeJS.Timeout | undefined} */
  let clock;
  const late = new Promise((_, reject) => {
    clock = setTimeout(() => reject(new Error(`it took over ${timeout / 1000} s`)), timeout);
  });
  try {
    const page = await context.newPage();
    const faults = watch(page);
    const failure = await Promise.race([body(page), late]).catch((error) => error);
    // What went wrong on the page explains best why the body failed.
    if (faults.length > 0) throw new Error(faults.join("\n"), { cause: failure });
    if (failure) throw failure;
  } finally {
    clearTimeout(clock);
    // Also ends a body that is late: its page would train on beside those that follow.
    await context.close();
  }
}

/**
 * Everything that goes wrong on a page while nobody looks.
 *
 * @param {import("playwright-core").Page} page
 */
export function watch(page) {
  /** @type {string[]} */
  const faults = [];
  page.on("pageerror", (error) => faults.push(`uncaught: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(`console: ${message.text()} ${message.location().url}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) faults.push(`${response.status()}: ${response.url()}`);
  });
  page.on("request", (request) => {
    const { protocol, origin } = new URL(request.url());
    const local = protocol === "data:" || origin === new URL(siteUrl).origin;
    if (!local) faults.push(`another host: ${request.url()}`);
  });
  return faults;
}
