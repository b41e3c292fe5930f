import { loadImages, placeOf } from "../reports/sheets.js";

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

/** Pictures that are not here yet. @type {WeakMap<Pictures, Promise<Pictures>>} */
const arriving = new WeakMap();

/** What each canvas shows, or will once it has arrived. @type {WeakMap<HTMLCanvasElement, {drawn: Promise<void>}>} */
const shown = new WeakMap();

/**
 * Draw one image, one canvas pixel to an image pixel; the style sheet enlarges it without smoothing.
 * @param {HTMLCanvasElement} canvas
 * @param {Pictures} pictures
 * @param {number} [index]
 */
export function drawPicture(canvas, pictures, index = 0) {
  show(canvas, pictures, pictures.width, pictures.height, (context, here) =>
    context.putImageData(imageData(here, index), 0, 0),
  );
}

/**
 * Draw all images as a grid, row by row.
 * @param {HTMLCanvasElement} canvas
 * @param {Pictures} pictures
 * @param {number} columns
 */
export function drawGrid(canvas, pictures, columns) {
  drawFirst(canvas, pictures, pictureCount(pictures), columns);
}

/**
 * Draw the first images in one row; the canvas has room for `columns` even if there are fewer.
 * @param {HTMLCanvasElement} canvas
 * @param {Pictures} pictures
 * @param {number} columns
 */
export function drawRow(canvas, pictures, columns) {
  drawFirst(canvas, pictures, Math.min(columns, pictureCount(pictures)), columns);
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Pictures} pictures
 * @param {number} count
 * @param {number} columns
 */
function drawFirst(canvas, pictures, count, columns) {
  const { width, height } = pictures;
  const gap = gapOf(width);
  const rows = Math.ceil(count / columns);
  show(canvas, pictures, columns * (width + gap) - gap, rows * (height + gap) - gap, (context, here) => {
    for (let i = 0; i < count; i++) {
      const x = (i % columns) * (width + gap);
      const y = Math.floor(i / columns) * (height + gap);
      context.putImageData(imageData(here, i), x, y);
    }
  });
}

/**
 * Give a canvas its size, and draw once the pictures are here. Until then it shows what it did; if they do not come, nothing.
 * @param {HTMLCanvasElement} canvas
 * @param {Pictures} pictures
 * @param {number} width
 * @param {number} height
 * @param {(context: CanvasRenderingContext2D, here: Pictures) => void} draw
 */
function show(canvas, pictures, width, height, draw) {
  resize(canvas, width, height);
  const context = canvas.getContext("2d");
  const later = arriving.get(pictures);
  if (!context || !later) {
    if (context) draw(context, pictures);
    shown.delete(canvas);
    return;
  }
  // By the time they arrive, the canvas may be meant for others.
  const isMeant = () => shown.get(canvas) === now;
  const drawn = later.then(
    (here) => {
      if (isMeant()) draw(context, here);
    },
    (reason) => {
      if (!isMeant()) return;
      context.clearRect(0, 0, width, height);
      throw reason;
    },
  );
  // Whoever asks for it hears of a failure.
  drawn.catch(() => {});
  const now = { drawn };
  shown.set(canvas, now);
}

/**
 * Until the canvases in `root` show what was drawn into them; fails if pictures did not come.
 * @param {ParentNode} root
 */
export async function picturesDrawn(root) {
  await Promise.all([...root.querySelectorAll("canvas")].map((canvas) => shown.get(canvas)?.drawn));
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
 * The images of a report, ready to be drawn. Those of a recorded run may still have to come: they are blank then, and are drawn
 * when they are here (see {@link picturesDrawn}). `loadImages` waits for the pixels.
 * @param {ImageShape} shape
 * @param {string} images
 * @returns {Pictures}
 */
export function decodeImages(shape, images) {
  const pictures = loadImages(shape, images);
  if (!(pictures instanceof Promise)) return pictures;
  const { width, height } = shape;
  const blank = { width, height, rgba: new Uint8ClampedArray(4 * width * height * (placeOf(images)?.count ?? 0)) };
  arriving.set(blank, pictures);
  pictures.catch(() => {});
  return blank;
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
 * @param {string} [attribute] if there are others, too
 */
export function drawSamples(root, shape, { denoisers }, attribute = "samples") {
  for (const canvas of /** @type {NodeListOf<HTMLCanvasElement>} */ (root.querySelectorAll(`[data-${attribute}]`))) {
    const name = /** @type {DenoiserId | "nearest"} */ (canvas.dataset[attribute]);
    const images = name === "nearest" ? denoisers.trained.nearest : denoisers[name]?.samples;
    if (images) drawRow(canvas, decodeImages(shape, images), COLUMNS);
  }
}
