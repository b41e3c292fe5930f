import { toFailure, transferables } from "./protocol.js";

/** @import { Calls, Event as EngineEvent, Failure, FromWorker, ToWorker } from "./protocol.js" */

/**
 * @typedef {Pick<Worker, "postMessage" | "terminate" | "onmessage" | "onerror" | "onmessageerror">} WorkerLike
 * @typedef {{resolve: (result: any) => void, reject: (error: Failure) => void}} Waiting
 */

/**
 * The page's side of the protocol: calls that answer with promises.
 * @template {{[K in keyof C]: {call: any, result: any}}} [C=Calls]
 */
export class EngineClient {
  /** @type {Map<number, Waiting>} */
  #waiting = new Map();
  /** @type {WorkerLike | undefined} */
  #worker;
  #nextId = 1;
  #startWorker;
  #base;

  /** Called for each event of the worker. @type {(event: EngineEvent) => void} */
  onevent = () => {};
  /** Called when the worker died; the next call starts a new one. @type {(error: Failure) => void} */
  oncrash = () => {};

  /**
   * @param {() => WorkerLike} startWorker
   * @param {string} base the page's address
   */
  constructor(startWorker, base) {
    this.#startWorker = startWorker;
    this.#base = base;
  }

  /**
   * Ask the worker. Rejects with a {@link Failure}.
   * @template {keyof C & string} K
   * @param {K} call
   * @param {C[K]["call"]} payload
   * @param {AbortSignal} [signal]
   * @returns {Promise<C[K]["result"]>}
   */
  async call(call, payload, signal) {
    if (signal?.aborted) throw stopped();
    const id = this.#nextId++;
    let stop = () => {};
    try {
      return await new Promise((resolve, reject) => {
        const worker = this.#running();
        stop = () => {
          if (!this.#waiting.delete(id)) return;
          post(worker, { kind: "cancel", id });
          reject(stopped());
        };
        this.#waiting.set(id, { resolve, reject });
        signal?.addEventListener("abort", stop);
        post(worker, { kind: "call", id, call, payload });
      });
    } catch (thrown) {
      // Also what the browser refuses to start, or to send.
      throw toFailure(thrown);
    } finally {
      this.#waiting.delete(id);
      signal?.removeEventListener("abort", stop);
    }
  }

  /** A queue of length one, in which the latest call wins. */
  lane() {
    return new Lane(this);
  }

  #running() {
    if (this.#worker) return this.#worker;
    const worker = this.#startWorker();
    worker.onmessage = ({ data }) => this.#receive(data);
    worker.onerror = (event) => {
      event.preventDefault?.();
      this.#crash(event.message);
    };
    worker.onmessageerror = () => this.#crash("a message could not be read");
    post(worker, { kind: "start", base: this.#base });
    this.#worker = worker;
    return worker;
  }

  /** @param {FromWorker} message */
  #receive(message) {
    if (message.kind === "event") return this.onevent(message);
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.kind === "done") waiting?.resolve(message.result);
    else waiting?.reject(message.error);
  }

  /** End the worker, whatever it does; calls under way are cancelled. */
  close() {
    for (const { reject } of this.#end()) reject(stopped());
  }

  /** @param {string | undefined} reason */
  #crash(reason) {
    const error = {
      kind: "WorkerCrashed",
      message: `The engine stopped unexpectedly${reason ? ` (${reason})` : ""}`,
      hint: "Try again: a new one starts by itself.",
    };
    const waiting = this.#end();
    this.oncrash(error);
    for (const { reject } of waiting) reject(error);
  }

  /** The calls that nobody will answer. */
  #end() {
    this.#worker?.terminate();
    this.#worker = undefined;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    return waiting;
  }
}

/**
 * Latest wins: while one call is under way only the newest of those that follow is kept.
 * So a dragged slider gets as many answers as the engine can give, and the last one is always for where it rests.
 * @template {{[K in keyof C]: {call: any, result: any}}} [C=Calls]
 */
export class Lane {
  #client;
  #busy = false;
  /** @type {{start: () => void, drop: () => void} | undefined} */
  #next;

  /** @param {Pick<EngineClient<C>, "call">} client */
  constructor(client) {
    this.#client = client;
  }

  /**
   * @template {keyof C & string} K
   * @param {K} call
   * @param {C[K]["call"]} payload
   * @returns {Promise<C[K]["result"] | undefined>} undefined when a newer call took its place
   */
  call(call, payload) {
    return new Promise((resolve, reject) => {
      const start = () => {
        this.#busy = true;
        this.#client
          .call(call, payload)
          .then(resolve, reject)
          .finally(() => {
            this.#busy = false;
            const next = this.#next;
            this.#next = undefined;
            next?.start();
          });
      };
      this.#next?.drop();
      this.#next = undefined;
      if (this.#busy) this.#next = { start, drop: () => resolve(undefined) };
      else start();
    });
  }
}

/** Why a call has no answer that nobody waits for any more. @returns {Failure} */
const stopped = () => ({ kind: "Cancelled", message: "Stopped", hint: "" });

/**
 * @param {WorkerLike} worker
 * @param {ToWorker} message
 */
function post(worker, message) {
  worker.postMessage(message, transferables(message));
}
