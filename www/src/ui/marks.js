/** Marks that charts have in common. */
import { dot, line, text } from "@observablehq/plot";
import { significant } from "./format.js";

/**
 * @import { DotOptions, LineOptions, TextOptions } from "@observablehq/plot"
 * @import { Style } from "../reports/denoisers.js"
 */

/** Text that stays readable where it crosses lines. */
export const HALO = { stroke: "var(--paper)", strokeWidth: 4, fill: "var(--ink)" };

/** An x axis of noise levels. */
export const NOISE_AXIS = /** @type {const} */ ({
  type: "log",
  label: null,
  ticks: [0.1, 1, 10],
  tickFormat: significant,
  tickSize: 4,
});

/**
 * A logarithmic axis that names the powers of ten.
 * @param {(value: number) => string} format
 */
export const powersAxis = (format) =>
  /** @type {const} */ ({
    type: "log",
    label: null,
    ticks: 4,
    tickFormat: (/** @type {number} */ value) => (Number.isInteger(Math.log10(value)) ? format(value) : ""),
  });

/** A colour between two others. @param {string} from @param {string} to @param {number} share of the second, from 0 to 1 */
export const blend = (from, to, share) => `color-mix(in oklab, ${from}, ${to} ${Math.round(100 * share)}%)`;

/**
 * A denoiser's curve, with a marker at each of its points.
 * @template P
 * @param {P[]} points
 * @param {Pick<Style, "colour" | "dash" | "marker" | "hollow">} style
 * @param {LineOptions & DotOptions} channels where the points are
 */
export const markedLine = (points, { colour, dash, marker, hollow }, channels) => [
  line(points, { ...channels, stroke: colour, strokeWidth: 2, strokeDasharray: dash }),
  dot(points, {
    ...channels,
    r: 3.5,
    symbol: marker,
    fill: hollow ? "var(--paper)" : colour,
    stroke: hollow ? colour : "var(--paper)",
    strokeWidth: hollow ? 2 : 1,
  }),
];

/**
 * A cross over every network that diverged, with the words that say when.
 * @template {{diverged: string}} P
 * @param {P[]} points
 * @param {DotOptions} options
 */
export const crosses = (points, options) =>
  dot(
    points.filter(({ diverged }) => diverged),
    { symbol: "times", r: 5.5, stroke: "var(--ink)", strokeWidth: 2, title: "diverged", ...options },
  );

/**
 * What a chart shows, above its frame.
 * @param {string} label
 * @param {TextOptions} [options]
 */
export const title = (label, options) =>
  text([label], { frameAnchor: "top-left", dy: -20, className: "chart-title", ...options });

/**
 * What runs along the x axis, below its end.
 * @param {string} label
 * @param {TextOptions} [options]
 */
export const axisName = (label, options) =>
  text([`${label} →`], {
    frameAnchor: "bottom-right",
    dy: 34,
    fill: "var(--muted)",
    ...options,
  });
