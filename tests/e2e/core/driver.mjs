// One interface to three browsers, and what the core tests do with it.
//
// `cargo xtask test --only e2e,firefox,webkit` builds the site, serves it under a sub-path, and sets SITE_URL, BROWSER and
// the paths of the programs.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, test } from "node:test";
import { siteUrl } from "./shared.mjs";

/**
 * @typedef {{x: number, y: number}} Point of the viewport, in CSS pixels
 *
 * @typedef {object} Driver a page in a browser that has saved nothing yet
 * @property {(address: string) => Promise<void>} goto until the page is loaded
 * @property {() => Promise<void>} reload
 * @property {(script: string) => Promise<any>} evaluate the value of an expression, or of the promise that it is; as JSON
 * @property {(points: Point[]) => Promise<void>} drag press the mouse at the first point, move it over the others, release it
 * @property {(selector: string, paths: string[]) => Promise<void>} setFiles choose files, as in the browser's dialogue
 * @property {() => Promise<Buffer>} screenshot as PNG
 * @property {() => Promise<string[]>} faults what went wrong while nobody looked
 * @property {() => Promise<void>} close
 *
 * @typedef {object} Browser
 * @property {boolean[]} webgpu the kinds that there are: with WebGPU, without
 * @property {(webgpu: boolean) => Promise<Driver>} open
 * @property {() => Promise<void>} close ends what was started
 */

const { BROWSER } = process.env;

/** @type {Browser} */
const browser = (await import(`./${BROWSER}.mjs`)).browser;
after(() => browser.close());

const axe = await readFile(
  createRequire(new URL("../../../www/package.json", import.meta.url)).resolve("axe-core/axe.min.js"),
  "utf8",
);

/**
 * A test in a fresh page, for each kind of the browser that is in `webgpu`. It also fails if the page throws, logs an error,
 * gets an answer that is no success or asks another host for anything.
 *
 * @param {string} name
 * @param {{webgpu?: boolean[], timeout?: number}} options
 * @param {(page: Page, options: {webgpu: boolean}) => Promise<void>} body
 */
export function coreTest(name, { webgpu = [false], timeout = 90_000 }, body) {
  for (const kind of webgpu.filter((kind) => browser.webgpu.includes(kind))) {
    test(`${name} (${BROWSER}, ${kind ? "with" : "without"} WebGPU)`, async () => {
      const driver = await browser.open(kind);
      /** @type {NodeJS.Timeout | undefined} */
      let clock;
      const late = new Promise((_, reject) => {
        clock = setTimeout(() => reject(new Error(`it took over ${timeout / 1000} s`)), timeout);
      });
      try {
        const failure = await Promise.race([body(new Page(driver), { webgpu: kind }), late]).catch((error) => error);
        // What went wrong on the page explains best why the body failed.
        const faults = await Promise.race([driver.faults(), late]).catch(() => []);
        if (faults.length > 0) throw new Error(faults.join("\n"), { cause: failure });
        if (failure) throw failure;
      } finally {
        clearTimeout(clock);
        // Also ends a body that is late: its page would train on beside those that follow.
        await driver.close();
      }
    });
  }
}

/** What a test does with a page, whatever the browser. */
export class Page {
  #driver;

  /** @param {Driver} driver */
  constructor(driver) {
    this.#driver = driver;
  }

  /** Open the page and wait for a figure. @param {string} search @param {string} figure its id */
  async open(search, figure) {
    await this.#driver.goto(siteUrl + search);
    await this.ready(figure);
  }

  /** @param {string} figure its id */
  async reload(figure) {
    await this.#driver.reload();
    await this.ready(figure);
  }

  /**
   * Call a function in the page. It sees nothing of this file.
   * @template A, R
   * @param {(argument: A) => R | Promise<R>} work
   * @param {A} [argument]
   * @returns {Promise<R>}
   */
  call(work, argument) {
    return this.#driver.evaluate(`(${work})(${JSON.stringify(argument)})`);
  }

