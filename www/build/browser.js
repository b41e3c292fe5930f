/**
 * As much of a browser as the page's own modules need to draw the article at build time: a document (jsdom), canvases that
 * keep their pixels, observers for which everything is on the screen, and files instead of a host. There is no layout.
 */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { JSDOM } from "jsdom";
import { DENOISERS } from "../src/reports/denoisers.js";
import { decodeImage } from "./image-files.js";

/** Where the page seems to be. */
const BASE = "https://page.invalid/";
/** Pixels that a chart is wide on an A4 page: one that has a figure's width to itself, and one that shares it with another. */
const WIDE = 680;
const NARROW = 310;
/** Those that have more or less than half of it. */
const SHARES = new Map([
  [".hero-chart", 500],
  [".sweep-curves > .chart", 375],
  ["[data-part=agreement-chart], [data-part=alignment-matrix], [data-part=levels]", 245],
]);

/** The page's colours, by their names in page.css. */
const COLOURS = new Map(
  [...readFileSync(new URL("../styles/page.css", import.meta.url), "utf8").matchAll(/(--[\w-]+): (#\w{6});/g)].map(
    ([, name, value]) => [name, value],
  ),
);

/** What a canvas shows: its pixels, if something was drawn on it. @type {WeakMap<Element, Context>} */
const contexts = new WeakMap();

/** @param {Element} canvas @returns {ImageData | undefined} */
export const pixelsOf = (canvas) => contexts.get(canvas)?.image;

/** The little of a 2-D context that the page uses. */
class Context {
  /** @type {ImageData | undefined} */
  image;
  fillStyle = "#000000";
  #canvas;

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.#canvas = canvas;
  }

  /** @param {number} width @param {number} height */
  createImageData(width, height) {
    return new ImageData(new Uint8ClampedArray(4 * width * height), width, height);
  }

  /** @param {ImageData} source @param {number} x @param {number} y */
  putImageData(source, x, y) {
    const { width, height } = this.#canvas;
    if (this.image?.width !== width || this.image.height !== height) this.image = this.createImageData(width, height);
    for (let row = 0; row < source.height; row++) {
      const line = source.data.subarray(4 * row * source.width, 4 * (row + 1) * source.width);
      this.image.data.set(line, 4 * ((y + row) * width + x));
    }
  }

  /** @param {ImageData} image @param {number} x @param {number} y */
  drawImage(image, x, y) {
    this.putImageData(image, x, y);
  }

  clearRect() {
    this.image = undefined;
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  fillRect(x, y, width, height) {
    const [, red, green, blue] = /^#(..)(..)(..)$/.exec(this.fillStyle) ?? [];
    const pixel = [red, green, blue].map((channel) => Number.parseInt(channel ?? "0", 16));
    const filled = this.createImageData(width, height);
    for (let i = 0; i < filled.data.length; i += 4) filled.data.set([...pixel, 255], i);
    this.putImageData(filled, x, y);
  }

  getImageData() {
    return this.image ?? this.createImageData(1, 1);
  }
}

/** As the browser's. */
class ImageData {
  /** @param {Uint8ClampedArray} data @param {number} width @param {number} height */
  constructor(data, width, height) {
    Object.assign(this, { data, width, height });
  }
}

/** Everything is on the screen. */
class IntersectionObserver {
  /** @param {(entries: object[]) => void} tell */
  constructor(tell) {
    this.tell = tell;
  }
  observe() {
    queueMicrotask(() => this.tell([{ isIntersecting: true }]));
  }
  disconnect() {}
}

/** Charts are as wide as they are on paper. */
class ResizeObserver {
  /** @param {(entries: object[]) => void} tell */
  constructor(tell) {
    this.tell = tell;
  }
  /** @param {Element} target */
  observe(target) {
    const place = target.closest(".chart");
    const alone = place?.parentElement?.matches("figure, .weights");
    const [, width = alone ? WIDE : NARROW] = [...SHARES].find(([selector]) => place?.matches(selector)) ?? [];
    queueMicrotask(() => this.tell([{ target, contentRect: { width } }]));
  }
  disconnect() {}
}

/** A file of the page, or of its packages. @param {URL | string} address */
async function fetchLocal(address) {
  const { href } = new URL(address);
  const file = href.startsWith(BASE) ? new URL(`../public/${href.slice(BASE.length)}`, import.meta.url) : new URL(href);
  const bytes = await readFile(file).catch(() => undefined);
  if (!bytes) return new Response(null, { status: 404 });
  const type = href.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
  return new Response(bytes, { headers: { "content-type": type } });
}

/**
 * Make this process the browser that has opened `html`.
 * @param {string} html
 */
export function openPage(html) {
  const { window } = new JSDOM(html, { url: BASE, pretendToBeVisual: true });
  for (const name of Object.getOwnPropertyNames(window)) {
    const known = /^(HTML|SVG|Event$|EventTarget$|CustomEvent$|(Mouse|Keyboard|Pointer)Event$)/.test(name);
    if (known || (!(name in globalThis) && !name.startsWith("_"))) {
      Object.defineProperty(globalThis, name, { value: window[name], configurable: true, writable: true });
    }
  }
  Object.assign(window, { innerWidth: 1280, innerHeight: 800 });
  Object.assign(globalThis, {
    ImageData,
    IntersectionObserver,
    ResizeObserver,
    fetch: fetchLocal,
    createImageBitmap: async (/** @type {Blob} */ blob) => ({
      ...decodeImage(Buffer.from(await blob.arrayBuffer())),
      close() {},
    }),
    addEventListener: window.addEventListener.bind(window),
    matchMedia: () => ({ matches: true, addEventListener() {} }),
    getComputedStyle: (/** @type {Element} */ element) => ({
      getPropertyValue(/** @type {string} */ name) {
        const id = element.closest("[data-denoiser]")?.getAttribute("data-denoiser");
        const colour = DENOISERS.find((row) => row.id === id)?.colour ?? "";
        return name === "--colour" ? (COLOURS.get(colour.replace(/^var\((.*)\)$/, "$1")) ?? "") : "";
      },
    }),
    reportError(/** @type {unknown} */ error) {
      throw error;
    },
  });
  window.HTMLCanvasElement.prototype.getContext = /** @type {any} */ (
    function (/** @this {HTMLCanvasElement} */) {
      const context = contexts.get(this) ?? new Context(this);
      contexts.set(this, context);
      return context;
    }
  );
  Object.defineProperty(window.HTMLElement.prototype, "clientWidth", { value: WIDE });
  window.Element.prototype.scrollIntoView = () => {};
  return window;
}

/**
 * The engine's worker in this process. Its module answers the messages.
 * @returns {Promise<import("../src/engine/client.js").WorkerLike>}
 */
export async function startWorker() {
  /** @type {any} */
  const scope = globalThis;
  /** @type {any} */
  const worker = { terminate() {} };
  worker.postMessage = (/** @type {any} */ data) => setImmediate(() => scope.onmessage({ data }));
  scope.postMessage = (/** @type {any} */ data) => setImmediate(() => worker.onmessage({ data }));
  scope.self = scope;
  await import("../src/engine/worker.js");
  return worker;
}
