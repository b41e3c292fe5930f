/**
 * Networks that diverged in training. What is measured of them is shown, and marked, but no sentence rests on it.
 *
 * @typedef {{status: Status} | {networks: {status: Status}[]}} Found a network, or several
 */
import { count } from "../ui/format.js";

/**
 * @import { FindingsOf, Status } from "../../pkg/hidden_gaussian.js"
 * @import { Report } from "./report.js"
 */

/** @param {readonly Found[]} found */
const statuses = (found) =>
  found.flatMap((one) => ("networks" in one ? one.networks : [one])).map(({ status }) => status);

/** When these networks diverged, in a few words; empty if none did. @param {readonly Found[]} found */
export function divergence(found) {
  const all = statuses(found);
  const steps = all.flatMap((status) => (status.name === "diverged" ? status.step : []));
  if (steps.length === 0) return "";
  const which = all.length > 1 ? `${steps.length} of ${all.length} ` : "";
  return `${which}diverged at step ${[...new Set(steps)].map(count).join(", ")}`;
}

/**
 * How many networks of a run diverged, as a sentence; empty if none did.
 * @param {Report} report
 */
export function divergenceSentence({ experiment, findings }) {
  const all = statuses(experiment === "emergence" ? latest(findings) : findings);
  const diverged = all.filter(({ name }) => name === "diverged").length;
  return diverged > 0 ? `${diverged} of ${count(all.length)} networks diverged (marked\u00a0×).` : "";
}

/**
 * Each network at its last checkpoint.
 * @param {FindingsOf["emergence"]} findings
 */
function latest({ overWidth, overTime }) {
  return [overWidth, overTime].flatMap((points) => {
    const networks = new Map();
    for (const point of points.toSorted((a, b) => a.step - b.step)) {
      networks.set([point.n, point.seed, point.architecture.width].join(), point);
    }
    return [...networks.values()];
  });
}

/** Whether something can be said of what was found: no network diverged, and all numbers are numbers. @param {Found} found */
export const isSound = (found) => statuses([found]).every(({ name }) => name === "learning") && !lacksNumbers(found);

/** Whether there is an estimate in it that is not a number. @param {any} value @returns {boolean} */
const lacksNumbers = (value) =>
  typeof value === "object" && value !== null && (Number.isNaN(value.mean) || Object.values(value).some(lacksNumbers));
