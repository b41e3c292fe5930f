/**
 * How high and wide charts are, relative to the article: a presentation makes them lower before it lets a figure scroll, and
 * paper is narrower than the screen.
 */

/** Charts that have been made: their place, and what draws them anew. @type {{root: HTMLElement, draw: () => void}[]} */
const charts = [];
let scale = 1;
let across = 1;

/** The height of a chart now. @param {number} height in the article */
export const scaled = (height) => Math.round(scale * height);

/** The width that a chart is drawn for. @param {number} width on the screen */
export const scaledWidth = (width) => Math.round(across * width);

/** What a line of text takes of a chart that it was meant for: margins stay, so that the frame loses more. */
export const textScale = () => scale ** -1.5;

/** @param {HTMLElement} root @param {() => void} draw */
export function onChartScale(root, draw) {
  charts.push({ root, draw });
}

/**
 * Draw the charts of a figure so high; all others are drawn when they next change.
 * @param {number} next
 * @param {HTMLElement} [figure] by default all are drawn
 * @param {number} [nextAcross]
 */
export function scaleCharts(next, figure, nextAcross = 1) {
  if (next === scale && nextAcross === across) return;
  [scale, across] = [next, nextAcross];
  for (const { root, draw } of charts) if (!figure || figure.contains(root)) draw();
}
