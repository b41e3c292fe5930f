import { acceptCompatibility } from "./adapter.js";
import { toFailure, transferables } from "./protocol.js";

/** @import { Call, FromWorker, ToWorker } from "./protocol.js" */

// The type checker knows pages only; a worker's own end of the line has the same two members.
const scope = /** @type {Pick<Worker, "postMessage" | "onmessage">} */ (/** @type {unknown} */ (self));

/** Where the page is, against which its files are found. */
export let base = "";

/**
 * The worker's side of the protocol: calls are answered one at a time, in the order in which they came.
 * @param {Promise<unknown>} ready when the first call can be answered
 * @param {(call: any, payload: any) => Promise<any>} answer
 * @param {() => Promise<boolean>} [idle] what to do when no call waits; false when there is nothing
 */
export function serve(ready, answer, idle = async () => false) {
  acceptCompatibility(/** @type {any} */ (globalThis.navigator)?.gpu);
  /** @type {Call[]} */
  const queue = [];
  let working = false;
  // Nothing can be answered then: the page sees the error, and starts a new worker when it is asked to try again.
  const loaded = ready.catch((thrown) => {
    reportError(new Error(`the library did not load: ${thrown instanceof Error ? thrown.message : thrown}`));
    return new Promise(() => {});
  });

  scope.onmessage = ({ data }) => {
    const message = /** @type {ToWorker} */ (data);
    if (message.kind === "start") base = message.base;
    else if (message.kind === "call") {
      queue.push(message);
      if (!working) void work();
    } else {
      const index = queue.findIndex(({ id }) => id === message.id);
      if (index >= 0) queue.splice(index, 1);
    }
  };

  const work = async () => {
    working = true;
    await loaded;
    for (;;) {
      const next = queue.shift();
      if (!next) {
        if (await idle()) continue;
        break;
      }
      const { id, call, payload } = next;
      try {
        post({ kind: "done", id, result: await answer(call, payload) });
      } catch (thrown) {
        post({ kind: "failed", id, error: toFailure(thrown) });
        // After a trap nothing in the instance can be trusted: let the page see an error and start a new worker.
        if (thrown instanceof WebAssembly.RuntimeError) reportError(thrown);
      }
      // A new task, so that messages which came meanwhile (a cancel, say) are read before the next call starts.
      await nextTask();
    }
    working = false;
  };
}

/** A timer would do, too, but browsers make one that follows another wait for 4 ms. @returns {Promise<void>} */
function nextTask() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/** @param {FromWorker} message */
export function post(message) {
  scope.postMessage(message, transferables(message));
}
