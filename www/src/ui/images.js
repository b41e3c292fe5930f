import { toRgba } from "../engine/pictures.js";

/**
 * @import { DenoiserId, Point } from "../../pkg/hidden_gaussian.js"
 * @import { Pictures } from "../engine/protocol.js"
 * @import { Report } from "../reports/report.js"
 */

/** @typedef {Report["shape"]} ImageShape */

/** Pixels between the images of a grid: more between larger ones, which are shown smaller. @param {number} width */
const gapOf = (width) => Math.max(1, Math.round(width / 14));

/** How many images there are. @param {Pictures} pictures */
export function pictureCount({ width, height, rgba }) {
  return rgba.length / (4 * width * height);
}

/**
 * Draw one image, one canvas pixel to an image pixel; the style sheet enlarges it without smoothing.
 * @param {HTMLCanvasElement} canvas
 * @param {Pictures} pictures
 * @param {number} [index]
 */
export function drawPicture(canvas, pictures, index = 0) {
  resize(canvas, pictures.width, pictures.height);
  canvas.getContext("2d")?.putImageData(imageData(pictures, index), 0, 0);
}

/**
 * Draw all images as a grid, row by row.
 * @param {HTMLCanvasElement} canvas
 * @param {Pictures} pictures
 * @param {number} columns
 */
export function drawGrid(canvas, pictures, columns) {
  const { width, height } = pictures;
  const count = pictureCount(pictures);
  const rows = Math.ceil(count / columns);
  const gap = gapOf(width);
  resize(canvas, columns * (width + gap) - gap, rows * (height + gap) - gap);
  const context = canvas.getContext("2d");
  for (let i = 0; i < count; i++) {
    const x = (i % columns) * (width + gap);
    const y = Math.floor(i / columns) * (height + gap);
    context?.putImageData(imageData(pictures, i), x, y);
  }
}

/**
 * Draw the first images in one row; the canvas has room for `columns` even if there are fewer.
 * @param {HTMLCanvasElement} canvas
 * @param {Pictures} pictures
 * @param {number} columns
 */
export function drawRow(canvas, { width, height, rgba }, columns) {
  drawGrid(canvas, { width, height, rgba: rgba.subarray(0, 4 * width * height * columns) }, columns);
}

/**
 * Setting a canvas' size clears it even if nothing changes, which flickers.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
function resize(canvas, width, height) {
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
}

/**
 * @param {Pictures} pictures
 * @param {number} index
 */
function imageData({ width, height, rgba }, index) {
  const length = 4 * width * height;
  return new ImageData(rgba.subarray(index * length, (index + 1) * length), width, height);
}

/**
 * The images of a report, ready to be drawn.
 * @param {ImageShape} shape
 * @param {string} base64 bytes, image after image, rows × columns × channels
 * @returns {Pictures}
 */
export function decodeImages({ width, height, channels }, base64) {
  const bytes = atob(base64);
  return { width, height, rgba: toRgba(bytes.length, channels, (i) => bytes.charCodeAt(i)) };
}

/** Samples in a row: as many as fit on a wide screen; the style sheet cuts the row in half on a narrow one. */
export const COLUMNS = 12;

/**
 * Draw what a network and the denoisers beside it make of the same noise into the canvases that name them
 * (`data-samples`: a denoiser, or "nearest" for the training images nearest to the network's samples). Each column is the same
 * noise.
 * @param {ParentNode} root
 * @param {ImageShape} shape
 * @param {Point} point
 */
export function drawSamples(root, shape, { denoisers }) {
  for (const canvas of /** @type {NodeListOf<HTMLCanvasElement>} */ (root.querySelectorAll("canvas[data-samples]"))) {
    const name = /** @type {DenoiserId | "nearest"} */ (canvas.dataset.samples);
    const images = name === "nearest" ? denoisers.trained.nearest : denoisers[name]?.samples;
    if (images) drawRow(canvas, decodeImages(shape, images), COLUMNS);
  }
}
