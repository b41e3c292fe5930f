/** Where a report comes from, in words. */
import { duration, sentences } from "../ui/format.js";
import { divergenceSentence } from "./divergence.js";

/** @import { Report } from "./report.js" */

/**
 * How a report came about, in a sentence or two.
 * @param {Report} report
 * @param {string} [file] the file that it was opened from
 */
export const provenance = (report, file) => sentences(origin(report, file), divergenceSentence(report));

/**
 * Where a report comes from, in one word.
 * @param {Report} report
 * @param {string} [file]
 * @returns {"file" | "here" | "recorded"}
 */
export const originOf = ({ record }, file) => (file ? "file" : record ? "recorded" : "here");

/** @param {Report} report @param {string} [file] */
function origin(report, file) {
  const { record, final, engine, adapter, seconds } = report;
  const where = engine === "gpu" ? `GPU (${adapter})` : "CPU";
  if (file) return `From the file ${file}: trained on a ${where} in ${duration(seconds)}.`;
  if (!record)
    return `${final ? "Trained" : "Training"} here, on your ${where}: ${duration(seconds)}${final ? "" : " so far"}.`;
  return `Recorded on ${record.date.slice(0, 10)} in ${duration(seconds)} (${record.device}).`;
}
