/** All runs of the page: started, taken up again, and moved from engine to engine. */
import { Run } from "./run.js";
import { openPromise } from "./timing.js";

/**
 * @import { OwnImages, RunOptions } from "../engine/protocol.js"
 * @import { EngineChoice } from "../state/parameters.js"
 * @import { Surroundings } from "./run.js"
 * @import { KeptRun } from "./storage.js"
 */

/**
 * @typedef {Pick<KeptRun, "id" | "options" | "date" | "engine" | "state" | "progress" | "report">} SavedRun
 */

/** Starts runs, and keeps them. A `run` event tells of each that is there anew: started, or taken up again. */
export class Runner extends EventTarget {
  #surroundings;
  /** @type {Map<string, Run>} */
  #runs = new Map();
  /** What the browser kept when it was last asked. @type {Promise<SavedRun[]> | undefined} */
  #kept;

  /** The reader's own images, for runs on those. @type {OwnImages | undefined} */
  own;

  /** @param {Surroundings} surroundings */
  constructor(surroundings) {
    super();
    this.#surroundings = surroundings;
  }

  /** @param {RunOptions} options */
  start(options, own = this.own) {
    if (options.own && !own)
      throw { kind: "BadInput", message: "Your own images are no longer loaded", hint: "Choose the files again." };
    // Sortable by time, and unlike any other.
    const id = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`;
    const over = openPromise();
    void this.#hold(id, over.promise);
    return this.#add(new Run(this.#surroundings, { id, options, own, date: new Date() }), over);
  }

  /** The same run once more, from the beginning. @param {Run} run */
  restart({ options, own }) {
    return this.start(options, own);
  }

  /** The runs of earlier visits that this browser keeps, the latest first. @returns {Promise<SavedRun[]>} */
  async saved() {
    this.#kept ??= this.#list();
    const kept = await this.#kept;
    // Those of this page are told of as they come.
    return kept.filter(({ id }) => !this.#runs.has(id));
  }

  /** Read once for all who ask: a record is large. @returns {Promise<SavedRun[]>} */
  async #list() {
    const kept = await this.#surroundings.storage.list().catch(() => {
      this.#kept = undefined;
      return [];
    });
    return kept.map(({ id, options, date, engine, state, progress, report }) => ({
      id,
      options,
      date,
      engine,
      state,
      progress,
      report,
    }));
  }

  /**
   * Go on with a kept run where it stopped; one that is done comes back with its report.
   * @param {string} id
   * @returns {Promise<Run>}
   */
  async resumeSaved(id) {
    const known = this.#going(id);
    if (known) return known;
    const kept = await this.#surroundings.storage.get(id);
    if (!kept) throw { kind: "BadInput", message: "This run is no longer kept", hint: "Start it again." };
    const over = openPromise();
    const free = kept.state === "done" || (await this.#hold(id, over.promise));
    // Another wish for the same may have been faster.
    const going = this.#going(id);
    if (!going && free) return this.#add(new Run(this.#surroundings, kept), over);
    over.resolve();
    if (going) return going;
    throw { kind: "BadInput", message: "This run is under way in another tab", hint: "Go on with it there, or close that tab." };
  }

  /**
   * Let no other tab go on with a run, where the browser can see to that.
   * @param {string} id
   * @param {Promise<void>} over when another may
   * @returns {Promise<boolean>} whether no other has it
   */
  #hold(id, over) {
    const { locks } = this.#surroundings;
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
    // One that is done may still have something to keep.
    await (run ? run.forget() : this.#surroundings.storage.delete(id).catch(() => {}));
  }

  /** Move all runs to another engine. @param {EngineChoice} choice */
  switchEngine(choice) {
    for (const run of this.#runs.values()) run.switchEngine(choice);
  }

  /** It is no longer kept. @param {string} id */
  #drop(id) {
    this.#runs.delete(id);
    this.#kept = undefined;
  }

  /**
   * @param {Run} run
   * @param {ReturnType<typeof openPromise>} over to be resolved when it is
   */
  #add(run, over) {
    this.#runs.set(run.id, run);
    run.addEventListener("change", () => {
      if (run.state === "cancelled") this.#drop(run.id);
      if (["done", "failed", "cancelled"].includes(run.state)) over.resolve();
    });
    // Whoever started it hears of it first, from the one that it asked.
    queueMicrotask(() => this.dispatchEvent(new CustomEvent("run", { detail: run })));
    return run;
  }
}
