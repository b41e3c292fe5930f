import assert from "node:assert/strict";
import { test } from "node:test";
import { INITIAL, paint } from "../src/export/png.js";

/**
 * As much of an element as painting needs.
 * @param {string} tagName
 * @param {Record<string, string>} attributes
 * @param {any[]} children
 * @returns {any}
 */
const element = (tagName, attributes = {}, ...children) => ({
  tagName,
  children,
  getAttribute: (/** @type {string} */ name) => attributes[name] ?? null,
});

/** A canvas that writes down how paths are filled and outlined. */
function canvas() {
  /** @type {string[]} */
  const log = [];
  /** @type {number[]} */
  const alphas = [];
  return {
    log,
    globalAlpha: 1,
    fillStyle: "",
    strokeStyle: "",
    lineWidth: 0,
    dash: [],
    save() {
      alphas.push(this.globalAlpha);
    },
    restore() {
      this.globalAlpha = alphas.pop() ?? 1;
    },
    setLineDash(/** @type {never[]} */ dash) {
      this.dash = dash;
    },
    fill() {
      log.push(`fill ${this.fillStyle} ${this.globalAlpha}`);
    },
    stroke() {
      log.push(`stroke ${this.strokeStyle} ${this.lineWidth} [${this.dash}] ${this.globalAlpha}`);
    },
  };
}

Object.assign(globalThis, { Path2D: class {}, SVGGraphicsElement: class {} });

/** @param {any} root */
async function painted(root) {
  const context = canvas();
  await paint(root, /** @type {any} */ (context), INITIAL);
  return context.log;
}

test("an element that cannot be painted is named", async () => {
  await assert.rejects(painted(element("g", {}, element("path", {}, element("textPath")))), /<textPath>/);
});

test("titles are not painted", async () => {
  assert.deepEqual(await painted(element("g", {}, element("title"), element("desc"))), []);
});

test("children inherit how they are painted, and their opacities multiply", async () => {
  const style = { fill: "none", stroke: "red", "stroke-width": "1.5px", "stroke-dasharray": "6px, 3px", opacity: "0.5" };
  const inner = element("g", { "stroke-opacity": "0.5" }, element("path"), element("path", { opacity: "0.5", stroke: "blue" }));
  assert.deepEqual(await painted(element("g", style, inner, element("line", { stroke: "none", fill: "green" }))), [
    "stroke red 1.5 [6,3] 0.25",
    "stroke blue 1.5 [6,3] 0.125",
    "fill green 0.5",
  ]);
});

test("outlines lie over what is filled, halos under it", async () => {
  const both = { fill: "black", stroke: "white" };
  assert.deepEqual(await painted(element("path", both)), ["fill black 1", "stroke white 1 [] 1"]);
  assert.deepEqual(await painted(element("path", { ...both, "paint-order": "stroke" })), ["stroke white 1 [] 1", "fill black 1"]);
});
