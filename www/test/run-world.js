// A world for the tests of runs: workers that train nothing, a clock, and a store.

import assert from "node:assert/strict";
import { beforeEach, mock } from "node:test";
import { Runner } from "../src/runs/runner.js";

/**
 * @import { RunOptions } from "../src/engine/protocol.js"
 * @import { Run } from "../src/runs/run.js"
 * @import { SavedRun } from "../src/runs/storage.js"
 * @import { EngineChoice } from "../src/state/parameters.js"
 */

export const SHARD_STEPS = 30;
/** What a slice takes in truth, so that a run lasts long enough to be watched. */
export const SLICE_MS = 20;

/** Milliseconds on the clock that the runner sees: there a slice takes what it was asked to take. */
let now = 0;
/** Let time pass on that clock. @param {number} milliseconds */
export const pass = (milliseconds) => void (now += milliseconds);
beforeEach(() => {
  now = 0;
  mock.method(performance, "now", () => now);
});

/** @type {RunOptions} */
export const OPTIONS = {
  experiment: "transition",
  preset: "quick",
  data: { set: "faces", size: 16, seed: 0, count: 100, heldOut: 10 },
  seed: 3,
};

/**
 * A world in which a run trains two members, one per shard on the CPU; a snapshot is the steps that were done.
 * @param {Partial<{choice: EngineChoice, cores: number, locks: any, rates: {cpu?: number, gpu?: number}, delay: (worker: number) => number, fail: (worker: number, call: string, engine: string) => any}>} [options]
 */
export function world({
  choice = "cpu",
  cores = 4,
  locks,
  rates = {},
  delay = () => SLICE_MS,
  fail = () => undefined,
} = {}) {
  /** @type {any[]} */
  const workers = [];
  /** @type {Map<string, SavedRun>} */
  const saved = new Map();
  const startWorker = () => {
    const index = workers.length;
    let engine = "";
    /** @type {{members: number[], steps: number}[]} */
    let runs = [];
    /** @type {any} */
    const worker = { calls: [], terminated: false, terminate: () => (worker.terminated = true) };
    const reports = (/** @type {boolean} */ final) =>
      runs.map(({ members, steps }) => ({
        experiment: "transition",
        engine,
        final,
        config: { sizes: members },
        seconds: -1,
        findings: members.map((n) => ({ n, step: steps, final })),
      }));
    /** @type {Record<string, (payload: any) => any>} */
    const handlers = {
      plan: ({ workers }) => ({
        config: { sizes: [8, 16] },
        shards: workers > 1 ? [{ sizes: [8] }, { sizes: [16] }] : [{ sizes: [8, 16] }],
        data: OPTIONS.data,
      }),
      async start(payload) {
        engine = payload.engine;
        runs = [];
        for (const { config, snapshot } of payload.shards) {
          runs.push({ members: config.sizes, steps: snapshot ? Number(await snapshot.text()) : 0 });
        }
        return null;
      },
      advance({ milliseconds }) {
        now += milliseconds;
        return runs.map((run) => {
          run.steps = Math.min(SHARD_STEPS, run.steps + 1);
          const members = run.members.map(() => ({ loss: 1, gradientNorm: 1, status: { name: "learning" } }));
          return { step: run.steps, total: SHARD_STEPS, secondsLeft: SHARD_STEPS - run.steps, training: { members } };
        });
      },
      preview: () => reports(false),
      report: () => reports(true),
      snapshot: () => runs.map(({ steps }) => new Blob([String(steps)])),
      weights: () => runs.map(({ members }) => [new Blob([members.join()])]),
    };
    const answer = async (/** @type {any} */ message) => {
      await new Promise((resolve) => setTimeout(resolve, message.call === "advance" ? delay(index) : 0));
      const failure = await fail(index, message.call, engine || message.payload.engine);
      if (worker.terminated) return;
      if (failure === "crash") return worker.onerror({ message: "out of memory" });
      if (failure) return worker.onmessage({ data: { kind: "failed", id: message.id, error: failure } });
      const result = await handlers[message.call](message.payload);
      if (!worker.terminated) worker.onmessage({ data: { kind: "done", id: message.id, result } });
    };
    // One at a time, in the order in which they came.
    let last = Promise.resolve();
    worker.postMessage = (/** @type {any} */ message) => {
      if (message.kind !== "call") return;
      worker.calls.push(message.call);
      last = last.then(() => answer(message));
    };
    workers.push(worker);
    return worker;
  };
  const storage = {
    put: mock.fn(async (/** @type {SavedRun} */ run) => void saved.set(run.id, structuredClone(run))),
    get: async (/** @type {string} */ id) => saved.get(id),
    list: async () => [...saved.values()],
    delete: async (/** @type {string} */ id) => void saved.delete(id),
  };
  const deps = {
    startWorker,
    base: "https://example.test/",
    cores,
    storage,
    locks,
    choice: () => choice,
    measure: async () => rates,
  };
  return { workers, saved, storage, deps, runner: new Runner(deps) };
}

/**
 * Until the run is as wanted.
 * @param {Run} run
 * @param {(run: Run) => boolean} wanted
 */
export function until(run, wanted) {
  return /** @type {Promise<void>} */ (
    new Promise((resolve) => {
      const look = () => wanted(run) && resolve();
      run.addEventListener("change", look);
      look();
    })
  );
}

/** How many slices a worker trained. @param {{calls: string[]}} worker */
export const slices = ({ calls }) => calls.filter((call) => call === "advance").length;
export const done = (/** @type {Run} */ run) =>
  until(run, ({ state }) => ["done", "failed", "cancelled"].includes(state));
export const tick = () => new Promise((resolve) => setTimeout(resolve, 5 * SLICE_MS));

/** Until something holds that no run tells of. @param {() => boolean} holds */
export async function eventually(holds) {
  for (let i = 0; !holds(); i++) {
    assert.ok(i < 500, `never: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, SLICE_MS));
  }
}

/**
 * Until what was under way in a paused run is done, saved and told.
 * @param {Pick<ReturnType<typeof world>, "workers" | "saved">} world
 * @param {Run} run
 */
export const atRest = ({ workers, saved }, run) =>
  eventually(
    () =>
      workers.every(({ calls }) => calls.at(-1) === "snapshot") &&
      saved.get(run.id)?.progress.step === run.progress.step,
  );
