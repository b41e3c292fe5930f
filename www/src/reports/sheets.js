/**
 * Pictures of recorded runs. A report names them as `file#first,count`: images side by side in an image file, a sheet, which is
 * fetched when one of them is first drawn. Live reports have their images in them, as base64.
 */
import { toRgba } from "../engine/pictures.js";
import { fetchFile } from "../engine/protocol.js";
import { once } from "./once.js";

/**
 * @import { Pictures } from "../engine/protocol.js"
 * @import { Report } from "./report.js"
 */

/** @typedef {Pick<ImageData, "width" | "height" | "data">} Sheet its images follow each other row by row */

/** Sheets that are here. @type {Map<string, Sheet>} */
const here = new Map();

/** The sheets of the run that each belongs to. @type {Map<string, string[]>} */
const runs = new Map();

/** @type {(file: string) => Promise<Sheet>} */
const load = once(async (file) => {
  const response = await fetchFile(new URL(`runs/${file}`, document.baseURI), `The pictures “${file}”`);
  const sheet = await pixels(await response.blob());
  here.set(file, sheet);
  return sheet;
});

/** @param {Blob} blob an image file */
async function pixels(blob) {
  const bitmap = await createImageBitmap(blob, { colorSpaceConversion: "none" });
  const { width, height } = bitmap;
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context) throw new Error("The browser cannot draw pictures");
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  return context.getImageData(0, 0, width, height);
}

/** A run has these sheets. @param {Pick<Report, "sheets">} report */
export function expectSheets({ sheets = [] }) {
  for (const file of sheets) runs.set(file, sheets);
}

/**
 * The sheet, now or later. The first sheet of a run is fetched alone; with the second, because the reader looks around, the
 * others follow.
 * @param {string} file
 */
function sheetOf(file) {
  const known = here.get(file);
  if (known) return known;
  const others = (runs.get(file) ?? []).filter((other) => other !== file);
  const first = !others.some((other) => here.has(other));
  const loading = load(file);
  if (!first) void loading.then(() => Promise.all(others.map(load))).catch(() => {});
  return loading;
}

/**
 * Images of a report: here, or a promise of them.
 * @param {Report["shape"]} shape
 * @param {string} images base64 (one byte per value, rows × columns × channels), or where they are in a sheet
 * @returns {Pictures | Promise<Pictures>}
 */
export function loadImages(shape, images) {
  const place = placeOf(images);
  if (!place) {
    const bytes = atob(images);
    const { width, height, channels } = shape;
    return { width, height, rgba: toRgba(bytes.length, channels, (i) => bytes.charCodeAt(i)) };
  }
  const sheet = sheetOf(place.file);
  return sheet instanceof Promise ? sheet.then((sheet) => cut(shape, sheet, place)) : cut(shape, sheet, place);
}

/**
 * Where images are in a sheet; undefined if they are in the report itself. Base64 has neither of these signs.
 * @param {string} images
 */
export function placeOf(images) {
  const [, file, first, count] = /^([^#]+\.[a-z]+)#(\d+),(\d+)$/.exec(images) ?? [];
  return file === undefined ? undefined : { file, first: Number(first), count: Number(count) };
}

/**
 * Images of a sheet.
 * @param {Report["shape"]} shape
 * @param {Sheet} sheet
 * @param {{file: string, first: number, count: number}} place
 * @returns {Pictures}
 */
export function cut({ width, height }, sheet, { file, first, count }) {
  const columns = Math.floor(sheet.width / width);
  if (columns * Math.floor(sheet.height / height) < first + count) {
    throw {
      kind: "BadInput",
      message: `The pictures “${file}” are not those of the report`,
      hint: "Load the page again.",
    };
  }
  const rgba = new Uint8ClampedArray(4 * width * height * count);
  for (let i = 0; i < count; i++) {
    const [column, row] = [(first + i) % columns, Math.floor((first + i) / columns)];
    for (let y = 0; y < height; y++) {
      const start = 4 * ((row * height + y) * sheet.width + column * width);
      rgba.set(sheet.data.subarray(start, start + 4 * width), 4 * width * (i * height + y));
    }
  }
  return { width, height, rgba };
}
