/** Recorded runs: reports that the command line wrote (`hidden-gaussian record`), in the same form as those of live runs. */
import { fetchFile } from "../engine/protocol.js";
import { once } from "./once.js";
import { parseReport } from "./report.js";
import { expectSheets } from "./sheets.js";

/**
 * @import { ExperimentName } from "../../pkg/hidden_gaussian.js"
 * @import { Preset, Report } from "./report.js"
 */

/**
 * @typedef {object} IndexEntry a recorded run, without its findings
 * @property {string} file
 * @property {ExperimentName | "edge" | "league"} experiment the last two run only on the command line
 * @property {Preset} preset
 * @property {string} data
 * @property {string} title
 * @property {number} bytes with its pictures
 * @property {number} seconds
 * @property {string} version
 * @property {NonNullable<Report["record"]>} record
 */

/** The recorded run of this name. @type {(name: string) => Promise<Report>} */
export const loadRun = once(async (name) => {
  const report = parseReport(await fetchJson(name));
  expectSheets(report);
  return report;
});

/** What recorded runs there are. @type {() => Promise<IndexEntry[]>} */
export const loadIndex = /** @type {any} */ (once(async () => JSON.parse(await fetchJson("index"))));

/** @param {string} name */
async function fetchJson(name) {
  const file = await fetchFile(new URL(`runs/${name}.json`, document.baseURI), `The recorded run “${name}”`);
  return file.text();
}
