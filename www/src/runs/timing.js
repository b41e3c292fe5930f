/** Timers of a run. */

/** @returns {{promise: Promise<void>, resolve: () => void}} */
export function openPromise() {
  /** @type {() => void} */
  let resolve = () => {};
  return { promise: new Promise((settle) => (resolve = settle)), resolve: () => resolve() };
}

/** Limits how often work is done: at most once per interval, and for at most a twentieth of the time. */
export class Throttle {
  #every;
  #next;

  /** @param {number} every milliseconds @param {number} [first] until the first time */
  constructor(every, first = every) {
    this.#every = every;
    this.#next = performance.now() + first;
  }

  get due() {
    return performance.now() >= this.#next;
  }

  /**
   * @template T
   * @param {() => Promise<T>} work
   */
  async time(work) {
    const start = performance.now();
    const result = await work();
    const end = performance.now();
    this.#next = end + Math.max(this.#every, 19 * (end - start));
    return result;
  }
}

/** Adds up the time that it runs. */
export class Clock {
  #milliseconds;
  /** @type {number | undefined} */
  #since;

  constructor(seconds = 0) {
    this.#milliseconds = 1000 * seconds;
  }

  get seconds() {
    return (this.#milliseconds + (this.#since === undefined ? 0 : performance.now() - this.#since)) / 1000;
  }

  start() {
    this.#since ??= performance.now();
  }

  stop() {
    this.#milliseconds = 1000 * this.seconds;
    this.#since = undefined;
  }
}
