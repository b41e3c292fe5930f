/**
 * A run as one zip file: all that is needed to read it, to cite it, to run it again, and to see it again on this page.
 *
 *
 * @typedef {object} Archive
 * @property {RunOptions} options what the run was started with
 * @property {Report} report
 * @property {string} [date] when it was packed
 * @property {string} [link] where it can be repeated
 */
import { drawGrid, pictureCount } from "../ui/images.js";
import { parseReport } from "../reports/report.js";
import { decodeImages } from "../reports/recorded.js";
import { readZip, writeZip } from "./zip.js";

/**
 * @import { RunOptions } from "../engine/protocol.js"
 * @import { Agreement, Gallery, Report, Sitting } from "../reports/report.js"
 */

/** Marks the manifest of an archive, so that any other zip is not mistaken for one. */
const FORMAT = "hidden-gaussian run";

const README = `A run of “The hidden Gaussian”, an interactive companion to Li, Dai and Qu (NeurIPS 2024).

manifest.json   what was run, by which version, on which engine and device, and a link that repeats it
config.json     the whole configuration; the command line repeats the run from it (--config)
report.json     everything that was measured, with standard errors
samples/        rows: samples of the network, the training image nearest to each, and the samples of the Gaussian
                and of the empirical denoiser from the same noise
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
    galleries(report).map(async ({ name, gallery }) => ({
      name: `samples/${name}.png`,
      bytes: await galleryPng(report.shape, gallery),
    })),
  );
  return writeZip([
    text("manifest.json", json({ format: FORMAT, version, date, link, device, options })),
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

/** The files that reports were opened from. @type {WeakMap<Report, string>} */
const opened = new WeakMap();

/** The name of the file that a report was opened from, if it was. @param {Report} report */
export const fileOf = (report) => opened.get(report);

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
    if (manifest?.format !== FORMAT) return undefined;
    const report = parsed("report.json", parseReport);
    if (!report?.findings || !manifest.options) throw new SyntaxError();
    opened.set(report, file.name);
    return { options: manifest.options, report, date: manifest.date, link: manifest.link };
  } catch {
    throw { kind: "BadInput", message: `The run in “${file.name}” cannot be read`, hint: "Save it again where it was made." };
  }
}

/** What the archive of a run is called. @param {RunOptions} options */
export const archiveName = ({ experiment, preset, data, seed }) => `${experiment}-${preset}-${data.set}-seed-${seed}.zip`;

/**
 * The galleries of a report, by network.
 * @param {Report} report
 * @returns {{name: string, gallery: Gallery}[]}
 */
export function galleries({ experiment, findings }) {
  if (experiment === "strong-generalization") {
    return findings.flatMap((/** @type {Agreement} */ { n, galleries }) =>
      galleries.map((gallery, half) => ({ name: `n-${n}-half-${half + 1}`, gallery })),
    );
  }
  /** @param {Sitting[]} points @param {string} [prefix] */
  const named = (points, prefix = "") =>
    points.flatMap(({ n, seed, step, architecture, gallery }) =>
      // Of several seeds only the first may have its pictures kept.
      gallery ? [{ name: `${prefix}n-${n}${architecture ? `-width-${architecture.width}-step-${step}` : ""}-seed-${seed}`, gallery }] : [],
    );
  if (experiment !== "emergence") return named(findings);
  // A network may be in both lists.
  return [...named(findings.overWidth, "over-width/"), ...named(findings.overTime, "over-time/")];
}

/**
 * @param {Report["shape"]} shape
 * @param {Gallery} gallery
 */
async function galleryPng(shape, gallery) {
  const rows = [gallery.samples, gallery.nearest, gallery.gaussian, gallery.empirical].map((images) => decodeImages(shape, images));
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
