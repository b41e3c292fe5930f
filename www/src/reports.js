/** Reports on the screen: a recorded run at first, and the reader's own once it has something to show. */
import { make } from "./dom.js";
import { toFailure } from "./engine/protocol.js";
import { NEAR, showFailure } from "./figure.js";
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
 * A figure that draws reports: it fetches them when it is near the screen, and draws again when its parameters or the
 * report change. Errors show in its own place.
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
  const errors = make("div", { className: "figure-error", role: "alert", hidden: true });
  root.append(errors);
  let near = false;
  let stale = true;
  let wishes = 0;

  const update = async () => {
    stale = true;
    const wish = ++wishes;
    if (!near) return;
    stale = false;
    root.setAttribute("aria-busy", "true");
    try {
      const report = await source.report();
      // A newer wish may have been granted first.
      if (wish !== wishes) return;
      errors.hidden = true;
      draw(report, page.store.values);
      showReport(root, report, source.run);
      root.setAttribute("data-ready", "");
    } catch (thrown) {
      if (wish !== wishes) return;
      showFailure(errors, toFailure(thrown), update);
    }
    root.setAttribute("aria-busy", "false");
  };

  source.subscribe(update);
  page.store.subscribe(reads, update);
  new IntersectionObserver(
    ([entry]) => {
      near = entry.isIntersecting;
      if (near && stale) void update();
    },
    { rootMargin: NEAR },
  ).observe(root);
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
