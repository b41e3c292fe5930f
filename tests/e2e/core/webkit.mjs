// WebKitGTK's MiniBrowser, by WebDriver, on a screen that nobody sees. It has no WebGPU.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { drag, isLocal } from "./shared.mjs";

/** @import { Browser } from "./driver.mjs" */

const { WEBKIT_DRIVER, MINI_BROWSER, XVFB } = process.env;
assert(WEBKIT_DRIVER && MINI_BROWSER && XVFB, "run these tests by: cargo xtask test --only webkit");

/** The name of an element in WebDriver's JSON. */
const ELEMENT = "element-6066-11e4-a52e-4f735466cecf";

/** What was started, to be ended. @type {import("node:child_process").ChildProcess[]} */
const started = [];
/** The driver's address. @type {Promise<string> | undefined} */
let driving;

async function start() {
  // It chooses a display that is free, and writes its number to the fourth file.
  const screen = spawn(
    /** @type {string} */ (XVFB),
    ["-displayfd", "3", "-screen", "0", "1400x1000x24", "-nolisten", "tcp"],
    {
      stdio: ["ignore", "ignore", "ignore", "pipe"],
    },
  );
  started.push(screen);
  const [display] = await once(/** @type {import("node:stream").Readable} */ (screen.stdio[3]), "data");
  const port = await freePort();
  const env = { ...process.env, DISPLAY: `:${String(display).trim()}`, GDK_BACKEND: "x11" };
  started.push(spawn(/** @type {string} */ (WEBKIT_DRIVER), [`--port=${port}`], { env, stdio: "ignore" }));
  const address = `http://127.0.0.1:${port}`;
  for (const end = Date.now() + 20_000; ; ) {
    if (await fetch(`${address}/status`).catch(() => undefined)) return address;
    assert.ok(Date.now() < end, "WebKitWebDriver does not answer");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** @returns {Promise<number>} */
async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** @param {string} method @param {string} address @param {object} [body] @param {AbortSignal} [signal] */
async function request(method, address, body, signal) {
  const response = await fetch(address, { method, signal, ...(body && { body: JSON.stringify(body) }) });
  const { value } = /** @type {any} */ (await response.json());
  if (value?.error) throw new Error(`${value.error}: ${value.message}`);
  return value;
}

/** How long a browser may take to start, in milliseconds. */
const STARTING = 45_000;

/** A browser of its own. Now and then one does not report to the driver that started it: then both are started anew. */
async function newSession() {
  for (let tries = 3; ; tries--) {
    driving ??= start();
    const address = `${await driving}/session`;
    const options = { binary: MINI_BROWSER, args: ["--automation"] };
    const alwaysMatch = {
      browserName: "MiniBrowser",
      "webkitgtk:browserOptions": options,
      timeouts: { script: 120_000 },
    };
    try {
      const body = { capabilities: { alwaysMatch } };
      const { sessionId } = await request("POST", address, body, AbortSignal.timeout(STARTING));
      return `${address}/${sessionId}`;
    } catch (error) {
      if (tries === 1 || /** @type {Error} */ (error).name !== "TimeoutError") throw error;
      driving = undefined;
      for (const process of started.splice(0)) process.kill();
    }
  }
}

/** @type {Browser} */
export const browser = {
  webgpu: [false],

  async open() {
    const session = await newSession();
    /** @param {string} path @param {object} [body] */
    const post = (path, body = {}) => request("POST", `${session}/${path}`, body);
    await post("window/rect", { x: 0, y: 0, width: 1280, height: 900 });
    /** @param {string} script */
    const evaluate = async (script) => {
      const { value, error } = await post("execute/async", {
        script: `const done = arguments[0];
          (async () => (${script}))().then((value) => done({ value }), (error) => done({ error: String(error) }));`,
        args: [],
      });
      if (error) throw new Error(error);
      return value;
    };
    // WebDriver tells nothing of a page's errors: the page itself has to.
    const watch = () =>
      evaluate(`(() => {
        window.faults = [];
        addEventListener("error", ({ message }) => faults.push("uncaught: " + message));
        addEventListener("unhandledrejection", ({ reason }) => faults.push("uncaught: " + reason));
        addEventListener("securitypolicyviolation", ({ blockedURI }) => faults.push("policy: " + blockedURI));
        return null;
      })()`);
    return {
      async goto(url) {
        await post("url", { url });
        await watch();
      },
      async reload() {
        await post("refresh");
        await watch();
      },
      evaluate,
      drag: (points) => post("actions", { actions: drag(points) }),
      async setFiles(selector, paths) {
        const { [ELEMENT]: element } = await post("element", { using: "css selector", value: selector });
        await post(`element/${element}/value`, { text: paths.join("\n") });
      },
      async screenshot() {
        return Buffer.from(await request("GET", `${session}/screenshot`), "base64");
      },
      async faults() {
        const { faults, requests } = await evaluate(`({
          faults,
          requests: performance.getEntriesByType("resource").map(({ name, responseStatus: status }) => ({ name, status })),
        })`);
        for (const { name, status } of requests) {
          if (status >= 400) faults.push(`${status}: ${name}`);
          if (!isLocal(name)) faults.push(`another host: ${name}`);
        }
        return faults;
      },
      close: () => request("DELETE", session),
    };
  },

  async close() {
    for (const program of started.reverse()) program.kill();
  },
};
