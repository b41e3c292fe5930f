import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { mergeReports } from "../src/runs/merge.js";
import { Runner } from "../src/runs/runner.js";
import { openPromise } from "../src/runs/timing.js";

/**
 * @import { RunOptions } from "../src/engine/protocol.js"
 * @import { Run } from "../src/runs/run.js"
 * @import { SavedRun } from "../src/runs/storage.js"
 * @import { EngineChoice } from "../src/state/parameters.js"
 */

const SHARD_STEPS = 30;
/** What a slice takes in truth, so that a run lasts long enough to be watched. */
const SLICE_MS = 20;

/** Milliseconds on the clock that the runner sees: there a slice takes what it was asked to take. */
let now = 0;
beforeEach(() => {
  now = 0;
  mock.method(performance, "now", () => now);
});

/** @type {RunOptions} */
const OPTIONS = {
  experiment: "transition",
  preset: "quick",
  data: { set: "faces", size: 16, seed: 0, count: 100, heldOut: 10 },
  seed: 3,
};

/**
 * A world in which a run trains two members, one per shard on the CPU; a snapshot is the steps that were done.
 * @param {Partial<{choice: EngineChoice, cores: number, locks: any, rates: {cpu?: number, gpu?: number}, delay: (worker: number) => number, fail: (worker: number, call: string, engine: string) => any}>} [options]
 */
