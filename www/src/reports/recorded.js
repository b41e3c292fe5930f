/** Recorded runs: reports that the command line wrote (`hidden-gaussian record`), in the same form as those of live runs. */
import { parseReport } from "./report.js";

/**
 * @import { Pictures } from "../engine/protocol.js"
 * @import { ExperimentName, Preset, Report } from "./report.js"
 */

/** @type {Map<string, Promise<Report>>} */
const loading = new Map();

/**
 * The recorded run of this name, fetched once.
 * @param {string} name
 * @returns {Promise<Report>}
 */
export function loadRun(name) {
  let report = loading.get(name);
  if (!report) {
    report = fetchRun(name);
    loading.set(name, report);
    // A failure is not kept: the connection may come back.
    report.catch(() => loading.delete(name));
  }
  return report;
}

/**
 * @typedef {object} IndexEntry a recorded run, without its findings
 * @property {string} file
 * @property {ExperimentName} experiment
 * @property {Preset} preset
 * @property {string} data
 * @property {string} title
 * @property {number} bytes
 * @property {number} seconds
 * @property {string} version
 * @property {NonNullable<Report["record"]>} record
 */

/** What recorded runs there are. @returns {Promise<IndexEntry[]>} */
export const loadIndex = () => /** @type {Promise<any>} */ (loadRun("index"));

/** @param {string} name */
async function fetchRun(name) {
  const response = await fetch(new URL(`runs/${name}.json`, document.baseURI)).catch(() => undefined);
  if (!response?.ok) {
    throw {
      kind: "BadInput",
      message: `The recorded run “${name}” could not be fetched${response ? ` (HTTP ${response.status})` : ""}`,
      hint: "Check the connection and try again.",
    };
  }
  return parseReport(await response.text());
}

/**
 * The images of a report, ready to be drawn.
 * @param {Report["shape"]} shape
 * @param {string} base64 bytes, image after image, rows × columns × channels
 * @returns {Pictures}
 */
export function decodeImages({ width, height, channels }, base64) {
  const text = atob(base64);
  const rgba = new Uint8ClampedArray((4 * text.length) / channels);
  for (let pixel = 0; 4 * pixel < rgba.length; pixel++) {
    for (let c = 0; c < 3; c++) rgba[4 * pixel + c] = text.charCodeAt(channels * pixel + Math.min(c, channels - 1));
    rgba[4 * pixel + 3] = 255;
  }
  return { width, height, rgba };
}
