/** What a reader can send us of the checks on their machine: plain text, or an issue that is filled in with it. */
import { significant } from "../ui/format.js";

/**
 * @import { Check, EngineInfo } from "../../pkg/hidden_gaussian.js"
 *
 * @typedef {object} CheckedEngine
 * @property {"cpu" | "gpu"} engine
 * @property {EngineInfo} [info] undefined if it could not be opened
 * @property {Check[]} checks
 * @property {string} [problem] why it was not checked to the end
 *
 * @typedef {object} SelfCheck
 * @property {CheckedEngine[]} engines
 * @property {EngineInfo["rates"]} rates of one layer of the page's networks, in GFLOP/s
 * @property {string} browser its own words
 * @property {string} system
 * @property {string} device cores, memory and screen, as far as the browser tells
 */

/** GitHub refuses longer addresses. */
const LONGEST_ADDRESS = 8000;

/** @param {Navigator} navigator @param {Window} window @returns {Pick<SelfCheck, "browser" | "system" | "device">} */
export function describeDevice(navigator, { screen, devicePixelRatio }) {
  const { userAgentData, deviceMemory } = /** @type {{userAgentData?: {platform: string}, deviceMemory?: number}} */ (
    navigator
  );
  return {
    browser: navigator.userAgent,
    system: userAgentData?.platform || navigator.platform,
    device: [
      `${navigator.hardwareConcurrency} cores`,
      ...(deviceMemory ? [`${deviceMemory} GB of memory or more`] : []),
      `${screen.width} × ${screen.height} px at ${significant(devicePixelRatio, 2)}×`,
    ].join(", "),
  };
}

/** The whole of it. @param {SelfCheck} report */
export function selfCheckText({ engines, rates, browser, system, device }) {
  return [
    `Browser: ${browser}`,
    `System: ${system}`,
    `Device: ${device}`,
    ...engines.flatMap((one) => ["", headline(one, rates), ...one.checks.map(checkLine)]),
  ].join("\n");
}

/**
 * A new issue, filled in; the reader sends it, or does not.
 * @param {string} repository
 * @param {SelfCheck} report
 */
export function issueAddress(repository, report) {
  const { engines, rates, browser, system } = report;
  const failed = engines.flatMap(({ checks }) => checks).filter(({ holds }) => !holds);
  const adapter = engines.find(({ engine }) => engine === "gpu")?.info?.adapter ?? "no GPU";
  /** @param {string} result */
  const address = (result) =>
    `${repository.replace(/\/+$/, "")}/issues/new?${new URLSearchParams({
      template: "self-check.yml",
      title: `Self-check: ${failed.length > 0 ? `${failed.length} fail` : "all hold"} on ${adapter}`,
      result,
      adapter,
      browser,
      system,
    })}`;
  const whole = address(selfCheckText(report));
  if (whole.length <= LONGEST_ADDRESS) return whole;
  const heads = engines.map((one) => headline(one, rates));
  return address([...heads, ...failed.map(checkLine)].join("\n"));
}

/** @param {CheckedEngine} checked @param {SelfCheck["rates"]} rates */
function headline({ engine, info, checks, problem }, rates) {
  const rate = rates[engine];
  const holding = checks.filter(({ holds }) => holds).length;
  return [
    `${engine.toUpperCase()} engine${info ? ` (${info.adapter}${info.software ? ", software" : ""})` : ""}: ${holding} of ${checks.length} checks hold`,
    ...(rate === undefined ? [] : [`${significant(rate, 3)} GFLOP/s`]),
    ...(problem ? [problem] : []),
  ].join("; ");
}

/** @param {Check} check */
const checkLine = ({ name, error, tolerance, holds }) =>
  `${holds ? "ok" : "FAILS"}  ${name}: error ${short(error)}, tolerance ${short(tolerance)}`;

/** @param {number} value */
const short = (value) => (value === 0 ? "0" : value.toExponential(2));
