/**
 * The engine that a worker computes on. "auto" begins on the CPU, which is there at once, so that the first picture does
 * not wait for the measurement; when nothing else is to be done both engines are measured, and the faster one stays.
 */
import { Engine } from "../../pkg/exact/hidden_gaussian.js";
import { isCompatible } from "./adapter.js";
import { toFailure } from "./protocol.js";

/**
 * @import { EngineChoice } from "../state/parameters.js"
 * @import { EngineInfo, Failure } from "./protocol.js"
 */

export class EngineHolder {
  /** `settled`: false while "auto" still has to measure. @type {{choice: EngineChoice, engine: Engine, settled: boolean} | undefined} */
  #opened;
  /** Why the last device was lost, until a new one is there. @type {Failure | null} */
  #lost = null;
  #events;

  /** What the comparison of the engines measured. @type {EngineInfo["rates"]} */
  rates = {};

  /**
   * @param {object} events
   * @param {(text: string) => void} events.busy
   * @param {() => void} events.closing called before an engine goes: what lives on it goes with it
   * @param {(info: EngineInfo) => void} events.opened
   */
  constructor(events) {
    this.#events = events;
  }

  /** Whether there is an engine that still has to be compared with the other. */
  get unsettled() {
    return this.#opened?.settled === false;
  }

  /**
   * The engine of this choice. One that cannot be had is replaced by the CPU, and the page is told why.
   * @param {EngineChoice} choice
   */
  async open(choice) {
    if (this.#opened?.choice === choice) return this.#opened.engine;
    this.#events.busy("Starting the engine");
    this.close();
    let problem = this.#lost;
    const engine = await Engine.open(choice === "auto" ? "cpu" : choice).catch((thrown) => {
      if (choice !== "gpu") throw thrown;
      problem ??= toFailure(thrown);
      return Engine.open("cpu");
    });
    this.#opened = { choice, engine, settled: choice !== "auto" };
    if (this.#opened.settled) this.#tell(engine, problem);
    return engine;
  }

  /**
   * Measure both engines, now that nobody waits.
   * @returns {Promise<Engine | undefined>} the GPU engine, if that is the faster one
   */
  async settle() {
    const current = this.#opened;
    if (!current || current.settled) return undefined;
    current.settled = true;
    this.#events.busy("Comparing the engines");
    const measured = await Engine.open("auto").catch((thrown) => this.#tell(current.engine, toFailure(thrown)));
    if (!measured) return undefined;
    if (measured.info().kind === "cpu") {
      this.#tell(measured, this.#lost);
      measured.free();
      return undefined;
    }
    this.close();
    this.#opened = { ...current, engine: measured };
    this.#tell(measured, this.#lost);
    return measured;
  }

  /** The device is gone, and with it everything on it. @param {Failure} failure */
  lose(failure) {
    this.#lost = failure;
    this.close();
  }

  close() {
    this.#events.closing();
    this.#opened?.engine.free();
    this.#opened = undefined;
  }

  /** @param {Engine} engine @param {Failure | null} problem */
  #tell(engine, problem) {
    this.#lost = null;
    const info = engine.info();
    this.rates = info.rates;
    this.#events.opened({ ...info, compatible: info.kind === "gpu" && isCompatible, problem });
  }
}
