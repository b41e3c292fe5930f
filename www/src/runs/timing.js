/** What a run keeps time with. */

/** @returns {{promise: Promise<void>, resolve: () => void}} */
export function openPromise() {
  /** @type {() => void} */
  let resolve = () => {};
  return { promise: new Promise((settle) => (resolve = settle)), resolve: () => resolve() };
}

/** Something to do now and then, but never for more than a twentieth of the time. */
export class Pace {
  #every;
  #next;

  /** @param {number} every milliseconds */
  constructor(every) {
    this.#every = every;
    this.#next = performance.now() + every;
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
