/**
 * A run as one zip file: all that is needed to read it, to cite it, to run it again, and to see it again on this page.
 *
 * @typedef {object} Archive
 * @property {RunOptions} options what the run was started with
 * @property {Report} report
 * @property {string} [date] when it was packed
 * @property {string} [link] where it can be repeated
 */
import { loadImages } from "../reports/sheets.js";
import { drawGrid, pictureCount } from "../ui/images.js";
import { parseReport, trained } from "../reports/report.js";
import { readZip, writeZip } from "./zip.js";
import { toFailure } from "../engine/protocol.js";
import { DENOISERS, FITTED } from "../reports/denoisers.js";
import { isRepeatable, runLink } from "../state/permalink.js";
import { element } from "../ui/dom.js";
import { save } from "./save.js";

/**
 * @import { Agreement, Point } from "../../pkg/hidden_gaussian.js"
 * @import { RunOptions } from "../engine/protocol.js"
 * @import { Report } from "../reports/report.js"
 * @import { Store } from "../state/store.js"
 */

/** Marks the manifest of an archive, so that any other zip is not mistaken for one. */
const MARK = "hidden-gaussian run";

const README = `A run of “The hidden Gaussian”, an interactive companion to Li, Dai and Qu (NeurIPS 2024).

manifest.json   what was run, by which version, on which engine and device, and a link that repeats it
config.json     the whole configuration; the command line repeats the run from it (--config)
report.json     everything that was measured, with standard errors
samples/        rows: samples of the network, the training image nearest to each, and the samples of the denoisers
                beside it from the same noise (${FITTED.map(({ label }) => label).join(", ")})
weights/        the networks, one safetensors file per ensemble
CITATION.bib    the paper

Drop the zip on the page to see the run again.
`;

/**
 * @param {Archive & {weights: Uint8Array[], citation: string}} run
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function packRun({ options, report, date, link, weights, citation }) {
  const { version, engine, adapter } = report;
  const device = { engine, adapter, threads: navigator.hardwareConcurrency, browser: navigator.userAgent };
  const samples = await Promise.all(
    pictured(report).map(async ({ name, point }) => ({
      name: `samples/${name}.png`,
      bytes: await samplesPng(report.shape, point),
    })),
  );
  return writeZip([
    text("manifest.json", json({ format: MARK, version, date, link, device, options })),
    text("config.json", json(report.config)),
    text("report.json", JSON.stringify(report)),
    text("CITATION.bib", `${citation}\n`),
    text("README.txt", README),
    ...samples,
    ...weights.map((bytes, i) => ({
      name: `weights/ensemble-${i + 1}.safetensors`,
      bytes: /** @type {Uint8Array<ArrayBuffer>} */ (bytes),
    })),
  ]);
}

/**
 * Open a zip that {@link packRun} made.
 * @param {File} file
 * @returns {Promise<Archive | undefined>} undefined when the file is something else
 */
export async function openRun(file) {
  if (!/\.zip$/i.test(file.name)) return undefined;
  const entries = await readZip(new Uint8Array(await file.arrayBuffer())).catch(() => []);
  /** @param {string} name @param {(json: string) => any} [parse] */
  const parsed = (name, parse = JSON.parse) => {
    const entry = entries.find((candidate) => candidate.name === name);
    return entry && parse(new TextDecoder().decode(entry.bytes));
  };
  try {
    const manifest = parsed("manifest.json");
    if (manifest?.format !== MARK) return undefined;
    const report = parsed("report.json", parseReport);
    if (!report?.findings || !manifest.options) throw new SyntaxError();
    return { options: manifest.options, report, date: manifest.date, link: manifest.link };
  } catch (thrown) {
    const { kind, message, hint } = toFailure(thrown);
    // An older format says so itself.
    if (kind === "BadInput") throw { kind, message: `“${file.name}” cannot be opened. ${message}`, hint };
    throw {
      kind: "BadInput",
      message: `The run in “${file.name}” cannot be read`,
      hint: "Save it again where it was made.",
    };
  }
}

