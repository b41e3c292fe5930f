/** @import { Progress as ShardProgress } from "../../pkg/hidden_gaussian.js" */
import { position } from "./merge.js";

/**
 * @typedef {object} Progress
 * @property {number} step of the longest shard, as if all went at the same speed
 * @property {number} total
 * @property {number | null} stepsPerSecond
 * @property {number | null} secondsLeft
 * @property {number} workers
 * @property {ShardProgress["training"]["members"]} members the networks that have just trained
 */

/** Over how long the rate is measured. */
const RATE_MS = 1000;

/** How far a run is, and how fast it goes. */
export class Meter {
  /** @type {{at: number, step: number} | undefined} */
  #mark;

  /** @type {Progress} */
  progress = { step: 0, total: 0, stepsPerSecond: null, secondsLeft: null, workers: 0, members: [] };

  /** The clock stands still: what comes next is not part of a measurement that is under way. */
  interrupt() {
    this.#mark = undefined;
  }

  /** The rate is to be measured anew. */
  reset() {
    this.#mark = undefined;
    this.progress = { ...this.progress, stepsPerSecond: null, secondsLeft: null };
  }

  /**
   * @param {(ShardProgress | null)[]} shards
   * @param {number} workers
   */
  measure(shards, workers) {
    const known = shards.flatMap((shard) => shard ?? []);
    // Without one of them nobody knows where the run is.
    if (known.length < shards.length || known.length === 0) return;
    const { step, total } = position(known);
    const now = performance.now();
    this.#mark ??= { at: now, step };
    let { stepsPerSecond } = this.progress;
    if (now - this.#mark.at >= RATE_MS && step > this.#mark.step) {
      const rate = (1000 * (step - this.#mark.step)) / (now - this.#mark.at);
      stepsPerSecond = stepsPerSecond === null ? rate : (stepsPerSecond + rate) / 2;
      this.#mark = { at: now, step };
    }
    this.progress = {
      step,
      total,
      stepsPerSecond,
      // With everything that is done besides training.
      secondsLeft: stepsPerSecond && step < total ? (total - step) / stepsPerSecond : null,
      workers,
      members: known.flatMap(({ training }) => training.members),
    };
  }
}
