import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { Store } from "../src/state/store.js";

/**
 * As much of a window as the store needs.
 * @param {string} search
 */
function fakeWindow(search) {
  const location = { pathname: "/sub/path/", search, hash: "#samples" };
  /** @type {string[]} */
  const calls = [];
  /** @type {() => void} */
  let back = () => {};
  return {
    calls,
    location,
    back: () => back(),
    /** @param {string} _ @param {() => void} listener */
    addEventListener: (_, listener) => (back = listener),
    history: {
      /** @param {unknown} _ @param {string} __ @param {string} url */
      pushState(_, __, url) {
        calls.push(`push ${url}`);
        location.search = new URL(url, "https://example.test").search;
      },
      /** @param {unknown} _ @param {string} __ @param {string} url */
      replaceState(_, __, url) {
        calls.push(`replace ${url}`);
        location.search = new URL(url, "https://example.test").search;
      },
    },
  };
}

/** @param {ReturnType<typeof fakeWindow>} window */
const storeOf = (window) => new Store(/** @type {Window} */ (/** @type {unknown} */ (window)));

test("the store starts from the URL and keeps its problems", () => {
  const store = storeOf(fakeWindow("?n=32&data=cats"));
  assert.equal(store.values.n, 32);
  assert.equal(store.values.data, "faces");
  assert.equal(store.problems.length, 1);
});

test("a listener hears of its own keys only, and only of changes", () => {
  const store = storeOf(fakeWindow(""));
  /** @type {number[]} */
  const heard = [];
  store.subscribe(["n"], ({ n }) => heard.push(n));
  store.set({ n: 64 });
  store.set({ n: 64 });
  store.set({ "denoise.sigma": 1 });
  assert.deepEqual(heard, [64]);
});

test("a choice makes a history entry, a slider rewrites the current one once it rests", async () => {
  const window = fakeWindow("");
  const store = storeOf(window);
  store.set({ "denoise.sigma": 1 });
  store.set({ "denoise.sigma": 2 });
  assert.deepEqual(window.calls, []);
  await wait(400);
  assert.deepEqual(window.calls, ["replace /sub/path/?denoise.sigma=2#samples"]);
  store.set({ data: "mnist" });
  assert.deepEqual(window.calls.slice(1), [
    "replace /sub/path/?denoise.sigma=2#samples",
    "push /sub/path/?data=mnist&denoise.sigma=2#samples",
  ]);
});

test("back restores the state of the URL", () => {
  const window = fakeWindow("");
  const store = storeOf(window);
  store.set({ data: "mnist" });
  window.location.search = "";
  window.back();
  assert.equal(store.values.data, "faces");
});

test("back leads to the reader's own images while they are loaded", () => {
  const window = fakeWindow("");
  const store = storeOf(window);
  store.addOwn();
  store.set({ data: "own" });
  store.set({ data: "mnist" });
  window.location.search = "?data=own";
  window.back();
  assert.equal(store.values.data, "own");
});

test("a way within the page keeps what a slider has not written yet", async () => {
  const window = fakeWindow("?n=32");
  const store = storeOf(window);
  store.set({ "denoise.sigma": 2 });
  window.location.hash = "#denoise";
  window.back();
  assert.equal(store.values["denoise.sigma"], 2);
  await wait(400);
  assert.deepEqual(window.calls, ["replace /sub/path/?n=32&denoise.sigma=2#denoise"]);
});

test("a preview shows another state for a while, and the address stays", async () => {
  const window = fakeWindow("?transition.n=32");
  const store = storeOf(window);
  /** @type {number[]} */
  const seen = [];
  store.subscribe(["transition.n"], (values) => seen.push(values["transition.n"]));
  const end = store.preview({ "transition.n": 1024 });
  assert.equal(store.values["transition.n"], 1024);
  end();
  await wait(300);
  assert.deepEqual(seen, [1024, 32]);
  assert.deepEqual(window.calls, []);
});