function world({ choice = "cpu", cores = 4, locks, rates = {}, delay = () => SLICE_MS, fail = () => undefined } = {}) {
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
function until(run, wanted) {
  return /** @type {Promise<void>} */ (
    new Promise((resolve) => {
      const look = () => wanted(run) && resolve();
      run.addEventListener("change", look);
      look();
    })
  );
}

/** How many slices a worker trained. @param {{calls: string[]}} worker */
const slices = ({ calls }) => calls.filter((call) => call === "advance").length;
const done = (/** @type {Run} */ run) => until(run, ({ state }) => ["done", "failed", "cancelled"].includes(state));
const tick = () => new Promise((resolve) => setTimeout(resolve, 5 * SLICE_MS));

/** Until something holds that no run tells of. @param {() => boolean} holds */
async function eventually(holds) {
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
const atRest = ({ workers, saved }, run) =>
  eventually(
    () =>
      workers.every(({ calls }) => calls.at(-1) === "snapshot") &&
      saved.get(run.id)?.progress.step === run.progress.step,
  );

test("on the CPU each shard has a worker, and their reports become one", async () => {
  const { runner, workers } = world();
  const run = runner.start(OPTIONS);
  assert.equal(run.state, "preparing");
  await done(run);
  assert.equal(run.state, "done");
  assert.equal(workers.length, 2);
  assert.ok(workers.every(({ terminated }) => terminated));
  assert.deepEqual(run.report?.findings, [
    { n: 8, step: SHARD_STEPS, final: true },
    { n: 16, step: SHARD_STEPS, final: true },
  ]);
  assert.equal(run.report?.final, true);
  assert.deepEqual(run.report?.config, { sizes: [8, 16] });
  assert.ok((run.report?.seconds ?? 0) > 1);
  const { step, total, members } = run.progress;
  assert.deepEqual({ step, total, members: members.length }, { step: SHARD_STEPS, total: SHARD_STEPS, members: 2 });
  assert.deepEqual(
    (await run.weights()).map((bytes) => new TextDecoder().decode(bytes)),
    ["8", "16"],
  );
});

test("on the GPU one worker has the whole run", async () => {
  const { runner, workers } = world({ choice: "gpu" });
  const run = runner.start(OPTIONS);
  await done(run);
  assert.equal(workers.length, 1);
  assert.equal(run.engine, "gpu");
  assert.equal(run.report?.findings.length, 2);
});

test("“auto” compares the GPU with all the cores that the CPU engine would use", async () => {
  for (const [gpu, engine] of /** @type {const} */ ([
    [19, "cpu"],
    [21, "gpu"],
  ])) {
    const { runner } = world({ choice: "auto", rates: { cpu: 10, gpu } });
    const run = runner.start(OPTIONS);
    await done(run);
    assert.equal(run.engine, engine);
  }
});

test("previews come at display rate and take no more than a twentieth of the time", async () => {
  const { runner, workers } = world({ choice: "gpu", fail: (_, call) => void (call === "preview" && (now += 300)) });
  const run = runner.start(OPTIONS);
  /** @type {Set<any>} */
  const seen = new Set();
  run.addEventListener("change", () => run.report && seen.add(run.report));
  await done(run);
  const previews = workers[0].calls.filter((/** @type {string} */ call) => call === "preview").length;
  const trained = 400 * slices(workers[0]);
  assert.ok(
    previews >= 2 && 300 * previews <= 0.06 * (trained + 300 * previews),
    `${previews} previews in ${trained} ms`,
  );
  assert.ok(seen.size >= 2);
});

test("paused means that nothing is asked; one step means one call, and a look at it", async () => {
  const { runner, workers } = world({ choice: "gpu" });
  const run = runner.start(OPTIONS);
  await until(run, ({ progress }) => progress.step > 0);
  run.pause();
  assert.equal(run.state, "paused");
  const { calls } = workers[0];
  await eventually(() => calls.at(-1) === "snapshot");
  const before = calls.length;
  await tick();
  assert.equal(calls.length, before);
  run.step();
  await eventually(() => calls.length >= before + 3);
  assert.deepEqual(calls.slice(before), ["advance", "preview", "snapshot"]);
  assert.equal(run.state, "paused");
  run.resume();
  assert.equal(run.state, "running");
  await done(run);
  assert.equal(run.state, "done");
});

test("at a tenth of the speed it rests for nine tenths of the time, and full speed comes at once", async () => {
  const { runner, workers } = world({ choice: "gpu" });
  const run = runner.start(OPTIONS);
  await until(run, ({ progress }) => progress.step > 0);
  run.speed = 0.1;
  await tick();
  const before = slices(workers[0]);
  // The rest after a slice is 3.6 s here.
  await tick();
  await tick();
  assert.ok(slices(workers[0]) - before <= 1);
  run.speed = 1;
  await done(run);
  assert.equal(run.state, "done");
});

test("a run that is paused while it rests is saved as it stands", async () => {
  const { runner, workers, saved } = world({ choice: "gpu" });
  const run = runner.start(OPTIONS);
  run.speed = 0.1;
  // The rest after the first slice is 3.6 s here.
  await eventually(() => slices(workers[0]) === 1);
  await tick();
  run.pause();
  await eventually(() => saved.get(run.id)?.progress.step === 1);
  run.cancel();
});

test("a run can be paused before it is ready, and starts when the reader says so", async () => {
  const { runner, workers } = world();
  const run = runner.start(OPTIONS);
  run.pause();
  await tick();
  assert.equal(run.state, "paused");
  assert.ok(!workers.some(({ calls }) => calls.includes("advance")));
  run.resume();
  await done(run);
  assert.equal(run.state, "done");
});

test("cancelled is cancelled at once, even if the worker never answers", async () => {
  const { runner, workers, saved } = world();
  const run = runner.start(OPTIONS);
  await until(run, ({ state }) => state === "running");
  let told = "";
  run.addEventListener("change", () => (told = run.state));
  run.cancel();
  assert.equal(told, "cancelled");
  assert.ok(workers.every(({ terminated }) => terminated));
  await tick();
  assert.equal(saved.size, 0);
  assert.equal(run.failure, undefined);
});

test("a crashed worker is replaced and continues from the last snapshot; the others do not notice", async () => {
  let crashes = 0;
  const { runner, workers } = world({
    fail: (worker, call) => (worker === 1 && call === "report" && crashes++ === 0 ? "crash" : undefined),
  });
  const run = runner.start(OPTIONS);
  await done(run);
  assert.equal(run.state, "done");
  assert.match(run.notice ?? "", /out of memory.* continues from its last snapshot, in a new worker/);
  assert.equal(workers.length, 3);
  assert.equal(slices(workers[0]), SHARD_STEPS);
  // The snapshot was at most five seconds of training old.
  assert.ok(slices(workers[2]) <= 26, `${slices(workers[2])} slices again`);
  assert.equal(run.report?.findings.length, 2);
});

test("a worker that dies while its run is paused is replaced when it resumes, from the snapshot of the pause", async () => {
  const { runner, workers, saved } = world();
  const run = runner.start(OPTIONS);
  await until(run, ({ progress }) => progress.step > 4);
  run.pause();
  await atRest({ workers, saved }, run);
  const [before] = saved.get(run.id)?.shards ?? [];
  workers[0].onerror({ message: "out of memory" });
  await assert.rejects(run.weights(), { kind: "WorkerCrashed" });
  assert.equal(run.state, "paused");
  run.resume();
  await done(run);
  assert.equal(run.state, "done");
  assert.match(run.notice ?? "", /continues from its last snapshot, in a new worker/);
  assert.deepEqual(
    run.report?.findings.map((/** @type {any} */ { n, step }) => [n, step]),
    [
      [8, SHARD_STEPS],
      [16, SHARD_STEPS],
    ],
  );
  assert.equal(slices(workers.at(-1)), SHARD_STEPS - Number(await before.snapshot?.text()));
});

const LOST = { kind: "DeviceLost", message: "The GPU device was lost", hint: "" };

test("a lost device is made anew; at the second loss the CPU takes over", async () => {
  let losses = 0;
  const { runner, workers } = world({
    choice: "gpu",
    fail: (_, call, engine) => (engine === "gpu" && call === "snapshot" && ++losses > 1 ? LOST : undefined),
  });
  const run = runner.start(OPTIONS);
  /** @type {string[]} */
  const notices = [];
  run.addEventListener("change", () => {
    if (!run.notice || run.notice === notices.at(-1)) return;
    notices.push(run.notice);
    // Nothing trains until the new device has done a slice, be it that the reader paused.
    assert.notEqual(run.state, "running");
    assert.equal(run.progress.stepsPerSecond, null);
  });
  // A pause takes a snapshot.
  await until(run, ({ progress }) => progress.step > 2);
  run.pause();
  await tick();
  run.resume();
  await done(run);
  assert.equal(run.state, "done");
  assert.equal(run.engine, "cpu");
  assert.match(notices[0], /was lost\. The run continues from its last snapshot, on a new device/);
  assert.match(notices[1], /was lost\. The run continues from its last snapshot, on the CPU engine/);
  assert.equal(workers.length, 3);
  assert.equal(run.report?.findings.length, 2);
});

test("without an adapter the run begins on the CPU, with all its workers", async () => {
  const NONE = { kind: "NoAdapter", message: "This browser offers no WebGPU adapter", hint: "" };
  const { runner, workers } = world({
    choice: "gpu",
    fail: (_, _call, engine) => (engine === "gpu" ? NONE : undefined),
  });
  const run = runner.start(OPTIONS);
  await done(run);
  assert.equal(run.engine, "cpu");
  assert.match(run.notice ?? "", /no WebGPU adapter.*on the CPU engine/);
  assert.equal(workers.length, 3);
});

test("what no other try can help fails at once; what fails for ever fails in the end", async () => {
  const BAD = { kind: "BadInput", message: "There are fewer images than that", hint: "" };
  for (const [failure, workers] of /** @type {const} */ ([
    [BAD, 2],
    ["crash", 4],
  ])) {
    const w = world({ fail: (worker, call) => (worker !== 1 && call === "advance" ? failure : undefined) });
    const run = w.runner.start(OPTIONS);
    await done(run);
    assert.equal(run.state, "failed");
    assert.equal(run.failure?.kind, failure === BAD ? "BadInput" : "WorkerCrashed");
    assert.equal(w.workers.length, workers);
    assert.ok(w.workers.every(({ terminated }) => terminated));
  }
});

test("a change of engine keeps what was trained", async () => {
  for (const [from, to] of /** @type {const} */ ([
    ["cpu", "gpu"],
    ["gpu", "cpu"],
  ])) {
    const { runner, workers } = world({ choice: from });
    const run = runner.start(OPTIONS);
    await until(run, ({ progress }) => progress.step > 4);
    const { step } = run.progress;
    const before = workers.length;
    run.switchEngine(to);
    await done(run);
    assert.equal(run.state, "done");
    assert.equal(run.engine, to);
    assert.equal(workers.length, before + 1);
    // The steps are the mean of the shards; one of them may lag behind.
    assert.ok(slices(workers[before]) <= SHARD_STEPS - step + 3, `${slices(workers[before])} slices after ${step}`);
    assert.equal(run.report?.findings.length, 2);
  }
});

test("an engine that does not start loses nothing for one who goes back from it meanwhile", async () => {
  const answer = openPromise();
  const { runner, workers } = world({
    fail: (_, call, engine) => (engine === "gpu" && call === "start" ? answer.promise.then(() => LOST) : undefined),
  });
  const run = runner.start(OPTIONS);
  await until(run, ({ progress }) => progress.step > 9);
  const { step } = run.progress;
  run.switchEngine("gpu");
  await eventually(() => workers[2]?.calls.includes("start"));
  run.switchEngine("cpu");
  await eventually(() => workers[2].calls.includes("snapshot"));
  answer.resolve();
  await done(run);
  assert.equal(run.state, "done");
  assert.equal(run.engine, "cpu");
  assert.equal(workers.length, 5);
  for (const worker of workers.slice(3))
    assert.ok(slices(worker) <= SHARD_STEPS - step + 3, `${slices(worker)} slices after ${step}`);
});

test("a run whose last shard fails does not look done meanwhile", async () => {
  let crashed = false;
  const { runner, workers } = world({
    delay: (worker) => (worker === 1 ? 2 * SLICE_MS : SLICE_MS),
    fail(worker, call) {
      if (worker !== 1 || call !== "advance" || crashed || !workers[0].terminated) return undefined;
      crashed = true;
      return "crash";
    },
  });
  const run = runner.start(OPTIONS);
  /** @type {number[]} */
  const steps = [];
  run.addEventListener("change", () => crashed && run.state === "preparing" && steps.push(run.progress.step));
  await done(run);
  assert.ok(steps.length > 0);
  assert.ok(
    steps.every((step) => step < SHARD_STEPS),
    `${steps}`,
  );
});

test("a saved run says where its snapshots are, however far it has trained since", async () => {
  const { runner, storage } = world({ delay: (worker) => (worker === 0 ? SLICE_MS : 3 * SLICE_MS) });
  await done(runner.start(OPTIONS));
  const records = storage.put.mock.calls.map(({ arguments: [record] }) => record);
  const running = records.filter(({ state }) => state === "running");
  assert.ok(running.length > 1);
  for (const { progress, shards } of running) {
    const steps = await Promise.all(
      shards.map(async ({ snapshot, report }) => (report ? SHARD_STEPS : Number((await snapshot?.text()) ?? 0))),
    );
    assert.equal(progress.step, Math.round((steps[0] + steps[1]) / 2));
  }
});

test("a saved run knows where it is while a crashed worker is replaced", async () => {
  let crashed = false;
  const { runner, storage } = world({
    delay: (worker) => (worker === 1 ? 2 * SLICE_MS : SLICE_MS),
    fail(worker, call) {
      // After its first snapshots are saved.
      if (worker !== 0 || call !== "advance" || crashed || storage.put.mock.callCount() < 3) return undefined;
      crashed = true;
      return "crash";
    },
  });
  await done(runner.start(OPTIONS));
  assert.ok(crashed);
  const records = storage.put.mock.calls.map(({ arguments: [record] }) => record);
  const half = records.filter(
    ({ shards }) => shards.some(({ savedProgress }) => savedProgress) && shards.some(({ report }) => !report),
  );
  assert.ok(half.length > 1);
  for (const { progress } of half) {
    assert.equal(progress.total, SHARD_STEPS);
    assert.ok(progress.step > 0 && progress.step < SHARD_STEPS, `${progress.step}`);
  }
});

test("a run that was interrupted is listed, and resumes where it stopped", async () => {
  const first = world();
  const run = first.runner.start(OPTIONS);
  await until(run, ({ progress }) => progress.step > 9);
  run.pause();
  await atRest(first, run);
  const { step } = run.progress;
  assert.ok(step < SHARD_STEPS);

  // The page is loaded again: only what is saved is left.
  const second = world();
  for (const [id, record] of first.saved) second.saved.set(id, record);
  const [saved] = await second.runner.saved();
  assert.deepEqual(saved.options, OPTIONS);
  assert.deepEqual(saved.progress, { step, total: SHARD_STEPS });
  assert.equal(saved.state, "running");
  assert.ok(!("shards" in saved));
  const resumed = await second.runner.resumeSaved(saved.id);
  assert.equal(resumed.progress.step, step);
  assert.equal(await second.runner.resumeSaved(saved.id), resumed);
  await done(resumed);
  assert.equal(resumed.state, "done");
  assert.ok(second.workers.every((worker) => slices(worker) <= SHARD_STEPS - step + 3));

  // Once more: now it is done, with its report and its weights.
  await tick();
  const third = world();
  for (const [id, record] of second.saved) third.saved.set(id, record);
  const finished = await third.runner.resumeSaved(saved.id);
  assert.equal(finished.state, "done");
  assert.equal(finished.report?.final, true);
  assert.equal((await finished.weights()).length, 2);
  assert.equal(third.workers.length, 0);
  assert.ok(third.saved.get(saved.id)?.shards.every(({ snapshot }) => snapshot === null));
  await third.runner.forget(saved.id);
  assert.deepEqual(await third.runner.saved(), []);
  await assert.rejects(new Runner(third.deps).resumeSaved(saved.id), { kind: "BadInput" });
});

test("what is saved of earlier visits is read once for all who ask, until one of it is deleted", async () => {
  const first = world();
  const [early, other] = [first.runner.start(OPTIONS), first.runner.start({ ...OPTIONS, seed: 4 })];
  await Promise.all([done(early), done(other)]);
  await eventually(() => [...first.saved.values()].filter(({ state }) => state === "done").length === 2);
  const { runner, storage, saved } = world();
  for (const [id, record] of first.saved) saved.set(id, record);
  const list = mock.method(storage, "list");
  list.mock.mockImplementationOnce(() => Promise.reject(new Error("The database is closing")));
  assert.deepEqual(await runner.saved(), []);
  const here = runner.start(OPTIONS);
  await eventually(() => saved.has(here.id));
  const ids = async () => (await runner.saved()).map(({ id }) => id);
  assert.deepEqual(await Promise.all([ids(), ids()]), Array(2).fill([...first.saved.keys()]));
  assert.equal(list.mock.callCount(), 2);
  await runner.forget(early.id);
  assert.deepEqual(
    await ids(),
    [...first.saved.keys()].filter((id) => id !== early.id),
  );
  here.cancel();
});

test("a run that is done and deleted does not come back with what was still to be saved", async () => {
  const { runner, storage, saved } = world();
  const answer = openPromise();
  storage.put.mock.mockImplementation(async (run) => {
    saved.set(run.id, run);
    return void (await answer.promise);
  });
  const run = runner.start(OPTIONS);
  await done(run);
  assert.equal(run.state, "done");
  await runner.forget(run.id);
  answer.resolve();
  await tick();
  assert.equal(saved.size, 0);
});

test("a browser that saves nothing is survived, with one notice", async () => {
  const { runner, storage } = world();
  storage.put.mock.mockImplementation(async () => {
    throw new DOMException("The quota has been exceeded", "QuotaExceededError");
  });
  const run = runner.start(OPTIONS);
  /** @type {Set<string>} */
  const notices = new Set();
  run.addEventListener("change", () => run.notice && notices.add(run.notice));
  await done(run);
  assert.equal(run.state, "done");
  assert.deepEqual(
    [...notices],
    ["The browser would not save the run, so reloading the page will lose it: The quota has been exceeded."],
  );
  assert.ok(storage.put.mock.callCount() >= 2);
});

test("a shard that is done shows its last preview until the others are done, too: a preview has fewer noise levels", async () => {
  const { runner } = world({ delay: (worker) => (worker === 1 ? 2 * SLICE_MS : SLICE_MS) });
  const run = runner.start(OPTIONS);
  const kinds = new Set();
  run.addEventListener(
    "change",
    () => run.report && kinds.add(JSON.stringify(run.report.findings.map((/** @type {any} */ { final }) => final))),
  );
  await done(run);
  assert.deepEqual([...kinds], ["[false,false]", "[true,true]"]);
});

test("findings that are lists of their own are joined one by one", () => {
  /** @param {number} n */
  const report = (n) => /** @type {any} */ ({ final: true, findings: { overWidth: [n], overTime: [n, n] } });
  assert.deepEqual(mergeReports([report(1), report(2)], null, 5).findings, {
    overWidth: [1, 2],
    overTime: [1, 1, 2, 2],
  });
  assert.equal(mergeReports([report(1), { ...report(2), final: false }], null, 5).final, false);
});

test("only a run on the reader's own images keeps their files", async () => {
  const { runner, saved } = world();
  assert.throws(() => runner.start({ ...OPTIONS, own: true }), { kind: "BadInput" });
  runner.own = { files: [], colour: false };
  const plain = runner.start(OPTIONS);
  const own = runner.start({ ...OPTIONS, own: true });
  await Promise.all([done(plain), done(own)]);
  await tick();
  assert.equal(saved.get(plain.id)?.own, undefined);
  assert.deepEqual(saved.get(own.id)?.own, { files: [], colour: false });
  // Other images were chosen meanwhile: the same run once more is still on those that it was on.
  runner.own = { files: [], colour: true };
  const again = runner.restart(own);
  assert.deepEqual(again.own, { files: [], colour: false });
  again.cancel();
});

test("a worker that dies while it plans is replaced; bad input is not tried again", async () => {
  const { runner, workers } = world({ fail: (index, call) => (index < 2 && call === "plan" ? "crash" : undefined) });
  const run = runner.start(OPTIONS);
  await until(run, ({ notice }) => /out of memory.*from the beginning, in a new worker/.test(notice ?? ""));
  await done(run);
  assert.equal(run.state, "done");
  assert.ok(workers.length >= 3);

  const hopeless = world({ fail: (_, call) => call === "plan" && { kind: "BadInput", message: "No", hint: "" } });
  const refused = hopeless.runner.start(OPTIONS);
  await done(refused);
  assert.equal(refused.state, "failed");
  assert.equal(hopeless.workers.length, 1);

  const dead = world({ fail: (_, call) => call === "plan" && "crash" });
  const lost = dead.runner.start(OPTIONS);
  await done(lost);
  assert.equal(lost.state, "failed");
  assert.equal(dead.workers.length, 3);
});

test("a reader who changes their mind twice gets the engine of the last wish", async () => {
  const { runner } = world();
  const run = runner.start(OPTIONS);
  await until(run, ({ state }) => state === "running");
  runner.switchEngine("gpu");
  runner.switchEngine("cpu");
  await done(run);
  assert.equal(run.state, "done");
  assert.equal(run.engine, "cpu");
});

test("to resume twice is to resume once", async () => {
  const first = world();
  const run = first.runner.start(OPTIONS);
  await until(run, ({ progress }) => progress.step > 9);
  run.pause();
  await tick();
  const second = world();
  for (const [id, record] of first.saved) second.saved.set(id, record);
  const [one, other] = await Promise.all([second.runner.resumeSaved(run.id), second.runner.resumeSaved(run.id)]);
  assert.equal(one, other);
  await done(one);
  run.cancel();
});

/** The locks of a browser, for all of its tabs. */
function fakeLocks() {
  /** @type {Set<string>} */
  const held = new Set();
  return {
    /** @param {string} name @param {{ifAvailable: true}} _ @param {(lock: {name: string} | null) => unknown} use */
    async request(name, _, use) {
      await Promise.resolve();
      if (held.has(name)) return use(null);
      held.add(name);
      await use({ name });
      held.delete(name);
    },
  };
}

test("a run that another tab has is not taken up until that one lets it go", async () => {
  const locks = fakeLocks();
  const first = world({ locks });
  const run = first.runner.start(OPTIONS);
  await until(run, ({ progress }) => progress.step > 9);
  run.pause();
  await atRest(first, run);
  const second = world({ locks });
  for (const [id, record] of first.saved) second.saved.set(id, record);
  await assert.rejects(second.runner.resumeSaved(run.id), { kind: "BadInput", message: /another tab/ });
  assert.equal(second.workers.length, 0);

  run.cancel();
  await tick();
  const [one, other] = await Promise.all([second.runner.resumeSaved(run.id), second.runner.resumeSaved(run.id)]);
  assert.equal(one, other);
  await assert.rejects(new Runner(second.deps).resumeSaved(run.id), { kind: "BadInput" });
  await done(one);
  await eventually(() => second.saved.get(run.id)?.state === "done");
  const third = await new Runner(second.deps).resumeSaved(run.id);
  assert.equal(third.state, "done");
});

test("a browser that refuses locks is survived", async () => {
  const { runner, workers } = world({
    locks: { request: () => Promise.reject(new DOMException("No", "SecurityError")) },
  });
  const run = runner.start(OPTIONS);
  await done(run);
  assert.equal(run.state, "done");
  assert.equal(workers.length, 2);
});

test("the runner tells of each run, after the one who asked for it", async () => {
  const { runner } = world();
  /** @type {Run[]} */
  const told = [];
  runner.addEventListener("run", (event) => told.push(/** @type {CustomEvent<Run>} */ (event).detail));
  const run = runner.start(OPTIONS);
  assert.deepEqual(told, []);
  await Promise.resolve();
  assert.deepEqual(told, [run]);
  run.cancel();
});

test("a file that does not come is fetched again, and does not end the run", async () => {
  let failures = 0;
  const offline = { kind: "Network", message: "The file data/mnist.bin could not be fetched", hint: "" };
  const { runner, workers } = world({
    cores: 1,
    fail: (_, call) => (call === "start" && failures++ === 0 ? offline : undefined),
  });
  const run = runner.start(OPTIONS);
  await until(run, ({ state }) => state === "done" || state === "failed");
  assert.equal(run.failure, undefined);
  assert.equal(run.state, "done");
  assert.match(
    run.notice ?? "",
    /mnist\.bin could not be fetched\. The run continues from the beginning, with another try/,
  );
  assert.equal(workers.length, 2);
});

test("a connection that stays away ends the run, with its own words", async () => {
  const offline = {
    kind: "Network",
    message: "The file data/mnist.bin could not be fetched",
    hint: "Check the connection and try again.",
  };
  const { runner } = world({ cores: 1, fail: (_, call) => (call === "plan" ? offline : undefined) });
  const run = runner.start(OPTIONS);
  await until(run, ({ state }) => state === "failed");
  assert.deepEqual(run.failure, offline);
});
