/** Reports on the screen: a recorded run at first, and the reader's own once it has something to show. */
import { divergenceSentence } from "./divergence.js";
import { make } from "../ui/dom.js";
import { keepDrawn } from "../figures/figure.js";
import { showReport } from "../export/figure-tools.js";
import { duration, sentences } from "../ui/format.js";
import { fileOf } from "../export/archive.js";
import { loadRun } from "./recorded.js";

/**
 * @import { Page } from "../figures/figure.js"
 * @import { Run } from "../runs/run.js"
 * @import { Key, Values } from "../state/parameters.js"
 * @import { Store } from "../state/store.js"
 * @import { ExperimentName, Report } from "./report.js"
 */

/**
 * Where the figures of one experiment take their report from.
 * @template {ExperimentName} E
 */
export class ReportSource {
  /** @type {(() => void)[]} */
  #listeners = [];
  /** @type {Report<E> | undefined} */
  #live;
  /** Whether the reader wants to see the recorded run although there is a live one. */
  #aside = false;
  #store;
  #name;
  /** The live run on the screen. @type {Run | undefined} */
  run;

  /**
   * @param {Store} store
   * @param {readonly Key[]} reads the parameters that choose the recorded run
   * @param {(values: Readonly<Values>) => string} name of that run
   */
  constructor(store, reads, name) {
    this.#store = store;
    this.#name = name;
    if (reads.length > 0) store.subscribe(reads, () => this.show(undefined));
  }

  /** The report to show now. @returns {Promise<Report<E>>} */
  async report() {
    return (this.shown === "live" && this.#live) || this.recorded();
  }

  /** Which of two runs is shown; undefined when there is only the recorded one. @returns {"live" | "recorded" | undefined} */
  get shown() {
    return this.#live && (this.#aside ? "recorded" : "live");
  }

  /** Show the other of the two. */
  turn() {
    this.#aside = !this.#aside;
    for (const listener of this.#listeners) listener();
  }

  /** The recorded run, whatever is shown. @returns {Promise<Report<E>>} */
  recorded() {
    return loadRun(this.#name(this.#store.values));
  }

  /**
   * Show what a run found; undefined brings the recorded run back.
   * @param {Report<E> | undefined} report
   * @param {Run} [run] that it came from
   */
  show(report, run) {
    if (!report) this.#aside = false;
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
 * A figure that draws reports, which are fetched when they are first asked for. A live run is drawn over the recorded one.
 * @template {ExperimentName} E
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {ReportSource<E>} source
 * @param {{
 *   reads: readonly Key[],
 *   draw: (
 *     report: Report<E>,
 *     values: Readonly<Values>,
 *     recorded: Report<E> | undefined,
 *   ) => void,
 *   say?: (report: Report<E>, values: Readonly<Values>) => string,
 * }} figure `recorded`: the run to compare with, undefined when it is the one shown; `say`: what the reader has chosen, in one
 *   sentence
 */
export function reportFigure(root, page, source, { reads, draw, say }) {
  /** What the reader had chosen when the figure was last drawn. @type {string | undefined} */
  let before;
  const tellShown = runSwitch(root, page, source);
  const update = keepDrawn(root, page, {
    reads,
    async ask() {
      const { shown } = source;
      const report = await source.report();
      // Without the recorded run, the live one is shown alone.
      return { report, shown, recorded: shown === "live" ? await source.recorded().catch(() => undefined) : undefined };
    },
    draw({ report, shown, recorded }) {
      const { values } = page.store;
      draw(report, values, recorded);
      tellShown(shown);
      showReport(root, report, shown === "live" ? source.run : undefined);
      // A run speaks for itself, when it starts and when it ends; what it draws in between is not told.
      const choice = JSON.stringify(reads.map((key) => values[key]));
      if (say && before !== undefined && choice !== before) page.live.announce(say(report, values));
      before = choice;
    },
  });
  source.subscribe(update);
}

/**
 * The line that says which run a figure shows, once there are two, with the button that shows the other.
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {ReportSource<any>} source
 * @returns {(shown: ReportSource<any>["shown"]) => void}
 */
function runSwitch(root, page, source) {
  const words = make("span");
  const button = make("button", {
    type: "button",
    onclick() {
      source.turn();
      page.live.announce(source.shown === "live" ? "The new run is shown." : "The recorded run is shown.");
    },
  });
  const line = make("p", { className: "shown-run", hidden: true }, words, button);
  root.querySelector("figcaption")?.before(line);
  return (shown) => {
    line.hidden = !shown;
    words.textContent = shown === "live" ? "Shown: the new run." : "Shown: the recorded run.";
    button.textContent = shown === "live" ? "Show the recorded run" : "Show the new run";
  };
}

/**
 * How a report came about, in a sentence or two.
 * @param {Report} report
 */
export const provenance = (report) => sentences(origin(report), divergenceSentence(report));

/** @param {Report} report */
function origin(report) {
  const { record, final, engine, adapter, seconds } = report;
  const where = engine === "gpu" ? `GPU (${adapter})` : "CPU";
  const file = fileOf(report);
  if (file) return `From the file ${file}: trained on a ${where} in ${duration(seconds)}.`;
  if (!record)
    return `${final ? "Trained" : "Training"} here, on your ${where}: ${duration(seconds)}${final ? "" : " so far"}.`;
  return `Recorded on ${record.date.slice(0, 10)} in ${duration(seconds)} (${record.device}).`;
}
