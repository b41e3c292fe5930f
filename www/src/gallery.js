/** Samples side by side: each column is the same noise. */
import { drawRow } from "./images.js";
import { decodeImages } from "./runs.js";

/** As many as fit on a wide screen; the style sheet cuts the row in half on a narrow one. */
export const COLUMNS = 12;

/**
 * Draw the lists of a gallery into the canvases that are named after them (`data-gallery`).
 * @param {ParentNode} root
 * @param {import("./report.js").Report["shape"]} shape
 * @param {import("./report.js").Gallery} gallery
 */
export function drawGallery(root, shape, gallery) {
  for (const canvas of /** @type {NodeListOf<HTMLCanvasElement>} */ (root.querySelectorAll("canvas[data-gallery]"))) {
    const name = /** @type {keyof import("./report.js").Gallery} */ (canvas.dataset.gallery);
    drawRow(canvas, decodeImages(shape, gallery[name]), COLUMNS);
  }
}
