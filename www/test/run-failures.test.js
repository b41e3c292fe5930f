// Runs through every kind of accident.

import assert from "node:assert/strict";
import { test } from "node:test";
import { openPromise } from "../src/runs/timing.js";
import { OPTIONS, SHARD_STEPS, SLICE_MS, atRest, done, eventually, slices, tick, until, world } from "./run-world.js";

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
    // One that has trained to its end may still have to report.
    assert.ok(progress.step > 0 && progress.step <= SHARD_STEPS, `${progress.step}`);
  }
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
