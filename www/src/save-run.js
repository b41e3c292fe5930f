/** Handing a run to the reader as one file. */
import { element } from "./dom.js";
import { isRepeatable, runLink } from "./permalink.js";
import { archiveName, packRun } from "./run-archive.js";
import { save } from "./save.js";

/**
 * @param {import("./store.js").Store} store
 * @param {{options: import("./permalink.js").RunOptions, report?: import("./report.js").Report}} run
 * @param {Uint8Array[]} weights
 */
export async function saveRun(store, { options, report }, weights) {
  if (!report?.final) throw { kind: "BadInput", message: "The run is not done", hint: "Save it when it is." };
  const citation = element(document, "bibtex").textContent ?? "";
  const link = isRepeatable(options) ? runLink(store, options, report) : undefined;
  const facts = { options, report, date: new Date().toISOString(), link, weights, citation };
  save(archiveName(options), await packRun(facts));
}
