import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { IDBFactory } from "fake-indexeddb";
import { RunStorage } from "../src/runs/storage.js";

beforeEach(() => {
  globalThis.indexedDB = new IDBFactory();
});

/** @param {number} day @returns {any} */
const run = (day) => ({ id: `run ${day}`, date: new Date(2026, 0, day), state: "running", shards: [] });

test("runs are saved, listed from the latest on, replaced and deleted", async () => {
  const storage = new RunStorage(() => indexedDB);
  for (const day of [2, 1, 3]) await storage.put(run(day));
  await storage.put({ ...run(2), state: "done" });
  assert.deepEqual(
    (await storage.list()).map(({ id, state }) => [id, state]),
    [
      ["run 3", "running"],
      ["run 2", "done"],
      ["run 1", "running"],
    ],
  );
  await storage.delete("run 2");
  assert.equal(await storage.get("run 2"), undefined);
  assert.equal((await storage.get("run 3"))?.id, "run 3");
});

test("beyond twenty the oldest goes", async () => {
  const storage = new RunStorage(() => indexedDB);
  for (let day = 1; day <= 22; day++) await storage.put(run(day));
  const saved = await storage.list();
  assert.equal(saved.length, 20);
  assert.equal(saved.at(-1)?.id, "run 3");
});

test("a run that is under way stays, however many are done since; what is done goes first", async () => {
  const storage = new RunStorage(() => indexedDB);
  for (let day = 1; day <= 25; day++) {
    await storage.put(run(1));
    await storage.put({ ...run(day), state: day > 2 ? "done" : "running" });
  }
  const saved = (await storage.list()).map(({ id }) => id);
  assert.equal(saved.length, 20);
  assert.deepEqual(saved.slice(-3), ["run 8", "run 2", "run 1"]);
  for (let day = 31; day <= 51; day++) await storage.put(run(day));
  await storage.put(run(1));
  assert.equal((await storage.get("run 1"))?.id, "run 1");
  assert.equal((await storage.list()).length, 20);
});

test("a browser without storage, or one that forbids it, rejects and does not throw", async () => {
  await assert.rejects(new RunStorage(() => undefined).list(), /storage is disabled/);
  const forbidden = () => {
    throw new DOMException("The operation is insecure", "SecurityError");
  };
  await assert.rejects(new RunStorage(forbidden).put(run(1)), { name: "SecurityError" });
});

test("a full disk rejects", async (context) => {
  refuse(context, () => true);
  await assert.rejects(new RunStorage(() => indexedDB).put(run(1)), { name: "AbortError" });
});

/**
 * Let the store refuse what `refuses`, when the transaction is committed, as WebKit does in private windows.
 * @param {import("node:test").TestContext} context
 * @param {(value: any) => boolean} refuses
 */
function refuse(context, refuses) {
  const { put } = IDBObjectStore.prototype;
  return context.mock.method(
    IDBObjectStore.prototype,
    "put",
    /** @this {IDBObjectStore} @param {any} value */ function (value) {
      const request = put.call(this, value);
      if (refuses(value)) this.transaction.abort();
      return request;
    },
  );
}

/** A run on the reader's own files, with a snapshot and weights. */
const withBlobs = () => ({
  ...run(1),
  own: { files: [new File(["a picture"], "picture.png")], colour: true },
  shards: [
    { snapshot: new Blob(["here"]), weights: [new Blob(["w1"]), new Blob(["w2"])] },
    { snapshot: null, weights: [] },
  ],
});

test("a browser that refuses blobs saves their bytes, and hands them out as blobs", async (context) => {
  const hasBlobs = (/** @type {any} */ { own, shards }) =>
    [...own.files, ...shards.flatMap((/** @type {any} */ shard) => [shard.snapshot, ...shard.weights])].some(
      (held) => held instanceof Blob,
    );
  const { mock } = refuse(context, hasBlobs);
  const storage = new RunStorage(() => indexedDB);
  await storage.put(withBlobs());
  await storage.put(withBlobs());
  // It is not asked twice for what it refuses.
  assert.equal(mock.callCount(), 3);
  for (const saved of [await storage.get("run 1"), ...(await storage.list())]) {
    assert.ok(saved?.own);
    const [file] = saved.own.files;
    assert.deepEqual([file.name, await file.text()], ["picture.png", "a picture"]);
    const [first, second] = saved.shards;
    assert.equal(await first.snapshot?.text(), "here");
    assert.deepEqual(await Promise.all(first.weights.map((blob) => blob.text())), ["w1", "w2"]);
    assert.equal(second.snapshot, null);
  }
});

test("a browser that refuses bytes, too, rejects; with room again it takes blobs", async (context) => {
  let full = true;
  refuse(context, () => full);
  const storage = new RunStorage(() => indexedDB);
  await assert.rejects(storage.put(withBlobs()), { name: "AbortError" });
  full = false;
  await storage.put(withBlobs());
  assert.equal(await (await storage.get("run 1"))?.shards[0].snapshot?.text(), "here");
});

test("an older page in another tab blocks the opening; when it is gone the next try opens", async () => {
  const older = await new Promise((resolve) => {
    const opening = indexedDB.open("hidden-gaussian", 1);
    opening.onsuccess = () => resolve(opening.result);
  });
  const storage = new RunStorage(() => indexedDB);
  await assert.rejects(storage.put(run(1)), /another tab/);
  older.close();
  await storage.put(run(1));
  assert.equal((await storage.list()).length, 1);
});

test("a newer page in another tab gets the database, and this one opens it anew when it needs to", async () => {
  const storage = new RunStorage(() => indexedDB);
  await storage.put(run(1));
  const open = mock.method(indexedDB, "open");
  const newer = await new Promise((resolve, reject) => {
    const opening = indexedDB.open("hidden-gaussian", 3);
    opening.onsuccess = () => resolve(opening.result);
    opening.onblocked = () => reject(new Error("the older page keeps the database"));
  });
  newer.close();
  assert.equal(open.mock.callCount(), 1);
  // It is of a newer version now, which this page cannot open; it says so instead of hanging.
  await assert.rejects(storage.put(run(2)), { name: "VersionError" });
  assert.equal(open.mock.callCount(), 2);
});
