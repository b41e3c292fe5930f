import { plot } from "@observablehq/plot";
import { onChartScale, scaled, scaledWidth } from "./chart-scale.js";
import { make, onPoint } from "./dom.js";

/** @import { PlotOptions, Scale } from "@observablehq/plot" */

/**
 * @template D
 * @typedef {object} ChartSpec
 * @property {string} name what the chart shows, in a few words; no two charts of the page have the same
 * @property {(data: D) => string} label the chart in one sentence, for those who do not see it
 * @property {(data: D, width: number) => PlotOptions} options
 * @property {string[]} columns head of the table behind the chart
 * @property {(data: D) => (string | number)[][]} rows body of that table
 * @property {(x: any, y: any) => void} [pick] the reader points at this place of the axes, or at these bands; keys need a
 *   slider beside the chart
 */

/** @typedef {{title: string, columns: string[], rows: (string | number)[][]}} Table what a chart shows, in numbers */

/** The table of each chart that has been drawn, by its picture. @type {WeakMap<Element, () => Table>} */
const tables = new WeakMap();

/** Those of the values that have a place on an axis: of a network that broke down, some are not numbers. @param {number[]} values */
export const onAxis = (values) => values.filter(Number.isFinite);

/**
 * The tables behind the charts in `root`, in the order of the page.
 * @param {ParentNode} root
 * @returns {Table[]}
 */
export function tablesIn(root) {
  return [...root.querySelectorAll(".chart-picture")].flatMap((picture) => tables.get(picture)?.() ?? []);
}

/**
 * A chart: SVG as wide as its place, redrawn when that changes, in the page's theme, and with its table.
 * @template D
 * @param {HTMLElement} root
 * @param {ChartSpec<D>} spec
 * @returns {(data: D) => void} draws the chart anew
 */
export function chart(root, spec) {
  const picture = make("div", { className: "chart-picture" });
  const body = make("tbody");
  const head = make("tr", {}, ...spec.columns.map((column) => make("th", { scope: "col" }, column)));
  const name = `Table: ${spec.name}`;
  const table = make(
    "details",
    { className: "chart-table" },
    make("summary", { ariaLabel: name }, "Table"),
    make(
      "div",
      { className: "scroll", tabIndex: 0, role: "region", ariaLabel: name },
      make("table", {}, make("thead", {}, head), body),
    ),
  );
  root.append(picture, table);

  /** @type {D | undefined} */
  let latest;
  let width = 0;
  /** @type {ReturnType<typeof plot> | undefined} */
  let drawn;

  const drawPicture = () => {
    if (latest === undefined || width === 0) return;
    const drawnWidth = scaledWidth(width);
    const options = spec.options(latest, drawnWidth);
    const svg = plot({
      className: "chart-svg",
      width: drawnWidth,
      ...options,
      ...(options.height && { height: scaled(options.height) }),
      ...(options.x && { x: withAllTicks(options.x) }),
      ...(options.y && { y: withAllTicks(options.y) }),
    });
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", spec.label(latest));
    // The sentence above says it all; names of groups ("bar", "rule") would only be in the way.
    for (const group of svg.querySelectorAll("g[aria-label]")) group.removeAttribute("aria-label");
    // Its rules stand in our style sheet: the page's content security policy allows no style elements.
    svg.querySelector("style")?.remove();
    picture.replaceChildren(svg);
    drawn = svg;
  };
  const drawTable = () => {
    if (latest === undefined || !table.open) return;
    body.replaceChildren(
      ...spec.rows(latest).map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, String(cell))))),
    );
  };

  table.addEventListener("toggle", drawTable);
  const { pick } = spec;
  if (pick) {
    picture.classList.add("chart-pick");
    onPoint(picture, ({ type, buttons, clientX, clientY }) => {
      // A mouse chooses by a click, or as it drags.
      if (type !== "click" && buttons !== 1) return;
      const { left, top, width: onScreen } = picture.getBoundingClientRect();
      // A presentation enlarges the picture.
      const scale = width / onScreen;
      const x = valueAt(drawn?.scale("x"), scale * (clientX - left));
      if (x !== undefined) pick(x, valueAt(drawn?.scale("y"), scale * (clientY - top)));
    });
  }
  onChartScale(root, drawPicture);
  new ResizeObserver(([entry]) => {
    const next = Math.round(entry.contentRect.width);
    if (next === width) return;
    width = next;
    drawPicture();
  }).observe(picture);

  return (data) => {
    latest = data;
    tables.set(picture, () => ({ title: spec.label(data), columns: spec.columns, rows: spec.rows(data) }));
    drawPicture();
    drawTable();
  };
}

/**
 * A log axis with every tick that it was given: of base 10 it would leave out the labels of 8 or 64, as too near to the next
 * power.
 * @param {import("@observablehq/plot").ScaleOptions} scale
 */
const withAllTicks = (scale) => (scale.type === "log" && Array.isArray(scale.ticks) ? { ...scale, base: 2 } : scale);

/**
 * The value of a scale at a pixel; of a scale of bands, the one that the pixel lies in.
 * @param {Scale | undefined} scale
 * @param {number} pixel
 */
function valueAt(scale, pixel) {
  if (!scale || scale.invert) return scale?.invert?.(pixel);
  const { bandwidth = 0 } = scale;
  return [...(scale.domain ?? [])].find(
    (value) => pixel >= scale.apply(value) && pixel < scale.apply(value) + bandwidth,
  );
}

/**
 * Calls functions one to a frame, so that a page full of charts is drawn anew without a long task.
 * Asked again before it is done, it starts over: what is drawn last is drawn from the newest data.
 * @param {(() => void)[]} draws
 * @returns {() => void}
 */
export function inFrames(draws) {
  let next = draws.length;
  const frame = () => {
    draws[next++]();
    if (next < draws.length) requestAnimationFrame(frame);
  };
  return () => {
    const idle = next >= draws.length;
    next = 0;
    if (idle) requestAnimationFrame(frame);
  };
}
