/**
 * Runs that the reader's browser saves (IndexedDB), so that they survive a reload or a crash. Snapshots and weights are
 * blobs, which a list of runs does not read. WebKit refuses blobs in private windows, and takes their bytes instead.
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
 * @property {File} [file] that it was opened from, if it was not trained here
 * @property {string} [note] its place in that file
 *
 * @typedef {{bytes: ArrayBuffer, name?: string}} Bytes what a blob holds; a file has a name
 * @typedef {Omit<SavedRun, "shards" | "own" | "file"> & {shards: any[], own?: any, file?: any}} RecordOfBytes a run with {@link Bytes} for blobs
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
  /** Whether the browser has refused blobs, and taken their bytes. */
  #refusesBlobs = false;

  /** @param {() => IDBFactory | undefined} factory some browsers have none in private mode, some throw when it is asked for */
  constructor(factory) {
    this.#isAvailable = () => factory() !== undefined;
  }

  /**
   * Save a run, in place of what was saved of it before.
   * @param {SavedRun} run
   */
  async put(run) {
    if (this.#refusesBlobs) return this.#write(await withBytes(run));
    try {
      await this.#write(run);
    } catch (thrown) {
      // On a full disk there is no more room for bytes than for blobs.
      if (blobsOf(run).length === 0 || /** @type {Error} */ (thrown).name === "QuotaExceededError") throw thrown;
      await this.#write(await withBytes(run));
      this.#refusesBlobs = true;
    }
  }

  /** @param {string} id @returns {Promise<SavedRun | undefined>} */
  async get(id) {
    const record = await this.#use((database) => database.get(STORE, id));
    return record && withBlobs(record);
  }

  /** All runs, the latest first. @returns {Promise<SavedRun[]>} */
  list() {
    return this.#use(async (database) => (await database.getAllFromIndex(STORE, "date")).reverse().map(withBlobs));
  }

  /** @param {string} id @returns {Promise<void>} */
  delete(id) {
    return this.#use((database) => database.delete(STORE, id));
  }

  /** @param {SavedRun | RecordOfBytes} record */
  #write(record) {
    return this.#use(async (database) => {
      const transaction = database.transaction(STORE, "readwrite");
      // A full disk shows only when the transaction is committed.
      await Promise.all([replace(transaction.store, record), transaction.done]);
    });
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
 * @param {SavedRun | RecordOfBytes} run
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

/** @param {SavedRun} run */
const blobsOf = ({ shards, own, file }) => [
  ...shards.flatMap(({ snapshot, weights }) => [...(snapshot ? [snapshot] : []), ...weights]),
  ...(own?.files ?? []),
  ...(file ? [file] : []),
];

/** @param {SavedRun} run @returns {Promise<RecordOfBytes>} */
async function withBytes(run) {
  const blobs = blobsOf(run);
  const read = await Promise.all(blobs.map((blob) => blob.arrayBuffer()));
  return exchange(run, (blob) => {
    const bytes = read[blobs.indexOf(blob)];
    return blob instanceof File ? { bytes, name: blob.name } : { bytes };
  });
}

/** @param {SavedRun | RecordOfBytes} record @returns {SavedRun} */
const withBlobs = (record) =>
  exchange(record, (/** @type {Blob | Bytes} */ held) => {
    if (held instanceof Blob) return held;
    return held.name === undefined ? new Blob([held.bytes]) : new File([held.bytes], held.name);
  });

/**
 * A run with something else in the place of each of its blobs.
 * @param {any} run
 * @param {(held: any) => any} change
 */
const exchange = (run, change) => ({
  ...run,
  shards: run.shards.map((/** @type {any} */ shard) => ({
    ...shard,
    snapshot: shard.snapshot && change(shard.snapshot),
    weights: shard.weights.map(change),
  })),
  ...(run.own && { own: { ...run.own, files: run.own.files.map(change) } }),
  ...(run.file && { file: change(run.file) }),
});