/**
 * What the archive of a run is called: what one changes most often is in it.
 * @param {RunOptions} options
 * @param {Pick<Report, "config">} [report]
 */
export function archiveName({ experiment, preset, data, seed }, report) {
  const { architecture, steps } = report?.config.train ?? {};
  const network = architecture ? `-${architecture.kind}-width-${architecture.width}-steps-${steps}` : "";
  return `${experiment}-${preset}-${data.set}${network}-seed-${seed}.zip`;
}

/**
 * The networks of a report that have pictures, with names for their files. Of several seeds only the first may have them.
 * @param {Report} report
 * @returns {{name: string, point: Point}[]}
 */
export function pictured(report) {
  return named(report).filter(({ point }) => trained(point).samples);
}

/** @param {Report} report @returns {{name: string, point: Point}[]} */
function named({ experiment, findings }) {
  /** @param {Point} point */
  const atStep = ({ n, seed, step, architecture }) => `n-${n}-width-${architecture.width}-step-${step}-seed-${seed}`;
  switch (experiment) {
    case "strong-generalization":
      return findings.flatMap((/** @type {Agreement} */ { n, networks }) =>
        networks.map((point, half) => ({ name: `n-${n}-half-${half + 1}`, point })),
      );
    case "emergence":
      // A network may be in both lists.
      return [
        ...findings.overWidth.map((/** @type {Point} */ point) => ({ name: `over-width/${atStep(point)}`, point })),
        ...findings.overTime.map((/** @type {Point} */ point) => ({ name: `over-time/${atStep(point)}`, point })),
      ];
    case "clocks":
    case "modes":
      // Many looks, and no pictures.
      return [];
    default:
      return findings.map((/** @type {Point} */ point) => ({ name: `n-${point.n}-seed-${point.seed}`, point }));
  }
}

/**
 * Samples of the network, the training images nearest to them, and the samples of the denoisers beside it, row by row.
 * @param {Report["shape"]} shape
 * @param {Point} point
 */
async function samplesPng(shape, { denoisers }) {
  const images = DENOISERS.flatMap(({ id }) => [denoisers[id]?.samples ?? [], denoisers[id]?.nearest ?? []].flat());
  const rows = await Promise.all(images.map((row) => loadImages(shape, row)));
  const rgba = new Uint8ClampedArray(rows.reduce((sum, row) => sum + row.rgba.length, 0));
  rows.forEach((row, i) => rgba.set(row.rgba, i * rows[0].rgba.length));
  const canvas = document.createElement("canvas");
  drawGrid(canvas, { width: shape.width, height: shape.height, rgba }, pictureCount(rows[0]));
  /** @type {Blob} */
  const blob = await new Promise((resolve, reject) =>
    canvas.toBlob((made) => (made ? resolve(made) : reject(new Error("The samples could not be drawn")))),
  );
  return new Uint8Array(await blob.arrayBuffer());
}

/** @param {string} name @param {string} contents */
const text = (name, contents) => ({ name, bytes: new TextEncoder().encode(contents) });

/** @param {unknown} value */
const json = (value) => `${JSON.stringify(value, null, 2)}\n`;

/**
 * Hand a run to the reader as one file.
 * @param {Store} store
 * @param {{options: RunOptions, report?: Report}} run
 * @param {Uint8Array[]} weights
 */
export async function saveRun(store, { options, report }, weights) {
  if (!report?.final) throw { kind: "BadInput", message: "The run is not done", hint: "Save it when it is." };
  const citation = element(document, "bibtex").textContent ?? "";
  const link = isRepeatable(options) ? runLink(store, options, report) : undefined;
  const facts = { options, report, date: new Date().toISOString(), link, weights, citation };
  save(archiveName(options, report), await packRun(facts));
}
