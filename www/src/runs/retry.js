/** @import { Failure } from "../engine/protocol.js" */

/** A GPU that fails this often is given up for the CPU; after that, so is the run. */
const PATIENCE = { gpu: 2, cpu: 3 };
/** No other engine and no other try helps against bad input, or against a fault in the library. */
const HOPELESS = ["BadInput", "Internal"];
/** The GPU cannot do it at all, but the CPU may. */
const NOT_ON_GPU = ["NoAdapter", "LimitExceeded"];
/** How long to wait before a file is fetched again. */
const NETWORK_WAIT_MS = 1000;

/** @typedef {"network" | "worker" | "device" | "cpu"} Recovery how a run continues after a failure */

/** Decides how a run continues after a failure. */
export class Retry {
  #failures = 0;

  reset() {
    this.#failures = 0;
  }

  /**
   * @param {Failure} failure
   * @param {"cpu" | "gpu"} engine that it happened on
   * @returns {{engine: "cpu" | "gpu", how: Recovery, waitMs: number} | undefined} undefined when nothing helps
   */
  after({ kind }, engine) {
    if (HOPELESS.includes(kind)) return undefined;
    this.#failures++;
    const worn = this.#failures >= PATIENCE[engine];
    if (kind === "Network") return worn ? undefined : { engine, how: "network", waitMs: NETWORK_WAIT_MS };
    if (engine === "cpu") {
      return worn || kind === "LimitExceeded" ? undefined : { engine, how: "worker", waitMs: 0 };
    }
    if (!worn && !NOT_ON_GPU.includes(kind)) return { engine, how: "device", waitMs: 0 };
    this.#failures = 0;
    return { engine: "cpu", how: "cpu", waitMs: 0 };
  }
}
