/**
 * Runs, kept in the reader's browser (IndexedDB) so that they survive a reload or a crash. Snapshots and weights are
 * blobs, which a list of runs does not read.
 */

/**
 * @import { Progress } from "../../pkg/hidden_gaussian.js"
 * @import { OwnImages, PlanResult, RunOptions, Share } from "../engine/protocol.js"
 * @import { Report } from "../reports/report.js"
 */

/**
 * @typedef {object} OfShare
 * @property {Progress | null} progress
 * @property {Progress | null} kept where its snapshot was taken, or its end
 * @property {Report | null} glance the last one
 * @property {Report | null} report once it is done
 * @property {Blob[]} weights once it is done
 * @typedef {Share & OfShare} KeptShare
 * @typedef {object} KeptRun
 * @property {string} id
 * @property {RunOptions} options
 * @property {OwnImages} [own]
 * @property {Date} date when it was started
 * @property {"cpu" | "gpu"} engine
 * @property {"running" | "done"} state
 * @property {{step: number, total: number}} progress
 * @property {number} seconds that it ran
 * @property {PlanResult} plan
 * @property {KeptShare[]} shares
 * @property {Report} [report] the last one
 */

const NAME = "hidden-gaussian";
const VERSION = 1;
const STORE = "runs";
/** How many runs are kept; those that are done go first, and of two the older. */
const KEPT = 20;

/** The runs that this browser keeps. Every method rejects with an error of IndexedDB if the browser refuses. */
export class RunStorage {
  #factory;
  /** @type {Promise<IDBDatabase> | undefined} */
  #database;

  /** @param {() => IDBFactory | undefined} factory some browsers have none in private mode, some throw when it is asked for */
  constructor(factory) {
    this.#factory = factory;
  }

  /**
   * Keep a run, in place of what was kept of it before.
   * @param {KeptRun} run
   */
  async put(run) {
    const store = await this.#store("readwrite");
    store.put(run);
    const index = store.index("date");
    const surplus = (await settled(index.getAllKeys())).length - KEPT;
    // Records are large, and mostly there is room.
    const all = surplus > 0 ? await settled(index.getAll()) : [];
    const others = all.filter(({ id }) => id !== run.id);
    const doneFirst = [...others.filter(({ state }) => state === "done"), ...others.filter(({ state }) => state !== "done")];
    for (const { id } of doneFirst.slice(0, surplus)) store.delete(id);
    await committed(store.transaction);
  }

  /** @param {string} id @returns {Promise<KeptRun | undefined>} */
  async get(id) {
    return settled((await this.#store("readonly")).get(id));
  }

  /** All runs, the latest first. @returns {Promise<KeptRun[]>} */
  async list() {
    return (await settled((await this.#store("readonly")).index("date").getAll())).reverse();
  }

  /** @param {string} id */
  async delete(id) {
    const store = await this.#store("readwrite");
    store.delete(id);
    await committed(store.transaction);
  }

  /** @param {IDBTransactionMode} mode */
  async #store(mode) {
    this.#database ??= this.#open();
    try {
      return (await this.#database).transaction(STORE, mode).objectStore(STORE);
    } catch (thrown) {
      // A browser that refused, or that closed the database, may open it the next time.
      this.#database = undefined;
      throw thrown;
    }
  }

  /** @returns {Promise<IDBDatabase>} */
  async #open() {
    const factory = this.#factory();
    if (!factory) throw new Error("It keeps no data for pages");
    const request = factory.open(NAME, VERSION);
    request.onupgradeneeded = () =>
      request.result.createObjectStore(STORE, { keyPath: "id" }).createIndex("date", "date");
    const database = await new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
      request.onblocked = () => reject(new Error("Another tab with an older version of this page is open"));
    });
    const forget = () => (this.#database = undefined);
    // A newer version of the page in another tab must not wait for this one.
    database.onversionchange = () => {
      database.close();
      forget();
    };
    database.onclose = forget;
    return database;
  }
}

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
function settled(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * @param {IDBTransaction} transaction
 * @returns {Promise<void>}
 */
function committed(transaction) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    // A full disk shows only here.
    transaction.onabort = () => reject(transaction.error ?? new Error("The browser gave up"));
  });
}
