/**
 * Runs that the reader's browser saves (IndexedDB), so that they survive a reload or a crash. Snapshots and weights are
 * blobs, which a list of runs does not read.
 */
import { openDB } from "idb";

/**
 * @import { IDBPDatabase, IDBPObjectStore } from "idb"
 * @import { Progress } from "../../pkg/hidden_gaussian.js"
 * @import { OwnImages, PlanResult, RunOptions, Shard } from "../engine/protocol.js"
 * @import { Report } from "../reports/report.js"
 */

/**
 * @typedef {object} OfShard
 * @property {Progress | null} progress
 * @property {Progress | null} savedProgress where its snapshot was taken, or its end
 * @property {Report | null} preview the last one
 * @property {Report | null} report once it is done
 * @property {Blob[]} weights once it is done
 * @typedef {Shard & OfShard} SavedShard
 *
 * @typedef {object} SavedRun
 * @property {string} id
 * @property {RunOptions} options
 * @property {OwnImages} [own]
 * @property {Date} date when it was started
 * @property {"cpu" | "gpu"} engine
 * @property {"running" | "done"} state
 * @property {{step: number, total: number}} progress
 * @property {number} seconds that it ran
 * @property {PlanResult} plan
 * @property {SavedShard[]} shards
 * @property {Report} [report] the last one
 */

const NAME = "hidden-gaussian";
/** Version 1 held reports of another format. */
const VERSION = 2;
const STORE = "runs";
/** How many runs are saved; those that are done go first, and of two the older. */
const CAPACITY = 20;

/** The runs that this browser saves. Every method rejects with an error of IndexedDB if the browser refuses. */
export class RunStorage {
  #isAvailable;
  /** @type {Promise<IDBPDatabase> | undefined} */
  #database;

  /** @param {() => IDBFactory | undefined} factory some browsers have none in private mode, some throw when it is asked for */
  constructor(factory) {
    this.#isAvailable = () => factory() !== undefined;
  }

  /**
   * Save a run, in place of what was saved of it before.
   * @param {SavedRun} run
   */
  put(run) {
    return this.#use(async (database) => {
      const transaction = database.transaction(STORE, "readwrite");
      // A full disk shows only when the transaction is committed.
      await Promise.all([replace(transaction.store, run), transaction.done]);
    });
  }

  /** @param {string} id @returns {Promise<SavedRun | undefined>} */
  get(id) {
    return this.#use((database) => database.get(STORE, id));
  }

  /** All runs, the latest first. @returns {Promise<SavedRun[]>} */
  list() {
    return this.#use(async (database) => (await database.getAllFromIndex(STORE, "date")).reverse());
  }

  /** @param {string} id @returns {Promise<void>} */
  delete(id) {
    return this.#use((database) => database.delete(STORE, id));
  }

  /**
   * @template T
   * @param {(database: IDBPDatabase) => Promise<T>} work
   */
  async #use(work) {
    this.#database ??= this.#open();
    try {
      return await work(await this.#database);
    } catch (thrown) {
      // A browser that refused, or that closed the database, may open it the next time.
      this.#database = undefined;
      throw thrown;
    }
  }

  /** @returns {Promise<IDBPDatabase>} */
  #open() {
    return new Promise((resolve, reject) => {
      if (!this.#isAvailable()) throw new Error("storage is disabled, as in private mode");
      const forget = () => (this.#database = undefined);
      openDB(NAME, VERSION, {
        upgrade(database) {
          if (database.objectStoreNames.contains(STORE)) database.deleteObjectStore(STORE);
          database.createObjectStore(STORE, { keyPath: "id" }).createIndex("date", "date");
        },
        blocked: () => reject(new Error("another tab has an older version of this page open")),
        // A newer version of the page in another tab must not wait for this one.
        blocking(_, __, event) {
          /** @type {IDBDatabase} */ (event.target).close();
          forget();
        },
        terminated: forget,
      }).then(resolve, reject);
    });
  }
}

/**
 * Put a run into the store, and take out those for which there is no room.
 * @param {IDBPObjectStore<any, ["runs"], "runs", "readwrite">} store
 * @param {SavedRun} run
 */
async function replace(store, run) {
  await store.put(run);
  const index = store.index("date");
  const surplus = (await index.getAllKeys()).length - CAPACITY;
  // Records are large, and mostly there is room.
  if (surplus <= 0) return;
  const others = (await index.getAll()).filter(({ id }) => id !== run.id);
  const doneFirst = [
    ...others.filter(({ state }) => state === "done"),
    ...others.filter(({ state }) => state !== "done"),
  ];
  await Promise.all(doneFirst.slice(0, surplus).map(({ id }) => store.delete(id)));
}
