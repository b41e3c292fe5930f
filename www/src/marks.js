/** Marks that charts have in common. */
import { text } from "@observablehq/plot";

/** Text that stays readable where it crosses lines. */
export const HALO = { stroke: "var(--paper)", strokeWidth: 4, fill: "var(--ink)" };

/**
 * What a chart shows, above its frame.
 * @param {string} label
 * @param {import("@observablehq/plot").TextOptions} [options]
 */
export const title = (label, options) =>
  text([label], { text: (words) => words, frameAnchor: "top-left", dy: -20, className: "chart-title", ...options });

/**
 * What runs along the x axis, below its end.
 * @param {string} label
 * @param {import("@observablehq/plot").TextOptions} [options]
 */
export const axisName = (label, options) =>
  text([`${label} →`], {
    text: (words) => words,
    frameAnchor: "bottom-right",
    dy: 34,
    fill: "var(--muted)",
    ...options,
  });
