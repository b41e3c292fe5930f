/**
 * Reports that the command line wrote: of one experiment (`--json`), or of a whole sweep (`sweep merge`), which has a report
 * for each cell of its grid.
 */
import EXPERIMENT_TABLE from "../tables/experiments.json" with { type: "json" };
import { toFailure } from "../engine/protocol.js";
import { parseReport } from "../reports/report.js";

/**
 * @import { RunOptions } from "../engine/protocol.js"
 * @import { Report } from "../reports/report.js"
 */

/**
 * @typedef {object} Opened a run from a file
 * @property {RunOptions} options what would run it again
 * @property {Report} report
 * @property {string} [note] its place in the grid of a sweep
 */

/**
 * Open a file of reports.
 * @param {File} file
 * @returns {Promise<Opened[] | undefined>} undefined when the file is something else
 */
export async function openReports(file) {
  if (!/\.json$/i.test(file.name)) return undefined;
  /** @type {any} */
  let parsed;
  const text = await file.text();
  try {
    parsed = parseReport(text);
  } catch (thrown) {
    const { kind, message, hint } = toFailure(thrown);
    // Reports of other versions say so themselves.
    if (kind === "BadInput" && text.includes('"experiment"'))
      throw { kind, message: `“${file.name}” cannot be opened. ${message}`, hint };
    throw notReport(file);
  }
  const cells = parsed.experiment === "sweep" ? parsed.cells : [{ report: parsed }];
  if (!Array.isArray(cells) || cells.length === 0 || !cells.every(({ report }) => isReport(report)))
    throw notReport(file);
  return cells.map(({ axes, report }) => ({ options: optionsOf(report), report, note: place(axes) }));
}

/** @param {File} file */
const notReport = ({ name }) => ({
  kind: "BadInput",
  message: `“${name}” is not a report of this project`,
  hint: "Open what `hidden-gaussian sweep merge` or `--json` wrote.",
});

/** @param {any} report */
const isReport = (report) =>
  EXPERIMENT_TABLE.some(({ name }) => name === report?.experiment) &&
  report.findings !== undefined &&
  report.shape !== undefined &&
  report.data !== undefined &&
  report.config?.train !== undefined;

/**
 * What would run it again: its whole configuration, whatever the preset.
 * @param {Report} report
 * @returns {RunOptions}
 */
function optionsOf({ experiment, data, config }) {
  const { seed, seeds } = /** @type {{seed?: number, seeds?: number[]}} */ (config);
  return { experiment, preset: "quick", data, seed: seed ?? seeds?.[0] ?? 1, config };
}

/** The values on the axes of a grid, in words. @param {Record<string, unknown>} [axes] */
function place(axes) {
  const values = Object.entries(axes ?? {}).map(([axis, value]) => {
    const name = axis.split(".").at(-1) ?? axis;
    return `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`;
  });
  return values.length > 0 ? values.join(", ") : undefined;
}
