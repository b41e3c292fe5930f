/** The picture that other sites show beside a link to the page: the finding on photographs, from the recorded run. */
import { readFileSync } from "node:fs";
import { cut, placeOf } from "../src/reports/sheets.js";
import { decodeImage, encodePng } from "./image-files.js";

const RUNS = new URL("../public/runs/", import.meta.url);
const RUN = "transition-cifar-cifar10.json";
const [WIDTH, HEIGHT] = [1200, 630];
/** Samples side by side, for each of the two networks. */
const COLUMNS = 3;
/** Pixels of the picture between two samples, and between the networks. */
const GAP = 10;
const MIDDLE = 64;
/** Paper, and the colours of training set, network and Gaussian as in page.css. */
const PAPER = [253, 252, 250];
const ROWS = [
  { colour: [139, 135, 128], of: (/** @type {any} */ { denoisers }) => denoisers.trained.nearest },
  { colour: [0, 114, 178], of: (/** @type {any} */ { denoisers }) => denoisers.trained.samples },
  { colour: [230, 159, 0], of: (/** @type {any} */ { denoisers }) => denoisers.gaussian.samples },
];
const KEY = 10;

/** Few training images on the left, many on the right. */
export function preview() {
  const { shape, findings } = JSON.parse(readFileSync(new URL(RUN, RUNS), "utf8"));
  const sizes = findings.map((/** @type {any} */ { n }) => n);
  const networks = [Math.min(...sizes), Math.max(...sizes)].map((n) => findings[sizes.indexOf(n)]);
  const rgba = new Uint8ClampedArray(4 * WIDTH * HEIGHT);
  /** @param {number} x @param {number} y @param {number} width @param {number} height @param {number[]} colour */
  const fill = (x, y, width, height, colour) => {
    for (let row = y; row < y + height; row++)
      for (let column = x; column < x + width; column++) rgba.set([...colour, 255], 4 * (row * WIDTH + column));
  };
  fill(0, 0, WIDTH, HEIGHT, PAPER);
  const scale = Math.floor((HEIGHT - 4 * GAP) / ROWS.length / shape.height - 1 / 2);
  const side = scale * shape.width + GAP;
  const [panel, high] = [COLUMNS * side - GAP, ROWS.length * side - GAP];
  const left = Math.round((WIDTH - 2 * panel - MIDDLE) / 2);
  const top = Math.round((HEIGHT - high) / 2);
  networks.forEach((point, network) => {
    ROWS.forEach(({ colour, of }, row) => {
      const place = placeOf(of(point));
      if (!place) throw new Error(`${RUN} has no pictures`);
      const { rgba: samples } = cut(shape, decodeImage(readFileSync(new URL(place.file, RUNS))), place);
      const y = top + row * side;
      const start = left + network * (panel + MIDDLE);
      fill(start - 2 * KEY, y, KEY, side - GAP, colour);
      for (let i = 0; i < COLUMNS; i++) {
        for (let p = 0; p < shape.width * shape.height; p++) {
          const at = 4 * (i * shape.width * shape.height + p);
          const pixel = [...samples.subarray(at, at + 3)];
          const [px, py] = [p % shape.width, Math.floor(p / shape.width)];
          fill(start + i * side + px * scale, y + py * scale, scale, scale, pixel);
        }
      }
    });
  });
  return encodePng(WIDTH, HEIGHT, rgba);
}
