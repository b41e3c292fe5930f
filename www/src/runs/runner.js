/** All runs of the page: started, resumed, and moved from engine to engine. */
import { estimate, gigaflop } from "./estimate.js";
import { Run } from "./run.js";
import { openPromise } from "./timing.js";

/**
 * @import { EngineInfo, OwnImages, RunOptions } from "../engine/protocol.js"
 * @import { EngineChoice } from "../state/parameters.js"
 * @import { RunnerDeps } from "./run.js"
 * @import { SavedRun } from "./storage.js"
 */

/**
 * @typedef {Pick<SavedRun, "id" | "options" | "date" | "engine" | "state" | "progress" | "report" | "file" | "note">} SavedRunInfo
 */

/**
 * How many workers a run may have on the CPU engine: each takes a core, and memory that a phone has less of. Browsers that do
 * not tell their memory are trusted with a worker per core.
 * @param {{hardwareConcurrency: number, deviceMemory?: number}} device `deviceMemory`: in GB
 */
export const workersFor = ({ hardwareConcurrency, deviceMemory = Number.POSITIVE_INFINITY }) =>
  Math.max(1, Math.min(hardwareConcurrency, Math.floor(deviceMemory)));

/** Starts runs, and holds them. A `run` event announces each that was started or resumed. */
export class Runner extends EventTarget {
  #deps;
  /** @type {Map<string, Run>} */
  #runs = new Map();
  /** What the browser had saved when it was last asked. @type {Promise<SavedRunInfo[]> | undefined} */
  #saved;

  /** The speeds of the engines, once they were measured. @type {EngineInfo["rates"]} */
  #rates = {};
  /** What runs of this visit reached, in 10⁹ operations per second. @type {Partial<Record<"cpu" | "gpu", number>>} */
  #reached = {};

  /** The reader's own images, for runs on those. @type {OwnImages | undefined} */
  own;

  /** @param {RunnerDeps} deps */
  constructor(deps) {
    super();
    this.#deps = deps;
  }

