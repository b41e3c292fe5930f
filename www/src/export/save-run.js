/** Handing a run to the reader as one file. */
import { element } from "../ui/dom.js";
import { isRepeatable, runLink } from "../state/permalink.js";
import { archiveName, packRun } from "./archive.js";
import { save } from "./save.js";

/**
 * @import { RunOptions } from "../engine/protocol.js"
 * @import { Report } from "../reports/report.js"
 * @import { Store } from "../state/store.js"
 */

/**
 * @param {Store} store
 * @param {{options: RunOptions, report?: Report}} run
 * @param {Uint8Array[]} weights
 */
export async function saveRun(store, { options, report }, weights) {
  if (!report?.final) throw { kind: "BadInput", message: "The run is not done", hint: "Save it when it is." };
  const citation = element(document, "bibtex").textContent ?? "";
  const link = isRepeatable(options) ? runLink(store, options, report) : undefined;
  const facts = { options, report, date: new Date().toISOString(), link, weights, citation };
  save(archiveName(options), await packRun(facts));
}
