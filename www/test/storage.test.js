import assert from "node:assert/strict";
import { test } from "node:test";
import { RunStorage } from "../src/runs/storage.js";

/**
 * As much of IndexedDB as the storage uses: one store, ordered by date. `full` makes a commit fail.
 * @param {{full?: boolean}} [options]
 */
function fakeIndexedDB(options = {}) {
  /** @type {Map<string, any>} */
  const rows = new Map();
  /** Requests that are not answered yet. */
  let pending = 0;
  /** @param {() => any} result */
  const request = (result) => {
    /** @type {any} */
    const made = {};
    pending++;
    setTimeout(() => {
      pending--;
      made.result = result();
      made.onsuccess?.();
    });
    return made;
  };
  const byDate = () => [...rows.values()].sort((a, b) => a.date - b.date);
  const database = {
    closed: false,
    /** @type {() => void} */
    onversionchange: () => {},
    close: () => (database.closed = true),
    createObjectStore: () => ({ createIndex: () => {} }),
    transaction() {
      if (database.closed) throw new DOMException("The database connection is closing", "InvalidStateError");
      /** @type {any} */
      const transaction = { error: new DOMException("The quota has been exceeded", "QuotaExceededError") };
      const finish = () => {
        if (pending > 0) setTimeout(finish);
        else if (options.full) transaction.onabort?.();
        else transaction.oncomplete?.();
      };
      setTimeout(finish);
      transaction.objectStore = () => ({
        transaction,
        put: (/** @type {any} */ row) => rows.set(row.id, row),
        delete: (/** @type {string} */ id) => rows.delete(id),
        get: (/** @type {string} */ id) => request(() => rows.get(id)),
        index: () => ({
          getAll: () => request(byDate),
          getAllKeys: () => request(() => byDate().map(({ id }) => id)),
        }),
      });
      return transaction;
    },
  };
  const opened = { count: 0 };
  /** @type {any} */
  const factory = {
    open() {
      opened.count++;
      database.closed = false;
      const opening = request(() => database);
      setTimeout(() => opening.onupgradeneeded?.call(undefined, (opening.result = database)));
      return opening;
    },
  };
  return { factory: /** @type {IDBFactory} */ (factory), database, opened };
}

/** @param {number} day @returns {any} */
const run = (day) => ({ id: `run ${day}`, date: new Date(2026, 0, day), state: "running" });

test("runs are kept, listed from the latest on, replaced and deleted", async () => {
  const { factory } = fakeIndexedDB();
  const storage = new RunStorage(() => factory);
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
  const { factory } = fakeIndexedDB();
  const storage = new RunStorage(() => factory);
  for (let day = 1; day <= 22; day++) await storage.put(run(day));
  const kept = await storage.list();
  assert.equal(kept.length, 20);
  assert.equal(kept.at(-1)?.id, "run 3");
});

test("a run that is under way stays, however many are done since; what is done goes first", async () => {
  const { factory } = fakeIndexedDB();
  const storage = new RunStorage(() => factory);
  for (let day = 1; day <= 25; day++) {
    await storage.put(run(1));
    await storage.put({ ...run(day), state: day > 2 ? "done" : "running" });
  }
  const kept = (await storage.list()).map(({ id }) => id);
  assert.equal(kept.length, 20);
  assert.deepEqual(kept.slice(-3), ["run 8", "run 2", "run 1"]);
  for (let day = 31; day <= 51; day++) await storage.put(run(day));
  await storage.put(run(1));
  assert.equal((await storage.get("run 1"))?.id, "run 1");
  assert.equal((await storage.list()).length, 20);
});

test("a browser without storage, or one that forbids it, rejects and does not throw", async () => {
  await assert.rejects(new RunStorage(() => undefined).list(), /keeps no data/);
  const forbidden = () => {
    throw new DOMException("The operation is insecure", "SecurityError");
  };
  await assert.rejects(new RunStorage(forbidden).put(run(1)), { name: "SecurityError" });
});

test("a full disk rejects", async () => {
  const { factory } = fakeIndexedDB({ full: true });
  await assert.rejects(new RunStorage(() => factory).put(run(1)), { name: "QuotaExceededError" });
});

test("another tab that blocks the opening rejects, and the next try opens again", async () => {
  const { factory, opened } = fakeIndexedDB();
  let blocked = true;
  /** @type {any} */
  const contended = {
    open() {
      if (!blocked) return factory.open("", 1);
      /** @type {any} */
      const opening = {};
      setTimeout(() => opening.onblocked());
      return opening;
    },
  };
  const storage = new RunStorage(() => contended);
  await assert.rejects(storage.put(run(1)), /Another tab/);
  blocked = false;
  await storage.put(run(1));
  assert.equal(opened.count, 1);
});

test("a newer version in another tab gets the database, and this one opens it anew when it needs to", async () => {
  const { factory, database, opened } = fakeIndexedDB();
  const storage = new RunStorage(() => factory);
  await storage.put(run(1));
  database.onversionchange();
  assert.ok(database.closed);
  await storage.put(run(2));
  assert.equal(opened.count, 2);
});
