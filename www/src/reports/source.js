/** Reports on the screen: a recorded run at first, and the reader's own once it has something to show. */
import { loadIndex, loadRun } from "./recorded.js";

/**
 * @import { ExperimentName } from "../../pkg/hidden_gaussian.js"
 * @import { RunOptions } from "../engine/protocol.js"
 * @import { Key, Values } from "../state/parameters.js"
 * @import { Store } from "../state/store.js"
 * @import { Report } from "./report.js"
 */

/** @typedef {{options?: RunOptions, file?: string}} Origin what would run a report again, and the file that it was opened from */

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
  /** Where the live report comes from. @type {Origin} */
  origin = {};

  /**
   * @param {Store} store
   * @param {readonly Key[]} reads the parameters that choose the recorded run
   * @param {(values: Readonly<Values>) => string | Promise<string>} name of that run
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

  /** What the report on the screen came from; nothing is known of a recorded one. @returns {Origin} */
  get shownOrigin() {
    return this.shown === "live" ? this.origin : {};
  }

  /** Show the other of the two. */
  turn() {
    this.#aside = !this.#aside;
    for (const listener of this.#listeners) listener();
  }

  /** The recorded run, whatever is shown. @returns {Promise<Report<E>>} */
  async recorded() {
    return loadRun(await this.name());
  }

  /** What the recorded run of the reader's choice is called. @returns {Promise<string>} */
  async name() {
    return this.#name(this.#store.values);
  }

  /**
   * Show what a run found; undefined brings the recorded run back.
   * @param {Report<E> | undefined} report
   * @param {Origin} [origin] what it came from
   */
  show(report, origin = {}) {
    if (!report) this.#aside = false;
    this.#live = report;
    this.origin = report ? origin : {};
    for (const listener of this.#listeners) listener();
  }

  /** @param {() => void} listener called when there is another report to show */
  subscribe(listener) {
    this.#listeners.push(listener);
  }
}

/**
 * The reports of an experiment, of whose recorded runs a setting chooses one by its preset and images, such as `main-faces`.
 * @template {ExperimentName} E
 * @param {Store} store
 * @param {E} experiment
 * @param {Key} setting
 * @returns {ReportSource<E>}
 */
export const chosenRun = (store, experiment, setting) =>
  new ReportSource(store, [setting], (values) => `${experiment}-${values[setting]}`);

/**
 * The recorded run of an experiment on the images that another run is on, or else on faces.
 * @param {ExperimentName} experiment
 * @param {string} data the set that is wanted
 */
export async function runOn(experiment, data) {
  const names = (await loadIndex()).filter((run) => run.experiment === experiment);
  const found = names.find((run) => run.data === data) ?? names.find((run) => run.data === "faces");
  return found?.file.replace(/\.json$/, "") ?? `${experiment}-main-faces`;
}
