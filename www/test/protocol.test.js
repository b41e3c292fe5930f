import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { EngineClient } from "../src/engine/client.js";
import { toFailure, transferables } from "../src/engine/protocol.js";

/**
 * @import { WorkerLike } from "../src/engine/client.js"
 * @import { OpenCall } from "../src/engine/protocol.js"
 */

/** A worker that only listens; `reply` speaks in its name. */
function fakeWorker() {
  /** @type {any[]} */
  const sent = [];
  /** @type {any} */
  const worker = { sent, terminated: false, terminate: () => (worker.terminated = true) };
  worker.postMessage = (/** @type {any} */ message) => sent.push(message);
  worker.reply = (/** @type {any} */ data) => worker.onmessage({ data });
  return worker;
}

function connected() {
  /** @type {ReturnType<typeof fakeWorker>[]} */
  const workers = [];
  const client = new EngineClient(() => {
    workers.push(fakeWorker());
    return /** @type {WorkerLike} */ (workers.at(-1));
  }, "https://example.test/sub/");
  return { client, workers };
}

/** @type {OpenCall} */
const CPU = { engine: "cpu" };

test("the first call starts the worker and tells it where the page is", () => {
  const { client, workers } = connected();
  assert.equal(workers.length, 0);
  void client.call("open", CPU);
  assert.deepEqual(workers[0].sent, [
    { kind: "start", base: "https://example.test/sub/" },
    { kind: "call", id: 1, call: "open", payload: CPU },
  ]);
});

test("answers find their calls in any order", async () => {
  const { client, workers } = connected();
  const first = client.call("open", CPU);
  const second = client.call("open", CPU);
  workers[0].reply({ kind: "done", id: 2, result: "two" });
  workers[0].reply({ kind: "done", id: 1, result: "one" });
  assert.deepEqual(await Promise.all([first, second]), ["one", "two"]);
});

test("a failure rejects with the error itself", async () => {
  const { client, workers } = connected();
  const call = client.call("open", CPU);
  const error = { kind: "BadInput", message: "No", hint: "Yes" };
  workers[0].reply({ kind: "failed", id: 1, error });
  await assert.rejects(call, error);
});

test("a cancelled call rejects at once and the worker hears of it", async () => {
  const { client, workers } = connected();
  const controller = new AbortController();
  const call = client.call("open", CPU, controller.signal);
  controller.abort();
  await assert.rejects(call, { kind: "Cancelled" });
  assert.deepEqual(workers[0].sent.at(-1), { kind: "cancel", id: 1 });
  workers[0].reply({ kind: "done", id: 1, result: "too late" });
});

test("a call that is cancelled before it is made is not made", async () => {
  const { client, workers } = connected();
  await assert.rejects(client.call("open", CPU, AbortSignal.abort()), { kind: "Cancelled" });
  assert.equal(workers.length, 0);
});

test("a call that was answered no longer listens for its cancellation", async () => {
  const { client, workers } = connected();
  const { signal } = new AbortController();
  const listen = mock.method(signal, "addEventListener");
  const leave = mock.method(signal, "removeEventListener");
  const call = client.call("open", CPU, signal);
  workers[0].reply({ kind: "done", id: 1, result: null });
  await call;
  assert.equal(listen.mock.callCount(), 1);
  assert.deepEqual(leave.mock.calls[0].arguments, listen.mock.calls[0].arguments);
});

test("in a lane the latest call wins and the ones between answer with nothing", async () => {
  const { client, workers } = connected();
  const lane = client.lane();
  const calls = [1, 2, 3, 4].map(() => lane.call("open", CPU));
  assert.equal(workers[0].sent.length, 2);
  workers[0].reply({ kind: "done", id: 1, result: "first" });
  assert.deepEqual(await Promise.all(calls.slice(0, 3)), ["first", undefined, undefined]);
  await Promise.resolve();
  workers[0].reply({ kind: "done", id: 2, result: "last" });
  assert.equal(await calls[3], "last");
});

test("a lane goes on after a failure", async () => {
  const { client, workers } = connected();
  const lane = client.lane();
  const failing = lane.call("open", CPU);
  workers[0].reply({ kind: "failed", id: 1, error: { kind: "Timeout", message: "Late", hint: "" } });
  await assert.rejects(failing, { kind: "Timeout" });
  await Promise.resolve();
  const next = lane.call("open", CPU);
  workers[0].reply({ kind: "done", id: 2, result: "fine" });
  assert.equal(await next, "fine");
});

test("a lane goes on after a call that could not be sent, and after a worker that could not be started", async () => {
  const worker = fakeWorker();
  let starts = 0;
  const client = new EngineClient(() => {
    if (starts++ === 0) throw new DOMException("Workers are forbidden", "SecurityError");
    return /** @type {WorkerLike} */ (worker);
  }, "https://example.test/");
  const lane = client.lane();
  await assert.rejects(lane.call("open", CPU), { kind: "Unexpected", message: "Workers are forbidden", hint: "" });
  const { postMessage } = worker;
  worker.postMessage = (/** @type {any} */ message) => {
    if (message.kind === "call") throw new DOMException("It could not be cloned", "DataCloneError");
  };
  await assert.rejects(lane.call("open", CPU), { kind: "Unexpected", message: "It could not be cloned", hint: "" });
  worker.postMessage = postMessage;
  const next = lane.call("open", CPU);
  worker.reply({ kind: "done", id: worker.sent.at(-1)?.id, result: "fine" });
  assert.equal(await next, "fine");
});

test("a dead worker fails its calls, and the next call starts another", async () => {
  const { client, workers } = connected();
  /** @type {string[]} */
  const crashes = [];
  client.oncrash = ({ kind }) => crashes.push(kind);
  const call = client.call("open", CPU);
  workers[0].onerror({ message: "out of memory" });
  await assert.rejects(call, { kind: "WorkerCrashed", message: /out of memory/ });
  assert.deepEqual(crashes, ["WorkerCrashed"]);
  assert.ok(workers[0].terminated);
  void client.call("open", CPU);
  assert.equal(workers.length, 2);
});

test("every thrown thing becomes kind, message and hint", () => {
  assert.deepEqual(toFailure({ kind: "LimitExceeded", message: "Too much", hint: "Less", need: 2, have: 1 }), {
    kind: "LimitExceeded",
    message: "Too much",
    hint: "Less",
  });
  assert.deepEqual(toFailure(new TypeError("x is no function")), {
    kind: "Unexpected",
    message: "x is no function",
    hint: "",
  });
  assert.deepEqual(toFailure("unreachable"), { kind: "Unexpected", message: "unreachable", hint: "" });
  assert.equal(toFailure(null).message, "null");
  assert.equal(toFailure({}).message, "Something went wrong");
});

test("each buffer is handed over once, and files are not opened up", () => {
  const buffer = new ArrayBuffer(8);
  const message = {
    a: new Uint8Array(buffer),
    b: [{ c: new Float32Array(buffer) }, new Uint8Array(4)],
    d: new Date(),
    e: null,
    f: "text",
  };
  assert.equal(transferables(message).length, 2);
});
