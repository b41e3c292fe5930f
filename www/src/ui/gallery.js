/** Samples side by side: each column is the same noise. */
import { drawRow } from "./images.js";
import { decodeImages } from "../reports/recorded.js";

/** @import { Gallery, Report } from "../reports/report.js" */

/** As many as fit on a wide screen; the style sheet cuts the row in half on a narrow one. */
export const COLUMNS = 12;

/**
 * Draw the lists of a gallery into the canvases that are named after them (`data-gallery`).
 * @param {ParentNode} root
 * @param {Report["shape"]} shape
 * @param {Gallery} gallery
 */
export function drawGallery(root, shape, gallery) {
  for (const canvas of /** @type {NodeListOf<HTMLCanvasElement>} */ (root.querySelectorAll("canvas[data-gallery]"))) {
    const name = /** @type {keyof Gallery} */ (canvas.dataset.gallery);
    drawRow(canvas, decodeImages(shape, gallery[name]), COLUMNS);
  }
}
