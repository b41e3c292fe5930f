/**
 * Links that carry a run: what was run, and what came out, so that whoever opens one can run it again and see
 * whether the numbers match.
 *
 *
 * @typedef {{engine: string, checksum: string, numbers: number[]}} Expected what came out where the link was made
 * @typedef {{label: string, value: number}} Headline
 * @typedef {{
 *   verdict: "identical" | "agrees" | "differs",
 *   rows: {label: string, expected: number, found: number}[],
 *   largest: number,
 * }} Match
 */
import EXPERIMENT_TABLE from "../tables/experiments.json" with { type: "json" };
import PRESET_TABLE from "../tables/presets.json" with { type: "json" };
import { clockNumbers } from "../reports/clocks.js";
import { modeNumbers } from "../reports/modes.js";
import { isPageSet } from "./data-sets.js";
import { cosineWith, memorized, trained } from "../reports/report.js";

/**
 * @import { Agreement, ExperimentName, Point } from "../../pkg/hidden_gaussian.js"
 * @import { RunOptions } from "../engine/protocol.js"
 * @import { Preset, Report } from "../reports/report.js"
 * @import { Store } from "./store.js"
 */

/** How far the headline numbers, all of order one, may lie apart when the engines differ in their rounding. */
export const TOLERANCE = 0.05;

/**
 * The numbers that a run is known by: one set per size (averaged over seeds) or per network.
 * @param {Report} report
 * @returns {Headline[]}
 */
export function headline({ experiment, findings }) {
  if (experiment === "strong-generalization") {
    return /** @type {Agreement[]} */ (findings).map(({ n, cosine }) => ({
      label: `N = ${n}, cosine of the two networks`,
      value: cosine.mean,
    }));
  }
  if (experiment === "clocks") return clockNumbers(findings);
  if (experiment === "modes") return modeNumbers(findings);
  const points = experiment === "emergence" ? [...findings.overWidth, ...findings.overTime] : findings;
  /** @type {Map<string, Point[]>} */
  const groups = new Map();
  for (const point of /** @type {Point[]} */ (points)) {
    const width = experiment === "emergence" ? `, width ${point.architecture.width}, step ${point.step}` : "";
    const name = `N = ${point.n}${width}`;
    groups.set(name, [...(groups.get(name) ?? []), point]);
  }
  return [...groups].flatMap(([name, group]) => [
    { label: `${name}, GL score`, value: mean(group.map((point) => trained(point).closeness.gl.mean)) },
    { label: `${name}, copies`, value: mean(group.map((point) => memorized(point).mean)) },
    {
      label: `${name}, cosine with D_G’s samples`,
      value: mean(group.map((point) => cosineWith(point, "gaussian")?.mean ?? NaN)),
    },
  ]);
}

/** @param {number[]} values */
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * A link to a run: opened, it offers to repeat it.
 * @param {Store} store
 * @param {RunOptions} options
 * @param {Report} [report]
 */
export function runLink(store, options, report) {
  // The report names the images as they were really made.
  const data = report?.data ?? options.data;
  return store.link({ ...toLink({ ...options, data }, report), figure: "" }, "linked-run");
}

/** Whether others can make the same images: the reader's own never leave the machine. @param {RunOptions} options */
export const isRepeatable = ({ data, own }) => !own && isPageSet(data.set);

/**
 * The query of a link to this run.
 * @param {RunOptions} options
 * @param {Report} [report] what came out, once it is final
 * @returns {Record<"run" | "run.config" | "run.expect", string>}
 */
export function toLink({ experiment, preset, data, seed, config }, report) {
  const { set, size, count, heldOut } = data;
  return {
    run: [experiment, preset, seed, set, size, data.seed, count, heldOut].join("_"),
    "run.config": config && Object.keys(config).length > 0 ? JSON.stringify(config) : "",
    "run.expect": report?.final
      ? [report.engine, checksum(report.findings), ...headline(report).map(({ value }) => precise(value))].join("_")
      : "",
  };
}

/**
 * Read such a link.
 * @param {Record<"run" | "run.config" | "run.expect", string>} values
 * @returns {{options: RunOptions, expected: Expected | undefined} | undefined} undefined: the link carries no run, or
 *   one that this page cannot read
 */
export function fromLink(values) {
  const match = RUN.exec(values.run);
  if (!match) return undefined;
  const [, experiment, preset, seed, set, size, dataSeed, count, heldOut] = match;
  let config;
  try {
    config = values["run.config"] ? JSON.parse(values["run.config"]) : undefined;
  } catch {
    return undefined;
  }
  const [engine, sum, ...numbers] = values["run.expect"].split("_");
  return {
    options: {
      experiment: /** @type {ExperimentName} */ (experiment),
      preset: /** @type {Preset} */ (preset),
      seed: Number(seed),
      data: { set, size: Number(size), seed: Number(dataSeed), count: Number(count), heldOut: Number(heldOut) },
      config,
    },
    expected: engine ? { engine, checksum: sum, numbers: numbers.map(Number) } : undefined,
  };
}

/** How `run` is written: experiment, preset, seed, and the data with its size, seed, count and held-out count. */
export const RUN = new RegExp(
  `^(${EXPERIMENT_TABLE.map(({ name }) => name).join("|")})_(${Object.keys(PRESET_TABLE.transition).join("|")})_` +
    "(\\d{1,16})_([a-z0-9]+)_(\\d{1,3})_(\\d{1,16})_(\\d{1,7})_(\\d{1,7})$",
);
/** `run` may also be a file of reports, at an address relative to the page. */
export const RUN_FILE = /^(?!\/)[\w.~%/-]{1,200}\.(json|zip)$/;
/** How `run.expect` is written: engine, checksum, numbers. */
export const EXPECT = /^(cpu|gpu)_[0-9a-f]{8}(_(NaN|-?[\d.]+(e-?\d+)?))*$/;

/**
 * Whether a run came out as it did where the link was made.
 * @param {Expected} expected
 * @param {Report} report
 * @returns {Match}
 */
export function compare(expected, report) {
  const rows = headline(report).map(({ label, value }, i) => ({ label, expected: expected.numbers[i], found: value }));
  const largest = Math.max(0, ...rows.map((row) => Math.abs(row.expected - row.found)));
  // What is not a number matches nothing.
  const complete = rows.length === expected.numbers.length && !Number.isNaN(largest);
  if (complete && expected.engine === report.engine && expected.checksum === checksum(report.findings))
    return { verdict: "identical", rows, largest };
  return { verdict: complete && largest <= TOLERANCE ? "agrees" : "differs", rows, largest };
}

/** FNV-1a over all findings, so that “the same” can mean every digit. @param {unknown} findings */
function checksum(findings) {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(JSON.stringify(findings))) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/** @param {number} value */
const precise = (value) => String(Number(value.toPrecision(5)));
