/** A run from its shards, which never meet. */

/** @import { Report } from "../reports/report.js" */

/**
 * Where a run is that has these shards, in steps of the longest.
 * @param {{step: number, total: number}[]} shards
 */
export function position(shards) {
  const sum = (/** @type {"step" | "total"} */ name) => shards.reduce((all, shard) => all + shard[name], 0);
  const total = Math.max(...shards.map((shard) => shard.total));
  return { step: Math.round((total * sum("step")) / Math.max(1, sum("total"))), total };
}

/**
 * The report of a run from those of its shards, whose findings follow one another.
 * @param {Report[]} reports
 * @param {any} config of the whole run
 * @param {number} seconds of the whole run
 * @returns {Report}
 */
export function mergeReports(reports, config, seconds) {
  const parts = reports.map(({ findings }) => findings);
  const findings = Array.isArray(parts[0])
    ? parts.flat()
    : Object.fromEntries(Object.keys(parts[0]).map((name) => [name, parts.flatMap((part) => part[name])]));
  return { ...reports[0], config, seconds, final: reports.every((report) => report.final), findings };
}
