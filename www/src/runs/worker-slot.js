import { EngineClient } from "../engine/client.js";
import { notStarted } from "../engine/protocol.js";
import { Throttle } from "./timing.js";

/**
 * @import { RunCalls } from "../engine/protocol.js"
 * @import { WorkerLike } from "../engine/client.js"
 * @import { SavedShard } from "./storage.js"
 */

/** How often the page previews a run. */
export const PREVIEW_MS = 1000;
/** How often a shard takes a snapshot. */
export const SNAPSHOT_MS = 5000;

/** @typedef {{startWorker: () => WorkerLike, base: string}} WorkerSource */

/** A worker with the shards that it trains. */
export class WorkerSlot {
  /** It may do one slice although the run is paused. */
  step = false;
  /** The first comes at once: a reader who has pressed the button wants to see something happen. */
  preview = new Throttle(PREVIEW_MS, 0);
  snapshot = new Throttle(SNAPSHOT_MS);
  #source;

  /**
   * @param {WorkerSource} source
   * @param {SavedShard[]} shards
   * @param {EngineClient<RunCalls>} [client] a worker that is there already
   */
  constructor(source, shards, client = new EngineClient(source.startWorker, source.base)) {
    this.#source = source;
    this.shards = shards;
    this.client = client;
  }

  /** Whether there is something left to train. */
  get isTraining() {
    return this.shards.some(({ report }) => !report);
  }

  close() {
    this.client.close();
  }

  /** End the worker and start a new one, from the snapshots: what was trained since is gone. */
  replaceWorker() {
    this.close();
    for (const shard of this.shards) shard.progress = null;
    this.client = /** @type {EngineClient<RunCalls>} */ (new EngineClient(this.#source.startWorker, this.#source.base));
  }

  /**
   * Ask about all of its shards.
   * @template {Exclude<keyof RunCalls, "plan" | "start">} K
   * @param {K} call
   * @param {RunCalls[K]["call"]} payload
   * @returns {Promise<RunCalls[K]["result"]>}
   */
  async ask(call, payload) {
    const results = await this.client.call(call, payload);
    // Taken as they are, no results would be a run that is done.
    if (results.length !== this.shards.length) throw notStarted();
    return results;
  }

  /** Keep what was trained so far. */
  takeSnapshot() {
    return this.snapshot.time(async () => {
      const snapshots = await this.ask("snapshot", {});
      this.shards.forEach((shard, i) =>
        Object.assign(shard, { snapshot: snapshots[i], savedProgress: shard.progress }),
      );
    });
  }
}