  /**
   * Ask the page until something holds there.
   * @template A
   * @param {string} what
   * @param {(argument: A) => unknown} holds
   * @param {A} [argument]
   * @param {number} [timeout]
   */
  async until(what, holds, argument, timeout = 60_000) {
    for (const end = Date.now() + timeout; !(await this.call(holds, argument)); ) {
      assert.ok(Date.now() < end, `never: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Until something is on the page that fits a selector. @param {string} selector @param {number} [timeout] */
  there(selector, timeout) {
    return this.until(
      `there is ${selector}`,
      (selector) => document.querySelector(selector) !== null,
      selector,
      timeout,
    );
  }

  /** Until a figure shows what its parameters ask for. @param {string} figure its id */
  ready(figure) {
    return this.until(
      `#${figure} is drawn`,
      async (id) => {
        const place = document.getElementById(id);
        place?.closest("details")?.setAttribute("open", "");
        // Figures above it may still grow and push it off the screen again.
        place?.scrollIntoView({ block: "nearest", behavior: "instant" });
        // A figure hears a frame later that it is near the screen, and only then that it is to be drawn.
        for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
        return place?.matches('[data-ready]:not([aria-busy="true"])');
      },
      figure,
    );
  }

  /** The text of the first element that fits. @param {string} selector */
  async text(selector) {
    return (await this.call((selector) => document.querySelector(selector)?.textContent ?? "", selector)).trim();
  }

  /** The first number in what the page says under a name. @param {string} name value of `data-live` */
  async number(name) {
    const text = await this.text(`[data-live="${name}"]`);
    const found = text.replaceAll(",", "").match(/-?\d+(\.\d+)?/);
    assert.ok(found, `${name} is “${text}”`);
    return Number(found[0]);
  }

  /**
   * Where something is, once it stands still on the screen with nothing over it: at fractions of its width.
   * @param {string} selector
   * @param {number[]} fractions
   * @returns {Promise<Point[]>}
   */
  async #points(selector, fractions) {
    for (const end = Date.now() + 60_000; ; ) {
      const points = await this.call(
        async ({ selector, fractions }) => {
          const target = /** @type {HTMLElement | null} */ (document.querySelector(selector));
          if (!target || target.matches(":disabled")) return null;
          target.scrollIntoView({ block: "center", behavior: "instant" });
          const before = target.getBoundingClientRect();
          for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
          const { left, top, width, height } = target.getBoundingClientRect();
          if (width === 0 || before.left !== left || before.top !== top) return null;
          const places = fractions.map((fraction) => ({ x: left + fraction * width, y: top + height / 2 }));
          return places.every(({ x, y }) => target.contains(document.elementFromPoint(x, y))) ? places : null;
        },
        { selector, fractions },
      );
      if (points) return points.map(({ x, y }) => ({ x: Math.round(x), y: Math.round(y) }));
      assert.ok(Date.now() < end, `${selector} cannot be pressed`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Click what a selector finds, when it can be clicked. @param {string} selector */
  async click(selector) {
    await this.#driver.drag(await this.#points(selector, [0.5]));
  }

  /**
   * Drag the mouse over something, from one fraction of its width to another.
   * @param {string} selector
   * @param {number[]} fractions
   */
  async drag(selector, fractions) {
    await this.#driver.drag(await this.#points(selector, fractions));
  }

  /** @param {string} selector @param {string[]} paths */
  setFiles(selector, paths) {
    return this.#driver.setFiles(selector, paths);
  }

  screenshot() {
    return this.#driver.screenshot();
  }

  /**
   * How much the pixels of a canvas differ: 0 for an empty one.
   * @param {string} selector
   */
  contrast(selector) {
    return this.call((selector) => {
      const canvas = document.querySelector(selector);
      if (!(canvas instanceof HTMLCanvasElement)) throw new Error(`no canvas ${selector}`);
      const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
      const grey = context.getImageData(0, 0, canvas.width, canvas.height).data.filter((_, i) => i % 4 === 0);
      return Math.max(...grey) - Math.min(...grey);
    }, selector);
  }

  /** Keep what the page would hand to the reader as files, for {@link saved}. */
  keepFiles() {
    return this.call(() => {
      const files = /** @type {Map<string, Blob>} */ (Object.assign(window, { files: new Map() }).files);
      /** @type {Map<string, Blob>} */
      const blobs = new Map();
      const { createObjectURL } = URL;
      URL.createObjectURL = (/** @type {any} */ blob) => {
        const address = createObjectURL.call(URL, blob);
        blobs.set(address, blob);
        return address;
      };
      const { click } = HTMLAnchorElement.prototype;
      HTMLAnchorElement.prototype.click = function () {
        const blob = blobs.get(this.href);
        if (!blob || !this.download) return click.call(this);
        files.set(this.download, blob);
      };
      return null;
    });
  }

  /** A file that the page has handed to the reader since {@link keepFiles}. @param {RegExp} name @returns {Promise<Buffer>} */
  async saved(name) {
    const source = name.source;
    /** @type {string | null} */
    let found = null;
    await this.until(
      `a file ${name} is saved`,
      (source) => [.../** @type {any} */ (window).files.keys()].some((name) => new RegExp(source).test(name)),
      source,
    );
    found = await this.call(async (source) => {
      const files = /** @type {Map<string, Blob>} */ (/** @type {any} */ (window).files);
      const [name, blob] = /** @type {[string, Blob]} */ ([...files].find(([name]) => new RegExp(source).test(name)));
      files.delete(name);
      const bytes = new Uint8Array(await blob.arrayBuffer());
      let text = "";
      for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
      return btoa(text);
    }, source);
    return Buffer.from(found, "base64");
  }

  /** What axe finds wrong with what is on the page now. @returns {Promise<string[]>} */
  async violations() {
    await this.#driver.evaluate(`(() => { ${axe}; return null; })()`);
    return this.call(async () => {
      const result = await /** @type {any} */ (window).axe.run(document, { resultTypes: ["violations"] });
      return result.violations.map(
        (/** @type {any} */ { id, nodes }) => `${id}: ${nodes.map((/** @type {any} */ n) => n.target).join(" | ")}`,
      );
    });
  }
}