  /** @param {RunOptions} options */
  start(options, own = this.own) {
    if (options.own && !own)
      throw { kind: "BadInput", message: "Your own images are no longer loaded", hint: "Choose the files again." };
    // Sortable by time, and unlike any other.
    const id = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`;
    const over = openPromise();
    void this.#hold(id, over.promise);
    return this.#add(new Run(this.#deps, { id, options, own, date: new Date() }), over);
  }

  /**
   * How long a run would take here, about.
   * @param {RunOptions} options
   * @returns {Promise<{seconds: number, engine: "cpu" | "gpu"} | undefined>} undefined when nobody knows
   */
  async estimate(options) {
    const { cores } = this.#deps;
    const choice = this.#deps.choice();
    // Not beside a run, which would make the engine look slow.
    const isBusy = [...this.#runs.values()].some(({ state }) => state === "preparing" || state === "running");
    if (!isBusy && (choice === "auto" || this.#rates[choice] === undefined))
      this.#rates = { ...this.#rates, ...(await this.#deps.measure(choice).catch(() => ({}))) };
    return estimate(options, { cores, choice, rates: this.#rates, reached: this.#reached });
  }

  /** The same run once more, from the beginning. @param {Run} run */
  restart({ options, own }) {
    return this.start(options, own);
  }

  /** The runs of earlier visits that this browser has saved, the latest first. @returns {Promise<SavedRunInfo[]>} */
  async saved() {
    this.#saved ??= this.#list();
    const saved = await this.#saved;
    // Runs of this page come as `run` events.
    return saved.filter(({ id }) => !this.#runs.has(id));
  }

  /** Read once for all who ask: a record is large. @returns {Promise<SavedRunInfo[]>} */
  async #list() {
    const saved = await this.#deps.storage.list().catch(() => {
      this.#saved = undefined;
      return [];
    });
    return saved.map(({ id, options, date, engine, state, progress, report, file, note }) => ({
      id,
      options,
      date,
      engine,
      state,
      progress,
      report,
      file,
      note,
    }));
  }

  /**
   * Keep a run that was opened from a file, so that it is there on the next visit.
   * @param {Required<Pick<SavedRun, "id" | "options" | "report" | "file">> & Pick<SavedRun, "note">} opened
   * @returns {Promise<boolean>} false if the browser refuses
   */
  async keep({ id, options, report, file, note }) {
    const { engine, seconds } = report;
    const nothing = { plan: { total: 0, shards: 0 }, shards: [], progress: { step: 0, total: 0 } };
    const record = { id, options, report, file, note, engine, seconds, date: new Date(), state: "done", ...nothing };
    try {
      await this.#deps.storage.put(/** @type {any} */ (record));
      this.#saved = undefined;
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Resume a saved run where it stopped; one that is done comes back with its report.
   * @param {string} id
   * @returns {Promise<Run>}
   */
  async resumeSaved(id) {
    const known = this.#going(id);
    if (known) return known;
    const saved = await this.#deps.storage.get(id);
    if (!saved) throw { kind: "BadInput", message: "This run is no longer saved", hint: "Start it again." };
    const over = openPromise();
    const free = saved.state === "done" || (await this.#hold(id, over.promise));
    // Another request for the same may have been faster.
    const going = this.#going(id);
    if (!going && free) return this.#add(new Run(this.#deps, saved), over);
    over.resolve();
    if (going) return going;
    throw {
      kind: "BadInput",
      message: "This run is under way in another tab",
      hint: "Resume it there, or close that tab.",
    };
  }

  /**
   * Let no other tab resume a run, where the browser can see to that.
   * @param {string} id
   * @param {Promise<void>} over when another may
   * @returns {Promise<boolean>} whether no other has it
   */
  #hold(id, over) {
    const { locks } = this.#deps;
    return new Promise((resolve) => {
      if (!locks) return resolve(true);
      const held = locks.request(`run ${id}`, { ifAvailable: true }, (lock) => {
        resolve(lock !== null);
        return lock ? over : undefined;
      });
      // A browser that refuses does not see to it.
      held.catch(() => resolve(true));
    });
  }

  /** The run, if this page has it and it did not fail. @param {string} id */
  #going(id) {
    const run = this.#runs.get(id);
    return run?.state === "failed" ? undefined : run;
  }

  /** @param {string} id */
  async forget(id) {
    const run = this.#runs.get(id);
    this.#drop(id);
    run?.cancel();
    // One that is done may still have something to save.
    await (run ? run.forget() : this.#deps.storage.delete(id).catch(() => {}));
  }

  /** Move all runs to another engine. @param {EngineChoice} choice */
  switchEngine(choice) {
    for (const run of this.#runs.values()) run.switchEngine(choice);
  }

  /** It is no longer saved. @param {string} id */
  #drop(id) {
    this.#runs.delete(id);
    this.#saved = undefined;
  }

  /**
   * @param {Run} run
   * @param {ReturnType<typeof openPromise>} over to be resolved when it is
   */
  #add(run, over) {
    this.#runs.set(run.id, run);
    run.addEventListener("change", () => {
      if (run.state === "cancelled") this.#drop(run.id);
      if (run.state === "done") this.#learn(run);
      if (["done", "failed", "cancelled"].includes(run.state)) over.resolve();
    });
    // Whoever started it has it first.
    queueMicrotask(() => this.dispatchEvent(new CustomEvent("run", { detail: run })));
    return run;
  }

  /** The next estimate is from what this run took. @param {Run} run */
  #learn({ engine, options, report, recovery, speed }) {
    // One that failed on the way, or was slowed down, says little about the next; the reader's own images have any size.
    if (!engine || !report?.seconds || recovery || speed < 1 || options.own) return;
    this.#reached[engine] = gigaflop(options) / report.seconds;
  }
}
