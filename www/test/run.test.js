// How a run goes: shards, previews, pausing, speed, engines.

import assert from "node:assert/strict";
import { test } from "node:test";
import { mergeReports } from "../src/runs/merge.js";
import { workersFor } from "../src/runs/runner.js";
import { OPTIONS, pass, SHARD_STEPS, SLICE_MS, done, eventually, slices, tick, until, world } from "./run-world.js";

/**
 * @import { Run } from "../src/runs/run.js"
 */

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

test("a run has a worker per core, and no more than one per gigabyte", () => {
  assert.equal(workersFor({ hardwareConcurrency: 8 }), 8);
  assert.equal(workersFor({ hardwareConcurrency: 8, deviceMemory: 32 }), 8);
  assert.equal(workersFor({ hardwareConcurrency: 8, deviceMemory: 4 }), 4);
  assert.equal(workersFor({ hardwareConcurrency: 8, deviceMemory: 0.5 }), 1);
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

test("there is something to see after one short slice", async () => {
  const { runner, workers } = world({ choice: "gpu" });
  const run = runner.start(OPTIONS);
  await until(run, ({ report }) => report !== undefined);
  assert.deepEqual(workers[0].calls.slice(0, 4), ["plan", "start", "advance", "preview"]);
  assert.ok(performance.now() <= 100, `${performance.now()} ms`);
  run.cancel();
});

test("previews come at display rate and take no more than a twentieth of the time", async () => {
  const { runner, workers } = world({ choice: "gpu", fail: (_, call) => call === "preview" && pass(300) });
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
