/** Reports on the screen: a recorded run at first, and the reader's own once it has something to show. */
import { keepDrawn } from "./figure.js";
import { showReport } from "./figure-tools.js";
import { duration } from "./format.js";
import { loadRun } from "./runs.js";

/**
 * @typedef {import("./parameters.js").Values} Values
 * @typedef {import("./parameters.js").Key} Key
 * @typedef {import("./report.js").ExperimentName} ExperimentName
 */

/**
 * Where the figures of one experiment take their report from.
 * @template {ExperimentName} E
 */
export class ReportSource {
  /** @type {(() => void)[]} */
  #listeners = [];
  /** @type {import("./report.js").Report<E> | undefined} */
  #live;
  #store;
  #name;
  /** The live run on the screen. @type {import("./run-panel.js").Run | undefined} */
  run;

  /**
   * @param {import("./store.js").Store} store
   * @param {readonly Key[]} reads the parameters that choose the recorded run
   * @param {(values: Readonly<Values>) => string} name of that run
   */
  constructor(store, reads, name) {
    this.#store = store;
    this.#name = name;
    if (reads.length > 0) store.subscribe(reads, () => this.show(undefined));
  }

  /** The report to show now. @returns {Promise<import("./report.js").Report<E>>} */
  async report() {
    return this.#live ?? loadRun(this.#name(this.#store.values));
  }

  /**
   * Show what a run found; undefined brings the recorded run back.
   * @param {import("./report.js").Report<E> | undefined} report
   * @param {import("./run-panel.js").Run} [run] that it came from
   */
  show(report, run) {
    this.#live = report;
    this.run = report && run;
    for (const listener of this.#listeners) listener();
  }

  /** @param {() => void} listener called when there is another report to show */
  subscribe(listener) {
    this.#listeners.push(listener);
  }
}

/**
 * A figure that draws reports, which are fetched when they are first asked for.
 * @template {ExperimentName} E
 * @param {HTMLElement} root
 * @param {import("./figure.js").Page} page
 * @param {ReportSource<E>} source
 * @param {{
 *   reads: readonly Key[],
 *   draw: (report: import("./report.js").Report<E>, values: Readonly<Values>) => void,
 * }} figure
 */
export function reportFigure(root, page, source, { reads, draw }) {
  const update = keepDrawn(root, page, {
    reads,
    ask: () => source.report(),
    draw(report) {
      draw(report, page.store.values);
      showReport(root, report, source.run);
    },
  });
  source.subscribe(update);
}

/**
 * How a report came about, in one sentence.
 * @param {import("./report.js").Report} report
 */
export function provenance({ record, final, engine, adapter, seconds }) {
  const where = engine === "gpu" ? `GPU (${adapter})` : "CPU";
  if (!record)
    return `${final ? "Trained" : "Training"} here, on your ${where}: ${duration(seconds)}${final ? "" : " so far"}.`;
  return `Recorded on ${record.date.slice(0, 10)} in ${duration(seconds)} (${record.device}).`;
}
