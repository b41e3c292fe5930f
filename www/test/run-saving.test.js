// Runs that are saved, listed, resumed and forgotten, in one tab or several.

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Runner } from "../src/runs/runner.js";
import { openPromise } from "../src/runs/timing.js";
import { OPTIONS, SHARD_STEPS, SLICE_MS, atRest, done, eventually, slices, tick, until, world } from "./run-world.js";

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
