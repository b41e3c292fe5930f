import { Throttle } from "./timing.js";

/**
 * @import { RunStorage, SavedRun } from "./storage.js"
 */

/** Saves one run in the browser's storage, one record at a time, the newest last. */
export class Saver {
  #storage;
  #record;
  #refusal;
  #throttle;
  #stale = false;
  #isSaving = false;
  #refused = false;
  #isForgotten = false;

  /**
   * @param {Pick<RunStorage, "put">} storage
   * @param {number} every milliseconds between two records
   * @param {() => SavedRun} record what there is to save now
   * @param {(thrown: unknown) => void} refusal called once, if the browser refuses
   */
  constructor(storage, every, record, refusal) {
    this.#storage = storage;
    this.#record = record;
    this.#refusal = refusal;
    this.#throttle = new Throttle(every);
  }

  /** Whether the last record is old enough for another. */
  get due() {
    return this.#throttle.due;
  }

  /** Never save it again. */
  forget() {
    this.#isForgotten = true;
  }

  /** Save it now; if a record is being written, right after that. */
  async save() {
    this.#stale = true;
    if (this.#isSaving) return;
    this.#isSaving = true;
    while (this.#stale && !this.#isForgotten) {
      this.#stale = false;
      try {
        await this.#throttle.time(() => this.#storage.put(this.#record()));
      } catch (thrown) {
        if (!this.#refused) this.#refusal(thrown);
        this.#refused = true;
      }
    }
    this.#isSaving = false;
  }
}
