/** Marks that charts have in common. */
import { dot, text } from "@observablehq/plot";

/** @import { DotOptions, TextOptions } from "@observablehq/plot" */

/** Text that stays readable where it crosses lines. */
export const HALO = { stroke: "var(--paper)", strokeWidth: 4, fill: "var(--ink)" };

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
  text([label], { text: (words) => words, frameAnchor: "top-left", dy: -20, className: "chart-title", ...options });

/**
 * What runs along the x axis, below its end.
 * @param {string} label
 * @param {TextOptions} [options]
 */
export const axisName = (label, options) =>
  text([`${label} →`], {
    text: (words) => words,
    frameAnchor: "bottom-right",
    dy: 34,
    fill: "var(--muted)",
    ...options,
  });
