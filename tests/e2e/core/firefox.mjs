// Firefox, by WebDriver BiDi, which it speaks itself.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { drag, isLocal } from "./shared.mjs";

/**
 * @import { Browser } from "./driver.mjs"
 * @typedef {{method: string, params: any}} Event
 */

const require = createRequire(new URL("../../../www/package.json", import.meta.url));
/** @type {typeof import("ws").WebSocket} */
const { WebSocket } = require("ws");

const { FIREFOX } = process.env;
assert(FIREFOX, "run these tests by: cargo xtask test --only firefox");

const QUIET = {
  "app.normandy.enabled": false,
  "app.update.disabledForTesting": true,
  "browser.shell.checkDefaultBrowser": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "toolkit.telemetry.reportingpolicy.firstRun": false,
  // A page that is not in front is not slowed down, and smooth scrolling leads no test astray.
  "dom.min_background_timeout_value": 4,
  "ui.prefersReducedMotion": 1,
};
// WebGPU on the Vulkan adapter in software, which no release of Firefox uses by itself.
const WEBGPU = {
  "dom.webgpu.enabled": true,
  "dom.webgpu.workers.enabled": true,
  "gfx.webgpu.ignore-blocklist": true,
};

/** One of each kind. @type {Map<boolean, Promise<Session>>} */
const sessions = new Map();

/** A browser, and the connection to it. */
class Session {
  #socket;
  #process;
  #profile;
  #id = 0;
  /** @type {Map<number, {resolve: (result: any) => void, reject: (error: Error) => void}>} */
  #waiting = new Map();
  /** @type {Set<(event: Event) => void>} */
  listeners = new Set();

  /**
   * @param {InstanceType<typeof WebSocket>} socket
   * @param {import("node:child_process").ChildProcess} process
   * @param {string} profile
   */
  constructor(socket, process, profile) {
    this.#socket = socket;
    this.#process = process;
    this.#profile = profile;
    socket.on("message", (data) => {
      const { type, id, result, error, message, ...event } = JSON.parse(String(data));
      if (type === "event") return this.listeners.forEach((listen) => listen(event));
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (type === "success") waiting?.resolve(result);
      else waiting?.reject(new Error(`${error}: ${message}`));
    });
    socket.on("close", () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("Firefox has ended"));
    });
  }

  /** @param {Record<string, unknown>} preferences */
  static async start(preferences) {
    const profile = await mkdtemp(join(tmpdir(), "hidden-gaussian-firefox-"));
    const lines = Object.entries(preferences).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`);
    await writeFile(join(profile, "user.js"), lines.join("\n"));
    const options = ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"];
    const process = spawn(/** @type {string} */ (FIREFOX), options, { stdio: ["ignore", "ignore", "pipe"] });
    const address = await new Promise((resolve, reject) => {
      let printed = "";
      process.stderr.on("data", (data) => {
        printed += data;
        const found = /WebDriver BiDi listening on (ws:\S+)/.exec(printed);
        if (found) resolve(found[1]);
      });
      process.on("exit", () => reject(new Error(`Firefox has ended: ${printed}`)));
    });
    const socket = new WebSocket(`${address}/session`);
    await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
    const session = new Session(socket, process, profile);
    await session.send("session.new", { capabilities: {} });
    const events = ["log.entryAdded", "network.beforeRequestSent", "network.responseCompleted"];
    await session.send("session.subscribe", { events });
    return session;
  }

  /** @param {string} method @param {object} params @returns {Promise<any>} */
  send(method, params) {
    const id = ++this.#id;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }

  async close() {
    const ended = new Promise((resolve) => this.#process.on("exit", resolve));
    await this.send("browser.close", {}).catch(() => this.#process.kill());
    await ended;
    await rm(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** @type {Browser} */
export const browser = {
  webgpu: [true, false],

  async open(webgpu) {
    const starting = sessions.get(webgpu) ?? Session.start(webgpu ? { ...QUIET, ...WEBGPU } : QUIET);
    sessions.set(webgpu, starting);
    const session = await starting;
    const { userContext } = await session.send("browser.createUserContext", {});
    const { context } = await session.send("browsingContext.create", { type: "tab", userContext });
    await session.send("browsingContext.setViewport", { context, viewport: { width: 1280, height: 720 } });
    /** @type {string[]} */
    const faults = [];
    /** @param {Event} event */
    const watch = ({ method, params }) => {
      if ((params.context ?? params.source?.context) !== context) return;
      if (method === "log.entryAdded") {
        if (params.level === "error") faults.push(`${params.type}: ${params.text}`);
      } else if (method === "network.responseCompleted") {
        if (params.response.status >= 400) faults.push(`${params.response.status}: ${params.response.url}`);
      } else if (!isLocal(params.request.url)) {
        faults.push(`another host: ${params.request.url}`);
      }
    };
    session.listeners.add(watch);
    /** @param {string} expression */
    const evaluate = async (expression) => {
      const { type, result, exceptionDetails } = await session.send("script.evaluate", {
        expression,
        target: { context },
        awaitPromise: true,
      });
      if (type === "exception") throw new Error(exceptionDetails.text);
      return result;
    };
    return {
      goto: (url) => session.send("browsingContext.navigate", { context, url, wait: "complete" }),
      reload: () => session.send("browsingContext.reload", { context, wait: "complete" }),
      async evaluate(script) {
        const { value } = await evaluate(`(async () => JSON.stringify((await (${script})) ?? null))()`);
        return JSON.parse(value);
      },
      drag: (points) => session.send("input.performActions", { context, actions: drag(points) }),
      async setFiles(selector, files) {
        const { sharedId } = await evaluate(`document.querySelector(${JSON.stringify(selector)})`);
        await session.send("input.setFiles", { context, element: { sharedId }, files });
      },
      async screenshot() {
        const { data } = await session.send("browsingContext.captureScreenshot", { context });
        return Buffer.from(data, "base64");
      },
      faults: async () => faults,
      async close() {
        session.listeners.delete(watch);
        await session.send("browser.removeUserContext", { userContext });
      },
    };
  },

  async close() {
    await Promise.all([...sessions.values()].map(async (session) => (await session).close()));
  },
};
